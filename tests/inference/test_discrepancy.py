"""Leave-one-out errors against models that were fitted without the run, and what the misfit makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from reference import draw_features, make_structure
from rftune.data import Dataset, Prediction
from rftune.features.distribution import Prior
from rftune.inference import discrepancy
from rftune.regression import exact_gp as gp
from rftune.regression import gp_posterior
from rftune.regression import weight_space as regression
from rftune.regression.leave_one_out import leave_one_out
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Scaling
from rftune.settings import Normal

PRIOR = Prior(amplitude=Normal(0.0, 1.0), log_scale=Normal(0.0, 1.0))


def runs_of(n_runs, noise, seed=0):
    """Smooth outputs with noise."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-2, 2, (n_runs, 2))
    clean = np.column_stack([3 * np.sin(inputs[:, 0]), np.cos(inputs[:, 1]), inputs[:, 0] * inputs[:, 1]])
    return Dataset(inputs, 10 + clean + rng.multivariate_normal(np.zeros(3), noise, n_runs))


def drawn_features(n_features, outputs):
    structure = make_structure("diagonal", 2, 3 if outputs == "native" else 1, prior=PRIOR)
    variance = np.array([4.0, 0.5, 2.0])
    return draw_features(structure, structure.prior_mean, n_features, variance, np.random.default_rng(1), outputs)


FITS = {
    "gp": lambda data: gp_posterior.fit(data, gp.Hyperparameters(np.array([4.0, 0.5, 2.0]), np.full((3, 2), 0.8))),
    "native": lambda data: regression.fit(drawn_features(40, "native"), data, noise=1.0),
    "shared": lambda data: regression.fit(drawn_features(40, "shared"), data, noise=1.0),
}
NOISE = 0.02 * np.array([[1.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 2.0]])


@pytest.mark.parametrize("kind", FITS)
def test_that_leaving_a_run_out_is_fitting_without_it(kind):
    runs = runs_of(15, NOISE)
    scaling = Scaling.of(runs, NOISE)  # of all runs: coordinates are no part of the fit
    scaled = scaling.scale(runs)
    errors, covariances = leave_one_out(ScaledModel(scaling, FITS[kind](scaled)), runs, NOISE)
    for left in (0, 6, 14):
        rest = np.arange(15) != left
        without = FITS[kind](Dataset(scaled.inputs[rest], scaled.outputs[rest])).predict(scaled.inputs[left : left + 1])
        np.testing.assert_allclose(errors[left], scaled.outputs[left] - without.mean[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(covariances[left], without.covariance[0], rtol=1e-6, atol=1e-8)


def test_that_a_model_of_other_noise_is_refused():
    runs = runs_of(15, NOISE)
    scaling = Scaling.of(runs, NOISE)
    model = ScaledModel(scaling, FITS["gp"](scaling.scale(runs)))
    with pytest.raises(ValueError, match="must be below the noise"):
        leave_one_out(model, runs, 1e-3 * NOISE)


class Blind:
    """A model that predicts zero and is as sure of it as it is told to be."""

    def __init__(self, variance=0.0):
        self.variance = variance

    def predict(self, inputs):
        covariance = np.broadcast_to(self.variance * np.eye(2), (len(inputs), 2, 2))
        return Prediction(np.zeros((len(inputs), 2)), covariance)


def test_that_the_misfit_is_the_second_moment_that_the_model_does_not_expect():
    rng = np.random.default_rng(0)
    actual = np.array([[5.0, 2.0], [2.0, 1.0]])
    outputs = rng.multivariate_normal([1.0, 0.0], actual, 20_000)
    runs = Dataset(np.zeros((20_000, 1)), outputs)
    noise = np.diag([0.25, 4.0])
    found = discrepancy.covariance(Blind(), runs, noise)
    np.testing.assert_allclose(found, actual + np.diag([1.0, 0.0]), rtol=0.05, atol=0.05)


def test_that_a_model_that_expects_its_errors_has_no_misfit():
    outputs = 0.5 * np.random.default_rng(0).standard_normal((500, 2))
    runs = Dataset(np.zeros((500, 1)), outputs)
    # a posterior variance P makes P / (1 - P), here 1, be expected of a run left out, and the errors twice as large
    found = discrepancy.covariance(Blind(0.5), runs, np.eye(2))
    assert np.abs(found).max() < 0.15
    surer = discrepancy.covariance(Blind(0.1), runs, np.eye(2))
    assert np.linalg.eigvalsh(surer).min() > 0.1


def test_that_the_misfit_of_few_runs_can_be_added_to_a_covariance():
    noise = np.diag([1.0, 2.0])
    found = discrepancy.covariance(Blind(), Dataset(np.zeros((2, 1)), np.array([[3.0, 1.0], [-3.0, -1.0]])), noise)
    np.testing.assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-12
