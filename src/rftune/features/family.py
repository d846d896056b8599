"""Families: parametrised zero-mean distributions of one vector, their parameters and priors.

Parameters live in two coordinates: *constrained* (positive scales, probabilities, free loadings) and *unconstrained*
(logarithms, logits), where the prior is an independent normal and the tuning works. Prior scales are for standardised
inputs (see `docs/method.md`). To add a family: a file in ``families``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rftune.data import Array
from rftune.settings import Choice, Normal, Registry

Values = Mapping[str, Array]
Transform = Literal["identity", "log", "logit"]


@dataclass(frozen=True)
class Parameter:
    """A block of tunable numbers with a common transform and prior."""

    name: str
    shape: tuple[int, ...]
    transform: Transform
    prior: Normal

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def constrain(self, unconstrained: Array) -> Array:
        block = unconstrained.reshape(self.shape)
        if self.transform == "logit":
            from scipy.special import expit  # a slow import, and most families do without

            return expit(block)
        return np.exp(block) if self.transform == "log" else block

    def unconstrain(self, values: Array) -> Array:
        block = np.asarray(values, dtype=np.float64)
        if block.shape != self.shape:
            raise ValueError(f"{self.name} must have shape {self.shape}; got {block.shape}")
        if self.transform == "log":
            if not (block > 0).all():
                raise ValueError(f"{self.name} must be positive; its smallest entry is {block.min()}")
            block = np.log(block)
        elif self.transform == "logit":
            if not ((block > 0) & (block < 1)).all():
                raise ValueError(
                    f"{self.name} must be between 0 and 1, exclusive; its entries are in {block.min()}..{block.max()}"
                )
            block = np.log(block) - np.log1p(-block)
        return block.ravel()


@dataclass(frozen=True)
class Space:
    """What a family draws vectors for.

    Attributes
    ----------
    size
        Entries of a vector.
    rank
        Of the family's matrices; None in the families without one.
    n_inputs
        Inputs that the entries belong to.
    log_scale
        Prior of the logarithm of a frequency scale.
    """

    size: int
    rank: int | None
    n_inputs: int
    log_scale: Normal


class Family(Choice, ABC):
    """A distribution of vectors, made from independent latent numbers.

    The numbers are standard normal, or heavier-tailed (`distribution.Tails`): a family only shapes them.
    """

    has_rank: ClassVar[bool] = True
    amplitude: ClassVar[Normal] = Normal(0.0, 1.5)  # prior of a, where ς = 2·var(y)·exp(a)
    float32_is_safe: ClassVar[bool] = True

    @abstractmethod
    def parameters(self, space: Space) -> tuple[Parameter, ...]:
        """What is tuned."""

    @abstractmethod
    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        """Turn latent numbers (..., latent_size) into vectors (..., size).

        ``rng`` is for families that draw more than the latent numbers.
        """

    @abstractmethod
    def scatter(self, values: Values) -> Array:
        """C, the covariance of the vectors when the latent numbers have unit variance, (size, size)."""

    def latent_size(self, space: Space) -> int:
        """How many latent numbers make a vector."""
        return space.size

    def of_outputs(self) -> Family:
        """The family of the output side of a separable structure."""
        return self


FAMILIES: Registry[Family] = Registry("rftune.features.families", Family, default="lowrank")
