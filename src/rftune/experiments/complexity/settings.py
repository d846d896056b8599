"""Which sizes are measured."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from rftune import memory
from rftune.settings import Field, Settings


def _increasing(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if any(low >= high for low, high in pairwise(sizes)):
        raise ValueError(f"sizes must increase; got {', '.join(map(str, sizes))}")
    return sizes


Increasing = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=2), AfterValidator(_increasing)]


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

    n_inputs: int = Field(ge=1, le=10_000, description="d, inputs of the measured models")
    n_points: int = Field(ge=1, description="points at which mean and covariance are evaluated in one call")
    repeats: int = Field(ge=1, le=10_000, description="timings whose median counts")
    base: Sizes = Field(description="sizes where they do not vary")
    sizes: VariedSizes = Field(description="sizes that each variable takes in turn")

    @model_validator(mode="after")
    def _check_memory(self) -> Self:
        """The matrices of both methods at the largest size of each variable."""
        for name in VariedSizes.model_fields:
            largest = self.base.but(**{name: max(getattr(self.sizes, name))})
            n_rows, n_features = largest.n_train * largest.n_outputs, largest.n_features
            what = f"a model of {largest.n_train} data, {largest.n_outputs} outputs and {n_features} features"
            n_new = self.n_points * largest.n_outputs
            memory.check(max(n_rows, n_new, n_features) ** 2, what, f"lower base, n_points or sizes.{name}")
        return self
