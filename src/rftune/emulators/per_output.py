"""Scalar emulators side by side, one per whitened output: what a Gaussian process does with several outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rftune.data import Array, Dataset, Model, Prediction
from rftune.regression.waves import Waves, waves_of


def columns(data: Dataset) -> list[Dataset]:
    """The data of each output alone."""
    return [Dataset(data.inputs, output[:, None]) for output in data.outputs.T]


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Independent posteriors of the outputs, whose noise is uncorrelated; a `scaling.Model`.

    Attributes
    ----------
    models
        One per output, each with a single output.
    """

    models: Sequence[Model]

    def mean(self, inputs: Array) -> Array:
        return np.concatenate([model.mean(inputs) for model in self.models], axis=1)

    def predict(self, inputs: Array) -> Prediction:
        parts = [model.predict(inputs) for model in self.models]
        covariance = np.zeros((len(inputs), len(parts), len(parts)))
        for output, part in enumerate(parts):
            covariance[:, output, output] = part.covariance[:, 0, 0]
        return Prediction(np.concatenate([part.mean for part in parts], axis=1), covariance)

    def sample(self, inputs: Array, n_draws: int, rng: np.random.Generator) -> Array:
        return np.concatenate([model.sample(inputs, n_draws, rng) for model in self.models], axis=2)

    def waves(self) -> Waves | None:
        parts = [waves_of(model) for model in self.models]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        sizes = [len(part.phases) for part in known]
        readout = np.zeros((len(known), sum(sizes)))
        for output, (part, end) in enumerate(zip(known, np.cumsum(sizes), strict=True)):
            readout[output, end - len(part.phases) : end] = part.readout[0]
        return Waves(
            weights=np.concatenate([part.weights for part in known], axis=1),
            phases=np.concatenate([part.phases for part in known]),
            readout=readout,
            offset=np.concatenate([part.offset for part in known]),
        )
