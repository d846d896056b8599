"""Pictures of an emulator: what it has learned, and how well it predicts runs that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rftune.data import Array
from rftune.fitting import scores
from rftune.fitting.validation import Validation
from rftune.report.style import DATA, EMULATOR, FURTHER, MUTED, TRUTH, style
from rftune.report.text import literal

Drawn = Figure  # what the functions here return
Drawing = Callable[..., Drawn]

MOST_PANELS = 6  # outputs, or inputs, that one picture shows
_MOST_BARS = 400  # runs whose intervals are drawn
_WIDTH = 2.6  # inches of a panel


def check_path(path: Path) -> None:
    """Raise a ValueError, before any work, where no picture could be written."""
    if path.suffix not in (".png", ".pdf"):
        raise ValueError(f"a picture is a .png or .pdf file; got {path.name!r}")


def predictions(validated: Validation, n_columns: int | None = None) -> Figure:
    """Observed against predicted, with 90 % intervals, of the outputs that are predicted worst if there are many."""
    shown = _shown(validated)
    rows = _thinned(len(validated.observed))
    half_width = scores.half_width(scores.MAIN_LEVEL)
    figure, axes = _panels(len(shown), n_columns)
    for axis, output in zip(axes, shown, strict=True):
        observed, predicted = validated.observed.values[rows, output], validated.predicted[rows, output]
        width = half_width * validated.std[rows, output]
        missed = np.abs(observed - predicted) > width
        ends = np.array([min(observed.min(), predicted.min()), max(observed.max(), predicted.max())])
        axis.plot(ends, ends, color=MUTED, lw=0.7, zorder=0)
        for chosen, color in ((~missed, EMULATOR), (missed, DATA)):
            axis.errorbar(
                predicted[chosen],
                observed[chosen],
                xerr=width[chosen],
                fmt="o",
                ms=2.2,
                lw=0.5,
                alpha=0.75,
                color=color,
            )
        axis.set(title=literal(validated.observed.names[output]), xlabel="predicted", ylabel="observed")
    return figure


def calibration(validated: Validation) -> Figure:
    """The share of runs inside their intervals against what these promise, with the band of chance."""
    curve = validated.calibration
    promised = np.concatenate([[0.0], curve["promised"], [1.0]])
    # runs of one simulation are not independent outputs: the band is that of the runs alone
    band = 1.96 * np.sqrt(promised * (1.0 - promised) / len(validated.observed))
    with style():
        figure, axis = plt.subplots(figsize=(3.2, 3.0))
        axis.fill_between(promised, promised - band, promised + band, color=MUTED, alpha=0.2, lw=0, label="chance")
        axis.plot([0, 1], [0, 1], color=MUTED, lw=0.7)
        axis.plot(curve["promised"], curve["found"], "o-", color=EMULATOR, ms=3, lw=1, label="intervals")
        axis.set(xlabel="share promised", ylabel="share of runs inside", xlim=(0, 1), ylim=(0, 1))
        axis.legend(loc="upper left")
    return figure


def standardised(validated: Validation) -> Figure:
    """How often errors of what size occur, in predicted standard deviations, beside a normal distribution."""
    errors = np.clip(validated.standardised.ravel(), -5.0, 5.0)
    with style():
        figure, axis = plt.subplots(figsize=(3.2, 3.0))
        axis.hist(
            errors, bins=np.linspace(-5.0, 5.0, 41).tolist(), density=True, color=EMULATOR, alpha=0.6, label="runs"
        )
        line = np.linspace(-5.0, 5.0, 201)
        axis.plot(line, np.exp(-0.5 * line**2) / np.sqrt(2.0 * np.pi), color=TRUTH, lw=1.2, label="normal")
        axis.set(xlabel="error / standard deviation", ylabel="density", xlim=(-5, 5))
        axis.legend(loc="upper left")
    return figure


def errors(validated: Validation, n_columns: int | None = None) -> Figure:
    """Standardised errors against every input, of all outputs together; of many inputs those where they vary most."""
    inputs, standardised = validated.inputs, validated.standardised
    squares = np.mean(standardised**2, axis=1)
    unevenness = [np.ptp(_thirds(column, squares)) for column in inputs.values.T]
    shown = np.sort(np.argsort(unevenness)[::-1][:MOST_PANELS])
    rows = _thinned(len(inputs))
    half_width = scores.half_width(scores.MAIN_LEVEL)
    figure, axes = _panels(len(shown), n_columns, sharey=True)
    for axis, column in zip(axes, shown, strict=True):
        axis.axhspan(-half_width, half_width, color=MUTED, alpha=0.15, lw=0)
        values = np.repeat(inputs.values[rows, column], standardised.shape[1])
        axis.plot(values, np.clip(standardised[rows].ravel(), -6, 6), "o", ms=2, color=EMULATOR, alpha=0.5)
        axis.set(xlabel=literal(inputs.names[column]), ylim=(-6.2, 6.2))
    figure.supylabel("error / standard deviation", fontsize=9)
    return figure


def main_effects(effects: pd.DataFrame, n_columns: int | None = None) -> Figure:
    """The mean of each output against each input, with its band; a panel per input, a line per output."""
    input_names = effects["input"].drop_duplicates().tolist()
    output_names = effects["output"].drop_duplicates().tolist()[:MOST_PANELS]
    figure, axes = _panels(len(input_names), n_columns, sharey=True)
    for axis, input_name in zip(axes, input_names, strict=True):
        for output, colour in zip(output_names, (EMULATOR, *FURTHER, TRUTH), strict=False):
            part = effects[(effects["input"] == input_name) & (effects["output"] == output)]
            axis.fill_between(part["value"], part["low"], part["high"], color=colour, alpha=0.25, lw=0)
            axis.plot(part["value"], part["mean"], color=colour, lw=1.2, label=literal(output))
        axis.set_xlabel(literal(input_name))
    alone = len(output_names) == 1
    figure.supylabel(literal(output_names[0]) if alone else "mean of the output", fontsize=9)
    if not alone:
        _legend(figure, axes[0])
    return figure


def indices(table: pd.DataFrame, n_columns: int | None = None) -> Figure:
    """First and total indices with their intervals: a panel per output, a pair of bars per input."""
    output_names = table["output"].drop_duplicates().tolist()[:MOST_PANELS]
    height = 0.7 + 0.26 * table["input"].nunique()
    figure, axes = _panels(len(output_names), n_columns, height, sharey=True)
    for axis, output in zip(axes, output_names, strict=True):
        part = table[table["output"] == output]
        places = np.arange(len(part))[::-1]
        for name, shift, colour in (("first", 0.18, EMULATOR), ("total", -0.18, TRUTH)):
            axis.barh(places + shift, part[name].clip(0, 1), 0.34, color=colour, alpha=0.75, label=name)
            axis.hlines(places + shift, part[f"{name}_low"], part[f"{name}_high"], color="black", lw=0.9)
        axis.set_yticks(places, [literal(name) for name in part["input"]])
        axis.set(xlim=(0, 1.02), title=literal(output))
    figure.supxlabel("share of the variance", fontsize=9)
    _legend(figure, axes[0])
    return figure


def _legend(figure: Figure, axis: Axes) -> None:
    """Above all panels, out of the way of what is drawn."""
    handles, labels = axis.get_legend_handles_labels()
    with style():
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6), fontsize=8)


def _thirds(values: Array, squares: Array) -> Array:
    """Mean square errors in the thirds of an input's range."""
    place = np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values)
    return np.array([squares[place == third].mean() if (place == third).any() else 0.0 for third in range(3)])


def _shown(validated: Validation) -> list[int]:
    """All outputs, or of many those with the largest relative errors."""
    n_outputs = len(validated.observed.names)
    worst = np.argsort(-validated.scores["relative_rmse"].to_numpy(), kind="stable")[:MOST_PANELS]
    return list(range(n_outputs)) if n_outputs <= MOST_PANELS else sorted(worst.tolist())


def _thinned(n_runs: int) -> Array:
    """Rows that are drawn, evenly spread over all."""
    return np.unique(np.linspace(0, n_runs - 1, min(n_runs, _MOST_BARS)).astype(int))


def _panels(
    n_panels: int, n_columns: int | None = None, height: float = 2.2, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Panels in rows of at most three, as even as can be, or in so many columns."""
    n_rows = -(-n_panels // 3) if n_columns is None else -(-n_panels // n_columns)
    n_columns = n_columns or -(-n_panels // n_rows)
    with style():
        size = (max(_WIDTH * n_columns, 3.2), height * n_rows + 0.3)
        figure, grid = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, sharey=sharey)
    axes = list(grid.flat)
    for axis in axes[n_panels:]:
        axis.set_axis_off()
    return figure, axes[:n_panels]


OF_VALIDATION: Mapping[str, Callable[[Validation], Figure]] = {
    "predictions": predictions,
    "calibration": calibration,
    "errors": errors,
}
