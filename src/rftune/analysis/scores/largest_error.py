"""The largest error at any test point, in any output, in standard deviations of that output."""

from __future__ import annotations

import numpy as np

from rftune.data import Array


def score(mean: Array, truth: Array) -> float:
    return float(np.max(np.abs(mean - truth) / truth.std(axis=0)))
