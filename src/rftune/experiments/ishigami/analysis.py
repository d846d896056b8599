"""Sobol indices and test error of every repeat of an emulator."""

from __future__ import annotations

import numpy as np
import xarray as xr

from rftune import sensitivity
from rftune.data import Array
from rftune.metrics import relative_rmse


def analyse(data: xr.Dataset, predictions: xr.Dataset, n_bootstrap: int, rng: np.random.Generator) -> xr.Dataset:
    """Indices of the emulated function on the truth's own design, and its error away from the training points.

    Parameters
    ----------
    data
        Of `data.make_data`.
    predictions
        Variable ``mean`` (repeat, point, output).
    n_bootstrap
        Resamples behind the intervals.
    rng
    """
    points = data["points"].values
    design = sensitivity.Design(points, data["bounds"].values, len(points) // (2 * points.shape[1] + 2), True)
    test = np.ones(len(points), dtype=bool)
    test[data["train_rows"].values] = False
    truth = data["truth"].values[:, 0]
    means = predictions["mean"].values[:, :, 0]
    rows = [
        _indices(design, mean, n_bootstrap, stream) for mean, stream in zip(means, rng.spawn(len(means)), strict=True)
    ]
    stacked = np.stack(rows)
    return xr.Dataset(
        {
            "first": (("repeat", "input"), stacked[:, 0]),
            "total": (("repeat", "input"), stacked[:, 1]),
            "first_confidence": (("repeat", "input"), stacked[:, 2]),
            "total_confidence": (("repeat", "input"), stacked[:, 3]),
            "relative_rmse": ("repeat", [relative_rmse(mean[test], truth[test]) for mean in means]),
            "failure": predictions["failure"],
            "n_restarts": predictions["n_restarts"],
        },
        coords={"repeat": predictions["repeat"]},
    )


def _indices(design: sensitivity.Design, values: Array, n_bootstrap: int, rng: np.random.Generator) -> Array:
    """First, total and their confidences, (4, n_inputs); NaN for a constant function, which has no indices."""
    if np.ptp(values) == 0.0 or not np.isfinite(values).all():
        return np.full((4, design.n_inputs), np.nan)
    result = sensitivity.indices(design, values, n_bootstrap, rng)
    return np.stack([result.first, result.total, result.first_confidence, result.total_confidence])
