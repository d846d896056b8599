"""C = Q S Qᵀ + ε I: frequencies in a subspace, whose directions and scales are tuned; what the paper's authors ran."""

from __future__ import annotations

import numpy as np

from rftune.data import Array
from rftune.features.family import Family, Parameter, Space, Values
from rftune.settings import Field, Normal

PRINTED = Normal(0.0, 2.68)  # of a logarithm: the paper's "99 % in (1e-3, 1e3)", for ς and the entries of S


class Subspace(Family):
    """C = Q S Qᵀ + ε I, where Q is the orthonormal factor of U, of ``rank`` columns, and S is diagonal.

    Only the directions of the columns of U matter, each beside those before it; outside the subspace lengthscales are
    1/√ε.
    """

    amplitude = PRINTED
    loading_std: float = Field(
        116.0, gt=0, description="prior standard deviation of the entries of U, of which only directions matter"
    )
    log_strength: Normal = Field(
        PRINTED, description="[mean, std] of the logarithms of the entries of S; 99 % lie in 1e-3 to 1e3"
    )
    epsilon: float = Field(1e-12, gt=0, description="ε, variance of the frequencies outside the subspace")

    def parameters(self, space: Space) -> tuple[Parameter, ...]:
        return (
            Parameter("loadings", (space.size, space.rank or 0), "identity", Normal(0.0, self.loading_std)),
            Parameter("strengths", (space.rank or 0,), "log", self.log_strength),
        )

    def latent_size(self, space: Space) -> int:
        return space.size + (space.rank or 0)

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        root, size = self._root(values), len(values["loadings"])
        return np.asarray(np.sqrt(self.epsilon) * latent[..., :size] + latent[..., size:] @ root.T)

    def scatter(self, values: Values) -> Array:
        root = self._root(values)
        return np.asarray(root @ root.T + self.epsilon * np.eye(len(root)))

    def _root(self, values: Values) -> Array:
        """Q √S, (size, rank); the signs of Q are those for which R of U = Q R has a positive diagonal."""
        directions, triangle = np.linalg.qr(values["loadings"])
        signs = np.where(np.diagonal(triangle) < 0.0, -1.0, 1.0)
        return np.asarray(directions * signs * np.sqrt(values["strengths"]))
