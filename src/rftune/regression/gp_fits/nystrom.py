"""Covariances with a few of the training points as features."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from rftune.data import Dataset, Model
from rftune.regression import feature_posterior
from rftune.regression.covariances import Covariance, Hyperparameters
from rftune.regression.gp_fit import GPFit
from rftune.regression.nystrom import NystromBasis, greedy_points
from rftune.settings import Field


class Nystrom(GPFit):
    """Nyström features: of the kernel what some of the training points explain; the rest is added to the variance."""

    leaves_one_out: ClassVar[bool] = False  # what is added to the variance is not of the fit to the data

    n_features: int = Field(1000, ge=1, le=100_000, description="training points that features stand on")
    points: Literal["random", "greedy"] = Field(
        "random", description="which: drawn, or each time the one that those before it explain least"
    )

    def fit(self, data: Dataset, hyperparameters: Hyperparameters, rng: np.random.Generator) -> Model:
        bases = tuple(self._basis(covariance, data, rng) for covariance in hyperparameters.covariances())
        return feature_posterior.fit(bases, data, hyperparameters.noise_variances)

    def n_elements(self, n_samples: int, n_outputs: int) -> int:
        n_features = min(self.n_features, n_samples)
        return 2 * n_samples * n_features + (1 + 2 * n_outputs) * n_features**2

    def _basis(self, covariance: Covariance, data: Dataset, rng: np.random.Generator) -> NystromBasis:
        n_points = min(self.n_features, data.n_samples)
        if self.points == "greedy":
            rows = greedy_points(covariance, data.inputs, n_points)
        else:
            rows = rng.choice(data.n_samples, n_points, replace=False)
        return NystromBasis.of(covariance, data.inputs[rows])
