"""Components of a Gaussian process posterior against quadrature of the dense posterior on a grid."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import integrate

import reference_gp
from rftune.data import Array, Dataset, Prediction
from rftune.emulators.base import EMULATORS, Task
from rftune.experiments.ishigami.data import BOUNDS, analytic_indices, ishigami
from rftune.regression import gp_posterior
from rftune.regression.correlation_integrals import uniform_means
from rftune.regression.correlations import CORRELATIONS, Correlation
from rftune.regression.covariances import Hyperparameters
from rftune.regression.gp_effects import Effects
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Scaling, Training

NAMES = list(CORRELATIONS)
BOX = np.array([[-1.0, 2.0], [0.5, 3.0]])
N_NODES = 30
TOLERANCE = {"squared_exponential": 1e-8, "matern52": 2e-5, "matern32": 1e-3}  # quadrature knows nothing of kinks


def quadrature_mean(function, low: float, high: float, breaks: list[float]) -> float:
    inside = [x for x in breaks if low < x < high]
    return integrate.quad(function, low, high, points=inside, epsabs=1e-15, epsrel=1e-13, limit=500)[0] / (high - low)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("low", "high"), [(-1.3, 2.1), (-0.01, 0.02), (-8.0, 9.0)])
def test_that_means_of_correlations_are_integrals(low: float, high: float, name: str) -> None:
    kappa = CORRELATIONS[name]
    means = uniform_means(kappa, low, high)
    points = np.array([low - 0.4, low, low + 0.3 * (high - low), low + 0.31 * (high - low), high + 0.2])
    once = [quadrature_mean(lambda t, x=x: kappa(abs(t - x)), low, high, [x]) for x in points]
    np.testing.assert_allclose(means.once(points), once, rtol=1e-11)
    assert means.twice == pytest.approx(quadrature_mean(lambda t: means.once(np.array(t)), low, high, []), rel=1e-11)
    products = [
        [quadrature_mean(lambda t, x=x, z=z: kappa(abs(t - x)) * kappa(abs(t - z)), low, high, [x, z]) for z in points]
        for x in points
    ]
    every = slice(0, len(points))
    np.testing.assert_allclose(means.products(points)(every, every), products, rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(
        means.products(points)(slice(1, 3), slice(2, 5)), means.products(points)(every, every)[1:3, 2:5]
    )


def test_that_a_correlation_without_closed_form_is_refused() -> None:
    with pytest.raises(ValueError, match="there are means of"):
        uniform_means(Correlation((1.0, 0.0), (1.0, 0.5)), 0.0, 1.0)


def gaussian_process(name: str, noise: float = 0.5) -> tuple[ScaledModel, Array, Array]:
    """A fitted process of two inputs in physical coordinates; mean and covariance on a tensor grid of the box."""
    rng = np.random.default_rng(1)
    inputs = rng.uniform(-1.5, 3.0, (12, 2))  # some of them outside the box
    data = Dataset(inputs, (40.0 + 9.0 * np.sin(2.0 * inputs[:, 0]) * inputs[:, 1] + inputs[:, 1] ** 2)[:, None])
    scaling = Scaling.of(data, 0.25)
    scaled = scaling.scale(data)
    values = {"variance": 300.0, "lengthscales": np.array([0.7, 1.4]), "inclusion": np.array([0.8, 0.3])}
    hyperparameters = Hyperparameters([300.0], [values["lengthscales"]], [values["inclusion"]], [noise], name)
    model = ScaledModel(scaling, gp_posterior.fit(scaled, hyperparameters))
    kernel = partial(reference_gp.anova, **values, name=name)
    mean, covariance = reference_gp.posterior(
        kernel, scaled.inputs, scaled.outputs[:, 0], scaling.scale_inputs(grid()[0]), noise
    )
    factor = scaling.factor[0, 0]
    return model, (scaling.output_mean + factor * mean), factor**2 * covariance


def grid() -> tuple[Array, Array, Array]:
    """Points of a tensor grid, its nodes in each input, and the weights of the nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    axes = BOX.mean(axis=1)[:, None] + 0.5 * np.diff(BOX, axis=1) * nodes
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2), axes, 0.5 * weights


def components(values: Array) -> dict[tuple[int, ...], Array]:
    """Hoeffding components of functions of two inputs given on the grid, (N_NODES, N_NODES, ...)."""
    weights = grid()[2]
    constant = np.einsum("i,j,ij...->...", weights, weights, values)
    first = np.einsum("j,ij...->i...", weights, values) - constant
    second = np.einsum("i,ij...->j...", weights, values) - constant
    both = values - constant - first[:, None] - second[None, :]
    return {(): constant, (0,): first, (1,): second, (0, 1): both}


SUBSETS = [(0,), (1,), (0, 1)]


@pytest.mark.parametrize("name", NAMES)
def test_that_components_and_their_bands_are_those_of_the_dense_posterior(name: str) -> None:
    model, mean, covariance = gaussian_process(name)
    effects, (points, axes, _) = Effects(model, BOX), grid()
    shape = (N_NODES, N_NODES)
    of_mean = components(mean.reshape(shape))
    assert effects.mean == pytest.approx(of_mean[()], rel=TOLERANCE[name])
    # a component of the covariance in both its arguments
    for subset in SUBSETS:
        once = components(covariance.reshape(*shape, -1))[subset].reshape(-1, *shape)
        twice = components(np.moveaxis(once, 0, -1))[subset]
        variance = np.diagonal(twice.reshape(len(once), -1))
        where = points if len(subset) == 2 else axes[subset[0]][:, None]
        found = effects.component(subset, where)
        assert isinstance(found, Prediction)
        scale = np.sqrt(np.abs(covariance).max())
        np.testing.assert_allclose(found.mean[:, 0], of_mean[subset].ravel(), atol=TOLERANCE[name] * scale)
        np.testing.assert_allclose(found.covariance[:, 0, 0], variance, atol=TOLERANCE[name] * scale**2)


@pytest.mark.parametrize("name", NAMES)
def test_that_variances_and_indices_are_those_of_the_dense_posterior(name: str) -> None:
    model, mean, _ = gaussian_process(name)
    effects, (_, _, weights) = Effects(model, BOX), grid()
    shape, pair = (N_NODES, N_NODES), np.multiply.outer(weights, weights).ravel()
    of_mean, expected = effects.variances(SUBSETS)
    parts = components(mean.reshape(shape))
    averages = [weights, weights, pair]
    dense = np.array([average @ parts[subset].ravel() ** 2 for subset, average in zip(SUBSETS, averages, strict=True)])
    np.testing.assert_allclose(of_mean[:, 0], dense, rtol=TOLERANCE[name])
    spread = []
    for subset, average in zip(SUBSETS, averages, strict=True):
        found = effects.component(subset, grid()[0] if len(subset) == 2 else grid()[1][subset[0]][:, None])
        spread.append(average @ found.covariance[:, 0, 0])
    np.testing.assert_allclose(expected[:, 0], dense + spread, rtol=TOLERANCE[name])
    indices = effects.sobol_indices()
    assert indices.variance[0] == pytest.approx(dense.sum(), rel=TOLERANCE[name])
    assert indices.variance[0] == pytest.approx(of_mean.sum(), rel=1e-10)
    assert indices.expected_variance[0] == pytest.approx(expected.sum(), rel=1e-10)
    np.testing.assert_allclose(indices.first[0], of_mean[:2, 0] / of_mean.sum(), rtol=1e-10)
    np.testing.assert_allclose(indices.total[0], (of_mean[:2, 0] + of_mean[2, 0]) / of_mean.sum(), rtol=1e-10)
    np.testing.assert_allclose(indices.expected_first[0], expected[:2, 0] / expected.sum(), rtol=1e-10)
    np.testing.assert_allclose(
        indices.expected_total[0], (expected[:2, 0] + expected[2, 0]) / expected.sum(), rtol=1e-10
    )


def test_that_draws_of_the_posterior_have_the_expected_variances() -> None:
    model, _, _ = gaussian_process("squared_exponential")
    points, _, weights = grid()
    thinned = np.random.default_rng(0)
    draws = model.sample(points, 400, thinned)[:, :, 0].T.reshape(N_NODES, N_NODES, 400)
    parts = components(draws)
    variances = np.einsum("i,j,ijn->n", weights, weights, (draws - parts[()]) ** 2)
    expected = Effects(model, BOX).sobol_indices().expected_variance[0]
    assert variances.mean() == pytest.approx(expected, abs=5 * variances.std() / 20)


def test_that_the_components_of_an_additive_function_are_found() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1.0, 1.0, (80, 3))
    outputs = np.column_stack([np.sin(3.0 * inputs[:, 0]) + inputs[:, 1] ** 2, 5.0 + inputs[:, 2]])
    training = Training(Dataset(inputs, outputs + 1e-3 * rng.standard_normal(outputs.shape)), np.diag([1e-6, 1e-6]))
    emulator = EMULATORS.read({"kind": "gp", "kernel": "anova", "correlation": "matern52"})
    model = emulator.fit(training, emulator.tune(Task(training, rng)).result, rng)
    effects = Effects(model, [[-1.0, 1.0]] * 3)
    points = np.linspace(-1.0, 1.0, 9)[:, None]
    np.testing.assert_allclose(effects.mean, [1.0 / 3.0, 5.0], atol=0.01)
    np.testing.assert_allclose(effects.component([1], points).mean[:, 0], points[:, 0] ** 2 - 1.0 / 3.0, atol=0.02)
    np.testing.assert_allclose(effects.component([2], points).mean[:, 1], points[:, 0], atol=0.02)
    of_mean, expected = effects.variances([[0, 1], [2]])
    assert (of_mean[0] < 1e-3).all()
    np.testing.assert_allclose(of_mean[1], [0.0, 1.0 / 3.0], atol=0.01)
    assert (of_mean >= 0.0).all()  # also where only rounding, of large weights, is left
    assert (expected >= of_mean - 1e-6).all()


def test_that_the_indices_of_ishigami_are_near_the_analytic_ones() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.uniform(*BOUNDS.T, (300, 3))
    outputs = ishigami(inputs, 7.0, 0.1) + 0.1 * rng.standard_normal(300)
    training = Training(Dataset(inputs, outputs[:, None]), np.array([[0.01]]))
    emulator = EMULATORS.read({"kind": "gp", "kernel": "anova"})
    model = emulator.fit(training, emulator.tune(Task(training, rng)).result, rng)
    indices = Effects(model, BOUNDS).sobol_indices()
    first, total = analytic_indices(7.0, 0.1)
    np.testing.assert_allclose(indices.first[0], first, atol=0.005)
    np.testing.assert_allclose(indices.total[0], total, atol=0.005)
    np.testing.assert_allclose(indices.expected_first[0], first, atol=0.005)


def test_that_effects_refuse_what_they_cannot_do() -> None:
    model, _, _ = gaussian_process("matern32")
    with pytest.raises(ValueError, match="bounds must be 2 rows"):
        Effects(model, [[0.0, 1.0]])
    with pytest.raises(ValueError, match="low < high"):
        Effects(model, [[0.0, 1.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="different inputs from 0 to 1"):
        Effects(model, BOX).component([0, 0], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="emulator of kind gp"):
        Effects(model.model, BOX)
    rng = np.random.default_rng(0)
    data = Dataset(rng.standard_normal((20, 2)), rng.standard_normal((20, 2)))
    for noise, whiten, message in (
        (np.array([[1.0, 0.5], [0.5, 1.0]]), False, "uncorrelated noise"),
        (np.eye(2), True, "whitened inputs"),
    ):
        scaling = Scaling.of(data, noise, whiten)
        hyperparameters = Hyperparameters(np.ones(2), np.ones((2, 2)))
        other = ScaledModel(scaling, gp_posterior.fit(scaling.scale(data), hyperparameters))
        with pytest.raises(ValueError, match=message):
            Effects(other, BOX).sobol_indices()
