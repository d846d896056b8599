"""Errors and distances against their definitions."""

import numpy as np
import pytest
from scipy.special import gamma
from scipy.stats import ks_2samp, wasserstein_distance

from rftune.analysis import metrics


def test_that_the_error_norm_is_the_mean_of_the_points_norms():
    truth = np.zeros((2, 2))
    assert metrics.mean_error_norm(np.array([[3.0, 4.0], [0.0, 1.0]]), truth) == pytest.approx(3.0)


def test_that_the_ks_distance_is_the_largest_gap_between_distribution_functions():
    rng = np.random.default_rng(1)
    one, other = rng.standard_normal(60), 0.5 + rng.standard_normal(45)
    points = np.concatenate([one, other])
    gaps = [abs(np.mean(one <= point) - np.mean(other <= point)) for point in points]
    assert metrics.ks_distance(one, other) == pytest.approx(max(gaps), abs=1e-12)
    assert metrics.ks_distance(one, one) == 0.0


def test_that_the_wasserstein_distance_of_equal_sizes_is_that_of_the_sorted_samples():
    rng = np.random.default_rng(2)
    one, other = rng.standard_normal(50), 2.0 * rng.standard_normal(50)
    expected = np.abs(np.sort(one) - np.sort(other)).mean()
    assert metrics.wasserstein_distance(one, other) == pytest.approx(expected)
    assert metrics.wasserstein_distance(one, one + 3.0) == pytest.approx(3.0)


@pytest.mark.parametrize(("n", "m"), [(60, 60), (60, 45), (1, 7)])
def test_that_the_distances_are_scipys_to_the_digit(n, m):
    rng = np.random.default_rng(8)
    one, other = rng.standard_normal(n).round(1), rng.standard_normal(m).round(1)  # some values are equal
    assert metrics.ks_distance(one, other) == ks_2samp(one, other, method="asymp").statistic
    assert metrics.wasserstein_distance(one, other) == wasserstein_distance(one, other)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_that_a_shift_has_the_mean_length_of_its_projections(d):
    rng = np.random.default_rng(3)
    samples, shift = rng.standard_normal((40, d)), np.arange(1.0, d + 1)
    n_projections = 4000
    distance = metrics.sliced_wasserstein(samples, samples + shift, np.random.default_rng(4), n_projections)
    # a shift s of a sample moves its projection on u by <u, s>, and E|<u, s>| = ‖s‖ Γ(d/2) / (√π Γ((d+1)/2))
    length = np.linalg.norm(shift)
    expected = length * gamma(d / 2) / (np.sqrt(np.pi) * gamma((d + 1) / 2))
    std = np.sqrt(max(length**2 / d - expected**2, 0))  # of |<u, s>|, because E<u, s>² = ‖s‖²/d
    assert distance == pytest.approx(expected, abs=5 * std / np.sqrt(n_projections) + 1e-12)


@pytest.mark.parametrize(("n", "m"), [(30, 30), (30, 45), (7, 50), (12, 1)])
def test_that_the_sliced_distance_is_the_mean_of_those_along_directions(n, m):
    rng = np.random.default_rng(5)
    samples, others = rng.standard_normal((n, 3)), 1.5 * rng.standard_normal((m, 3)) + 0.2
    directions = np.random.default_rng(6).standard_normal((20, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    expected = np.mean([wasserstein_distance(samples @ u, others @ u) for u in directions])
    distance = metrics.sliced_wasserstein(samples, others, np.random.default_rng(6), 20)
    assert distance == pytest.approx(expected, rel=1e-12)
    swapped = metrics.sliced_wasserstein(others, samples, np.random.default_rng(6), 20)
    assert swapped == pytest.approx(distance, rel=1e-12)


def test_that_the_sliced_distance_of_the_same_sample_is_zero():
    samples = np.random.default_rng(7).standard_normal((50, 4))
    assert metrics.sliced_wasserstein(samples, samples[::-1], np.random.default_rng(8)) == pytest.approx(0, abs=1e-15)
    doubled = np.repeat(samples, 2, axis=0)
    assert metrics.sliced_wasserstein(samples, doubled, np.random.default_rng(8)) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("shapes", [((5, 2), (5, 3)), ((5,), (5,)), ((5, 2, 2), (5, 2)), ((0, 2), (5, 2))])
def test_that_the_sliced_distance_checks_shapes(shapes):
    with pytest.raises(ValueError, match="samples and others must be"):
        metrics.sliced_wasserstein(np.zeros(shapes[0]), np.zeros(shapes[1]), np.random.default_rng(1))


def test_that_truths_are_covered_between_the_quantiles():
    column = np.arange(1001.0)  # its central 99 % interval is [5, 995]
    samples = np.column_stack([column] * 5)
    truth = np.array([4.9, 5.1, 500.0, 994.9, 995.1])
    np.testing.assert_array_equal(metrics.covered(samples, truth), [False, True, True, True, False])
    np.testing.assert_array_equal(metrics.covered(samples, truth, level=0.5), [False, False, True, False, False])


def test_that_coverage_checks_its_arguments():
    with pytest.raises(ValueError, match=r"got \(5, 2\) and \(3,\)"):
        metrics.covered(np.zeros((5, 2)), np.zeros(3))
    with pytest.raises(ValueError, match="level must be between 0 and 1; got 99"):
        metrics.covered(np.zeros((5, 2)), np.zeros(2), level=99)


def test_that_intervals_cover_what_they_promise():
    """Truths drawn from the predicted normals lie inside as often as the intervals say, to five standard errors."""
    rng = np.random.default_rng(1)
    mean, std = rng.standard_normal((20_000, 2)), rng.uniform(0.1, 3.0, (20_000, 2))
    truth = mean + std * rng.standard_normal(mean.shape)
    for level in (0.5, 0.9):
        error = np.sqrt(level * (1 - level) / truth.size)
        assert metrics.interval_coverage(mean, std, truth, level) == pytest.approx(level, abs=5 * error)
    assert metrics.interval_coverage(mean, 0.5 * std, truth) < 0.65, "too sure"
    assert np.isnan(metrics.interval_coverage(mean, np.full(std.shape, np.nan), truth))
