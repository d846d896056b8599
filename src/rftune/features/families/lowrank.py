"""C = diag(D)² + U Uᵀ: independent scales plus shared directions."""

from __future__ import annotations

import numpy as np

from rftune.data import Array
from rftune.features.family import Family, Parameter, Space, Values
from rftune.settings import Field, Normal


class LowRank(Family):
    """C = diag(D)² + U Uᵀ with U of ``rank`` columns."""

    loading_std: float = Field(0.1, gt=0, le=100, description="prior standard deviation of the entries of U")

    def parameters(self, space: Space) -> tuple[Parameter, ...]:
        return (
            Parameter("scales", (space.size,), "log", space.log_scale),
            Parameter("loadings", (space.size, space.rank or 0), "identity", Normal(0.0, self.loading_std)),
        )

    def latent_size(self, space: Space) -> int:
        return space.size + (space.rank or 0)

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        size = len(values["scales"])
        own, shared = latent[..., :size], latent[..., size:]
        return own * values["scales"] + shared @ values["loadings"].T

    def scatter(self, values: Values) -> Array:
        loadings = values["loadings"]
        return np.diag(values["scales"] ** 2) + loadings @ loadings.T
