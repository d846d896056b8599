"""From a table of runs to an emulator: checks, components, a race for each, and a record of it all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rftune.data import Array, Dataset
from rftune.fitting import columns, notes, projection, race, scores
from rftune.fitting import noise as noises
from rftune.fitting.columns import Columns
from rftune.fitting.contenders import Contender, Problem
from rftune.fitting.noise import Replicates
from rftune.fitting.projection import Projection
from rftune.fitting.surrogate import Surrogate
from rftune.seeding import rng_for

LEAST_RUNS = 5
_SAME = 1e-12  # relative spread below which a column is constant

LineUp = Callable[[int, int, float], Sequence[Contender]]
Step = Callable[[str, float], None]  # what comes next, and the share of the work that is done


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training leaves behind.

    Attributes
    ----------
    surrogate
    left_out_mean, left_out_std : (n_runs, n_outputs)
        Predictions of the data at every run from others.
    method
        How the runs were left out, in words.
    race
        A row for every contender and component.
    notes
        What the user should know, a sentence each.
    """

    surrogate: Surrogate
    left_out_mean: Array
    left_out_std: Array
    method: str
    race: pd.DataFrame
    notes: tuple[str, ...]


def check(inputs: Columns, outputs: Columns) -> None:
    """Raise a ValueError where these runs cannot make an emulator."""
    columns.check_same_runs(inputs, outputs)
    if len(inputs) < LEAST_RUNS:
        raise ValueError(
            f"an emulator needs at least {LEAST_RUNS} runs, and to be of use {notes.FEW_PER_INPUT} for every input; "
            f"got {len(inputs)}"
        )
    constant = _constant(inputs.values)
    if constant.any():
        name = inputs.names[int(np.argmax(constant))]
        raise ValueError(f"input {name!r} is the same in all runs, so that nothing can be learned of it: leave it out")
    constant = _constant(outputs.values) & ~outputs.in_field
    if constant.any():
        name = outputs.names[int(np.argmax(constant))]
        raise ValueError(f"output {name!r} is the same in all runs, so that there is nothing to learn: leave it out")
    if _constant(outputs.values).all():
        raise ValueError("all outputs are the same in all runs, so that there is nothing to learn")


def _constant(values: Array) -> NDArray[np.bool_]:
    """Which columns do not vary, (n_columns,)."""
    return np.asarray(np.ptp(values, axis=0) <= _SAME * np.abs(values).max(axis=0))


def train(
    inputs: Columns,
    outputs: Columns,
    noise: Any,
    line_up: LineUp,
    budget: float,
    n_components: int | None,
    seed: int,
    step: Step,
    *,
    check: bool = True,
) -> Trained:
    """Make an emulator of every component by a race.

    Parameters
    ----------
    inputs, outputs, noise, budget, n_components, seed
        See `emulator.fit`.
    line_up
        Who takes part, from the number of runs, the number of inputs and the estimated seconds for a component.
    step
    check
        Whether the winners' errors at left-out runs widen their error bars.
    """
    known = noises.stated(noise, outputs.names)
    found = noises.replicates(inputs.values, outputs.values)
    noises.check_deterministic(known, found, outputs)
    projected = _project(outputs, known, n_components)
    problems = _problems(inputs, outputs, projected, known, found)
    share = budget / len(problems)
    contenders = line_up(len(inputs), len(inputs.names), share)
    components = dict[str, race.Result]()
    for place, problem in enumerate(problems):
        label = _label(outputs, projected, place)

        def report(what: str, seconds: float, place: int = place, label: str = label) -> None:
            step(f"{label}: {what}", (place + min(seconds / share, 1.0)) / len(problems))

        rng = rng_for(seed, "own data", place)
        components[label] = race.run(problem, contenders, share, rng, report, check=check)
    step("done", 1.0)
    return _trained(inputs, outputs, projected, components, known, found)


def _trained(
    inputs: Columns,
    outputs: Columns,
    projected: Projection,
    components: Mapping[str, race.Result],
    known: Array | None,
    found: Replicates,
) -> Trained:
    """The components' results as those of the outputs."""
    results = list(components.values())
    surrogate = Surrogate(projected, tuple(result.component for result in results), len(inputs.names))
    variance = np.column_stack([result.left_out.std**2 for result in results])
    tables = [result.table.assign(component=label) for label, result in components.items()]
    table = pd.concat(tables, ignore_index=True)
    mean = projected.outputs(np.column_stack([result.left_out.mean for result in results]))
    nothing = scores.nothing_learned(outputs.values, outputs.values - mean)
    blank = [name for name, is_blank in zip(outputs.names, nothing, strict=True) if is_blank]
    return Trained(
        surrogate=surrogate,
        left_out_mean=mean,
        left_out_std=np.sqrt(projected.variance(variance) + projected.lost_variance),
        method="; ".join(dict.fromkeys(result.left_out.method for result in results)),
        race=table[["component", *table.columns.drop("component")]],
        notes=tuple(notes.on(inputs, outputs, surrogate, components, known, found, blank)),
    )


def _label(outputs: Columns, projected: Projection, place: int) -> str:
    """What a component is called."""
    if projected.is_separate:
        return outputs.names[place]
    return f"component {place + 1}"


def _project(outputs: Columns, known: Array | None, n_components: int | None) -> Projection:
    """Separate outputs, uncorrelated ones where the noise is correlated, or a few components of many."""
    values = outputs.values
    n_outputs = values.shape[1]
    if n_components is not None and not 1 <= n_components <= min(values.shape):
        raise ValueError(f"components must be between 1 and {min(values.shape)}; got {n_components}")
    scales = _scales(outputs)
    reduce = n_outputs >= projection.REDUCED_FROM if n_components is None else n_components < n_outputs
    if known is not None and known.ndim == 2:
        if not reduce:
            return projection.whitened(values, known)
        scales = np.sqrt(np.diagonal(known))
    elif known is not None and reduce and (known > 0).all():
        scales = np.sqrt(known)
    return projection.reduced(values, scales, n_components) if reduce else projection.separate(values, scales)


def _scales(outputs: Columns) -> Array:
    """Units of the outputs: the spread of each, of a field that of all its entries together."""
    scales, start = outputs.values.std(axis=0), 0
    for block in outputs.form.blocks:
        entries = slice(start, start + block.size)
        start += block.size
        if block.size > 1:
            scales[entries] = np.sqrt(np.mean(scales[entries] ** 2))
    return np.where(_constant(outputs.values) & (scales == 0.0), 1.0, scales)


def _problems(
    inputs: Columns, outputs: Columns, projected: Projection, known: Array | None, found: Replicates
) -> list[Problem]:
    """The scalar problem of every component."""
    components = projected.components(outputs.values)
    guesses: list[float | None] = [None] * projected.n_components
    if found.say_something:
        guesses = [float(variance) for variance in noises.spread_within(found.groups, components)]
    return [
        Problem(Dataset(inputs.values, column[:, None]), variance, found.groups, guess)
        for column, variance, guess in zip(components.T, _known_of(projected, known), guesses, strict=True)
    ]


def _known_of(projected: Projection, known: Array | None) -> list[float | None]:
    """Noise variance of every component, where that of all outputs in it is known."""
    matrix = projected.to_components
    if known is None:
        return [None] * projected.n_components
    if known.ndim == 2:
        variances = np.einsum("ik,ij,jk->k", matrix, known, matrix)
    else:
        variances = np.where(matrix == 0.0, 0.0, matrix**2 * known[:, None]).sum(axis=0)
    return [None if np.isnan(variance) else float(variance) for variance in variances]
