"""Vectors of which each involves a few inputs only."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from rftune.data import Array
from rftune.features.families.diagonal import Diagonal
from rftune.features.family import Family, Parameter, Space, Values
from rftune.settings import Field, Normal


class Sparse(Family):
    """Ξ_i = b_i D_i z_i with b_i ~ Bernoulli(π_i): a feature involves only the inputs that its mask b keeps."""

    has_rank: ClassVar[bool] = False
    float32_is_safe: ClassVar[bool] = False  # many features are constant, so that their Gram matrix is nearly singular

    active_inputs: float = Field(
        2.0, ge=1e-6, description="inputs that a feature involves on average at the prior mean"
    )
    inclusion_std: float = Field(
        1.0, gt=0, le=100, description="standard deviation of the logit of an inclusion probability π"
    )
    mask: Literal["shared", "per_output"] = Field(
        "shared", description="of a separable structure: one mask per feature for all outputs, or one for each"
    )

    def parameters(self, space: Space) -> tuple[Parameter, ...]:
        # centred where ``active_inputs``, but at most three quarters, of the inputs are active
        probability = min(self.active_inputs / space.n_inputs, 0.75)
        inclusion = Normal(math.log(probability / (1.0 - probability)), self.inclusion_std)
        return (
            Parameter("scales", (space.size,), "log", space.log_scale),
            Parameter("inclusion", (space.size,), "logit", inclusion),
        )

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        between = latent.shape[1:-1]  # of a separable structure the outputs
        shape = (len(latent), *(1 for _ in between), latent.shape[-1]) if self.mask == "shared" else latent.shape
        return np.where(rng.random(shape) < values["inclusion"], latent * values["scales"], 0.0)

    def scatter(self, values: Values) -> Array:
        return np.diag(values["inclusion"] * values["scales"] ** 2)

    def of_outputs(self) -> Family:
        """Masks choose inputs."""
        return Diagonal()
