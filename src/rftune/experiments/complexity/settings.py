"""Which sizes are measured."""

from __future__ import annotations

from typing import Annotated

from rftune.settings import Field, Settings

Increasing = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=2)]


class Sizes(Settings):
    """N, M, p of a measurement."""

    n_train: int = Field(ge=2, description="N, number of data")
    n_features: int = Field(ge=2, description="M, number of features")
    n_outputs: int = Field(ge=1, description="p, number of outputs")


class VariedSizes(Settings):
    """Increasing sizes that a slope is fitted to, of each variable in turn."""

    n_train: Increasing = Field(description="those of N")
    n_features: Increasing = Field(description="those of M")
    n_outputs: Increasing = Field(description="those of p")


class ComplexitySettings(Settings):
    """What GPR and RFR cost."""

    n_inputs: int = Field(ge=1, description="d, inputs of the measured models")
    n_points: int = Field(ge=1, description="points at which mean and covariance are evaluated in one call")
    repeats: int = Field(ge=1, description="timings whose median counts")
    base: Sizes = Field(description="sizes where they do not vary")
    sizes: VariedSizes = Field(description="sizes that each variable takes in turn")
