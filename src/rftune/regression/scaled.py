"""A model fitted in scaled coordinates, used in physical ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rftune.data import Array, Model, Prediction
from rftune.regression.waves import Waves, waves_of
from rftune.scaling import Scaling


@dataclass(frozen=True, eq=False)
class ScaledModel:
    """A model fitted in scaled coordinates, used in physical ones; itself a `Model`."""

    scaling: Scaling
    model: Model

    def mean(self, inputs: Any) -> Array:
        return self.scaling.unscale_outputs(self.model.mean(self.scaling.scale_inputs(inputs)))

    def predict(self, inputs: Any) -> Prediction:
        scaled = self.model.predict(self.scaling.scale_inputs(inputs))
        return Prediction(
            mean=self.scaling.unscale_outputs(scaled.mean),
            covariance=self.scaling.unscale_covariance(scaled.covariance),
        )

    def sample(self, inputs: Any, n_draws: int, rng: np.random.Generator) -> Array:
        return self.scaling.unscale_outputs(self.model.sample(self.scaling.scale_inputs(inputs), n_draws, rng))

    def waves(self) -> Waves | None:
        inner = waves_of(self.model)
        if inner is None:
            return None
        scaling = self.scaling
        weights = scaling.unscale_weights(inner.weights)
        return Waves(
            weights=weights,
            phases=inner.phases - scaling.input_mean @ weights,
            readout=scaling.factor @ inner.readout,
            offset=scaling.unscale_outputs(inner.offset),
        )
