"""Errors of emulators."""

from __future__ import annotations

import numpy as np

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
