"""C = diag(D)²: one frequency scale per entry."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rftune.data import Array
from rftune.features.family import Family, Parameter, Space, Values


class Diagonal(Family):
    """C = diag(D)²."""

    has_rank: ClassVar[bool] = False

    def parameters(self, space: Space) -> tuple[Parameter, ...]:
        return (Parameter("scales", (space.size,), "log", space.log_scale),)

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        return latent * values["scales"]

    def scatter(self, values: Values) -> Array:
        return np.diag(values["scales"] ** 2)
