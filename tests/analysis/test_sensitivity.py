"""Sobol indices against closed forms, and the designs and errors around them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from SALib.analyze import sobol as salib_sobol

from rftune.analysis import sensitivity
from rftune.data import Array

ISHIGAMI_BOUNDS = [[-np.pi, np.pi]] * 3
ISHIGAMI_FIRST = np.array([0.3139, 0.4424, 0.0])
ISHIGAMI_TOTAL = np.array([0.5576, 0.4424, 0.2437])


def ishigami(x: Array) -> Array:
    values: Array = np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    return values


@pytest.mark.parametrize("second_order", [True, False])
def test_that_design_has_saltellis_blocks(second_order: bool) -> None:
    bounds = np.array([[0.0, 1.0], [10.0, 20.0], [-3.0, -2.0]])
    design = sensitivity.saltelli(bounds, 16, np.random.default_rng(0), second_order=second_order)
    assert design.n_rows == 16 * (8 if second_order else 5)
    assert (design.points >= bounds[:, 0]).all()
    assert (design.points <= bounds[:, 1]).all()
    blocks = design.points.reshape(16, -1, 3)
    for k in range(3):
        mixed = blocks[:, 0].copy()
        mixed[:, k] = blocks[:, -1, k]
        np.testing.assert_array_equal(blocks[:, 1 + k], mixed)


def test_that_design_follows_the_rng() -> None:
    one, same, other = (sensitivity.saltelli(ISHIGAMI_BOUNDS, 8, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.points, same.points)
    assert (one.points != other.points).any()


def test_that_indices_follow_the_rng_and_not_the_global_state() -> None:
    design = sensitivity.saltelli(ISHIGAMI_BOUNDS, 64, np.random.default_rng(1))
    results = [
        sensitivity.indices(design, ishigami(design.points), 20, np.random.default_rng(seed)) for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(results[0].first_confidence, results[1].first_confidence)
    np.testing.assert_array_equal(results[0].first, results[2].first)
    assert (results[0].first_confidence != results[2].first_confidence).any()


@pytest.mark.parametrize(("n_inputs", "second_order"), [(1, True), (4, True), (4, False)])
def test_that_the_estimates_are_salibs(n_inputs: int, second_order: bool) -> None:
    bounds = [[0.0, 1.0]] * n_inputs
    design = sensitivity.saltelli(bounds, 128, np.random.default_rng(0), second_order=second_order)
    values = np.prod(np.abs(4.0 * design.points - 2.0) + np.arange(n_inputs), axis=1)
    ours = sensitivity.indices(design, values, 20, np.random.default_rng(1))
    problem = {"num_vars": n_inputs, "names": [f"x{i}" for i in range(n_inputs)], "bounds": bounds}
    seed = int(np.random.default_rng(1).integers(1, 2**32))
    theirs = salib_sobol.analyze(problem, values, calc_second_order=second_order, num_resamples=20, seed=seed)
    np.testing.assert_array_equal(ours.first, theirs["S1"])
    np.testing.assert_array_equal(ours.total, theirs["ST"])
    # the quantile of the normal, on which two libraries differ in the last digit
    np.testing.assert_allclose(ours.first_confidence, theirs["S1_conf"], rtol=1e-15)
    np.testing.assert_allclose(ours.total_confidence, theirs["ST_conf"], rtol=1e-15)
    if second_order:
        upper = np.triu_indices(n_inputs, 1)
        assert ours.second is not None
        assert ours.second_confidence is not None
        np.testing.assert_array_equal(ours.second[upper], theirs["S2"][upper])
        np.testing.assert_allclose(ours.second_confidence[upper], theirs["S2_conf"][upper], rtol=1e-15)


def test_that_a_linear_function_has_the_closed_form() -> None:
    # Var(c_i x_i) = c_i² w_i² / 12 for x_i uniform on a width w_i, and no interactions
    coefficients, widths = np.array([1.0, -2.0, 3.0, 0.0]), np.array([1.0, 2.0, 0.5, 7.0])
    variances = (coefficients * widths) ** 2
    expected = variances / variances.sum()
    design = sensitivity.saltelli(
        np.column_stack([np.ones(4), 1.0 + widths]), 1024, np.random.default_rng(0), second_order=True
    )
    result = sensitivity.indices(design, design.points @ coefficients + 100.0, 50, np.random.default_rng(1))
    # half a percent: quasi-Monte Carlo of a smooth function at 1024 base samples; ordinary Monte Carlo gives 3 %
    np.testing.assert_allclose(result.first, expected, atol=5e-3)
    np.testing.assert_allclose(result.total, expected, atol=5e-3)
    assert result.second is not None
    np.testing.assert_allclose(result.second[~np.eye(4, dtype=bool)], 0.0, atol=1e-2)
    assert np.isnan(np.diagonal(result.second)).all()
    np.testing.assert_array_equal(result.second, result.second.T)


def test_that_ishigami_has_its_analytic_indices() -> None:
    for seed in range(5):
        design = sensitivity.saltelli(ISHIGAMI_BOUNDS, 2048, np.random.default_rng(seed))
        result = sensitivity.indices(design, ishigami(design.points), 10, np.random.default_rng(seed))
        # the paper's own empirical values at this size are off by up to .006; scrambles scatter by about that
        np.testing.assert_allclose(result.first, ISHIGAMI_FIRST, atol=0.02)
        np.testing.assert_allclose(result.total, ISHIGAMI_TOTAL, atol=0.02)
        assert result.second is not None
        assert result.second[0, 2] == pytest.approx(0.2437, abs=0.04)


def test_that_bootstrap_intervals_cover_the_analytic_values_in_most_designs() -> None:
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        design = sensitivity.saltelli(ISHIGAMI_BOUNDS, 256, rng, second_order=False)
        result = sensitivity.indices(design, ishigami(design.points), 50, rng)
        covered.append(np.abs(result.first - ISHIGAMI_FIRST) <= result.first_confidence)
        covered.append(np.abs(result.total - ISHIGAMI_TOTAL) <= result.total_confidence)
    # nominal .95, and more because a Sobol design errs less than the independent draws that the bootstrap imitates
    assert np.mean(covered) >= 0.9


def test_that_confidence_is_the_half_width_of_a_95_percent_normal_interval() -> None:
    design = sensitivity.saltelli([[0.0, 1.0]] * 2, 1024, np.random.default_rng(0), second_order=False)
    values = design.points[:, 0] + 2.0 * design.points[:, 1]
    result = sensitivity.indices(design, values, 1000, np.random.default_rng(1))
    blocks = (values - values.mean()).reshape(1024, -1)
    rng = np.random.default_rng(2)
    resampled = []
    for _ in range(1000):
        a, ab1, _, b = blocks[rng.integers(0, 1024, 1024)].T
        resampled.append(np.mean(b * (ab1 - a)) / np.var(np.concatenate([a, b])))
    # each of two standard deviations from 1000 resamples has a relative error of 1/√2000; five of their difference
    assert result.first_confidence[0] == pytest.approx(1.96 * np.std(resampled), rel=5 / np.sqrt(1000))
    assert result.confidence_level == 0.95


def test_that_a_shift_and_a_scale_of_the_values_change_nothing() -> None:
    design = sensitivity.saltelli(ISHIGAMI_BOUNDS, 128, np.random.default_rng(0))
    values = ishigami(design.points)
    plain = sensitivity.indices(design, values, 10, np.random.default_rng(1))
    moved = sensitivity.indices(design, 1e3 - 1e-3 * values, 10, np.random.default_rng(1))
    np.testing.assert_allclose(moved.first, plain.first, atol=1e-8)
    np.testing.assert_allclose(moved.total_confidence, plain.total_confidence, atol=1e-8)


def test_that_one_input_takes_all_the_variance() -> None:
    design = sensitivity.saltelli([[0.0, 1.0]], 256, np.random.default_rng(0))
    result = sensitivity.indices(design, design.points[:, 0] ** 2, 10, np.random.default_rng(0))
    np.testing.assert_allclose([result.first[0], result.total[0]], 1.0, atol=0.02)


def test_that_nothing_warns_and_values_are_unmutated() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design = sensitivity.saltelli(ISHIGAMI_BOUNDS, 32, np.random.default_rng(0))
        values = ishigami(design.points)
        before = values.copy()
        sensitivity.indices(design, values, 10, np.random.default_rng(0))
    np.testing.assert_array_equal(values, before)
    with pytest.raises(ValueError, match="read-only"):
        design.points[0, 0] = 1.0


@pytest.mark.parametrize(
    ("bounds", "n_base", "message"),
    [
        ([[0.0, 1.0]], 1000, "use 512 or 1024"),
        ([[0.0, 1.0]], 0, "positive integer"),
        ([[0.0, 1.0]], 8.0, "positive integer"),
        ([[0.0, 1.0], [1.0, 1.0]], 8, "input 1"),
        ([0.0, 1.0], 8, "bounds"),
        ([[0.0, np.inf]], 8, "finite"),
    ],
)
def test_that_bad_designs_are_refused(bounds: list[list[float]], n_base: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sensitivity.saltelli(bounds, n_base, np.random.default_rng(0))


def test_that_a_design_with_rows_missing_is_refused() -> None:
    design = sensitivity.saltelli(ISHIGAMI_BOUNDS, 8, np.random.default_rng(0))
    with pytest.raises(ValueError, match="has 64 points; got 63"):
        sensitivity.Design(design.points[:-1], design.bounds, 8, True)


def test_that_bad_values_are_refused() -> None:
    design = sensitivity.saltelli(ISHIGAMI_BOUNDS, 8, np.random.default_rng(0))
    values, rng = ishigami(design.points), np.random.default_rng(0)
    broken = values.copy()
    broken[5] = np.nan
    cases = [
        (values[:-1], "one per design point"),
        (values[:, None], "choose an output"),
        (broken, "the first at row 5"),
        (np.full(64, 3.0), "must vary"),
        (np.zeros(64), "must vary"),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError, match=message):
            sensitivity.indices(design, bad, 10, rng)
    with pytest.raises(ValueError, match="n_bootstrap"):
        sensitivity.indices(design, values, 1, rng)
