"""Validation: numbers that are what they say, and sentences that follow from them."""

import numpy as np
import pandas as pd
import pytest
from simulators import field_runs, runs

from rftune.fitting import scores
from rftune.fitting.columns import read
from rftune.fitting.emulator import fit
from rftune.fitting.validation import Validation


@pytest.fixture(scope="module")
def emulator():
    inputs, outputs = runs(80, names=("y", "z"))
    inputs.index = outputs.index = [f"run {row}" for row in range(80)]
    return fit(inputs, outputs, emulators=["quadratic", "anova"])


def made_up(error, std=None, n=300, noise=0.0, seed=0, inputs=None):
    """A validation with errors as they are told."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(size=(n, 2)) if inputs is None else inputs
    observed = rng.standard_normal((n, 1))
    errors = error * rng.standard_normal((n, 1))
    spread = np.broadcast_to(error if std is None else std, (n, 1))
    return Validation(
        read("inputs", inputs), read("outputs", observed), observed - errors, spread, np.array([noise]), {}, ""
    )


def test_that_left_out_runs_are_predicted_as_well_as_new_ones(emulator):
    left_out = emulator.validate()
    new = emulator.validate(*runs(1000, names=("y", "z"), seed=1))
    assert len(left_out.runs) == 160
    np.testing.assert_allclose(left_out.scores["crps"], new.scores["crps"], rtol=0.4)
    np.testing.assert_allclose(left_out.scores["coverage_90"], 0.9, atol=0.1)
    np.testing.assert_allclose(new.scores["coverage_90"], 0.9, atol=0.08)


def test_that_the_emulator_is_compared_with_simpler_ones(emulator):
    for validated in (emulator.validate(), emulator.validate(*runs(300, names=("y", "z"), seed=1))):
        table = validated.scores
        assert (table["crps"] < table["crps_quadratic"]).all()
        assert (table["crps_quadratic"] < table["crps_constant"]).all()


def test_that_scores_are_what_they_say(emulator):
    validated = emulator.validate()
    errors = validated.observed.values - validated.predicted
    table = validated.scores
    np.testing.assert_allclose(
        table["relative_rmse"], np.sqrt(np.mean(errors**2, axis=0)) / validated.observed.values.std(axis=0)
    )
    np.testing.assert_allclose(table["crps"], scores.crps(errors, validated.std).mean(axis=0))
    inside = np.abs(errors) <= scores.half_width(0.8) * validated.std
    np.testing.assert_allclose(table["coverage_80"], inside.mean(axis=0))
    curve = validated.calibration
    assert curve["found"].is_monotonic_increasing
    at_80 = curve["found"][np.argmin(np.abs(curve["promised"] - 0.8))]
    np.testing.assert_allclose(at_80, inside.mean())


def test_that_the_worst_runs_have_names(emulator):
    worst = emulator.validate().worst(3)
    table = emulator.validate().runs
    assert len(worst) == 3
    assert abs(worst["standardised_error"][0]) == table["standardised_error"].abs().max()
    assert worst["run"].str.startswith("run ").all()


@pytest.mark.parametrize(
    ("error", "use"),
    [
        (0.005, "standing in for the simulator"),
        (0.03, "predictions, sensitivity indices and calibration"),
        (0.1, "sensitivity indices and a first calibration"),
        (0.4, "telling which inputs matter"),
        (1.2, "good for nothing yet"),
    ],
)
def test_that_words_follow_from_the_error(error, use):
    assert use in made_up(error).verdict()[0]


def test_that_noise_is_no_error_of_the_emulator():
    """The errors are all noise, and the emulator is as sure as it says."""
    validated = made_up(0.3, noise=0.09, std=np.sqrt(0.09 + 0.02**2), n=3000)
    assert validated.scores["error_of_function"][0] < 0.1
    assert validated.scores["relative_rmse"][0] > 0.25


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (0.5, "too narrow to be relied on"),
        (0.8, "a little narrow"),
        (1.0, "can be believed"),
        (2.0, "on the safe side"),
    ],
)
def test_that_words_follow_from_the_coverage(factor, words):
    assert words in made_up(0.1, 0.1 * factor).verdict()[1]


def test_that_the_place_of_large_errors_is_found():
    inputs = np.random.default_rng(5).uniform(size=(300, 2))
    error = np.where(inputs[:, [1]] > 0.67, 0.3, 0.1)
    assert "the upper third of x1, 0.5" in made_up(error, inputs=inputs).verdict()[-1]


def test_that_chance_is_no_place():
    found = [made_up(0.1, seed=seed).verdict()[-1] for seed in range(40)]
    assert sum("Errors are largest" in sentence for sentence in found) <= 3


def test_that_a_field_is_validated_too():
    inputs, _, noisy, _ = field_runs(n_places=50)
    validated = fit(inputs, noisy, emulators=["anova"]).validate()
    assert len(validated.scores) == 50
    assert "y0, y1, y2, y3, y4 and " in validated.verdict()[0]


def test_that_other_runs_are_checked(emulator):
    inputs, outputs = runs(10, names=("y", "z"))
    with pytest.raises(ValueError, match="other runs need both inputs and outputs"):
        emulator.validate(inputs)
    with pytest.raises(ValueError, match="10 and 9 rows"):
        emulator.validate(inputs, outputs[1:])
    with pytest.raises(ValueError, match="outputs must have the column 'z'"):
        emulator.validate(inputs, pd.DataFrame({"y": outputs["y"]}))
