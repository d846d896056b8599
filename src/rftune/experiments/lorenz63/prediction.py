"""What is asked of a fitted integrator: one-step means, a trace, a long trajectory and forecasts from many starts."""

from __future__ import annotations

import numpy as np
import xarray as xr

from rftune.analysis import dynamics, rollouts
from rftune.data import Model
from rftune.experiments.lorenz63.data import SKILL_THRESHOLD


def predict(model: Model, data: xr.Dataset) -> xr.Dataset:
    """Predictions of one emulator.

    A trajectory that escapes is NaN from there on; one that ends in a fixed point or a cycle goes on. ``left_reason``
    and ``left_time`` say so, "" and NaN where the emulator stayed on the attractor.
    """
    time_step, keep_every = float(data["time_step"]), int(data["keep_every"])
    long_truth, forecast_truth = data["long_truth"].values, data["forecast_truth"].values
    scales = long_truth.std(axis=0)
    start = data["trace_truth"].values[:1]
    trajectory = rollouts.iterate(model, start, (len(long_truth) - 1) * keep_every)[0]
    left = dynamics.departure(trajectory, time_step, scales)
    forecasts = rollouts.iterate(model, data["starts"].values, forecast_truth.shape[1] - 1)
    threshold = SKILL_THRESHOLD * float(np.linalg.norm(scales))
    return xr.Dataset(
        {
            "mean": (("point", "output"), model.mean(data["points"].values)),
            "trace": (("trace_step", "output"), trajectory[: data.sizes["trace_step"]]),
            "long": (("kept", "output"), trajectory[::keep_every]),
            "left_reason": ((), np.array(left.reason, dtype=object)),
            "left_time": ((), left.time),
            "horizon": ("start", dynamics.horizons(forecasts, forecast_truth, threshold, time_step)),
        }
    )
