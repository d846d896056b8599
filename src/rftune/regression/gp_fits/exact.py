"""The posterior itself."""

from __future__ import annotations

import numpy as np

from rftune.data import Dataset, Model
from rftune.regression import gp_posterior
from rftune.regression.covariances import Hyperparameters
from rftune.regression.gp_fit import GPFit


class Exact(GPFit):
    """All of the data: a kernel matrix of all pairs of training points."""

    def fit(self, data: Dataset, hyperparameters: Hyperparameters, rng: np.random.Generator) -> Model:
        return gp_posterior.fit(data, hyperparameters)

    def n_elements(self, n_samples: int, n_outputs: int) -> int:
        return n_outputs * n_samples**2
