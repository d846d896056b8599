"""Errors of emulators."""

from __future__ import annotations

import numpy as np
from scipy import stats

from rftune.data import Array


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
    return float(stats.ks_2samp(one, other, method="asymp").statistic)


def wasserstein_distance(one: Array, other: Array) -> float:
    """Wasserstein-1 distance of two samples, in their unit."""
    return float(stats.wasserstein_distance(one, other))
