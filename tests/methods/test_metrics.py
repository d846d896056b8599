"""Errors and distances against their definitions."""

import numpy as np
import pytest

from rftune import metrics


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
