"""Errors of emulators, and distances between distributions."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rftune.data import Array

INTERVAL_LEVEL = 0.9  # of the intervals whose coverage stands in the tables


def relative_rmse(prediction: Array, truth: Array) -> float:
    """Root mean square error against the noise-free truth, divided by the truth's standard deviation.

    Parameters
    ----------
    prediction, truth : (n_points,)
    """
    if prediction.shape != truth.shape:
        raise ValueError(f"prediction and truth must have one shape; got {prediction.shape} and {truth.shape}")
    return float(np.sqrt(np.mean((prediction - truth) ** 2)) / truth.std())


def norm_per_point(prediction: Array, truth: Array) -> float:
    """‖prediction - truth‖₂ / n over n points: the error measure of the paper's T4, which is not an RMSE.

    Parameters
    ----------
    prediction, truth : (n_points,)
    """
    return float(np.linalg.norm(prediction - truth) / len(truth))


def mean_error_norm(prediction: Array, truth: Array) -> float:
    """Mean over points of the Euclidean norm of the error vector.

    Parameters
    ----------
    prediction, truth : (n_points, n_outputs)
    """
    return float(np.linalg.norm(prediction - truth, axis=1).mean())


def ks_distance(one: Array, other: Array) -> float:
    """Kolmogorov-Smirnov distance of two samples: the largest distance of their empirical distribution functions."""
    return float(_gaps(one, other)[1].max())


def wasserstein_distance(one: Array, other: Array) -> float:
    """Wasserstein-1 distance of two samples, in their unit: the area between their empirical distribution functions."""
    points, gaps = _gaps(one, other)
    return float(np.vecdot(gaps[:-1], np.diff(points)))


def _gaps(one: Array, other: Array) -> tuple[Array, Array]:
    """All points of two samples in order, and the distance of their empirical distribution functions from each on.

    `scipy.stats` has both distances; importing it takes most of a short job's time.
    """
    points = np.sort(np.concatenate([one, other]))
    shares = [np.searchsorted(np.sort(sample), points, side="right") / len(sample) for sample in (one, other)]
    return points, np.abs(shares[0] - shares[1])


def sliced_wasserstein(samples: Array, others: Array, rng: Generator, n_projections: int = 200) -> float:
    """Mean Wasserstein-1 distance of two samples along random directions, uniform on the sphere.

    Parameters
    ----------
    samples, others : (n, n_parameters), (m, n_parameters)
        In coordinates whose units can be compared.
    rng
        Draws the directions, the same for both samples.
    n_projections
        Number of directions.
    """
    n, m = len(samples), len(others)
    if samples.ndim != 2 or others.ndim != 2 or samples.shape[1] != others.shape[1] or n * m == 0:
        raise ValueError(
            f"samples and others must be (n, n_parameters) and (m, n_parameters), n and m at least 1; got "
            f"{samples.shape} and {others.shape}: flatten the walkers of a chain"
        )
    directions = rng.standard_normal((n_projections, samples.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # The distance is the integral of |difference of quantiles|, which are constant between these levels, in 1/(n m).
    levels = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    weights = np.diff(levels, prepend=0) / (n * m)
    of_samples, of_others = (levels - 1) // m, (levels - 1) // n
    distances = [
        weights @ np.abs(np.sort(samples @ direction)[of_samples] - np.sort(others @ direction)[of_others])
        for direction in directions
    ]
    return float(np.mean(distances))


def interval_coverage(mean: Array, std: Array, truth: Array, level: float = INTERVAL_LEVEL) -> float:
    """Share of the truth's entries inside the central interval of a normal around each mean; NaN without intervals.

    Parameters
    ----------
    mean, std, truth : (n_points, n_outputs)
    level
        Share that the intervals promise.
    """
    if not (np.isfinite(mean).all() and np.isfinite(std).all()):
        return np.nan
    half_width = NormalDist().inv_cdf(0.5 + level / 2.0)
    return float(np.mean(np.abs(truth - mean) <= half_width * std))


def covered(samples: Array, truth: Array, level: float = 0.99) -> NDArray[np.bool_]:
    """Whether each parameter's truth is in the central interval that holds this share of its samples, (n_parameters,).

    Parameters
    ----------
    samples : (n, n_parameters)
    truth : (n_parameters,)
    level
        Share of the samples inside the interval.
    """
    if samples.ndim != 2 or truth.shape != samples.shape[1:]:
        raise ValueError(
            f"samples and truth must be (n, n_parameters) and (n_parameters,); got {samples.shape} and {truth.shape}: "
            f"flatten the walkers of a chain"
        )
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level!r}: pass 0.99 for 99 %")
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.asarray((low <= truth) & (truth <= high))
