"""Emulators: `tune` looks for hyperparameters, `fit` conditions on the data with them.

What `tune` returns are labelled arrays, ready to be stored. Randomness, and with it a repeat, is in the generators. To
add a kind: a file in ``kinds``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from rftune.data import Dataset, Model
from rftune.emulators.outcomes import Tuned
from rftune.progress import Progress
from rftune.regression import widening
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Scaling, Training
from rftune.settings import Choice, Field, Registry


@dataclass(frozen=True, eq=False)
class Task:
    """A tuning that is asked for.

    Attributes
    ----------
    training
    rng
        Draws everything that is random.
    n_workers
        Threads; changes no digit.
    progress
        Called after every iteration.
    """

    training: Training
    rng: np.random.Generator
    n_workers: int = 1
    progress: Progress | None = None


class Emulator(Choice, ABC):
    """The settings of an emulator, and what they do.

    Of its fields ``tuning`` is read by `tune` alone, ``prediction`` and ``intervals`` by `fit` alone, others by both.
    """

    label: ClassVar[str] = "kind"

    @abstractmethod
    def tune(self, task: Task) -> Tuned:
        """Hyperparameters, with their history, for physical data."""

    @abstractmethod
    def fit(self, training: Training, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        """A model in physical coordinates with the hyperparameters of one ``result`` of `tune`."""

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        """Raise a ValueError when the settings do not fit data of this size."""
        return None

    def read_by(self, call: str) -> dict[str, Any]:
        """The blocks that "tune" or "fit" reads, as a config could hold them."""
        unread = {"tune": ("prediction", "intervals"), "fit": ("tuning",)}[call]
        return {name: block for name, block in self.plain().items() if name not in unread}


class ScaledEmulator(Emulator):
    """An emulator of scaled inputs and whitened outputs, which is used in physical coordinates."""

    inputs: Literal["standardised", "whitened"] = Field(
        "standardised", description="every input to zero mean and unit variance; or decorrelated too (the authors)"
    )

    intervals: Literal["as_fitted", "leave_one_out", "folds"] = Field(
        "as_fitted",
        description="covariance of the fit; or wider where nine of ten errors at data that were left out are not in "
        "their 90 % intervals: one left out at a time, in closed form, or a fifth, with a fit to the rest",
    )

    def tune(self, task: Task) -> Tuned:
        scaled = self._scaling(task.training).scale(task.training.data)
        return self.tune_scaled(scaled, task)

    def fit(self, training: Training, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        scaling = self._scaling(training)
        scaled = scaling.scale(training.data)
        model = self.fit_scaled(scaled, tuned, rng)
        if self.intervals == "leave_one_out":
            model = widening.by_leave_one_out(model, scaled)
        if self.intervals == "folds":
            model = widening.by_folds(model, lambda part: self.fit_scaled(part, tuned, rng), scaled, rng)
        return ScaledModel(scaling, model)

    def _scaling(self, training: Training) -> Scaling:
        return training.scaling(whiten=self.inputs == "whitened")

    @abstractmethod
    def tune_scaled(self, scaled: Dataset, task: Task) -> Tuned:
        """As `tune`, for scaled data with unit noise; of the task generator, workers and progress."""

    @abstractmethod
    def fit_scaled(self, scaled: Dataset, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        """As `fit`, for scaled data with unit noise."""


EMULATORS: Registry[Emulator] = Registry("rftune.emulators.kinds", Emulator)

__all__ = ["EMULATORS", "Emulator", "ScaledEmulator", "Task", "Training"]
