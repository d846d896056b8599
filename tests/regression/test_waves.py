"""Emulators as sums of waves: the same function, and compiled trajectories that are those of repeated calls."""

import numpy as np
import pytest

from reference import draw_features, make_structure
from rftune.analysis import dynamics, rollouts
from rftune.data import Dataset
from rftune.emulators.base import EMULATORS, Training
from rftune.features import kernels
from rftune.regression import waves
from rftune.regression import weight_space as regression
from rftune.regression.scaled import ScaledModel
from rftune.regression.waves import Waves
from rftune.scaling import Scaling


def emulator(outputs, noise, seed=0, n_features=40, p=3, whiten=False):
    """A fitted random feature emulator in physical coordinates far from standardised ones."""
    rng = np.random.default_rng(seed)
    inputs = np.array([5.0, -3.0, 100.0]) + np.array([2.0, 0.1, 30.0]) * rng.standard_normal((60, 3))
    targets = 10.0 + np.sin(inputs / np.array([2.0, 0.1, 30.0])) @ rng.standard_normal((3, p))
    data = Dataset(inputs, targets)
    scaling = Scaling.of(data, noise, whiten)
    scaled = scaling.scale(data)
    structure = make_structure("diagonal", 3, p if outputs == "native" else 1)
    drawn = draw_features(structure, structure.prior_mean, n_features, scaled.outputs.var(axis=0), rng, outputs)
    return ScaledModel(scaling, regression.fit(drawn, scaled, 1.0)), inputs


def persistence(inputs):
    """A model that is no sum of waves."""
    training = Training(Dataset(inputs, inputs), np.eye(inputs.shape[1]))
    return EMULATORS.read("persistence").fit(training, None, np.random.default_rng(0))


COMPILED = pytest.mark.skipif(kernels.cosine_numba is None, reason="Numba is missing or switched off")
CORRELATED = np.array([[0.02, 0.01, 0.0], [0.01, 0.03, 0.0], [0.0, 0.0, 0.01]])


@pytest.mark.parametrize("outputs", ["native", "shared"])
@pytest.mark.parametrize("noise", [0.01, CORRELATED], ids=["scalar", "correlated"])
@pytest.mark.parametrize("whiten", [False, True])
def test_that_waves_are_the_emulators_mean(outputs, noise, whiten):
    model, inputs = emulator(outputs, noise, whiten=whiten)
    # phases of size mean/std·frequency ~ 1e2 lose a few digits
    np.testing.assert_allclose(model.waves().mean(inputs), model.mean(inputs), rtol=1e-11)


def test_that_other_models_are_no_waves():
    _, inputs = emulator("native", 0.01)
    model = persistence(inputs)
    assert waves.waves_of(model) is None
    assert waves.waves_of(ScaledModel(Scaling.of(Dataset(inputs, inputs), 1.0), model)) is None


def random_waves(n_states, n_waves, scale, seed=1):
    rng = np.random.default_rng(seed)
    return Waves(
        rng.standard_normal((n_states, n_waves)),
        rng.uniform(0, 2 * np.pi, n_waves),
        scale * rng.standard_normal((n_states, n_waves)) / np.sqrt(n_waves),
        rng.standard_normal(n_states),
    )


@COMPILED
@pytest.mark.parametrize(("n_states", "n_waves"), [(1, 1), (2, 7), (3, 64), (5, 33)])
def test_that_compiled_trajectories_are_those_of_repeated_calls(n_states, n_waves):
    model = random_waves(n_states, n_waves, 0.5)  # contracting: rounding does not grow
    starts = np.random.default_rng(2).standard_normal((4, n_states))
    fast, slow = rollouts.iterate_waves(model, starts, 30), dynamics.iterate(model.mean, starts, 30)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-12)


@COMPILED
def test_that_escapes_stop_compiled_trajectories_at_the_same_step():
    model = random_waves(2, 20, 30.0)
    starts = np.random.default_rng(3).standard_normal((20, 2))
    fast, slow = rollouts.iterate_waves(model, starts, 3, 30.0), dynamics.iterate(model.mean, starts, 3, 30.0)
    escaped = np.isnan(slow).any(axis=2)
    assert 0 < escaped[:, -1].sum() < 20  # some do and some do not, before rounding has grown
    np.testing.assert_array_equal(np.isnan(fast).any(axis=2), escaped)


def test_that_nan_starts_and_unequal_sizes_are_refused():
    model = random_waves(2, 5, 1.0)
    with pytest.raises(ValueError, match="starts must be finite"):
        rollouts.iterate_waves(model, np.array([[0.0, np.nan]]), 3)
    with pytest.raises(ValueError, match="as many outputs as inputs"):
        rollouts.iterate_waves(
            Waves(model.weights, model.phases, model.readout[:1], model.offset[:1]), np.zeros((1, 2)), 3
        )


def test_that_a_model_is_iterated_whether_or_not_it_is_waves():
    model, inputs = emulator("shared", 0.01)
    assert rollouts.iterate(model, inputs[:2], 3).shape == (2, 4, 3)
    still = rollouts.iterate(persistence(inputs), inputs[:2], 3)
    np.testing.assert_array_equal(still, np.repeat(inputs[:2, None], 4, axis=1))
