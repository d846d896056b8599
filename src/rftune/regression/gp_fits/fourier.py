"""Random features drawn from the kernel."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from rftune.data import Array, Dataset, Model
from rftune.regression import cosine_basis, feature_posterior
from rftune.regression.cosine_basis import CosineBasis
from rftune.regression.covariances import Covariance, Hyperparameters
from rftune.regression.gp_fit import GPFit
from rftune.regression.refinement import refined
from rftune.regression.selection import SELECTIONS, SelectionName
from rftune.settings import Field


class Fourier(GPFit):
    """Cosine features with the kernel as their limit: drawn, the best of a pool kept, these refined."""

    n_features: int = Field(1000, ge=1, le=100_000, description="M', features for prediction")
    masks: Literal["stratified", "independent"] = Field(
        "stratified",
        description="which inputs a feature involves: subsets S in proportion to √w_S, weighted back; or every input "
        "with its own probability, as the kernel says",
    )
    pool: int | None = Field(
        4000, ge=1, description="features that are drawn and of which the best M' are kept; null draws M'"
    )
    selection: SelectionName = Field(
        "pursuit", description="of a pool: by coefficients in a fit of all; or one after the other, by what each adds"
    )
    n_steps: int = Field(10, ge=0, le=10_000, description="gradient steps that refine frequencies and phases")

    @model_validator(mode="after")
    def _check_pool(self) -> Self:
        if self.pool is not None and self.pool < self.n_features:
            raise ValueError(f"pool must be at least n_features, {self.n_features}, or null; got {self.pool}")
        return self

    def fit(self, data: Dataset, hyperparameters: Hyperparameters, rng: np.random.Generator) -> Model:
        noises = hyperparameters.noise_variances
        columns = zip(hyperparameters.covariances(), data.outputs.T, noises, strict=True)
        bases = tuple(self._basis(of_output, data.inputs, column, noise, rng) for of_output, column, noise in columns)
        return feature_posterior.fit(bases, data, noises)

    def n_elements(self, n_samples: int, n_outputs: int) -> int:
        drawn = self.pool or self.n_features
        return 2 * n_samples * drawn + drawn**2 + n_outputs * self.n_features**2

    def _basis(
        self, covariance: Covariance, inputs: Array, output: Array, noise: float, rng: np.random.Generator
    ) -> CosineBasis:
        features = cosine_basis.draw(covariance, self.pool or self.n_features, self.masks, rng)
        whitened = output / np.sqrt(noise)
        features = features.scaled(1.0 / np.sqrt(noise))
        if self.pool is not None:
            kept = SELECTIONS[self.selection](features.evaluate(inputs), whitened, self.n_features)
            features = features.subset(kept)
        if self.n_steps:
            features = refined(features, inputs, whitened, self.n_steps)
        return CosineBasis(features.scaled(np.sqrt(noise)))
