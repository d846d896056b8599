"""Contenders: left-out predictions in closed form against models that are fitted without the runs."""

from dataclasses import replace

import numpy as np
import pytest

from rftune.data import Dataset
from rftune.fitting.contenders import JITTER, Problem, cross_validated
from rftune.fitting.gaussian_processes import ExactGP
from rftune.fitting.least_squares import LeastSquares
from rftune.fitting.random_features import TunedFeatures, noise_by_likelihood, suited
from rftune.regression import gp_posterior


def problem(n_samples=40, noise=None, std=0.2, seed=0, repeats=0):
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1.0, 1.0, (n_samples, 2))
    inputs[n_samples - repeats :] = inputs[:repeats]
    output = np.sin(3.0 * inputs[:, 0]) + inputs[:, 1] + std * rng.standard_normal(n_samples)
    groups = np.unique(inputs, axis=0, return_inverse=True)[1].ravel()
    return Problem(Dataset(inputs, output[:, None]), noise, groups)


GPS = [ExactGP("gp", "", kernel, smoothness) for kernel in ("anova", "ard") for smoothness in ("matern52",)]


@pytest.mark.parametrize("noise", [None, 0.04])
@pytest.mark.parametrize("repeats", [0, 5])
@pytest.mark.parametrize("contender", GPS, ids=lambda contender: contender.kernel)
def test_that_a_gaussian_process_leaves_runs_out_as_if_it_had_not_seen_them(contender, repeats, noise):
    """With the same hyperparameters, fitted to all runs at other inputs, about the same mean of the outputs."""
    task = problem(noise=noise, repeats=repeats)
    fit = contender.fit(task, np.random.default_rng(0))
    found = contender.left_out(task, fit, np.random.default_rng(0))
    scaling, hyperparameters = fit.model.scaling, fit.model.model.hyperparameters
    scaled = scaling.scale(task.data)
    for run in (0, 3, 39):
        kept = task.groups != task.groups[run]
        rest = gp_posterior.fit(Dataset(scaled.inputs[kept], scaled.outputs[kept]), hyperparameters)
        predicted = rest.predict(scaled.inputs[[run]])
        np.testing.assert_allclose(found.mean[run], scaling.unscale_outputs(predicted.mean)[0, 0], rtol=1e-8)
        variance = scaling.unscale_covariance(predicted.covariance)[0, 0, 0]
        np.testing.assert_allclose(found.variance[run], variance, rtol=1e-6)
    np.testing.assert_array_equal(found.noise_variance, fit.noise_variance)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_that_least_squares_leave_runs_out_as_if_they_had_not_seen_them(degree):
    task, contender = problem(), LeastSquares("polynomial", "", degree)
    found = contender.left_out(task, contender.fit(task, None), None)
    for run in (0, 7, 39):
        rest = contender.fit(task.without(np.array([run])), None)
        np.testing.assert_allclose(found.mean[run], rest.model.mean(task.data.inputs[[run]])[0, 0], rtol=1e-9)


def test_that_least_squares_follow_a_quadratic_and_know_how_sure_they_are():
    rng = np.random.default_rng(1)
    inputs = rng.uniform(10.0, 20.0, (60, 3))
    clean = 1.0 + inputs @ [1.0, -2.0, 0.5] + 0.3 * inputs[:, 0] * inputs[:, 1] - inputs[:, 2] ** 2
    noise = 0.5
    contender = LeastSquares("quadratic", "", 2)
    standardised = []
    for _ in range(200):
        outputs = clean + noise * rng.standard_normal(60)
        fit = contender.fit(Problem(Dataset(inputs, outputs[:, None]), None, np.arange(60)), None)
        predicted = fit.model.predict(inputs[:1])
        standardised.append((predicted.mean[0, 0] - clean[0]) / np.sqrt(predicted.covariance[0, 0, 0]))
    assert abs(np.mean(standardised)) < 4 / np.sqrt(200)
    np.testing.assert_allclose(np.std(standardised), 1.0, atol=4 / np.sqrt(400))  # and two of a t-distribution's
    draws = fit.model.sample(inputs[:2], 4000, rng)[:, :, 0]
    np.testing.assert_allclose(draws.std(axis=0), fit.model.predict(inputs[:2]).std[:, 0], rtol=0.06)


def test_that_a_polynomial_which_cannot_follow_has_a_misfit():
    task = problem(noise=1e-4, std=0.01)
    fit = LeastSquares("constant", "", 0).fit(task, None)
    np.testing.assert_allclose(fit.model.misfit_variance, task.data.outputs.var(ddof=1) - 1e-4)
    assert fit.noise_variance == 1e-4


def test_that_the_noise_is_learned_without_bias():
    """Its maximum of the likelihood alone is a sixth too small here, for the seven hyperparameters."""
    contender = ExactGP("gp", "", "anova", "squared_exponential")
    ratios = []
    for seed in range(20):
        fit = contender.fit(problem(50, std=0.3, seed=seed), np.random.default_rng(0))
        ratios.append(fit.noise_variance / 0.09)
    # a variance from 45 degrees of freedom has a relative standard deviation of 0.21, the mean of 20 one of 0.05
    assert abs(np.mean(ratios) - 1.0) < 0.15


def test_that_scaling_of_variances_keeps_the_mean():
    task = problem()
    fit = GPS[0].fit(task, np.random.default_rng(0))
    refitted = gp_posterior.fit(fit.model.scaling.scale(task.data), fit.model.model.hyperparameters)
    np.testing.assert_allclose(fit.model.model.weights, refitted.weights, rtol=1e-8)
    np.testing.assert_allclose(np.tril(fit.model.model.chol_lower[0]), np.tril(refitted.chol_lower[0]), atol=1e-12)


def test_that_hyperparameters_from_some_runs_serve_all():
    task = problem(300)
    some = replace(GPS[0], n_tune=100).fit(task, np.random.default_rng(0))
    np.testing.assert_allclose(some.noise_variance, 0.04, rtol=0.3)
    assert some.model.model.inputs.shape == (300, 2)


def test_that_a_deterministic_function_is_interpolated():
    task = replace(problem(std=0.0), noise=0.0)
    fit = ExactGP("gp", "", "anova", "squared_exponential").fit(task, np.random.default_rng(0))
    assert fit.noise_variance == JITTER
    np.testing.assert_allclose(fit.model.mean(task.data.inputs), task.data.outputs, atol=1e-4)


def test_that_folds_part_all_runs_and_keep_repeats_together():
    task = problem(41, repeats=10)
    folds = task.folds(5, np.random.default_rng(0))
    assert sorted(np.concatenate(folds)) == list(range(41))
    for fold in folds:
        rest = np.setdiff1d(np.arange(41), fold)
        assert not set(task.groups[fold]) & set(task.groups[rest])
    assert len(task.without(folds[0]).groups) == 41 - len(folds[0])


def test_that_cross_validation_fits_every_fold_anew():
    task, contender = problem(), LeastSquares("linear", "", 1)
    found = cross_validated(contender, task, 4, np.random.default_rng(0))
    fold = task.folds(4, np.random.default_rng(0))[1]
    rest = contender.fit(task.without(fold), None)
    np.testing.assert_allclose(found.mean[fold], rest.model.mean(task.data.inputs[fold])[:, 0])
    np.testing.assert_array_equal(found.noise_variance[fold], rest.noise_variance)


def test_that_random_features_take_the_noise_of_a_gaussian_process():
    task = problem(120)
    contender = TunedFeatures("features", "", suited("diagonal"), 80, None, 40, 12, 4)
    fit = contender.fit(task, np.random.default_rng(0))
    np.testing.assert_allclose(fit.noise_variance, 0.04, rtol=0.4)
    assert fit.noise_variance == noise_by_likelihood(task, np.random.default_rng(0).spawn(3)[0])
    assert contender.fit(replace(task, noise_guess=0.05), np.random.default_rng(0)).noise_variance == 0.05
    left_out = contender.left_out(task, fit, np.random.default_rng(1))
    assert np.sqrt(np.mean((left_out.mean - task.data.outputs[:, 0]) ** 2)) < 0.5 * task.data.outputs.std()


@pytest.mark.parametrize(
    ("contender", "n_samples", "obstacle"),
    [
        (GPS[0], 4001, "exact up to 4000 runs"),
        (GPS[0], 4000, ""),
        (LeastSquares("quadratic", "", 2), 7, "needs more than 7 runs"),
        (LeastSquares("quadratic", "", 2), 8, ""),
    ],
)
def test_that_contenders_say_where_they_cannot_run(contender, n_samples, obstacle):
    assert contender.obstacle(n_samples, 2) == obstacle


def test_that_estimated_seconds_grow_with_the_data():
    for contender in (*GPS, LeastSquares("quadratic", "", 2), TunedFeatures("features", "", suited("sparse"))):
        assert contender.seconds(2000, 5) > contender.seconds(200, 5) > 0.0
