"""scikit-learn's HistGradientBoostingRegressor at its defaults, one per output."""

from __future__ import annotations

import numpy as np

from rftune.data import Dataset
from rftune.emulators.point import PointEmulator, Predictor


class BoostedTrees(PointEmulator):
    """scikit-learn's HistGradientBoostingRegressor at its defaults, one per output."""

    def predictor(self, data: Dataset, rng: np.random.Generator) -> Predictor:
        from sklearn.ensemble import HistGradientBoostingRegressor

        seeds = rng.integers(2**31, size=data.n_outputs)
        trees = [
            HistGradientBoostingRegressor(random_state=int(seed)).fit(data.inputs, output)
            for seed, output in zip(seeds, data.outputs.T, strict=True)
        ]
        return lambda inputs: np.column_stack([tree.predict(inputs) for tree in trees])
