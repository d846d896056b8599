"""The emulators that an experiment compares, each with the same two calls: tune, then fit.

`tune` looks for hyperparameters and returns them with their history as labelled arrays, ready to be stored; `fit`
conditions on the data with stored hyperparameters. Randomness, and with it a repeat, is in the generators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import xarray as xr

from rftune.data import Array, Dataset, Model
from rftune.emulators import outcomes
from rftune.emulators.outcomes import TunedEmulator
from rftune.emulators.point import BASELINES, check_sizes_of_persistence

if TYPE_CHECKING:
    from rftune.tuning.loop import Progress


class EmulatorSettings(Protocol):
    """What the config says about one emulator."""

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        """Raise a ValueError when the settings do not fit data of this size."""
        ...

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        """Hyperparameters for physical data with noise covariance ``noise`` (n_outputs, n_outputs)."""
        ...

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        """Emulator in physical coordinates with the hyperparameters of one ``result`` of `tune`."""
        ...


@dataclass(frozen=True)
class Baseline:
    """A point predictor of `baselines`, which has nothing to tune."""

    name: str

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        if self.name == "persistence":
            check_sizes_of_persistence(n_inputs, n_outputs)

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        return outcomes.labelled({}, seconds=0.0)

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        return BASELINES[self.name](data, rng)


UNREAD_WHEN_UNTUNED = (
    "n_features",
    "n_iterations",
    "eki",
    "result",
    "fresh_draws",
    "plateau_patience",
    "plateau_tolerance",
    "max_restarts",
    "trap_threshold",
)


def read_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that an emulator's results depend on: an untuned one does not look at those of the tuning."""
    if config.get("tuned", True):
        return dict(config)
    read = {key: value for key, value in config.items() if key not in UNREAD_WHEN_UNTUNED}
    drawing = ("outputs", "feature_map")
    return {**read, "objective": {key: value for key, value in config["objective"].items() if key in drawing}}


def from_config(config: Mapping[str, Any]) -> EmulatorSettings:
    """Settings of one emulator from its (complete, schema-checked) block of the config."""
    options = {key: value for key, value in config.items() if key != "kind"}
    kind = config["kind"]
    if kind in BASELINES:
        return Baseline(kind, **options)
    # A job is for one kind and need not wait for what the others import. Here, and not in `tune` or `fit`, whose time
    # is measured.
    if kind == "gp":
        from rftune.emulators.kinds import gp as gaussian_process
        from rftune.regression import exact_gp as gp

        for name in ("lengthscale_bounds", "amplitude_variance_bounds"):
            options[name] = tuple(options[name])
        return gaussian_process.GaussianProcess(gp.Settings(**options))
    if kind == "random_features":
        from rftune.emulators.kinds import random_features

        return random_features.from_options(options)
    raise ValueError(f"kind must be one of {', '.join(BASELINES)}, gp, random_features; got {kind!r}")
