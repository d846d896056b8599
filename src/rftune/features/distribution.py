"""Feature-distribution structures: from tunable parameters to a distribution of frequencies, with priors and counts.

A *structure* uses families (`family`) to draw the frequency matrices Ξ (n_outputs × n_inputs) of the random features
and adds the amplitude ς; its parameters are one unconstrained vector. The latent numbers behind Ξ, normal or
heavy-tailed, are drawn here for every family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rftune.data import Array
from rftune.features.family import Family, Parameter, Space, Values
from rftune.settings import Field, Normal, Settings

Rank = int | tuple[int, int] | None


class Tails(Settings):
    """How the latent numbers z of the frequencies are drawn: standard normals times a random scale s.

    One s per feature keeps the frequencies elliptical (sparse ones given their mask): the limiting kernel depends on
    the Mahalanobis distance r = √(ΔᵀCΔ) alone. One s per latent number gives, in the diagonal and sparse families, a
    product over inputs of kernels of r = D_i|Δ_i|. See `docs/sparse.md`.

    Tails: "normal": s = 1, kernel exp(-r²/2). "student": s² = ν/χ²_ν, Matérn of smoothness ν/2 in r. "cauchy": ν = 1,
    exp(-r). "laplace": s² twice a standard exponential, 1/(1 + r²).
    """

    tail: Literal["normal", "student", "cauchy", "laplace"] = Field("normal", description="tail of the frequencies")
    degrees_of_freedom: float = Field(
        3.0, ge=0.1, le=1e6, description="ν of the student tail; the others do not look at it"
    )
    mixing: Literal["joint", "independent"] = Field(
        "joint", description="one random scale per feature, or one per latent number"
    )

    @property
    def _student_df(self) -> float:
        return 1.0 if self.tail == "cauchy" else self.degrees_of_freedom

    @property
    def variance(self) -> float:
        """E[s²], the variance of a latent number; infinite for a student tail with ν ≤ 2."""
        if self.tail == "normal":
            return 1.0
        if self.tail == "laplace":
            return 2.0
        return self._student_df / (self._student_df - 2.0) if self._student_df > 2.0 else np.inf

    def latent(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Latent numbers, ``shape`` (n_features, ...)."""
        normals = rng.standard_normal(shape)
        if self.tail == "normal":
            return normals
        mixed = shape if self.mixing == "independent" else (shape[0], *(1 for _ in shape[1:]))
        if self.tail == "laplace":
            return normals * np.sqrt(2.0 * rng.standard_exponential(mixed))
        return normals * np.sqrt(self._student_df / rng.chisquare(self._student_df, mixed))


class Prior(Settings):
    """Prior of what every structure has, unconstrained and for standardised inputs; families have more of their own."""

    amplitude: Normal | None = Field(
        None,
        description="[mean, std] of a, where ς = 2·var(y)·exp(a): at a = 0 the prior function has the data's variance; "
        "null for [0, 1.5], of the family subspace [0, 2.68]",
    )
    log_scale: Normal = Field(
        Normal(0.0, 0.7),
        description="[mean, std] of the logarithm of a frequency scale D: exp(-mean) is a typical lengthscale in input "
        "standard deviations",
    )


class Structure(ABC):
    """Distribution of frequency matrices with an amplitude; parameters as one unconstrained vector."""

    n_inputs: int
    n_outputs: int
    tails: Tails
    parameters: tuple[Parameter, ...]

    @abstractmethod
    def draw(self, values: Values, n_features: int, rng: np.random.Generator) -> Array:
        """Frequency matrices, (n_features, n_outputs, n_inputs)."""

    @abstractmethod
    def scatter(self, values: Values) -> Array:
        """C of the entries of Ξ, row by row, (n_outputs·n_inputs, n_outputs·n_inputs).

        Their covariance under normal tails; it sets the lengthscales under any.
        """

    def covariance(self, values: Values) -> Array:
        """Covariance of the entries of Ξ: C times the variance of the latent numbers, which must be finite."""
        variance = self.tails.variance
        if not np.isfinite(variance):
            raise ValueError(f"frequencies with a {self.tails.tail} tail have no covariance here: use scatter")
        return variance * self.scatter(values)

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


def _amplitude(prior: Prior, family: Family) -> Parameter:
    return Parameter("amplitude", (), "log", prior.amplitude or family.amplitude)


@dataclass(frozen=True)
class Side:
    """A family in a space: all entries of Ξ, or in a separable structure those of its inputs or outputs."""

    family: Family
    space: Space

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.family.parameters(self.space)

    @property
    def latent_size(self) -> int:
        return self.family.latent_size(self.space)


class Nonseparable(Structure):
    """Ξ drawn as one vector of n_outputs·n_inputs entries."""

    def __init__(self, n_inputs: int, n_outputs: int, side: Side, prior: Prior, tails: Tails) -> None:
        self.n_inputs, self.n_outputs, self.side, self.tails = n_inputs, n_outputs, side, tails
        self.parameters = (_amplitude(prior, side.family), *side.parameters)

    def draw(self, values: Values, n_features: int, rng: np.random.Generator) -> Array:
        latent = self.tails.latent((n_features, self.side.latent_size), rng)
        return self.side.family.draw(values, latent, rng).reshape(n_features, self.n_outputs, self.n_inputs)

    def scatter(self, values: Values) -> Array:
        return self.side.family.scatter(values)


class Separable(Structure):
    """Ξ = A_out Z A_inᵀ, with normal tails MatrixNormal(0, C_in, C_out): C = C_out ⊗ C_in (row by row)."""

    def __init__(self, inner: Side, outer: Side, prior: Prior, tails: Tails) -> None:
        self.n_inputs, self.n_outputs, self.tails = inner.space.size, outer.space.size, tails
        self.sides = {"input": inner, "output": outer}
        self.parameters = (
            _amplitude(prior, inner.family),
            *(
                Parameter(f"{name}_{p.name}", p.shape, p.transform, p.prior)
                for name, side in self.sides.items()
                for p in side.parameters
            ),
        )

    def _values_of(self, name: str, values: Values) -> dict[str, Array]:
        return {p.name: values[f"{name}_{p.name}"] for p in self.sides[name].parameters}

    def draw(self, values: Values, n_features: int, rng: np.random.Generator) -> Array:
        inner, outer = self.sides["input"], self.sides["output"]
        latent = self.tails.latent((n_features, outer.latent_size, inner.latent_size), rng)
        rows = inner.family.draw(self._values_of("input", values), latent, rng)
        columns = outer.family.draw(self._values_of("output", values), np.swapaxes(rows, 1, 2), rng)
        return np.swapaxes(columns, 1, 2)

    def scatter(self, values: Values) -> Array:
        scatters = {name: side.family.scatter(self._values_of(name, values)) for name, side in self.sides.items()}
        return np.asarray(np.kron(scatters["output"], scatters["input"]), dtype=np.float64)


def make_structure(
    family: Family,
    n_inputs: int,
    n_outputs: int,
    rank: Rank,
    max_rank: int | None,
    separable: bool,
    prior: Prior,
    tails: Tails,
) -> Structure:
    """The structure that the settings describe (`settings.FeatureSettings`) for frequencies of this size.

    In a separable structure the overall scale sits in the input family, so the output family's scales are centred at
    one.
    """
    if max_rank is not None and rank is not None:
        raise ValueError(f"max_rank must stand beside rank null; got {max_rank} beside rank {rank}")
    if not (separable or isinstance(rank, tuple)):
        size = n_inputs * n_outputs
        entries = "the number of frequency entries (inputs × outputs)"
        space = Space(size, _rank(family, size, rank, max_rank, entries), n_inputs, prior.log_scale)
        return Nonseparable(n_inputs, n_outputs, Side(family, space), prior, tails)
    if isinstance(rank, int):
        raise ValueError(f"a separable structure has a pair of ranks, (input, output), or null; got {rank}")
    input_rank, output_rank = rank or (None, None)
    outer = family.of_outputs()
    inner_rank = _rank(family, n_inputs, input_rank, max_rank, "the number of inputs")
    outer_rank = _rank(outer, n_outputs, output_rank, max_rank, "the number of outputs")
    inner_space = Space(n_inputs, inner_rank, n_inputs, prior.log_scale)
    outer_space = Space(n_outputs, outer_rank, 1, Normal(0.0, 0.5))
    return Separable(Side(family, inner_space), Side(outer, outer_space), prior, tails)


def _rank(family: Family, size: int, rank: int | None, max_rank: int | None, entries: str) -> int | None:
    """The rank in a space of this size, which is a number of ``entries``: the one that is asked for, or the largest."""
    if not family.has_rank:
        if rank is not None:
            raise ValueError(f"the {family.kind_name()} family has no rank; got rank {rank}: leave it out")
        return None
    if rank is None:
        return min(max_rank or size, size)
    if not 1 <= rank <= size:
        raise ValueError(
            f"rank must be between 1 and {size}, {entries}; got {rank}: lower it, or set the emulator to null, which "
            f"leaves it out"
        )
    return rank
