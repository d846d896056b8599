"""How good normal predictions are: continuous ranked probability scores, coverage, and a factor that mends it."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array

LEVELS = (0.5, 0.8, 0.9, 0.95)  # of the intervals whose coverage is looked at
MAIN_LEVEL = 0.9


def half_width(level: float) -> float:
    """Of the central interval of a standard normal distribution with this probability."""
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def crps(errors: Array, std: Array) -> Array:
    """Continuous ranked probability score of normal predictions, entry by entry (Gneiting & Raftery 2007).

    It is in the unit of the errors, smaller is better, and without spread it is the absolute error.

    Parameters
    ----------
    errors
        Observed less predicted.
    std
        Predicted; zero is allowed.
    """
    from scipy.special import ndtr  # a slow import, and plans do without

    safe = np.maximum(std, np.finfo(np.float64).tiny)
    standardised = np.clip(errors / safe, -1e8, 1e8)  # beyond that, the score is the absolute error to rounding
    density = np.exp(-0.5 * standardised**2) / np.sqrt(2.0 * np.pi)
    score = safe * (standardised * (2.0 * ndtr(standardised) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi))
    return np.where(np.abs(standardised) < 1e8, score, np.abs(errors))


def coverage(errors: Array, std: Array, level: float) -> Array:
    """Share of the rows whose error is inside the central interval, per column."""
    return np.asarray(np.mean(np.abs(errors) <= half_width(level) * std, axis=0))


def nothing_learned(outputs: Array, errors: Array) -> NDArray[np.bool_]:
    """Whether predictions explain no more of the outputs than chance would, per column.

    Of N runs the explained share of a column of pure noise has a standard deviation of about 1/√N.
    """
    variance = outputs.var(axis=0)
    explained = 1.0 - np.mean(errors**2, axis=0) / np.where(variance > 0.0, variance, 1.0)
    return np.asarray(explained <= 2.0 / np.sqrt(len(outputs)))
