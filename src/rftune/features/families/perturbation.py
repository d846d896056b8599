"""C = (I + U S Uᵀ)(I + U S Uᵀ)ᵀ: the paper's equation (eq. rff_cov), as it is printed."""

from __future__ import annotations

import numpy as np

from rftune.data import Array
from rftune.features.family import Family, Parameter, Space, Values
from rftune.settings import Field, Normal


class Perturbation(Family):
    """C = (I + U S Uᵀ)(I + U S Uᵀ)ᵀ with diagonal S and U of ``rank`` columns."""

    loading_std: float = Field(0.1, gt=0, le=100, description="prior standard deviation of the entries of U")
    log_strength: Normal = Field(Normal(0.0, 1.0), description="[mean, std] of the logarithms of the entries of S")

    def parameters(self, space: Space) -> tuple[Parameter, ...]:
        return (
            Parameter("loadings", (space.size, space.rank or 0), "identity", Normal(0.0, self.loading_std)),
            Parameter("strengths", (space.rank or 0,), "log", self.log_strength),
        )

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        loadings = values["loadings"]
        return latent + (latent @ loadings * values["strengths"]) @ loadings.T

    def scatter(self, values: Values) -> Array:
        loadings = values["loadings"]
        factor = np.eye(len(loadings)) + loadings * values["strengths"] @ loadings.T
        return factor @ factor.T
