"""The block ``features`` of an emulator: what distribution its features are drawn from, and what they are."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from rftune.data import Array
from rftune.features.distribution import Prior, Structure, Tails, make_structure
from rftune.features.drawn import Features, draw
from rftune.features.family import FAMILIES, Family
from rftune.features.feature_map import MAPS, FeatureMap
from rftune.settings import Different, Field, Settings

PositiveRank = Annotated[int, Field(ge=1)]


class FeatureSettings(Settings):
    """The random features of an emulator and the prior of their distribution's hyperparameters."""

    family: Annotated[Family, FAMILIES] = Field(
        default_factory=FAMILIES.default, description="family of the frequencies' distribution"
    )
    rank: PositiveRank | tuple[PositiveRank, PositiveRank] | None = Field(
        None, description="rank of the structure; [input, output] for a separable one; null for full rank or none"
    )
    rank_candidates: Annotated[tuple[PositiveRank | tuple[PositiveRank, PositiveRank], ...], Different] | None = Field(
        None, min_length=2, description="ranks, simplest first, of which the best on a validation split is taken"
    )
    max_rank: int | None = Field(None, ge=1, description="largest rank that rank null stands for; null for no limit")
    separable: bool = Field(False, description="separable in inputs and outputs also without a pair of ranks")
    outputs: Literal["native", "shared", "separate"] = Field(
        "native",
        description="vector-valued features; scalar ones with coefficients of their own for every output; or an "
        "emulator of its own for every output",
    )
    map: Annotated[FeatureMap, MAPS] = Field(default_factory=MAPS.default, description="map of the features")
    draw: Tails = Field(Tails(), description="tails of the frequencies")
    prior: Prior = Field(Prior(), description="prior of the hyperparameters; families have more of their own")
    untuned_draws: int = Field(
        30,
        ge=2,
        le=1_000_000,
        description="draws of the prior whose mean an untuned emulator takes for hyperparameters",
    )

    def structure(self, n_inputs: int, n_outputs: int) -> Structure:
        """The distribution for data of this size; scalar features have one for all outputs."""
        return make_structure(
            self.family,
            n_inputs,
            n_outputs if self.outputs == "native" else 1,
            self.rank,
            self.max_rank,
            self.separable,
            self.prior,
            self.draw,
        )

    def sample(
        self,
        structure: Structure,
        parameters: Array,
        n_features: int,
        output_variance: Array,
        rng: np.random.Generator,
    ) -> Features:
        """See `drawn.draw`."""
        if self.outputs == "separate":
            raise ValueError("separate outputs have an emulator each: draw features for one of them")
        return draw(structure, parameters, n_features, output_variance, rng, self.outputs, self.map)
