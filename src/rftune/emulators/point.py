"""Point predictors that a user would try instead of an emulator; nothing of them is tuned.

They have no posterior. Their covariance is that of their residuals on the training data, the same at every point.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from rftune.data import Array, Dataset, Model, Prediction, as_matrix
from rftune.emulators import outcomes
from rftune.emulators.base import Emulator, Task, Training
from rftune.emulators.outcomes import Tuned

Predictor = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class PointModel:
    """A fitted point predictor in physical coordinates; a `scaling.Model`.

    Attributes
    ----------
    function
        (n_samples, n_inputs) -> (n_samples, n_outputs).
    covariance : (n_outputs, n_outputs)
    n_inputs
    """

    function: Predictor
    covariance: Array
    n_inputs: int

    @classmethod
    def of(cls, function: Predictor, data: Dataset) -> PointModel:
        """Take the covariance from the residuals on the training data."""
        residuals = data.outputs - function(data.inputs)
        return cls(function, np.atleast_2d(np.cov(residuals.T)), data.n_inputs)

    def mean(self, inputs: Any) -> Array:
        return self.function(as_matrix("inputs", inputs, self.n_inputs))

    def predict(self, inputs: Any) -> Prediction:
        mean = self.mean(inputs)
        return Prediction(mean, np.tile(self.covariance, (len(mean), 1, 1)))

    def sample(self, inputs: Any, n_draws: int, rng: np.random.Generator) -> Array:
        mean = self.mean(inputs)
        return mean + rng.multivariate_normal(np.zeros(mean.shape[1]), self.covariance, (n_draws, len(mean)))


class PointEmulator(Emulator):
    """A point predictor as an emulator."""

    @abstractmethod
    def predictor(self, data: Dataset, rng: np.random.Generator) -> Predictor:
        """A fitted function, (n_samples, n_inputs) -> (n_samples, n_outputs), in physical coordinates."""

    def tune(self, task: Task) -> Tuned:
        return outcomes.labelled({}, seconds=0.0)

    def fit(self, training: Training, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        return PointModel.of(self.predictor(training.data, rng), training.data)


def unknown(n_inputs: int, n_outputs: int) -> PointModel:
    """What stands for an emulator whose tuning failed: NaN everywhere."""
    return PointModel(
        lambda inputs: np.full((len(inputs), n_outputs), np.nan), np.full((n_outputs, n_outputs), np.nan), n_inputs
    )
