"""What the sensitivity experiments share: data on a Saltelli design, and the indices and errors of emulators on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import xarray as xr
from pydantic import model_validator

from rftune.analysis import metrics, sensitivity
from rftune.data import Array, Dataset
from rftune.experiments.base import DataSettings, ExperimentSettings
from rftune.experiments.protocol import OUTCOME, pack_data
from rftune.experiments.results import succeeded
from rftune.settings import Field, Settings, Variance

# A Saltelli design is balanced where the number of its base samples is a power of two.
PowerOfTwo = Literal[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]

N_FRESH = 2000  # fresh test points


class BootstrapSettings(Settings):
    """How intervals of indices are found."""

    n_bootstrap: int = Field(ge=2, le=100_000, description="resamples behind the intervals of the indices")


class SensitivitySettings(ExperimentSettings):
    """The block of an experiment whose stages find indices."""

    analysis: BootstrapSettings = Field(description="settings of the analysis")
    truth: BootstrapSettings = Field(description="settings of the truth's own analysis")


class DesignSettings(DataSettings):
    """Data on a Saltelli design of a function."""

    noise_variance: Variance = Field(description="variance of the training noise")
    n_base: PowerOfTwo = Field(description="Saltelli base samples, a power of two; (2d + 2) rows each")

    @model_validator(mode="after")
    def _check_training_size(self) -> Self:
        """Training points are rows of the design."""
        n_samples, n_inputs, _ = self.shape
        n_rows = self.n_base * (2 * n_inputs + 2)
        if not 1 <= n_samples <= n_rows:
            raise ValueError(f"n_train must be between 1 and the design's {n_rows} rows; got {n_samples}")
        return self


def design_data(
    function: Callable[[Array], Array],
    bounds: Array,
    analytic: tuple[Array, Array],
    *,
    n_base: int,
    n_train: int,
    noise_variance: float,
    rng: np.random.Generator,
) -> xr.Dataset:
    """Design, truth with its analytic indices, noisy training data drawn from the design's rows, and fresh points.

    The design's other rows share coordinates with the training rows, which flatters an emulator in many dimensions;
    fresh points are uniform and share nothing.

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
    fresh = rng.uniform(bounds[:, 0], bounds[:, 1], (N_FRESH, len(bounds)))
    return pack_data(
        Dataset(design.points[rows], (truth[rows] + noise)[:, None]),
        np.array([[noise_variance]]),
        design.points,
        truth[:, None],
        train_rows=("sample", rows),
        fresh_points=(("fresh", "input"), fresh),
        fresh_truth=(("fresh", "output"), function(fresh)[:, None]),
        bounds=(("input", "side"), bounds),
        analytic_first=("input", analytic[0]),
        analytic_total=("input", analytic[1]),
    )


def analyse(data: xr.Dataset, predictions: xr.Dataset, n_bootstrap: int, rng: np.random.Generator) -> xr.Dataset:
    """Indices of the emulated function on the truth's own design; its errors at training, other and fresh points.

    Parameters
    ----------
    data
        Of `design_data`.
    predictions
        Variables ``mean`` (repeat, point, output) and, at the fresh points, ``judged_mean``.
    n_bootstrap
        Resamples behind the intervals.
    rng
    """
    design = _design(data)
    train = np.zeros(design.n_rows, dtype=bool)
    train[data["train_rows"].values] = True
    truth = data["truth"].values[:, 0]
    fresh = data["fresh_truth"].values[:, 0]
    means = predictions["mean"].values[:, :, 0]
    good = succeeded(predictions)
    rows = zip(means, good, rng.spawn(len(means)), strict=True)
    indices = np.stack([_indices(design, mean, n_bootstrap, stream, known) for mean, known, stream in rows])
    error = metrics.norm_per_point
    variables: dict[str, Any] = {
        "first": (("repeat", "input"), indices[:, 0]),
        "total": (("repeat", "input"), indices[:, 1]),
        "first_confidence": (("repeat", "input"), indices[:, 2]),
        "total_confidence": (("repeat", "input"), indices[:, 3]),
        "relative_rmse": ("repeat", [metrics.relative_rmse(mean[~train], truth[~train]) for mean in means]),
        "fresh_rmse": (
            "repeat",
            [metrics.relative_rmse(mean[:, 0], fresh) for mean in predictions["judged_mean"].values],
        ),
        "training_error": ("repeat", [error(mean[train], truth[train]) for mean in means]),
        "test_error": ("repeat", [error(mean[~train], truth[~train]) for mean in means]),
        **{name: predictions[name] for name in OUTCOME},
    }
    return xr.Dataset(variables, coords={"repeat": predictions["repeat"]})


def analyse_truth(data: xr.Dataset, n_bootstrap: int, rng: np.random.Generator) -> xr.Dataset:
    """Analytic indices, and the empirical ones of the truth on the design, by the road that emulators go."""
    empirical = _indices(_design(data), data["truth"].values[:, 0], n_bootstrap, rng, True)
    names = ("first", "total", "first_confidence", "total_confidence")
    return data[["analytic_first", "analytic_total"]].assign(
        {f"empirical_{name}": ("input", row) for name, row in zip(names, empirical, strict=True)}
    )


def _design(data: xr.Dataset) -> sensitivity.Design:
    points = data["points"].values
    return sensitivity.Design(points, data["bounds"].values, len(points) // (2 * points.shape[1] + 2), True)


def _indices(
    design: sensitivity.Design, values: Array, n_bootstrap: int, rng: np.random.Generator, known: bool
) -> Array:
    """First, total and their confidences, (4, n_inputs); NaN for a failed tuning or a constant function."""
    if not known or not np.isfinite(values).all() or sensitivity.is_constant(values):
        return np.full((4, design.n_inputs), np.nan)
    result = sensitivity.indices(design, values, n_bootstrap, rng)
    return np.stack([result.first, result.total, result.first_confidence, result.total_confidence])
