"""Cosine features whose limiting kernel is that of a Gaussian process: their draw, and as a basis of a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rftune.data import Array
from rftune.features.distribution import Tails
from rftune.features.masks import stratified_masks
from rftune.regression.correlations import CorrelationName
from rftune.regression.covariances import Covariance
from rftune.regression.refinement import CosineFeatures
from rftune.regression.waves import Waves

# Of the frequencies of each correlation, in inverse lengthscales: Bochner's theorem.
TAILS: dict[CorrelationName, Tails] = {
    "squared_exponential": Tails(),
    "matern32": Tails(tail="student", degrees_of_freedom=3.0, mixing="independent"),
    "matern52": Tails(tail="student", degrees_of_freedom=5.0, mixing="independent"),
}


@dataclass(frozen=True, eq=False)
class CosineBasis:
    """Features as a basis of a scalar process, which is their sum and nothing else."""

    features: CosineFeatures

    def evaluate(self, inputs: Array) -> Array:
        return self.features.evaluate(inputs)

    def left_out(self, inputs: Array, phi: Array) -> Array:
        return np.zeros(len(inputs))

    def left_out_matrix(self, inputs: Array, phi: Array) -> Array:
        return np.zeros((len(inputs), len(inputs)))

    def waves(self, coefficients: Array) -> Waves | None:
        readout = (self.features.scales * coefficients)[None, :]
        return Waves(self.features.weights, self.features.phases, readout, np.zeros(1))


def draw(
    covariance: Covariance, n_features: int, masks: Literal["stratified", "independent"], rng: np.random.Generator
) -> CosineFeatures:
    """Features whose mean product, over draws, is the covariance.

    Stratified masks leave out the empty subset, the covariance's constant part.
    """
    inclusion, shape = covariance.inclusion, (n_features, len(covariance.inclusion))
    if masks == "stratified":
        involved, weights = stratified_masks(inclusion, n_features, rng)
    else:
        involved, weights = rng.random(shape) < inclusion, np.ones(n_features)
    latent = TAILS[covariance.correlation].latent(shape, rng)
    return CosineFeatures(
        weights=np.ascontiguousarray(np.where(involved, latent / covariance.lengthscales, 0.0).T),
        phases=rng.uniform(0.0, 2.0 * np.pi, n_features),
        scales=np.sqrt(2.0 * covariance.amplitude_variance * weights / n_features),
    )
