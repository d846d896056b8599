"""Which re-tunings count: those that failed are counted, not averaged."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray


def succeeded(analysis: xr.Dataset) -> NDArray[np.bool_]:
    """Which re-tunings ended well; the others are counted and not averaged, (n_repeats,)."""
    good: NDArray[np.bool_] = analysis["failure"].values == ""
    return good


def counts(analysis: xr.Dataset) -> dict[str, int]:
    """How many re-tunings there are and how many attempts failed; a restart is a failed attempt."""
    n_restarts = int(analysis["n_restarts"].sum())
    return {
        "n_retunings": analysis.sizes["repeat"],
        "n_failed": n_restarts + int(np.count_nonzero(~succeeded(analysis))),
        "n_restarts": n_restarts,
    }
