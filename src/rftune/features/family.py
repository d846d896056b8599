"""Families: parametrised zero-mean distributions of one vector, their parameters and priors.

Parameters live in two coordinates: *constrained* (positive scales, probabilities, free loadings) and *unconstrained*
(logarithms, logits), where the prior is an independent normal and the tuning works. Prior scales are for standardised
inputs (see `docs/method.md`).

To add a family: one subclass of `Family`, one entry in `FAMILIES`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from rftune.data import Array

Values = Mapping[str, Array]
Transform = Literal["identity", "log", "logit"]
Mask = Literal["shared", "per_output"]


@dataclass(frozen=True)
class Normal:
    """Normal distribution of an unconstrained parameter."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.std) and self.std > 0):
            raise ValueError(f"a prior needs a finite mean and a positive std; got mean {self.mean}, std {self.std}")


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
        if self.transform == "log":
            return np.exp(block)
        return special.expit(block) if self.transform == "logit" else block

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
            block = special.logit(block)
        return block.ravel()


@dataclass(frozen=True)
class Priors:
    """Prior scales in unconstrained coordinates, for standardised inputs.

    Attributes
    ----------
    amplitude
        a, where ς = 2·var(y)·exp(a): at a = 0 the prior function has the variance of the data.
    log_scale
        Logarithm of a frequency scale D: exp(-mean) is a typical lengthscale in input standard deviations.
    log_strength
        Logarithm of the entries of S in the perturbation family.
    loading_std
        Standard deviation of the entries of U.
    active_inputs
        Number of inputs that a sparse feature involves on average at the prior mean.
    inclusion_std
        Standard deviation of the logit of an inclusion probability π.
    """

    amplitude: Normal = Normal(0.0, 1.5)
    log_scale: Normal = Normal(0.0, 0.7)
    log_strength: Normal = Normal(0.0, 1.0)
    loading_std: float = 0.1
    active_inputs: float = 2.0
    inclusion_std: float = 1.0

    def __post_init__(self) -> None:
        if not self.active_inputs > 0:
            raise ValueError(f"active_inputs must be positive; got {self.active_inputs}")

    @property
    def loading(self) -> Normal:
        return Normal(0.0, self.loading_std)

    def inclusion(self, n_inputs: int) -> Normal:
        """Prior of logit π, centred where ``active_inputs``, but at most three quarters, of the inputs are active."""
        probability = min(self.active_inputs / n_inputs, 0.75)
        return Normal(math.log(probability / (1.0 - probability)), self.inclusion_std)


class Family(ABC):
    """A distribution of vectors with ``size`` entries, made from ``latent_size`` independent numbers.

    The numbers are standard normal, or heavier-tailed (`structures.Draw`): a family only shapes them.
    """

    has_rank: ClassVar[bool] = True
    size: int
    latent_size: int
    parameters: tuple[Parameter, ...]

    @abstractmethod
    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        """Turn latent numbers (..., latent_size) into draws (..., size).

        ``rng`` is for families that draw more than the latent numbers.
        """

    @abstractmethod
    def scatter(self, values: Values) -> Array:
        """C, the covariance of the draws when the latent numbers have unit variance, (size, size)."""


def _checked_rank(rank: int, size: int) -> int:
    if not 1 <= rank <= size:
        raise ValueError(
            f"rank must be between 1 and {size}, the number of frequency entries (inputs × outputs); got {rank}"
        )
    return rank


class Diagonal(Family):
    """C = diag(D)²: one frequency scale per entry."""

    has_rank = False

    def __init__(self, size: int, rank: int | None, priors: Priors) -> None:
        if rank is not None:
            raise ValueError(f"the diagonal family has no rank; got rank {rank}: leave it out")
        self.size = self.latent_size = size
        self.parameters = (Parameter("scales", (size,), "log", priors.log_scale),)

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        return latent * values["scales"]

    def scatter(self, values: Values) -> Array:
        return np.diag(values["scales"] ** 2)


class Sparse(Family):
    """Ξ_i = b_i D_i z_i with b_i ~ Bernoulli(π_i): a feature involves only the inputs that its mask b keeps.

    Parameters
    ----------
    size, rank, priors
        As for every family.
    n_inputs
        Number of inputs among which ``priors.active_inputs`` are kept; None for ``size``.
    mask
        Of a separable structure, where the latent numbers are (n_features, n_outputs, size): "shared" draws one mask
        per feature for all outputs, "per_output" one for each.
    """

    has_rank = False

    def __init__(
        self, size: int, rank: int | None, priors: Priors, n_inputs: int | None = None, mask: Mask = "shared"
    ) -> None:
        if rank is not None:
            raise ValueError(f"the sparse family has no rank; got rank {rank}: leave it out")
        self.size = self.latent_size = size
        self.mask = mask
        self.parameters = (
            Parameter("scales", (size,), "log", priors.log_scale),
            Parameter("inclusion", (size,), "logit", priors.inclusion(n_inputs or size)),
        )

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        between = latent.shape[1:-1]
        shape = (len(latent), *(1 for _ in between), self.size) if self.mask == "shared" else latent.shape
        return np.where(rng.random(shape) < values["inclusion"], latent * values["scales"], 0.0)

    def scatter(self, values: Values) -> Array:
        return np.diag(values["inclusion"] * values["scales"] ** 2)


class LowRank(Family):
    """C = diag(D)² + U Uᵀ: independent scales plus ``rank`` shared directions."""

    def __init__(self, size: int, rank: int | None, priors: Priors) -> None:
        self.rank = _checked_rank(size if rank is None else rank, size)
        self.size, self.latent_size = size, size + self.rank
        self.parameters = (
            Parameter("scales", (size,), "log", priors.log_scale),
            Parameter("loadings", (size, self.rank), "identity", priors.loading),
        )

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        own, shared = latent[..., : self.size], latent[..., self.size :]
        return own * values["scales"] + shared @ values["loadings"].T

    def scatter(self, values: Values) -> Array:
        loadings = values["loadings"]
        return np.diag(values["scales"] ** 2) + loadings @ loadings.T


class Perturbation(Family):
    """C = (I + U S Uᵀ)(I + U S Uᵀ)ᵀ with diagonal S: the paper's equation (eq. rff_cov)."""

    def __init__(self, size: int, rank: int | None, priors: Priors) -> None:
        self.rank = _checked_rank(size if rank is None else rank, size)
        self.size = self.latent_size = size
        self.parameters = (
            Parameter("loadings", (size, self.rank), "identity", priors.loading),
            Parameter("strengths", (self.rank,), "log", priors.log_strength),
        )

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        loadings = values["loadings"]
        return latent + (latent @ loadings * values["strengths"]) @ loadings.T

    def scatter(self, values: Values) -> Array:
        loadings = values["loadings"]
        factor = np.eye(self.size) + loadings * values["strengths"] @ loadings.T
        return factor @ factor.T


FAMILIES: dict[str, type[LowRank] | type[Perturbation] | type[Diagonal] | type[Sparse]] = {
    "lowrank": LowRank,
    "perturbation": Perturbation,
    "diagonal": Diagonal,
    "sparse": Sparse,
}
