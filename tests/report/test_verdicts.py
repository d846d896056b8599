"""The rules by which the paper's numbers and ours agree, each on numbers whose verdict is plain."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rftune.report import verdicts
from rftune.report.verdicts import AGREED, BETTER, NOT_COMPARABLE, WORSE


@pytest.mark.parametrize(
    ("ours", "error", "expected"),
    [
        (0.45, 0.02, AGREED),  # 0.02 from the paper's, one standard error
        (0.47, 0.021, AGREED),
        (0.47, 0.01, WORSE),  # four standard errors, and farther from the exact value
        (0.44, 0.001, BETTER),
        (0.47, np.nan, WORSE),  # without an error every difference counts
        (0.4305, np.nan, AGREED),  # but for the rounding of the print
        (np.nan, 0.01, NOT_COMPARABLE),
    ],
)
def test_that_a_value_is_judged_by_its_error_then_by_the_exact_one(ours: float, error: float, expected: str) -> None:
    found = verdicts.near_exact("T2", "V2", 0.43, ours, 0.442, error, rounding=5e-4)
    assert found.verdict == expected


@pytest.mark.parametrize(("direction", "expected"), [("smaller", BETTER), ("larger", WORSE)])
def test_that_the_direction_decides_beyond_the_error(direction: verdicts.Direction, expected: str) -> None:
    assert verdicts.directed("T4", "error", 2.0, 1.0, direction, 0.1).verdict == expected
    assert verdicts.directed("T4", "error", 2.0, 1.0, direction, 0.6).verdict == AGREED
    assert verdicts.directed("F7", "iterations", 8, 10, direction, np.nan, tolerance=2).verdict == AGREED
    assert verdicts.directed("T4", "error", None, 1.0, direction).verdict == NOT_COMPARABLE


@pytest.mark.parametrize(
    ("ours", "expected"), [(5.0, AGREED), (10.0, AGREED), (2.0, WORSE), (40.0, BETTER), (np.nan, NOT_COMPARABLE)]
)
def test_that_ratios_agree_within_a_factor_of_two(ours: float, expected: str) -> None:
    assert verdicts.ratio("T3", "GP over RF", 5.0, ours, "larger").verdict == expected


def test_that_a_lower_bound_of_ours_decides_only_when_it_is_above_the_papers() -> None:
    def judged(ours: float, stopped: bool) -> str:
        return verdicts.bound("T3", "GP over RF", 133.0, ours, ">", "time", open_ended=stopped).verdict

    assert judged(150.0, stopped=True) == AGREED
    assert judged(4.0, stopped=True) == NOT_COMPARABLE
    assert judged(4.0, stopped=False) == WORSE
    assert verdicts.bound("F2", "objective", 0.1, 0.05, "<", "value").verdict == AGREED
    assert verdicts.bound("F2", "objective", 0.1, 0.4, "<", "value").verdict == WORSE


def test_that_repeats_and_settings_have_plain_verdicts() -> None:
    assert verdicts.count("F2", "re-tunings", 30, 30).verdict == AGREED
    assert verdicts.count("F2", "re-tunings", 30, 4).verdict == WORSE
    assert verdicts.setting("F1", "M", 150, 150).verdict == AGREED
    assert verdicts.setting("F1", "M", [3, 6], [3]).verdict == NOT_COMPARABLE


def test_that_stagnation_is_where_a_curve_has_five_percent_of_its_fall_left() -> None:
    falling = np.array([1.0, 0.6, 0.25, 0.2, 0.2, 0.2, 0.2])
    late = np.array([1.0, 0.9, 0.8, 0.5, 0.2, 0.2, 0.2])
    np.testing.assert_array_equal(verdicts.Curves(np.stack([falling, late])).stagnation(), [3, 4])
    # 0.25 is 0.05 above the end, 6 % of the fall of 0.8
    falling[2] = 0.235
    np.testing.assert_array_equal(verdicts.Curves(falling[None]).stagnation(), [2])


def test_that_on_a_logarithmic_axis_a_fall_is_a_factor() -> None:
    falling = np.array([[1.0, 1e-2, 1e-3, 1e-4, 1e-4, 1e-4, 1e-4]])
    assert verdicts.Curves(falling).stagnation() == [1]
    assert verdicts.Curves(falling, logarithmic=True).stagnation() == [3]
    assert verdicts.Curves(falling).ratio == pytest.approx(1e-4)


def test_that_a_shorter_tuning_than_the_papers_says_nothing_about_stagnation() -> None:
    paper = {"F7": 8, "restarts": 2, "iterations": 6}
    curves = np.array([[1.0, 0.6, 0.3, 0.2, 0.2, 0.2, 0.2], [1.0, 0.6, 0.3, 0.2, 0.2, 0.2, 0.2]])
    stops, repeats = verdicts.convergence("F7", paper, verdicts.Curves(curves))
    assert (stops.ours, stops.verdict, repeats.verdict) == (3.0, BETTER, AGREED)
    stops, _ = verdicts.convergence("F7", paper, verdicts.Curves(curves[:, :5]))
    assert (stops.verdict, stops.rule) == (NOT_COMPARABLE, "not compared: 4 iterations instead of 6")


def test_that_errors_combine_as_independent_ones_do() -> None:
    assert verdicts.combined_error(3.0, np.nan, 4.0) == 5.0
    assert np.isnan(verdicts.combined_error(np.nan))
    assert np.isnan(verdicts.quotient_error(10.0, np.nan, 5.0)), "an error that is not known is not zero"
    assert verdicts.quotient_error(10.0, 1.0, 5.0, 0.5) == pytest.approx(2.0 * np.sqrt(0.1**2 + 0.1**2))
    rng = np.random.default_rng(0)
    spread = rng.standard_normal((20000, 20)).std(axis=1, ddof=1).std()
    assert verdicts.std_error(1.0, 20) == pytest.approx(spread, rel=0.05)


def test_that_lines_are_written_with_six_digits_and_known_words() -> None:
    frame = verdicts.to_frame([verdicts.directed("T4", "error", 2.0, 1 / 3, "smaller", 0.1)])
    assert list(frame) == ["id", "quantity", "kind", "paper", "ours", "standard_error", "rule", "verdict"]
    assert frame.loc[0, ["paper", "ours", "standard_error"]].tolist() == ["2", "0.333333", "0.1"]
    bad = verdicts.Verdict("F1", "x", "value", 1, 1, 0, "by feeling", AGREED)
    with pytest.raises(ValueError, match="by feeling"):
        verdicts.to_frame([bad])


def test_that_rows_are_found_by_one_column_or_several() -> None:
    table = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [0.5, 0.25]})
    assert verdicts.keyed(table, "a")["y"]["c"] == 0.25
    assert verdicts.keyed(table, "a", "b")["x", 1]["c"] == 0.5
