"""The mean of the training outputs: what any emulator must beat."""

from __future__ import annotations

import numpy as np

from rftune.data import Dataset
from rftune.emulators.point import PointEmulator, Predictor


class Constant(PointEmulator):
    """The mean of the training outputs: what any emulator must beat."""

    def predictor(self, data: Dataset, rng: np.random.Generator) -> Predictor:
        level = data.outputs.mean(axis=0)
        return lambda inputs: np.tile(level, (len(inputs), 1))
