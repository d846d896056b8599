"""Feature-distribution structures: from tunable parameters to a distribution of frequencies, with priors and counts.

A *structure* uses families (`families`) to draw the frequency matrices Ξ (n_outputs × n_inputs) of the random features
and adds the amplitude ς; its parameters are one unconstrained vector. The latent numbers behind Ξ, normal or
heavy-tailed, are drawn here for every family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from rftune.data import Array
from rftune.features.family import FAMILIES, Family, Mask, Normal, Parameter, Priors, Sparse, Values

__all__ = [
    "FAMILIES",
    "Draw",
    "Family",
    "Nonseparable",
    "Normal",
    "Parameter",
    "Priors",
    "Rank",
    "Separable",
    "Structure",
    "make_structure",
]

Rank = int | tuple[int, int] | None
Tail = Literal["normal", "student", "cauchy", "laplace"]
Mixing = Literal["joint", "independent"]


@dataclass(frozen=True)
class Draw:
    """How the latent numbers z of the frequencies are drawn: standard normals times a random scale s.

    One s per feature keeps the frequencies elliptical (sparse ones given their mask): the limiting kernel depends on
    the Mahalanobis distance r = √(ΔᵀCΔ) alone. One s per latent number gives, in the diagonal and sparse families, a
    product over inputs of kernels of r = D_i|Δ_i|. See `docs/sparse.md`.

    Attributes
    ----------
    tail
        "normal": s = 1, kernel exp(-r²/2). "student": s² = ν/χ²_ν, Matérn of smoothness ν/2 in r. "cauchy": ν = 1,
        exp(-r). "laplace": s² twice a standard exponential, 1/(1 + r²).
    degrees_of_freedom
        ν of the student tail; the others do not look at it.
    mixing
        "joint": one s per feature. "independent": one per latent number.
    mask
        Of a separable sparse structure: one mask per feature, "shared" by all outputs, or one "per_output".
    """

    tail: Tail = "normal"
    degrees_of_freedom: float = 3.0
    mixing: Mixing = "joint"
    mask: Mask = "shared"

    def __post_init__(self) -> None:
        for name, known in (("tail", Tail), ("mixing", Mixing), ("mask", Mask)):
            if getattr(self, name) not in get_args(known):
                raise ValueError(f"{name} must be one of {', '.join(get_args(known))}; got {getattr(self, name)!r}")
        if not (np.isfinite(self.degrees_of_freedom) and self.degrees_of_freedom > 0):
            raise ValueError(f"degrees_of_freedom must be positive; got {self.degrees_of_freedom}")

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


class Structure(ABC):
    """Distribution of frequency matrices with an amplitude; parameters as one unconstrained vector."""

    n_inputs: int
    n_outputs: int
    settings: Draw
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
        variance = self.settings.variance
        if not np.isfinite(variance):
            raise ValueError(f"frequencies with a {self.settings.tail} tail have no covariance here: use scatter")
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


def _amplitude(priors: Priors) -> Parameter:
    return Parameter("amplitude", (), "log", priors.amplitude)


class Nonseparable(Structure):
    """Ξ drawn as one vector of n_outputs·n_inputs entries."""

    def __init__(self, n_inputs: int, n_outputs: int, family: Family, priors: Priors, settings: Draw) -> None:
        self.n_inputs, self.n_outputs, self.family, self.settings = n_inputs, n_outputs, family, settings
        self.parameters = (_amplitude(priors), *family.parameters)

    def draw(self, values: Values, n_features: int, rng: np.random.Generator) -> Array:
        latent = self.settings.latent((n_features, self.family.latent_size), rng)
        return self.family.draw(values, latent, rng).reshape(n_features, self.n_outputs, self.n_inputs)

    def scatter(self, values: Values) -> Array:
        return self.family.scatter(values)


class Separable(Structure):
    """Ξ = A_out Z A_inᵀ, with normal tails MatrixNormal(0, C_in, C_out): C = C_out ⊗ C_in (row by row)."""

    def __init__(self, input_family: Family, output_family: Family, priors: Priors, settings: Draw) -> None:
        self.n_inputs, self.n_outputs = input_family.size, output_family.size
        self.settings = settings
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
        latent = self.settings.latent((n_features, outer.latent_size, inner.latent_size), rng)
        rows = inner.draw(self._values_of("input", values), latent, rng)
        columns = outer.draw(self._values_of("output", values), np.swapaxes(rows, 1, 2), rng)
        return np.swapaxes(columns, 1, 2)

    def scatter(self, values: Values) -> Array:
        scatters = {side: family.scatter(self._values_of(side, values)) for side, family in self.families.items()}
        return np.asarray(np.kron(scatters["output"], scatters["input"]), dtype=np.float64)


def make_structure(
    name: str,
    n_inputs: int,
    n_outputs: int,
    rank: Rank = None,
    priors: Priors | None = None,
    draw: Draw | None = None,
    separable: bool = False,
    max_rank: int | None = None,
) -> Structure:
    """Build a structure by name.

    Parameters
    ----------
    name
        A key of `FAMILIES`. In a separable sparse structure the masks choose inputs, and the output side is diagonal.
    n_inputs, n_outputs
        Sizes of Ξ; with shared features the structure has one output.
    rank
        An integer for a nonseparable structure, a pair (input, output) for a separable one, None for full rank or,
        in the families without one, no rank.
    priors
        Prior scales. In a separable structure the overall scale sits in the input family, so the output
        family's scales are centred at one.
    draw
        Tails of the latent numbers and masks.
    separable
        Asks for a separable structure where no pair of ranks does.
    max_rank
        Largest rank that ``rank`` None stands for.
    """
    if name not in FAMILIES:
        raise ValueError(f"structure must be one of {', '.join(FAMILIES)}; got {name!r}")
    if max_rank is not None and (max_rank < 1 or rank is not None):
        raise ValueError(f"max_rank must be at least 1 and stand beside rank null; got {max_rank} beside rank {rank}")
    priors, draw = priors or Priors(), draw or Draw()
    if not (separable or isinstance(rank, tuple)):
        family = _family(name, n_inputs * n_outputs, rank, max_rank, priors, n_inputs, draw)
        return Nonseparable(n_inputs, n_outputs, family, priors, draw)
    if isinstance(rank, int):
        raise ValueError(f"a separable structure has a pair of ranks, (input, output), or null; got {rank}")
    input_rank, output_rank = rank or (None, None)
    output_priors = replace(priors, log_scale=Normal(0.0, 0.5))
    return Separable(
        _family(name, n_inputs, input_rank, max_rank, priors, n_inputs, draw),
        _family("diagonal" if name == "sparse" else name, n_outputs, output_rank, max_rank, output_priors, 1, draw),
        priors,
        draw,
    )


def _family(
    name: str, size: int, rank: int | None, max_rank: int | None, priors: Priors, n_inputs: int, draw: Draw
) -> Family:
    family = FAMILIES[name]
    if rank is None and max_rank is not None and family.has_rank:
        rank = min(max_rank, size)
    if issubclass(family, Sparse):
        return family(size, rank, priors, n_inputs, draw.mask)
    return family(size, rank, priors)
