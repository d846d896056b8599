"""scikit-learn's RBFSampler (1000 features) and RidgeCV on standardised inputs and outputs."""

from __future__ import annotations

import numpy as np

from rftune.data import Array, Dataset
from rftune.emulators.point import PointEmulator, Predictor
from rftune.scaling import Scaling


class RBFRidge(PointEmulator):
    """scikit-learn's RBFSampler (1000 features) and RidgeCV on standardised inputs and outputs."""

    def predictor(self, data: Dataset, rng: np.random.Generator) -> Predictor:
        from sklearn.kernel_approximation import RBFSampler
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline

        scaling = Scaling.of(data, data.outputs.var(axis=0) + np.finfo(np.float64).tiny)
        scaled = scaling.scale(data)
        sampler = RBFSampler(gamma="scale", n_components=1000, random_state=int(rng.integers(2**31)))
        pipeline = make_pipeline(sampler, RidgeCV(alphas=np.logspace(-6, 3, 19))).fit(scaled.inputs, scaled.outputs)

        def function(inputs: Array) -> Array:
            predicted = pipeline.predict(scaling.scale_inputs(inputs))
            return scaling.unscale_outputs(predicted.reshape(len(inputs), data.n_outputs))

        return function
