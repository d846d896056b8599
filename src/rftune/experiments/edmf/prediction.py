"""What is asked of a fitted emulator: its means at all runs, and how long a likelihood takes."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import xarray as xr

from rftune.data import Model
from rftune.experiments.edmf.sampling import log_posterior
from rftune.experiments.protocol import predict_means as predict

__all__ = ["measure", "predict"]

N_WALKERS = 10  # points of one call, as in sampling
N_CALLS = 15


def measure(model: Model, data: xr.Dataset) -> dict[str, float]:
    """Seconds of one likelihood, amortised over the walkers of a call: the median of some calls at test points."""
    density = log_posterior(model, data)
    points = np.resize(data["points"].values[data["is_test"].values], (N_WALKERS, data.sizes["input"]))
    seconds = []
    for _ in range(N_CALLS):
        start = perf_counter()
        density(points)
        seconds.append(perf_counter() - start)
    return {"likelihood_seconds": float(np.median(seconds)) / N_WALKERS}
