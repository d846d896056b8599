"""The picture of a sweep, from its table: error and time against each varied setting, every repeat a dot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rftune.data import Array
from rftune.figures import DATA, style

PALETTE = ("#1f5fa8", "#e07b00", "#3a8f5c", "#8a4fa3", "#6b6b6b", "#8c5a2b")
QUANTITIES = {"test_error": "test error", "seconds": "seconds to tune"}
NAMES = {"ishigami": "Ishigami", "sobol_g": "Sobol G", "lorenz63": "Lorenz 63"}
LOG_RATIO = 20.0  # values that span more than this go on a logarithmic axis


class Panel(NamedTuple):
    """An experiment, one of its varied settings, and the rows of the table that show it."""

    experiment: str
    setting: str
    rows: pd.DataFrame
    others: Sequence[str]


def sweep_figure(table: pd.DataFrame, settings: Sequence[str], title: str) -> Figure:
    """A row per experiment and varied setting: error left, time right; medians with 5 to 95 % of the repeats.

    Parameters
    ----------
    table
        Of `tables.sweep_table`.
    settings
        The columns of the varied settings.
    title
    """
    panels = list(_panels(table, settings))
    with style():
        figure, axes = plt.subplots(
            len(panels), 2, figsize=(7.2, 0.5 + 2.3 * len(panels)), squeeze=False, layout="constrained"
        )
        figure.suptitle(title, fontsize=10)
        for row, panel in zip(axes, panels, strict=True):
            for axis, (quantity, label) in zip(row, QUANTITIES.items(), strict=True):
                _draw(axis, panel, quantity)
                axis.set(xlabel=panel.setting.replace("_", " "), ylabel=label)
            row[0].set_title(NAMES.get(panel.experiment, panel.experiment), loc="left")
            if len(row[0].get_legend_handles_labels()[1]) > 1:
                row[1].legend(*row[0].get_legend_handles_labels(), loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _panels(table: pd.DataFrame, settings: Sequence[str]) -> Iterator[Panel]:
    for experiment, rows in table.groupby("experiment", sort=False):
        varied = [name for name in settings if rows[name].nunique() > 1]
        for name in varied or [name for name in settings if rows[name].notna().any()]:
            shown = rows[rows[name].notna()]
            others = [other for other in ("case", *varied) if other != name and _differs(shown, name, other)]
            yield Panel(str(experiment), name, shown, others)


def _differs(rows: pd.DataFrame, name: str, other: str) -> bool:
    """Whether another column has several values at one value of the setting: then it tells lines apart."""
    return bool(rows.groupby(name, sort=False)[other].nunique().max() > 1)


def _draw(axis: Axes, panel: Panel, quantity: str) -> None:
    values = pd.unique(panel.rows[panel.setting])
    numeric = pd.api.types.is_numeric_dtype(panel.rows[panel.setting])
    places = np.array(values, dtype=float) if numeric else np.arange(len(values), dtype=float)
    logarithmic = numeric and places.min() > 0 and places.max() / places.min() > LOG_RATIO
    series = _series(panel)
    position = dict(zip(values, places, strict=True))
    for index, (label, rows) in enumerate(series):
        _draw_series(axis, panel.setting, rows, quantity, position, PALETTE[index % len(PALETTE)], label, numeric)
    if logarithmic:
        axis.set_xscale("log")
    axis.minorticks_off()
    _tick(axis, values, places)
    measured = panel.rows[quantity].to_numpy(dtype=float)
    measured = measured[np.isfinite(measured)]
    if len(measured) and measured.min() > 0 and measured.max() / measured.min() > LOG_RATIO:
        axis.set_yscale("log")
    else:
        axis.set_ylim(0, None)
    failed = int((panel.rows["failure"].fillna("") != "").sum())
    if failed and quantity != "seconds":
        axis.text(
            0.98,
            0.97,
            f"{failed} failed, not shown",
            transform=axis.transAxes,
            color=DATA,
            ha="right",
            va="top",
            fontsize=8,
        )


def _tick(axis: Axes, values: Any, places: Array) -> None:
    axis.set_xticks(places, [f"{value:g}" if isinstance(value, float) else str(value) for value in values])


def _series(panel: Panel) -> list[tuple[str, pd.DataFrame]]:
    """One line per combination of the other settings and the cases; too many for the eye are pooled."""
    if not panel.others:
        return [("", panel.rows)]
    groups = list(panel.rows.groupby(list(panel.others), sort=False, dropna=False))
    if len(groups) > len(PALETTE):
        return [("all", panel.rows)]
    return [
        (
            ", ".join(
                f"{name.replace('_', ' ')} {value}" if name != "case" else str(value)
                for name, value in zip(panel.others, key, strict=True)
            ),
            rows,
        )
        for key, rows in groups
    ]


def _draw_series(
    axis: Axes,
    setting: str,
    rows: pd.DataFrame,
    quantity: str,
    position: dict[Any, float],
    colour: str,
    label: str,
    connected: bool,
) -> None:
    kept = rows[np.isfinite(rows[quantity].to_numpy(dtype=float))]
    if kept.empty:
        return
    grouped = kept.groupby(setting, sort=False)[quantity]
    at = np.array([position[value] for value in grouped.groups])
    low, median, high = (grouped.quantile(level).to_numpy(dtype=float) for level in (0.05, 0.5, 0.95))
    order = np.argsort(at)
    axis.plot(
        [position[value] for value in kept[setting]], kept[quantity], "o", ms=2.5, color=colour, alpha=0.35, mew=0
    )
    axis.vlines(at, low, high, color=colour, lw=1.0)
    axis.plot(at[order], median[order], "-o" if connected else "o", color=colour, lw=1.2, ms=4.5, label=label)
