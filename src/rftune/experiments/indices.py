"""What the sensitivity experiments share: data on a Saltelli design, and the indices and errors of emulators on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from rftune import metrics, sensitivity
from rftune.data import Array, Dataset
from rftune.experiments.protocol import OUTCOME, pack_data


def design_data(
    function: Callable[[Array], Array],
    bounds: Array,
    analytic: tuple[Array, Array],
    *,
    n_base: int,
    n_train: int,
    noise_variance: float,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> xr.Dataset:
    """Design, truth with its analytic and empirical indices, and noisy training data drawn from the design's rows.

    Parameters
    ----------
    function
        (n_points, n_inputs) -> (n_points,).
    bounds : (n_inputs, 2)
    analytic
        First and total indices, each (n_inputs,).
    """
    design = sensitivity.saltelli(bounds, n_base, rng)
    truth = function(design.points)
    rows = np.sort(rng.choice(design.n_rows, size=n_train, replace=False))
    noise = np.sqrt(noise_variance) * rng.standard_normal(n_train)
    empirical = sensitivity.indices(design, truth, n_bootstrap, rng)
    return pack_data(
        Dataset(design.points[rows], (truth[rows] + noise)[:, None]),
        np.array([[noise_variance]]),
        design.points,
        truth[:, None],
        train_rows=("sample", rows),
        bounds=(("input", "side"), bounds),
        analytic_first=("input", analytic[0]),
        analytic_total=("input", analytic[1]),
        empirical_first=("input", empirical.first),
        empirical_total=("input", empirical.total),
        empirical_first_confidence=("input", empirical.first_confidence),
        empirical_total_confidence=("input", empirical.total_confidence),
    )


def check_training_size(n_train: int, n_base: int, n_inputs: int) -> None:
    """Training points are rows of the design."""
    n_rows = n_base * (2 * n_inputs + 2)
    if not 1 <= n_train <= n_rows:
        raise ValueError(f"n_train must be between 1 and the design's {n_rows} rows; got {n_train}")


def analyse(data: xr.Dataset, predictions: xr.Dataset, n_bootstrap: int, rng: np.random.Generator) -> xr.Dataset:
    """Indices of the emulated function on the truth's own design, and its errors on and off the training points.

    Parameters
    ----------
    data
        Of `design_data`.
    predictions
        Variable ``mean`` (repeat, point, output).
    n_bootstrap
        Resamples behind the intervals.
    rng
    """
    points = data["points"].values
    design = sensitivity.Design(points, data["bounds"].values, len(points) // (2 * points.shape[1] + 2), True)
    train = np.zeros(len(points), dtype=bool)
    train[data["train_rows"].values] = True
    truth = data["truth"].values[:, 0]
    means = predictions["mean"].values[:, :, 0]
    streams = rng.spawn(len(means))
    indices = np.stack([_indices(design, mean, n_bootstrap, rng) for mean, rng in zip(means, streams, strict=True)])
    error = metrics.norm_per_point
    variables: dict[str, Any] = {
        "first": (("repeat", "input"), indices[:, 0]),
        "total": (("repeat", "input"), indices[:, 1]),
        "first_confidence": (("repeat", "input"), indices[:, 2]),
        "total_confidence": (("repeat", "input"), indices[:, 3]),
        "relative_rmse": ("repeat", [metrics.relative_rmse(mean[~train], truth[~train]) for mean in means]),
        "training_error": ("repeat", [error(mean[train], truth[train]) for mean in means]),
        "test_error": ("repeat", [error(mean[~train], truth[~train]) for mean in means]),
        **{name: predictions[name] for name in OUTCOME},
    }
    return xr.Dataset(variables, coords={"repeat": predictions["repeat"]})


def _indices(design: sensitivity.Design, values: Array, n_bootstrap: int, rng: np.random.Generator) -> Array:
    """First, total and their confidences, (4, n_inputs); NaN for a constant function, which has no indices."""
    if np.ptp(values) == 0.0 or not np.isfinite(values).all():
        return np.full((4, design.n_inputs), np.nan)
    result = sensitivity.indices(design, values, n_bootstrap, rng)
    return np.stack([result.first, result.total, result.first_confidence, result.total_confidence])
