"""Feature-distribution structures: from tunable parameters to a distribution of frequencies, with priors and counts.

A *family* is a parametrised zero-mean distribution of one vector; a *structure* uses families to draw the frequency
matrices Ξ (n_outputs × n_inputs) of the random features and adds the amplitude ς. Parameters live in two coordinates:
*constrained* (positive scales, free loadings) and *unconstrained* (logarithms of the positive ones), where the prior is
an independent normal and the tuning works. Prior scales are for standardised inputs (see `docs/method.md`).

To add a family: one subclass of `Family`, one entry in `FAMILIES`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rftune.data import Array

Values = Mapping[str, Array]
Transform = Literal["identity", "log"]


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
        return np.exp(block) if self.transform == "log" else block

    def unconstrain(self, values: Array) -> Array:
        block = np.asarray(values, dtype=np.float64)
        if block.shape != self.shape:
            raise ValueError(f"{self.name} must have shape {self.shape}; got {block.shape}")
        if self.transform == "log":
            if not (block > 0).all():
                raise ValueError(f"{self.name} must be positive; its smallest entry is {block.min()}")
            block = np.log(block)
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
    """

    amplitude: Normal = Normal(0.0, 1.5)
    log_scale: Normal = Normal(0.0, 0.7)
    log_strength: Normal = Normal(0.0, 1.0)
    loading_std: float = 0.1

    @property
    def loading(self) -> Normal:
        return Normal(0.0, self.loading_std)


class Family(ABC):
    """A distribution of vectors with ``size`` entries, made from ``latent_size`` standard normal numbers."""

    size: int
    latent_size: int
    parameters: tuple[Parameter, ...]

    @abstractmethod
    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        """Turn standard normal numbers (..., latent_size) into draws (..., size).

        ``rng`` is for families that draw more than normal numbers.
        """

    @abstractmethod
    def covariance(self, values: Values) -> Array:
        """Covariance of the draws, (size, size)."""


def _checked_rank(rank: int, size: int) -> int:
    if not 1 <= rank <= size:
        raise ValueError(
            f"rank must be between 1 and {size}, the number of frequency entries (inputs × outputs); got {rank}"
        )
    return rank


class Diagonal(Family):
    """C = diag(D)²: one frequency scale per entry."""

    def __init__(self, size: int, rank: int | None, priors: Priors) -> None:
        if rank is not None:
            raise ValueError(f"the diagonal family has no rank; got rank {rank}: leave it out")
        self.size = self.latent_size = size
        self.parameters = (Parameter("scales", (size,), "log", priors.log_scale),)

    def draw(self, values: Values, latent: Array, rng: np.random.Generator) -> Array:
        return latent * values["scales"]

    def covariance(self, values: Values) -> Array:
        return np.diag(values["scales"] ** 2)


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

    def covariance(self, values: Values) -> Array:
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

    def covariance(self, values: Values) -> Array:
        loadings = values["loadings"]
        factor = np.eye(self.size) + loadings * values["strengths"] @ loadings.T
        return factor @ factor.T


FAMILIES: dict[str, type[Diagonal] | type[LowRank] | type[Perturbation]] = {
    "lowrank": LowRank,
    "perturbation": Perturbation,
    "diagonal": Diagonal,
}


class Structure(ABC):
    """Distribution of frequency matrices with an amplitude; parameters as one unconstrained vector."""

    n_inputs: int
    n_outputs: int
    parameters: tuple[Parameter, ...]

    @abstractmethod
    def draw(self, values: Values, n_features: int, rng: np.random.Generator) -> Array:
        """Frequency matrices, (n_features, n_outputs, n_inputs)."""

    @abstractmethod
    def covariance(self, values: Values) -> Array:
        """Covariance of the entries of Ξ, row by row, (n_outputs·n_inputs, n_outputs·n_inputs)."""

    @property
    def n_parameters(self) -> int:
        return sum(parameter.size for parameter in self.parameters)

    @property
    def prior_mean(self) -> Array:
        return np.concatenate([np.full(p.size, p.prior.mean) for p in self.parameters])

    @property
    def prior_std(self) -> Array:
        return np.concatenate([np.full(p.size, p.prior.std) for p in self.parameters])

    def constrain(self, unconstrained: Array) -> dict[str, Array]:
        """Named constrained values from the unconstrained vector (n_parameters,)."""
        if unconstrained.shape != (self.n_parameters,):
            raise ValueError(f"expected {self.n_parameters} parameters; got shape {unconstrained.shape}")
        values, start = {}, 0
        for parameter in self.parameters:
            values[parameter.name] = parameter.constrain(unconstrained[start : start + parameter.size])
            start += parameter.size
        return values

    def unconstrain(self, values: Values) -> Array:
        """Inverse of `constrain`."""
        return np.concatenate([p.unconstrain(values[p.name]) for p in self.parameters])


def _amplitude(priors: Priors) -> Parameter:
    return Parameter("amplitude", (), "log", priors.amplitude)


class Nonseparable(Structure):
    """Ξ drawn as one vector of n_outputs·n_inputs entries."""

    def __init__(self, n_inputs: int, n_outputs: int, family: Family, priors: Priors) -> None:
        self.n_inputs, self.n_outputs, self.family = n_inputs, n_outputs, family
        self.parameters = (_amplitude(priors), *family.parameters)

    def draw(self, values: Values, n_features: int, rng: np.random.Generator) -> Array:
        latent = rng.standard_normal((n_features, self.family.latent_size))
        return self.family.draw(values, latent, rng).reshape(n_features, self.n_outputs, self.n_inputs)

    def covariance(self, values: Values) -> Array:
        return self.family.covariance(values)


class Separable(Structure):
    """Ξ ~ MatrixNormal(0, C_in, C_out): entries have covariance C_out ⊗ C_in (row by row)."""

    def __init__(self, input_family: Family, output_family: Family, priors: Priors) -> None:
        self.n_inputs, self.n_outputs = input_family.size, output_family.size
        self.families = {"input": input_family, "output": output_family}
        self.parameters = (
            _amplitude(priors),
            *(
                Parameter(f"{side}_{p.name}", p.shape, p.transform, p.prior)
                for side, family in self.families.items()
                for p in family.parameters
            ),
        )

    def _values_of(self, side: str, values: Values) -> dict[str, Array]:
        return {p.name: values[f"{side}_{p.name}"] for p in self.families[side].parameters}

    def draw(self, values: Values, n_features: int, rng: np.random.Generator) -> Array:
        inner, outer = self.families["input"], self.families["output"]
        latent = rng.standard_normal((n_features, outer.latent_size, inner.latent_size))
        rows = inner.draw(self._values_of("input", values), latent, rng)
        columns = outer.draw(self._values_of("output", values), np.swapaxes(rows, 1, 2), rng)
        return np.swapaxes(columns, 1, 2)

    def covariance(self, values: Values) -> Array:
        covariances = {side: family.covariance(self._values_of(side, values)) for side, family in self.families.items()}
        return np.asarray(np.kron(covariances["output"], covariances["input"]), dtype=np.float64)


def make_structure(
    name: str,
    n_inputs: int,
    n_outputs: int,
    rank: int | tuple[int, int] | None = None,
    priors: Priors | None = None,
) -> Structure:
    """Build a structure by name.

    Parameters
    ----------
    name
        A key of `FAMILIES`.
    n_inputs, n_outputs
        Sizes of Ξ; with shared features the structure has one output.
    rank
        An integer for a nonseparable structure, a pair (input, output) for a separable one, None for full rank.
    priors
        Prior scales. In a separable structure the overall scale sits in the input family, so the output
        family's scales are centred at one.
    """
    if name not in FAMILIES:
        raise ValueError(f"structure must be one of {', '.join(FAMILIES)}; got {name!r}")
    priors = priors or Priors()
    family = FAMILIES[name]
    if not isinstance(rank, tuple):
        return Nonseparable(n_inputs, n_outputs, family(n_inputs * n_outputs, rank, priors), priors)
    output_priors = Priors(priors.amplitude, Normal(0.0, 0.5), priors.log_strength, priors.loading_std)
    return Separable(family(n_inputs, rank[0], priors), family(n_outputs, rank[1], output_priors), priors)
