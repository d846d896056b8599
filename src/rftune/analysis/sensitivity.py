"""Sobol sensitivity indices in three calls: a design, its evaluation by the caller, the estimate.

``design = saltelli(...)``; ``values = f(design.points)``; ``indices(design, values, ...)``: truth and emulator go the
same road. Designs are SALib's. So are the estimators, Saltelli et al. (2010) for first and total indices and Saltelli
(2002) for second ones, but written here, without what they would import and compute again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from rftune.data import Array, as_matrix

CONFIDENCE_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Design:
    """Saltelli's design: per base sample a block of rows A, AB_1..AB_d, (BA_1..BA_d,) B.

    Attributes
    ----------
    points : (n_rows, n_inputs)
        n_rows is n_base (2 n_inputs + 2) with second-order blocks, n_base (n_inputs + 2) without.
    bounds : (n_inputs, 2)
        Lower and upper bound of each input, between which it is uniform.
    n_base
        Number of base samples, a power of two.
    second_order
        Whether the blocks BA are there.
    """

    points: Array
    bounds: Array
    n_base: int
    second_order: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", _checked_bounds(self.bounds))
        object.__setattr__(self, "points", as_matrix("points", self.points, n_columns=len(self.bounds)))
        _check_base(self.n_base)
        expected = self.n_base * _block_length(self.n_inputs, self.second_order)
        if self.n_rows != expected:
            raise ValueError(
                f"a design with n_base={self.n_base}, {self.n_inputs} inputs and second_order={self.second_order} "
                f"has {expected} points; got {self.n_rows}: make it with saltelli(...)"
            )

    @property
    def n_rows(self) -> int:
        return len(self.points)

    @property
    def n_inputs(self) -> int:
        return len(self.bounds)


@dataclass(frozen=True, eq=False)
class Indices:
    """Sobol indices with the half-widths of their bootstrap intervals.

    A ``*_confidence`` is a half-width: the interval is index ± confidence, and confidence is the normal quantile of
    ``confidence_level`` (1.96 at 95 %) times the standard deviation of the index over resampled base samples. The
    resampling treats base samples as independent, so on a Sobol design it overstates the error.

    Attributes
    ----------
    first, total : (n_inputs,)
        V_i and TV_i. An estimate may be slightly negative where the index is near zero.
    first_confidence, total_confidence : (n_inputs,)
    second, second_confidence : (n_inputs, n_inputs) or None
        Symmetric with NaN on the diagonal; None for a design without second-order blocks.
    confidence_level
        Level of the intervals.
    """

    first: Array
    total: Array
    first_confidence: Array
    total_confidence: Array
    second: Array | None
    second_confidence: Array | None
    confidence_level: float


def saltelli(
    bounds: Sequence[Sequence[float]] | Array, n_base: int, rng: np.random.Generator, *, second_order: bool = True
) -> Design:
    """Draw Saltelli's design from a scrambled Sobol sequence.

    Parameters
    ----------
    bounds : (n_inputs, 2)
        Lower and upper bound of each input.
    n_base
        Number of base samples, a power of two: only then is the Sobol sequence balanced.
    rng
        Draws the scrambling.
    second_order
        Whether to add the blocks that second-order indices need.
    """
    from SALib.sample import sobol as sobol_sample  # a slow import, and tables and plans do without

    checked = _checked_bounds(bounds)
    _check_base(n_base)
    points = sobol_sample.sample(_problem(checked), n_base, calc_second_order=second_order, seed=_seed_from(rng))
    return Design(points, checked, n_base, second_order)


def indices(design: Design, values: Any, n_bootstrap: int, rng: np.random.Generator) -> Indices:
    """Estimate Sobol indices from the values of a function on the points of a design.

    Parameters
    ----------
    design
        From `saltelli`.
    values : (n_rows,)
        One scalar value per design point, in the design's order.
    n_bootstrap
        Number of resamples behind the confidence intervals, at least 2.
    rng
        Draws the resamples; the indices themselves do not depend on it.
    """
    checked = _checked_values(design, values)
    if isinstance(n_bootstrap, bool) or not isinstance(n_bootstrap, int | np.integer) or n_bootstrap < 2:
        raise ValueError(f"n_bootstrap must be an integer of at least 2, to have a spread; got {n_bootstrap!r}")
    blocks = ((checked - checked.mean()) / checked.std()).reshape(design.n_base, -1)
    resampled = np.random.default_rng(_seed_from(rng)).integers(design.n_base, size=(design.n_base, int(n_bootstrap)))
    first, total, second = _estimates(blocks, design.n_inputs)
    again = _estimates(blocks[resampled], design.n_inputs)
    spread = NormalDist().inv_cdf(0.5 + CONFIDENCE_LEVEL / 2.0)
    return Indices(
        first=first,
        total=total,
        first_confidence=spread * again[0].std(axis=-1, ddof=1),
        total_confidence=spread * again[1].std(axis=-1, ddof=1),
        second=second,
        second_confidence=None if again[2] is None else spread * again[2].std(axis=-1, ddof=1),
        confidence_level=CONFIDENCE_LEVEL,
    )


def is_constant(values: Array) -> bool:
    """Whether values are all the same to rounding; a constant function has no indices."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def _estimates(blocks: Array, n_inputs: int) -> tuple[Array, Array, Array | None]:
    """First, total and second indices from centred values, block by block.

    Parameters
    ----------
    blocks : (n_base, n_rows / n_base) or (n_base, n_resamples, n_rows / n_base)

    Returns
    -------
    (n_inputs,), (n_inputs,) and (n_inputs, n_inputs) or None, with n_resamples behind them where there are resamples.
    """
    values = np.moveaxis(blocks, -1, 0)
    a, b, mixed = values[0], values[-1], values[1 : n_inputs + 1]
    variance = np.var(np.concatenate([a, b]), axis=0)

    def share(part: Array) -> Array:
        """Of the variance; none where the resampled values do not vary."""
        varies = variance > np.finfo(np.float64).eps
        found: Array = np.divide(part.mean(axis=0), variance, out=np.zeros_like(variance), where=varies)
        return found

    first = np.array([share(b * (one - a)) for one in mixed])
    total = np.array([share(0.5 * (a - one) ** 2) for one in mixed])
    if len(values) == _block_length(n_inputs, False):
        return first, total, None
    second = np.full((n_inputs, *first.shape), np.nan)
    product = a * b
    for j, other in enumerate(values[n_inputs + 1 : -1]):
        for k in range(j + 1, n_inputs):
            second[j, k] = second[k, j] = share(other * mixed[k] - product) - first[j] - first[k]
    return first, total, second


def _seed_from(rng: np.random.Generator) -> int:
    # SALib takes seed 0 for "no seed" and then uses numpy's global state
    return int(rng.integers(1, 2**32))


def _problem(bounds: Array) -> dict[str, Any]:
    return {"num_vars": len(bounds), "names": [f"x{i + 1}" for i in range(len(bounds))], "bounds": bounds.tolist()}


def _block_length(n_inputs: int, second_order: bool) -> int:
    return 2 * n_inputs + 2 if second_order else n_inputs + 2


def _check_base(n_base: int) -> None:
    if isinstance(n_base, bool) or not isinstance(n_base, int | np.integer) or n_base < 1:
        raise ValueError(f"n_base must be a positive integer; got {n_base!r}")
    if n_base & (n_base - 1):
        lower = 1 << (int(n_base).bit_length() - 1)
        raise ValueError(
            f"n_base must be a power of two, or the Sobol sequence loses its balance; got {n_base}: "
            f"use {lower} or {2 * lower}"
        )


def _checked_bounds(bounds: Any) -> Array:
    checked = as_matrix("bounds", bounds, n_columns=2)
    if not (checked[:, 0] < checked[:, 1]).all():
        row = int(np.argmin(checked[:, 0] < checked[:, 1]))
        raise ValueError(f"each lower bound must lie below its upper bound; input {row} has {checked[row].tolist()}")
    return checked


def _checked_values(design: Design, values: Any) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 2 and len(array) == design.n_rows:
        raise ValueError(
            f"values must be ({design.n_rows},), one scalar output; got shape {array.shape}: "
            f"choose an output, values[:, k]"
        )
    if array.shape != (design.n_rows,):
        raise ValueError(
            f"values must be ({design.n_rows},), one per design point; got shape {array.shape}: "
            f"evaluate the function on design.points"
        )
    finite = np.isfinite(array)
    if not finite.all():
        raise ValueError(
            f"values must be finite; {np.count_nonzero(~finite)} of {array.size} are not, the first at row "
            f"{int(np.argmin(finite))}: the estimator needs every point of the design, so repair the function there"
        )
    if is_constant(array):
        raise ValueError(
            f"values must vary: all {array.size} are {array[0]:g} to rounding, and the indices of a constant are "
            f"undefined: check that the function depends on its inputs"
        )
    return array
