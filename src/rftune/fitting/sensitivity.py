"""Which inputs matter: Sobol indices and main effects of a surrogate, with intervals for what it does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rftune.analysis.sensitivity import CONFIDENCE_LEVEL, Design, indices, is_constant, saltelli
from rftune.data import Array
from rftune.fitting import scores
from rftune.fitting.surrogate import Surrogate

N_BASE = 1024
N_BOOTSTRAP = 100
_DRAWN_POINTS = 1500  # at most, at which functions are drawn together
_N_DRAWS = 50
_N_GRID = 21
_N_AVERAGED = 64  # points over which a main effect averages
_MANY = 20  # outputs from which on all are taken together
_SHOWN_COMPONENTS = 3
_NEGLIGIBLE = 1e-9  # share of the variance, of which no index is asked
_TOGETHER = "all outputs"


def bounds_of(given: Any, names: Sequence[str], ranges: Array) -> Array:
    """Bounds (n_inputs, 2): the range of the runs, or what is given, for all inputs in order or by name for some."""
    bounds = np.array(ranges, dtype=np.float64)
    if given is None:
        return bounds
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if name not in names]
        if unknown:
            raise ValueError(f"bounds name {unknown[0]!r}, which is no input; the inputs are {', '.join(names)}")
        rows = [given.get(name, row) for name, row in zip(names, bounds.tolist(), strict=True)]
    else:
        rows = given
    try:
        checked = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        checked = np.empty(0)
    if checked.shape != bounds.shape or not np.isfinite(checked).all():
        raise ValueError(f"bounds must be [low, high] for each of {', '.join(names)}; got {given!r}")
    if not (checked[:, 0] < checked[:, 1]).all():
        place = int(np.argmin(checked[:, 0] < checked[:, 1]))
        raise ValueError(f"bounds must have low below high; {names[place]} has {checked[place].tolist()}")
    return checked


def sobol_indices(
    surrogate: Surrogate,
    input_names: Sequence[str],
    output_names: Sequence[str],
    bounds: Array,
    n_base: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """First and total Sobol indices of every output, of many all together, weighted with their variances.

    The variances behind their 90 % intervals add up those over resamples of the design, and those over functions that
    the emulator holds possible.
    """
    design_rng, bootstrap_rng, draw_rng = rng.spawn(3)
    design = saltelli(bounds, n_base, design_rng, second_order=False)
    components = surrogate.mean_components(design.points)
    targets = _targets(surrogate, output_names)
    spreads = _spreads(surrogate, targets, bounds, draw_rng)
    tables = [
        _table(name, input_names, _together(design, components @ target, bootstrap_rng), spreads[name])
        for name, target in targets.items()
    ]
    return pd.concat(tables, ignore_index=True)


def _targets(surrogate: Surrogate, names: Sequence[str]) -> dict[str, Array]:
    """What indices are asked of: columns of weights of the components, (n_components, n_columns), by name.

    The variances of all outputs add up to those of the columns of a root of V Vᵀ, V the map of components to outputs.
    """
    to_outputs = surrogate.projection.to_outputs
    if len(names) < _MANY:
        return {name: to_outputs[:, [output]] for output, name in enumerate(names)}
    values, vectors = np.linalg.eigh(to_outputs @ to_outputs.T)
    return {_TOGETHER: vectors * np.sqrt(np.maximum(values, 0.0))}


@dataclass(frozen=True, eq=False)
class _Found:
    """Indices with the standard deviations of their estimates over resamples of the design, (n_inputs,) each."""

    first: Array
    total: Array
    first_std: Array
    total_std: Array


def _together(design: Design, values: Array, rng: np.random.Generator) -> _Found:
    """Indices of all columns of values together, weighted with their variances; zeros for a constant."""
    variances = values.var(axis=0)
    quantile = scores.half_width(CONFIDENCE_LEVEL)
    sums = np.zeros((4, design.n_inputs))
    for column, variance in zip(values.T, variances, strict=True):
        if is_constant(column) or variance <= _NEGLIGIBLE * variances.sum():
            continue
        share = variance / variances.sum()
        found = indices(design, column, N_BOOTSTRAP, rng)
        sums[:2] += share * np.stack([found.first, found.total])
        sums[2:] += (share / quantile * np.stack([found.first_confidence, found.total_confidence])) ** 2
    return _Found(sums[0], sums[1], np.sqrt(sums[2]), np.sqrt(sums[3]))


def _spreads(
    surrogate: Surrogate, targets: Mapping[str, Array], bounds: Array, rng: np.random.Generator
) -> dict[str, Array]:
    """Standard deviations of the indices over functions that the emulator holds possible, (2, n_inputs) by target.

    The functions are drawn at the points of a small design, the same for all.
    """
    n_inputs = len(bounds)
    n_base = 1 << max(3, int(np.log2(_DRAWN_POINTS / (n_inputs + 2))))
    design_rng, draw_rng = rng.spawn(2)
    design = saltelli(bounds, n_base, design_rng, second_order=False)
    draws = surrogate.draw_components(design.points, _N_DRAWS, draw_rng)
    return {name: estimates(draws @ target, n_inputs).std(axis=0) for name, target in targets.items()}


def estimates(values: Array, n_inputs: int) -> Array:
    """First and total indices of functions on a design without second-order blocks, (n_functions, 2, n_inputs).

    As `analysis.sensitivity.indices`, for many functions and with columns taken together.

    Parameters
    ----------
    values : (n_functions, n_rows, n_columns)
    n_inputs
    """
    centred = values - values.mean(axis=1, keepdims=True)
    blocks = centred.reshape(len(values), -1, n_inputs + 2, values.shape[2])  # per base sample A, AB_1..AB_d, B
    a, mixed, b = blocks[:, :, :1], blocks[:, :, 1:-1], blocks[:, :, -1:]
    variance = np.concatenate([a, b], axis=1).var(axis=(1, 2)).sum(axis=1)
    first = np.mean(b * (mixed - a), axis=1).sum(axis=2)
    total = 0.5 * np.mean((a - mixed) ** 2, axis=1).sum(axis=2)
    found = np.stack([first, total], axis=1) / np.maximum(variance, np.finfo(np.float64).tiny)[:, None, None]
    return np.where(variance[:, None, None] > 0.0, found, 0.0)


def _table(output: str, input_names: Sequence[str], found: _Found, spread: Array) -> pd.DataFrame:
    """A row per input."""
    half_width = scores.half_width(scores.MAIN_LEVEL)
    columns: dict[str, Any] = {"output": output, "input": list(input_names)}
    for name, index, design_std, drawn_std in (
        ("first", found.first, found.first_std, spread[0]),
        ("total", found.total, found.total_std, spread[1]),
    ):
        width = half_width * np.hypot(design_std, drawn_std)
        columns |= {
            name: index,
            f"{name}_low": np.clip(index - width, 0.0, 1.0),
            f"{name}_high": np.clip(index + width, 0.0, 1.0),
        }
    return pd.DataFrame(columns)


def main_effects(
    surrogate: Surrogate,
    input_names: Sequence[str],
    output_names: Sequence[str],
    bounds: Array,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """The mean of every output over all other inputs, against each input, with a 90 % band of the emulator's own.

    A row per output, input and value of the input; of many outputs the first components stand for them.
    """
    from scipy.stats import qmc  # a slow import, and predictions do without

    sobol_rng, *streams = rng.spawn(1 + len(bounds))
    low, width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    base = low + width * qmc.Sobol(len(bounds), rng=sobol_rng).random(_N_AVERAGED)
    half_width = scores.half_width(scores.MAIN_LEVEL)
    shown = _shown(surrogate, output_names)
    tables = []
    for place, (name, stream) in enumerate(zip(input_names, streams, strict=True)):
        grid = low[place] + width[place] * np.linspace(0.0, 1.0, _N_GRID)
        points = np.tile(base, (_N_GRID, 1))
        points[:, place] = np.repeat(grid, _N_AVERAGED)
        draws = surrogate.draw_components(points, _N_DRAWS, stream)
        averages = draws.reshape(_N_DRAWS, _N_GRID, _N_AVERAGED, -1).mean(axis=2)
        means = surrogate.mean_components(points).reshape(_N_GRID, _N_AVERAGED, -1).mean(axis=1)
        for output, (offset, weights) in shown.items():
            mean, band = offset + means @ weights, half_width * (averages @ weights).std(axis=0)
            columns = {"value": grid, "mean": mean, "low": mean - band, "high": mean + band}
            tables.append(pd.DataFrame({"output": output, "input": name, **columns}))
    return pd.concat(tables, ignore_index=True)


def _shown(surrogate: Surrogate, names: Sequence[str]) -> dict[str, tuple[float, Array]]:
    """What main effects are of: an offset and weights of the components, by name."""
    projection = surrogate.projection
    if len(names) < _MANY:
        offsets = projection.output_mean.tolist()
        return {name: (offsets[place], projection.to_outputs[:, place]) for place, name in enumerate(names)}
    unit = np.eye(projection.n_components)[:_SHOWN_COMPONENTS]
    return {f"component {place + 1}": (0.0, weights) for place, weights in enumerate(unit)}
