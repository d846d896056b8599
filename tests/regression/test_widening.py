"""Widened models: the factor, both ways to the errors, and the coverage that comes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from rftune.data import Array, Dataset, Model
from rftune.emulators.base import EMULATORS, Task
from rftune.regression import gp_posterior, widening
from rftune.regression.covariances import Hyperparameters
from rftune.scaling import Training


def data_of(n_samples: int, seed: int = 0, noise: float = 0.01) -> tuple[Dataset, Array]:
    """A function of two inputs with noise of this variance, and what it is without."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1.0, 1.0, (n_samples, 2))
    truth = (np.sin(4.0 * inputs[:, 0]) * (1.0 + inputs[:, 1]) + inputs[:, 1] ** 2)[:, None]
    return Dataset(inputs, truth + np.sqrt(noise) * rng.standard_normal(truth.shape)), truth


def fitted(data: Dataset, variance: float, noise: float = 1.0) -> Model:
    return gp_posterior.fit(data, Hyperparameters([variance], [[0.5, 0.8]], noise_variances=[noise]))


def test_that_a_factor_puts_nine_of_ten_errors_into_their_intervals() -> None:
    rng = np.random.default_rng(0)
    variances = rng.uniform(0.5, 2.0, (4000, 2))
    noises, true = np.array([0.3, 0.1]), np.array([6.0, 0.2])
    errors = np.sqrt(true * variances + noises) * rng.standard_normal((4000, 2))
    found = widening.factors(errors, variances, noises)
    assert found[0] == pytest.approx(6.0, rel=0.15)
    assert found[1] == 1.0  # never narrower
    inside = np.abs(errors) <= 1.6448536269514722 * np.sqrt(found * variances + noises) * (1 + 1e-12)
    assert 0.9 <= inside[:, 0].mean() < 0.901


def test_that_a_model_without_variance_gets_the_largest_factor() -> None:
    assert widening.factors(np.ones((20, 1)), np.zeros((20, 1)), np.array([0.1]))[0] == 1e12


def test_that_widening_changes_the_covariance_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    data = Dataset(rng.standard_normal((30, 2)), rng.standard_normal((30, 2)))
    model = gp_posterior.fit(data, Hyperparameters(np.array([4.0, 2.0]), np.ones((2, 2))))
    widened = widening.Widened(model, np.array([4.0, 9.0]))
    points = rng.standard_normal((3, 2))
    before, after = model.predict(points), widened.predict(points)
    np.testing.assert_array_equal(before.mean, after.mean)
    np.testing.assert_array_equal(widened.mean(points), before.mean)
    np.testing.assert_allclose(after.std, before.std * [2.0, 3.0])
    draws = widened.sample(points, 20_000, rng)
    np.testing.assert_allclose(draws.std(axis=0), after.std, rtol=5 / np.sqrt(40_000))
    assert widened.waves() is None


def test_that_leaving_one_out_in_closed_form_is_leaving_one_out() -> None:
    data, _ = data_of(25)
    noise = 0.02
    model = fitted(data, 0.02, noise)
    errors, variances = np.empty((25, 1)), np.empty((25, 1))
    for row in range(25):
        rest = np.delete(np.arange(25), row)
        found = fitted(Dataset(data.inputs[rest], data.outputs[rest]), 0.02, noise).predict(data.inputs[[row]])
        errors[row], variances[row] = data.outputs[row] - found.mean[0], found.covariance[0, 0]
    expected = widening.factors(errors, variances, np.array([noise]))
    assert expected > 2.0  # the prior variance is far too small
    np.testing.assert_allclose(widening.by_leave_one_out(model, data).factors, expected, rtol=1e-8)


def test_that_folds_are_judged_by_models_that_have_not_seen_them() -> None:
    data, _ = data_of(40)
    seen: list[int] = []

    def refit(part: Dataset) -> Model:
        seen.append(part.n_samples)
        return fitted(part, 0.02, 0.02)

    widened = widening.by_folds(fitted(data, 0.02, 0.02), refit, data, np.random.default_rng(0))
    assert seen == [32] * 5
    by_one = widening.by_leave_one_out(fitted(data, 0.02, 0.02), data)
    assert widened.factors[0] == pytest.approx(by_one.factors[0], rel=0.7)


FEW_FEATURES: dict[str, Any] = {
    "kind": "gp",
    "prediction": {"name": "fourier", "n_features": 25, "pool": None, "n_steps": 0},
}


@pytest.mark.parametrize("intervals", ["leave_one_out", "folds"])
def test_that_a_model_of_few_features_becomes_believable(intervals: str) -> None:
    training = Training(data_of(200)[0], np.array([[0.01]]))
    _, truth = data_of(2000, seed=1)
    points = data_of(2000, seed=1)[0].inputs
    coverage = {}
    for choice in ("as_fitted", intervals):
        emulator = EMULATORS.read({**FEW_FEATURES, "intervals": choice})
        tuned = emulator.tune(Task(training, np.random.default_rng(0))).result
        found = emulator.fit(training, tuned, np.random.default_rng(0)).predict(points)
        coverage[choice] = np.mean(np.abs(found.mean - truth) < 1.645 * found.std)
    assert coverage["as_fitted"] < 0.7
    assert 0.8 < coverage[intervals] < 0.98


def test_that_a_sound_model_stays_as_it_is() -> None:
    training = Training(data_of(200)[0], np.array([[0.01]]))
    emulator = EMULATORS.read({"kind": "gp", "intervals": "leave_one_out"})
    tuned = emulator.tune(Task(training, np.random.default_rng(0))).result
    plain, widened = (
        kind.fit(training, tuned, np.random.default_rng(0)).predict(training.data.inputs)
        for kind in (emulator.but(intervals="as_fitted"), emulator)
    )
    np.testing.assert_array_equal(plain.mean, widened.mean)
    ratio = widened.std / plain.std
    assert 1.0 <= ratio.min() <= ratio.max() < 1.3


def test_that_intervals_are_no_matter_of_tuning() -> None:
    plain, widened = (EMULATORS.read({"kind": "gp", "intervals": choice}) for choice in ("as_fitted", "folds"))
    assert plain.read_by("tune") == widened.read_by("tune")
    assert plain.read_by("fit") != widened.read_by("fit")


def test_that_nystrom_features_have_no_closed_form() -> None:
    with pytest.raises(ValidationError, match="use folds"):
        EMULATORS.read({"kind": "gp", "prediction": "nystrom", "intervals": "leave_one_out"})
