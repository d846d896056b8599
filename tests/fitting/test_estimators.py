"""The estimators of scikit-learn: its own checks, its tools, and what they add."""

import numpy as np
import pandas as pd
import pytest
from simulators import runs, truth
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import rftune
from rftune import GaussianProcessEmulator, RandomFeatureRegressor

QUICK = RandomFeatureRegressor(n_features=100, pool=None, n_tuning_features=60, n_members=20, n_iterations=8)
BOTH = [GaussianProcessEmulator(), QUICK]
# Why a check of scikit-learn's cannot be run here; any other one is.
SKIPPED = {"check_array_api_input": "asks for arrays of other libraries, which neither estimator claims to take"}


def named(check):
    return getattr(check, "func", check).__name__


CHECKS = [
    pytest.param(estimator, check, id=f"{type(estimator).__name__}-{place}-{named(check)}")
    for estimator in BOTH
    for place, (_, check) in enumerate(estimator_checks_generator(estimator))
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_that_scikit_learns_checks_pass(estimator, check):
    if named(check) in SKIPPED:
        pytest.skip(SKIPPED[named(check)])
    check(clone(estimator))


def test_that_all_of_scikit_learns_checks_are_there():
    names = [named(check) for _, check in estimator_checks_generator(QUICK)]
    assert len(names) > 45
    assert set(SKIPPED) <= set(names)


@pytest.fixture(scope="module", params=BOTH, ids=lambda estimator: type(estimator).__name__)
def fitted(request):
    inputs, outputs = runs(100)
    return clone(request.param).fit(inputs, outputs["y"])


def test_that_it_learns_function_and_noise(fitted):
    points = runs(300, seed=1)[0]
    assert fitted.score(points, truth(points)) > 0.95
    np.testing.assert_allclose(np.sqrt(fitted.noise_variance_), 0.05, rtol=0.4)


def test_that_covariances_belong_to_draws(fitted):
    points = runs(4, seed=2)[0]
    mean, std = fitted.predict(points, return_std=True)
    again, covariance = fitted.predict(points, return_cov=True)
    np.testing.assert_array_equal(mean, again)
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), std, rtol=1e-6)
    draws = fitted.sample_y(points, 20_000)
    assert draws.shape == (4, 20_000)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.05 * covariance.max())
    with pytest.raises(ValueError, match="at most one of return_std and return_cov"):
        fitted.predict(points, return_std=True, return_cov=True)


def test_that_several_outputs_have_a_last_axis(fitted):
    inputs, outputs = runs(60, names=("y", "z"))
    several = clone(fitted).fit(inputs.to_numpy(), outputs.to_numpy())
    points = inputs.to_numpy()[:5]
    mean, std = several.predict(points, return_std=True)
    assert mean.shape == std.shape == (5, 2)
    assert several.predict(points, return_cov=True)[1].shape == (5, 5, 2)
    assert several.sample_y(points, 7).shape == (5, 2, 7)
    assert several.noise_variance_.shape == (2,)
    alone = clone(fitted).fit(inputs.to_numpy(), outputs.to_numpy()[:, 0])
    assert (alone.predict(points).shape, np.shape(alone.noise_variance_)) == ((5,), ())


def test_that_it_is_saved_without_pickle(fitted, tmp_path):
    fitted.save(tmp_path / "model.nc")
    points = runs(20, seed=3)[0]
    mean, std = rftune.load(tmp_path / "model.nc").predict(points, return_std=True)
    expected = fitted.predict(points, return_std=True)
    np.testing.assert_allclose([mean, std], expected, rtol=1e-12)
    assert list(fitted.emulator().card["inputs"]) == ["a", "b", "c"]


def test_that_it_works_in_pipelines_searches_and_transforms():
    inputs, outputs = runs(60)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), GaussianProcessEmulator())
    assert cross_val_score(pipeline, inputs, outputs["y"], cv=3).mean() > 0.8
    assert pipeline.fit(inputs, outputs["y"])[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    search = GridSearchCV(GaussianProcessEmulator(), {"kernel": ["ard", "anova"], "smoothness": ["matern52"]}, cv=2)
    assert search.fit(inputs, outputs["y"]).best_params_["kernel"] in ("ard", "anova")
    wrapped = TransformedTargetRegressor(GaussianProcessEmulator(), transformer=StandardScaler())
    assert wrapped.fit(inputs, outputs["y"]).score(inputs, outputs["y"]) > 0.9


def test_that_random_state_decides_the_digits():
    inputs, outputs = runs(40)
    made = [
        clone(QUICK).set_params(random_state=state).fit(inputs, outputs["y"]).predict(inputs) for state in (0, 0, 1)
    ]
    np.testing.assert_array_equal(made[0], made[1])
    assert (made[0] != made[2]).any()


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GaussianProcessEmulator(kernel="rbf"), "kernel must be one of anova, ard; got 'rbf'"),
        (GaussianProcessEmulator(smoothness=2.5), "smoothness must be one of squared_exponential, .*; got 2.5"),
        (RandomFeatureRegressor(family="dense"), "family must be one of diagonal, .*; got 'dense'"),
        (GaussianProcessEmulator(noise=-1.0), "noise variances must not be negative"),
    ],
)
def test_that_bad_parameters_are_named_when_it_is_fitted(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*runs(20))


@pytest.mark.parametrize("noise", [0.0025, 0.0])
def test_that_known_noise_is_used(noise):
    inputs, outputs = runs(60, noise=np.sqrt(noise))
    made = GaussianProcessEmulator(noise=noise).fit(inputs, outputs["y"])
    np.testing.assert_allclose(made.noise_variance_, noise, atol=1e-8)


def test_that_frames_of_outputs_are_taken():
    inputs, outputs = runs(30, names=("y", "z"))
    assert GaussianProcessEmulator().fit(inputs, pd.DataFrame(outputs)).predict(inputs).shape == (30, 2)
