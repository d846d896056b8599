"""One contract for every emulator: tune, fit, predict, sample in physical coordinates."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from rftune.data import Dataset
from rftune.emulators import base as emulators

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = yaml.safe_load((ROOT / "config/config.yaml").read_text())["defaults"]
SMALL = {"n_features": 40, "n_features_predict": 60, "n_members": 10, "n_iterations": 3, "rank": None}
SHARED = {**DEFAULTS["random_features"]["objective"], "outputs": "shared"}

BLOCKS = {
    **{name: {"kind": name} for name in ("constant", "boosted_trees", "rbf_ridge", "quadratic")},
    "gp": {"kind": "gp", **DEFAULTS["gp"]},
    "gp_sklearn": {"kind": "gp", **DEFAULTS["gp"], "implementation": "sklearn"},
    "untuned": {"kind": "random_features", **DEFAULTS["random_features"], **SMALL, "tuned": False},
    "shared": {"kind": "random_features", **DEFAULTS["random_features"], **SMALL, "objective": SHARED},
    **{
        name: {"kind": "random_features", **DEFAULTS["random_features"], **SMALL, "structure": name}
        for name in ("lowrank", "diagonal", "perturbation", "sparse")
    },
    "heavy_tails": {
        "kind": "random_features",
        **DEFAULTS["random_features"],
        **SMALL,
        "structure": "sparse",
        "draw": {"tail": "student", "degrees_of_freedom": 3.0, "mixing": "independent", "mask": "shared"},
    },
    "separable_sparse": {
        "kind": "random_features",
        **DEFAULTS["random_features"],
        **SMALL,
        "structure": "sparse",
        "separable": True,
    },
    "separate": {
        "kind": "random_features",
        **DEFAULTS["random_features"],
        **SMALL,
        "structure": "diagonal",
        "objective": {**SHARED, "outputs": "separate"},
    },
    "pruned": {"kind": "random_features", **DEFAULTS["random_features"], **SMALL, "n_features_pool": 100},
    "separable": {"kind": "random_features", **DEFAULTS["random_features"], **SMALL, "rank": [2, 1]},
    "chosen_rank": {"kind": "random_features", **DEFAULTS["random_features"], **SMALL, "rank_candidates": [1, 2]},
}


def problem(n_outputs):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(0, 10, (50, 2))
    clean = np.column_stack([100 + 5 * np.sin(inputs[:, 0] + k) for k in range(n_outputs)])
    root = rng.standard_normal((n_outputs, n_outputs))
    noise = 0.01 * (np.eye(n_outputs) + root @ root.T)
    noisy = clean + rng.multivariate_normal(np.zeros(n_outputs), noise, 50)
    return Dataset(inputs, noisy), noise, clean


@pytest.fixture(scope="module", params=[(name, p) for name in BLOCKS for p in (1, 2)], ids=str)
def fitted(request):
    name, n_outputs = request.param
    if name == "separable" and n_outputs == 1:
        n_outputs = 3
    data, noise, clean = problem(n_outputs)
    settings = emulators.from_config(BLOCKS[name])
    settings.check(data.n_samples, data.n_inputs, data.n_outputs)
    tuned = settings.tune(data, noise, np.random.default_rng(1))
    model = settings.fit(data, noise, tuned.result, np.random.default_rng(2))
    return name, settings, data, noise, clean, tuned, model


def test_that_a_prediction_has_mean_and_covariance_of_the_outputs(fitted):
    *_, data, _, _, _, model = fitted
    prediction = model.predict(data.inputs[:7])
    assert prediction.mean.shape == (7, data.n_outputs)
    assert prediction.covariance.shape == (7, data.n_outputs, data.n_outputs)
    assert np.linalg.eigvalsh(prediction.covariance).min() > -1e-9
    np.testing.assert_allclose(model.mean(data.inputs[:7]), prediction.mean, rtol=1e-10)
    assert model.sample(data.inputs[:7], 3, np.random.default_rng(0)).shape == (3, 7, data.n_outputs)


def test_that_tuned_emulators_beat_the_constant(fitted):
    name, _, data, _, clean, _, model = fitted
    error = np.sqrt(np.mean((model.mean(data.inputs) - clean) ** 2)) / clean.std()
    if name == "constant":
        assert error == pytest.approx(1, abs=0.05)
    else:  # fifty points are few for trees, and a sine is no parabola
        assert error < {"untuned": 1.0, "boosted_trees": 1.0, "quadratic": 1.0}.get(name, 0.3)


def test_that_the_same_generators_give_the_same_emulator(fitted):
    _, settings, data, noise, _, tuned, model = fitted
    again = settings.tune(data, noise, np.random.default_rng(1))
    assert again.result.identical(tuned.result)
    refitted = settings.fit(data, noise, again.result, np.random.default_rng(2))
    np.testing.assert_array_equal(refitted.mean(data.inputs), model.mean(data.inputs))


def test_that_results_hold_no_times_and_timings_nothing_else(fitted):
    tuned = fitted[5]
    assert not [name for name in tuned.result if "seconds" in name]
    assert all("seconds" in name for name in tuned.timing)


def test_that_draws_scatter_about_the_mean(fitted):
    *_, data, _, _, _, model = fitted
    points = data.inputs[:3]
    prediction = model.predict(points)
    draws = model.sample(points, 4000, np.random.default_rng(3))
    standard_error = prediction.std / np.sqrt(4000)
    assert (np.abs(draws.mean(axis=0) - prediction.mean) < 5 * standard_error + 1e-9).all()


def test_that_the_tuned_distribution_is_refitted_with_more_features():
    data, noise, _ = problem(1)
    tuned = emulators.from_config(BLOCKS["lowrank"]).tune(data, noise, np.random.default_rng(0))
    larger = emulators.from_config({**BLOCKS["lowrank"], "n_features_predict": 300})
    model = larger.fit(data, noise, tuned.result, np.random.default_rng(0))
    assert model.model.features.n_features == 300


def test_that_settings_that_do_not_fit_the_data_are_refused():
    with pytest.raises(ValueError, match="rank must be between 1 and 2"):
        emulators.from_config({**BLOCKS["lowrank"], "rank": 3}).check(50, 2, 1)
    with pytest.raises(ValueError, match="3 samples are too few"):
        emulators.from_config(BLOCKS["lowrank"]).check(3, 2, 1)
    with pytest.raises(ValueError, match="kind must be one of"):
        emulators.from_config({"kind": "oracle"})


def test_that_a_pool_smaller_than_what_is_kept_is_refused():
    with pytest.raises(ValueError, match="n_features_pool must be at least n_features_predict, 60, or null; got 50"):
        emulators.from_config({**BLOCKS["pruned"], "n_features_pool": 50})


def test_that_persistence_needs_a_map_of_a_space_into_itself():
    persistence = emulators.from_config({"kind": "persistence"})
    persistence.check(10, 3, 3)
    with pytest.raises(ValueError, match="persistence needs as many outputs as inputs; got 2 and 3"):
        persistence.check(10, 3, 2)


def test_that_quadratic_least_squares_recovers_a_quadratic_map():
    rng = np.random.default_rng(3)
    inputs = np.array([50.0, -3.0]) + rng.standard_normal((40, 2))
    outputs = np.column_stack([1 + inputs[:, 0] * inputs[:, 1], inputs[:, 1] ** 2 - inputs[:, 0]])
    model = emulators.from_config({"kind": "quadratic"}).fit(Dataset(inputs, outputs), np.eye(2), None, rng)
    elsewhere = np.array([[60.0, 4.0]])
    np.testing.assert_allclose(model.mean(elsewhere), [[241.0, -44.0]], rtol=1e-9)


def test_that_sparse_features_are_not_tuned_in_float32():
    block = {**BLOCKS["sparse"], "objective": {**BLOCKS["sparse"]["objective"], "precision": "float32"}}
    with pytest.raises(ValueError, match="float32 is unsafe with sparse features"):
        emulators.from_config(block).check(100, 3, 1)


def test_that_the_candidate_with_the_smallest_validation_error_is_taken():
    data, noise, _ = problem(2)
    chosen = emulators.from_config(BLOCKS["chosen_rank"])
    tuned = chosen.tune(data, noise, np.random.default_rng(1))
    errors = tuned.result["candidate_error"].values
    assert np.isfinite(errors).all()
    assert int(tuned.result["chosen"]) == np.argmin(errors)
    rank = chosen.candidates[int(tuned.result["chosen"])]
    alone = emulators.from_config({**BLOCKS["chosen_rank"], "rank_candidates": None, "rank": rank})
    n_parameters = alone.n_parameters(data.n_inputs, data.n_outputs)
    parameters = tuned.result["parameters"].values
    assert np.isfinite(parameters[:n_parameters]).all()
    assert np.isnan(parameters[n_parameters:]).all()
    own = alone.fit(data, noise, tuned.result.isel(parameter=slice(n_parameters)), np.random.default_rng(2))
    model = chosen.fit(data, noise, tuned.result, np.random.default_rng(2))
    np.testing.assert_array_equal(model.mean(data.inputs), own.mean(data.inputs))


def test_that_a_candidate_whose_tuning_fails_is_not_taken():
    data, noise, _ = problem(1)
    block = {**BLOCKS["chosen_rank"], "prior": {**BLOCKS["chosen_rank"]["prior"], "amplitude": [-60.0, 0.1]}}
    tuned = emulators.from_config({**block, "max_restarts": 0}).tune(data, noise, np.random.default_rng(1))
    assert np.isinf(tuned.result["candidate_error"].values).all()
    assert tuned.result["failure"].item()


def test_that_candidates_that_do_not_fit_the_data_are_refused():
    with pytest.raises(ValueError, match="rank must be between 1 and 2"):
        emulators.from_config({**BLOCKS["chosen_rank"], "rank_candidates": [1, 3]}).check(50, 2, 1)
