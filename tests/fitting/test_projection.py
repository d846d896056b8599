"""Outputs as components and back."""

import numpy as np
import pytest

from rftune.fitting import projection


def field(rng, noise, n_runs=200, n_outputs=300):
    """Three smooth patterns of different size, and noise."""
    places = np.linspace(0.0, 1.0, n_outputs)
    patterns = np.stack([np.sin(np.pi * (k + 1) * places) for k in range(3)])
    scores = rng.standard_normal((n_runs, 3)) * [3.0, 1.0, 0.3]
    clean = 5.0 + scores @ patterns
    return clean, clean + noise * rng.standard_normal(clean.shape)


def test_that_separate_outputs_come_back():
    outputs = np.random.default_rng(0).normal(3.0, [1.0, 10.0, 100.0], (20, 3))
    found = projection.separate(outputs, outputs.std(axis=0))
    assert found.is_separate
    np.testing.assert_allclose(found.components(outputs).std(axis=0), 1.0)
    np.testing.assert_allclose(found.outputs(found.components(outputs)), outputs)
    np.testing.assert_allclose(found.variance(np.ones((1, 3)))[0], outputs.var(axis=0))


def test_that_whitened_outputs_have_uncorrelated_unit_noise():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((3, 3))
    noise, outputs = root @ root.T, rng.standard_normal((20, 3))
    found = projection.whitened(outputs, noise)
    np.testing.assert_allclose(found.to_components.T @ noise @ found.to_components, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found.outputs(found.components(outputs)), outputs)
    np.testing.assert_allclose(found.covariance(np.ones((1, 3)))[0], noise)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_that_the_components_above_the_noise_are_found(noise):
    clean, noisy = field(np.random.default_rng(2), noise)
    found = projection.reduced(noisy, np.ones(300))
    assert found.n_components == 3
    np.testing.assert_allclose(found.components(noisy).std(axis=0), 1.0)
    kept = found.outputs(found.components(noisy))
    assert np.sqrt(np.mean((kept - clean) ** 2)) <= 0.2 * noise + 1e-10


def test_that_what_is_left_out_is_in_the_covariance():
    _, noisy = field(np.random.default_rng(3), 0.2)
    found = projection.reduced(noisy, np.ones(300), n_components=2)
    lost = noisy - found.outputs(found.components(noisy))
    covariance = found.lost_covariance()
    np.testing.assert_allclose(np.diagonal(covariance), (lost**2).sum(axis=0) / (200 - 1 - 2), rtol=1e-10)
    direction = np.sin(3 * np.pi * np.linspace(0.0, 1.0, 300))  # of the third pattern, correlated over all outputs
    direction /= np.linalg.norm(direction)
    np.testing.assert_allclose(direction @ covariance @ direction, (lost @ direction).var(), rtol=0.05)
    assert np.linalg.eigvalsh(covariance)[0] > -1e-10


def test_that_pure_noise_and_few_runs_have_components_too():
    rng = np.random.default_rng(4)
    assert projection.reduced(rng.standard_normal((50, 60)), np.ones(60)).n_components == 1
    assert projection.reduced(rng.standard_normal((3, 60)), np.ones(60)).n_components <= 3
    constant = np.ones((10, 20))
    constant[:, 0] = rng.standard_normal(10)
    found = projection.reduced(constant, np.ones(20))
    np.testing.assert_allclose(found.outputs(found.components(constant)), constant, atol=1e-12)


def test_that_units_do_not_change_the_components():
    _, noisy = field(np.random.default_rng(5), 0.1)
    units = 10.0 ** np.random.default_rng(6).uniform(-3, 3, 300)
    one, other = projection.reduced(noisy, np.ones(300)), projection.reduced(noisy * units, units)
    np.testing.assert_allclose(np.abs(one.components(noisy)), np.abs(other.components(noisy * units)), rtol=1e-6)
