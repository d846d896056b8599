"""The input itself: of a next-step map, no change."""

from __future__ import annotations

import numpy as np

from rftune.data import Dataset
from rftune.emulators.point import PointEmulator, Predictor


class Persistence(PointEmulator):
    """The input itself: of a next-step map, no change."""

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        if n_inputs != n_outputs:
            raise ValueError(f"persistence needs as many outputs as inputs; got {n_outputs} and {n_inputs}")

    def predictor(self, data: Dataset, rng: np.random.Generator) -> Predictor:
        self.check(data.n_samples, data.n_inputs, data.n_outputs)
        return lambda inputs: np.array(inputs)
