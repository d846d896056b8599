"""Scores of normal predictions."""

import numpy as np
import pytest
from scipy import integrate, stats

from rftune.fitting import scores


@pytest.mark.parametrize(("error", "std"), [(0.3, 1.0), (-2.0, 0.5), (5.0, 0.1)])
def test_that_crps_is_the_integral_over_squared_differences_of_distribution_functions(error, std):
    def difference(x):
        return (stats.norm.cdf(x, 0.0, std) - (x >= error)) ** 2

    parts = [integrate.quad(difference, low, high)[0] for low, high in ((-30.0, error), (error, 30.0))]
    np.testing.assert_allclose(scores.crps(np.array([error]), np.array([std]))[0], sum(parts), rtol=1e-6)


def test_that_crps_without_spread_is_the_absolute_error():
    np.testing.assert_allclose(scores.crps(np.array([-2.0, 0.0]), np.array([0.0, 0.0])), [2.0, 0.0], atol=1e-300)


def test_that_crps_is_smallest_for_the_true_spread():
    errors = np.random.default_rng(0).standard_normal(20_000)
    by_std = {std: scores.crps(errors, np.full(len(errors), std)).mean() for std in (0.7, 1.0, 1.4)}
    assert min(by_std, key=by_std.get) == 1.0
    np.testing.assert_allclose(by_std[1.0], 1 / np.sqrt(np.pi), rtol=0.02)  # 2 E|Z|/... of a standard normal


def test_that_coverage_counts_per_output():
    errors = np.array([[0.0, 3.0], [1.0, 3.0]])
    np.testing.assert_array_equal(scores.coverage(errors, np.ones((2, 2)), 0.9), [1.0, 0.0])
    np.testing.assert_allclose(scores.half_width(0.9), 1.6449, atol=1e-4)
