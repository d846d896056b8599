"""One contract for every emulator: tune, fit, predict, sample in physical coordinates."""

import numpy as np
import pytest
from pydantic import ValidationError

from rftune.data import Dataset
from rftune.emulators.base import EMULATORS, Task, Training

SMALL = {"n_features": 40, "n_iterations": 3, "optimiser": {"name": "eki", "n_members": 10}}


def random_features(tuning=SMALL, prediction=None, **features):
    """A block of a few random features."""
    return {
        "kind": "random_features",
        "features": features,
        "tuning": tuning,
        "prediction": {"n_features": 60} if prediction is None else prediction,
    }


BLOCKS = {
    **{name: {"kind": name} for name in ("constant", "boosted_trees", "rbf_ridge", "quadratic")},
    "gp": {"kind": "gp"},
    "anova": {"kind": "gp", "kernel": "anova", "correlation": "matern52"},
    "gp_learned_noise": {"kind": "gp", "noise": "learned", "correlation": "matern32", "tuning": {"n_tune": 30}},
    "nystrom": {"kind": "gp", "kernel": "anova", "prediction": {"name": "nystrom", "n_features": 40}},
    "fourier": {"kind": "gp", "kernel": "anova", "prediction": {"name": "fourier", "n_features": 60, "pool": 100}},
    "gp_sklearn": {"kind": "gp", "tuning": {"implementation": "sklearn"}},
    "untuned": random_features(tuning=None, untuned_draws=10),
    "shared": random_features(outputs="shared"),
    **{name: random_features(family=name) for name in ("lowrank", "diagonal", "perturbation", "sparse")},
    "heavy_tails": random_features(
        family="sparse", draw={"tail": "student", "degrees_of_freedom": 3.0, "mixing": "independent"}
    ),
    "separable_sparse": random_features(family="sparse", separable=True),
    "separate": random_features(family="diagonal", outputs="separate"),
    "pruned": random_features(prediction={"n_features": 60, "pool": 100}),
    "refined": random_features(prediction={"n_features": 60, "pool": 100, "selection": "pursuit", "n_steps": 3}),
    "separable": random_features(rank=[2, 1]),
    "chosen_rank": random_features(rank_candidates=[1, 2]),
    "chosen_ranks": random_features(outputs="separate", rank_candidates=[1, 2]),
}


def problem(n_outputs):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(0, 10, (50, 2))
    clean = np.column_stack([100 + 5 * np.sin(inputs[:, 0] + k) for k in range(n_outputs)])
    root = rng.standard_normal((n_outputs, n_outputs))
    noise = 0.01 * (np.eye(n_outputs) + root @ root.T)
    noisy = clean + rng.multivariate_normal(np.zeros(n_outputs), noise, 50)
    return Dataset(inputs, noisy), noise, clean


def tuned_with(emulator, training, seed=1):
    return emulator.tune(Task(training, np.random.default_rng(seed)))


@pytest.fixture(scope="module", params=[(name, p) for name in BLOCKS for p in (1, 2)], ids=str)
def fitted(request):
    name, n_outputs = request.param
    if name == "separable" and n_outputs == 1:
        n_outputs = 3
    data, noise, clean = problem(n_outputs)
    emulator, training = EMULATORS.read(BLOCKS[name]), Training(data, noise)
    emulator.check(data.n_samples, data.n_inputs, data.n_outputs)
    tuned = tuned_with(emulator, training)
    model = emulator.fit(training, tuned.result, np.random.default_rng(2))
    return name, emulator, training, clean, tuned, model


def test_that_a_prediction_has_mean_and_covariance_of_the_outputs(fitted):
    *_, training, _, _, model = fitted
    data = training.data
    prediction = model.predict(data.inputs[:7])
    assert prediction.mean.shape == (7, data.n_outputs)
    assert prediction.covariance.shape == (7, data.n_outputs, data.n_outputs)
    assert np.linalg.eigvalsh(prediction.covariance).min() > -1e-9
    np.testing.assert_allclose(model.mean(data.inputs[:7]), prediction.mean, rtol=1e-10)
    assert model.sample(data.inputs[:7], 3, np.random.default_rng(0)).shape == (3, 7, data.n_outputs)


def test_that_tuned_emulators_beat_the_constant(fitted):
    name, _, training, clean, _, model = fitted
    error = np.sqrt(np.mean((model.mean(training.data.inputs) - clean) ** 2)) / clean.std()
    if name == "constant":
        assert error == pytest.approx(1, abs=0.05)
    else:  # fifty points are few for trees, and a sine is no parabola
        assert error < {"untuned": 1.0, "boosted_trees": 1.0, "quadratic": 1.0}.get(name, 0.3)


def test_that_the_same_generators_give_the_same_emulator(fitted):
    _, emulator, training, _, tuned, model = fitted
    again = tuned_with(emulator, training)
    assert again.result.identical(tuned.result)
    refitted = emulator.fit(training, again.result, np.random.default_rng(2))
    np.testing.assert_array_equal(refitted.mean(training.data.inputs), model.mean(training.data.inputs))


def test_that_each_call_reads_the_blocks_that_it_says(fitted):
    """What a call does not read may be as it is by default."""
    _, emulator, training, _, tuned, model = fitted
    tuning, fitting = (EMULATORS.read(emulator.read_by(call)) for call in ("tune", "fit"))
    assert tuned_with(tuning, training).result.identical(tuned.result)
    refitted = fitting.fit(training, tuned.result, np.random.default_rng(2))
    np.testing.assert_array_equal(refitted.mean(training.data.inputs), model.mean(training.data.inputs))


def test_that_results_hold_no_times_and_timings_nothing_else(fitted):
    tuned = fitted[4]
    assert not [name for name in tuned.result if "seconds" in name]
    assert all("seconds" in name for name in tuned.timing)


def test_that_draws_scatter_about_the_mean(fitted):
    *_, training, _, _, model = fitted
    points = training.data.inputs[:3]
    prediction = model.predict(points)
    draws = model.sample(points, 4000, np.random.default_rng(3))
    standard_error = prediction.std / np.sqrt(4000)
    assert (np.abs(draws.mean(axis=0) - prediction.mean) < 5 * standard_error + 1e-9).all()


def test_that_the_tuned_distribution_is_refitted_with_more_features():
    data, noise, _ = problem(1)
    training = Training(data, noise)
    tuned = tuned_with(EMULATORS.read(BLOCKS["lowrank"]), training, seed=0)
    larger = EMULATORS.read({**BLOCKS["lowrank"], "prediction": {"n_features": 300}})
    model = larger.fit(training, tuned.result, np.random.default_rng(0))
    assert model.model.features.n_features == 300


def test_that_settings_that_do_not_fit_the_data_are_refused():
    with pytest.raises(ValueError, match="rank must be between 1 and 2"):
        EMULATORS.read(random_features(rank=3)).check(50, 2, 1)
    with pytest.raises(ValueError, match="3 samples are too few"):
        EMULATORS.read(BLOCKS["lowrank"]).check(3, 2, 1)
    with pytest.raises(ValueError, match="kind must be one of"):
        EMULATORS.read({"kind": "oracle"})


def test_that_a_pool_smaller_than_what_is_kept_is_refused():
    with pytest.raises(ValidationError, match="pool must be at least n_features, 60, or null; got 50"):
        EMULATORS.read(random_features(prediction={"n_features": 60, "pool": 50}))


def test_that_ranks_of_an_untuned_emulator_cannot_be_chosen():
    with pytest.raises(ValidationError, match="rank_candidates are judged by their tuning"):
        EMULATORS.read(random_features(tuning=None, rank_candidates=[1, 2]))


def test_that_persistence_needs_a_map_of_a_space_into_itself():
    persistence = EMULATORS.read("persistence")
    persistence.check(10, 3, 3)
    with pytest.raises(ValueError, match="persistence needs as many outputs as inputs; got 2 and 3"):
        persistence.check(10, 3, 2)


def test_that_quadratic_least_squares_recovers_a_quadratic_map():
    rng = np.random.default_rng(3)
    inputs = np.array([50.0, -3.0]) + rng.standard_normal((40, 2))
    outputs = np.column_stack([1 + inputs[:, 0] * inputs[:, 1], inputs[:, 1] ** 2 - inputs[:, 0]])
    model = EMULATORS.read("quadratic").fit(Training(Dataset(inputs, outputs), np.eye(2)), None, rng)
    elsewhere = np.array([[60.0, 4.0]])
    np.testing.assert_allclose(model.mean(elsewhere), [[241.0, -44.0]], rtol=1e-9)


def test_that_sparse_features_are_not_tuned_in_float32():
    block = random_features(tuning={**SMALL, "precision": "float32"}, family="sparse")
    with pytest.raises(ValueError, match="float32 is unsafe with sparse features"):
        EMULATORS.read(block).check(100, 3, 1)


def test_that_the_candidate_with_the_smallest_validation_error_is_taken():
    data, noise, _ = problem(2)
    training = Training(data, noise)
    emulator = EMULATORS.read(BLOCKS["chosen_rank"])
    tuned = tuned_with(emulator, training)
    errors = tuned.result["candidate_error"].values
    assert np.isfinite(errors).all()
    chosen = int(tuned.result["chosen"])
    assert chosen == np.argmin(errors)
    alone = EMULATORS.read(random_features(rank=BLOCKS["chosen_rank"]["features"]["rank_candidates"][chosen]))
    n_parameters = alone.features.structure(data.n_inputs, data.n_outputs).n_parameters
    parameters = tuned.result["parameters"].values
    assert np.isfinite(parameters[:n_parameters]).all()
    assert np.isnan(parameters[n_parameters:]).all()
    own = alone.fit(training, tuned.result.isel(parameter=slice(n_parameters)), np.random.default_rng(2))
    model = emulator.fit(training, tuned.result, np.random.default_rng(2))
    np.testing.assert_array_equal(model.mean(data.inputs), own.mean(data.inputs))


def test_that_a_candidate_whose_tuning_fails_is_not_taken():
    data, noise, _ = problem(1)
    block = random_features(
        tuning={**SMALL, "max_restarts": 0}, prior={"amplitude": [-60.0, 0.1]}, rank_candidates=[1, 2]
    )
    tuned = tuned_with(EMULATORS.read(block), Training(data, noise))
    assert np.isinf(tuned.result["candidate_error"].values).all()
    assert tuned.result["failure"].item()


def test_that_candidates_that_do_not_fit_the_data_are_refused():
    with pytest.raises(ValueError, match="rank must be between 1 and 2"):
        EMULATORS.read(random_features(rank_candidates=[1, 3])).check(50, 2, 1)
