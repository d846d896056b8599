"""What tables and figures make of stored results: those that failed are counted, not averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from rftune import storage
from rftune.data import Array
from rftune.experiments.protocol import load_repeats


class Stored(NamedTuple):
    """A stored result, whole or in chunks of repeats, and what it belongs to; data belong to no emulator."""

    case: str
    seed: int
    emulator: str
    paths: Sequence[str]

    def load(self) -> xr.Dataset:
        return storage.load(self.paths[0]) if len(self.paths) == 1 else load_repeats(self.paths)


def succeeded(analysis: xr.Dataset) -> NDArray[np.bool_]:
    """Which re-tunings ended well; the others are counted and not averaged, (n_repeats,)."""
    good: NDArray[np.bool_] = analysis["failure"].values == ""
    return good


def counts(analysis: xr.Dataset) -> dict[str, int]:
    """How many re-tunings there are, how many attempts failed (a restart is one), and how many ensemble members."""
    n_restarts = int(analysis["n_restarts"].sum())
    return {
        "n_retunings": analysis.sizes["repeat"],
        "n_failed": n_restarts + int(np.count_nonzero(~succeeded(analysis))),
        "n_restarts": n_restarts,
        "n_failed_members": int(analysis["n_failed_members"].sum()),
    }


def mean_and_spread(values: Array) -> dict[str, float]:
    """Mean, standard deviation and standard error; no spread from a single value, nothing from none."""
    if len(values) == 0:
        return {"mean": np.nan, "std": np.nan, "standard_error": np.nan}
    std = float(values.std(ddof=1)) if len(values) > 1 else np.nan
    return {"mean": float(values.mean()), "std": std, "standard_error": std / np.sqrt(len(values))}


def mean_or_nan(values: Array) -> Array:
    """Mean over the first axis; NaN where there is no value."""
    return np.asarray(values.mean(axis=0)) if len(values) else np.full(values.shape[1:], np.nan)


def percentiles(values: Array) -> Array:
    """5, 50 and 95 % over the first axis, (3, ...); NaN where there is no value."""
    if len(values) == 0:
        return np.full((3, *values.shape[1:]), np.nan)
    return np.percentile(values, [5, 50, 95], axis=0)
