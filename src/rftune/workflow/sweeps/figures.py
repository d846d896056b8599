"""The picture of a sweep, from its table: error and time against each varied setting, every repeat a dot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rftune.data import Array
from rftune.experiments import base
from rftune.report.style import DATA, MUTED, style
from rftune.report.text import literal

PALETTE = ("#1f5fa8", "#e07b00", "#3a8f5c", "#8a4fa3", "#6b6b6b", "#8c5a2b")
QUANTITIES = {"test_error": "test error", "seconds": "seconds to tune"}
LOG_RATIO = 20.0  # errors and times that span more than this go on a logarithmic axis


class Panel(NamedTuple):
    """An experiment and one of its varied settings, a column of ``rows``; ``others`` tell lines apart."""

    experiment: str
    setting: str
    rows: pd.DataFrame
    others: Sequence[str]


def sweep_figure(table: pd.DataFrame, settings: Sequence[str], title: str) -> Figure:
    """A row per experiment and varied setting: error left, time right.

    Dots are repeats, circles their medians, bars reach from 5 to 95 % of them; lines tell apart cases and the values of
    the other settings. Settings that are varied together, not on a grid, share one row.

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
        figure, axes = plt.subplots(len(panels), 2, figsize=(8.2, 0.5 + 2.3 * len(panels)), squeeze=False)
        figure.suptitle(literal(title), fontsize=10)
        figure.supxlabel(
            "dots: repeats; circles: their medians; bars: from 5 to 95 % of them", fontsize=7.5, color=MUTED
        )
        for row, panel in zip(axes, panels, strict=True):
            for axis, (quantity, label) in zip(row, QUANTITIES.items(), strict=True):
                _draw(axis, panel, quantity)
                axis.set(xlabel=panel.setting, ylabel=label)
            row[0].set_title(base.experiment(panel.experiment).title, loc="left")
            _count_failures(row[0], panel.rows)
            handles, labels = row[0].get_legend_handles_labels()
            if len(labels) > 1:
                row[1].legend(handles, labels, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _panels(table: pd.DataFrame, settings: Sequence[str]) -> Iterator[Panel]:
    for experiment, rows in table.groupby("experiment", sort=False):
        known = [name for name in settings if rows[name].notna().any()]
        varied = [name for name in known if rows[name].nunique() > 1] or known[:1]
        shown = rows.dropna(subset=varied)
        n_combinations = len(shown[varied].drop_duplicates())
        cases = ["case"] if shown["case"].nunique() > 1 else []
        if n_combinations < np.prod([shown[name].nunique() for name in varied]):
            joint = ", ".join(varied)
            labels = [" ".join(text for text in row if text != "none") for row in shown[varied].astype(str).to_numpy()]
            yield Panel(str(experiment), joint, shown.assign(**{joint: labels}), cases)
            continue
        for name in varied:
            others = [other for other in varied if other != name]
            yield Panel(str(experiment), name, shown, [*_telling(cases, shown, name), *others])


def _telling(cases: Sequence[str], rows: pd.DataFrame, name: str) -> list[str]:
    """The case, unless each value of the setting has one of its own: then it says nothing more."""
    return [case for case in cases if rows.groupby(name, sort=False)[case].nunique().max() > 1]


def _draw(axis: Axes, panel: Panel, quantity: str) -> None:
    column = panel.rows[panel.setting]
    values = list(pd.unique(column))
    numeric = pd.api.types.is_numeric_dtype(column)
    places = np.array(values, dtype=float) if numeric else np.arange(len(values), dtype=float)
    series = _series(panel)
    for index, (label, rows) in enumerate(series):
        # lines may cross; circles without lines stand side by side
        shift = 0.0 if numeric else 0.16 * (index - (len(series) - 1) / 2)
        position = dict(zip(values, places + shift, strict=True))
        drawn = rows[np.isfinite(rows[quantity].to_numpy(dtype=float))]
        if not drawn.empty:
            style_of_line = {"color": PALETTE[index % len(PALETTE)], "label": label}
            _draw_series(axis, drawn[panel.setting], drawn[quantity], position, "-o" if numeric else "o", style_of_line)
    if numeric and _is_geometric(places):
        axis.set_xscale("log")
    axis.minorticks_off()
    crowded = not numeric and sum(len(str(value)) for value in values) > 24
    axis.set_xticks(places, [f"{value:g}" if isinstance(value, float) else str(value) for value in values])
    if crowded:
        axis.tick_params(axis="x", labelrotation=25, labelsize=8)
    measured = panel.rows[quantity].to_numpy(dtype=float)
    measured = measured[np.isfinite(measured)]
    if len(measured) and measured.min() > 0 and measured.max() / measured.min() > LOG_RATIO:
        axis.set_yscale("log")
    else:
        axis.set_ylim(0, None)


def _is_geometric(places: Array) -> bool:
    """Whether a logarithmic axis keeps the values clearly further apart than a linear one."""
    ordered = np.sort(places)
    if len(ordered) < 3 or ordered[0] <= 0:
        return False

    def closest(values: Array) -> float:
        return float(np.diff(values).min() / (values[-1] - values[0]))

    return closest(np.log(ordered)) > 1.5 * closest(ordered)


def _series(panel: Panel) -> list[tuple[str, pd.DataFrame]]:
    """One line per combination of the other settings and the cases; too many for the eye are pooled."""
    if not panel.others:
        return [("", panel.rows)]
    groups = list(panel.rows.groupby(list(panel.others), sort=False, dropna=False))
    if len(groups) > len(PALETTE):
        return [("", panel.rows)]
    return [(", ".join(map(_entry, panel.others, key)), rows) for key, rows in groups]


def _entry(name: str, value: Any) -> str:
    return str(value) if name == "case" else f"{name} {value}"


def _draw_series(
    axis: Axes,
    setting: pd.Series[Any],
    measured: pd.Series[Any],
    position: Mapping[Any, float],
    marker: str,
    look: Mapping[str, Any],
) -> None:
    colour = look["color"]
    grouped = measured.astype(float).groupby(setting, sort=False)
    at = np.array([position[value] for value, _ in grouped])
    low, median, high = np.array([np.percentile(values, [5, 50, 95]) for _, values in grouped]).T
    order = np.argsort(at)
    axis.plot([position[value] for value in setting], measured, "o", ms=3, color=colour, alpha=0.35, mew=0)
    axis.vlines(at, low, high, color=colour, lw=1.0)
    axis.plot(at[order], median[order], marker, lw=1.2, ms=4.5, **look)


def _count_failures(axis: Axes, rows: pd.DataFrame) -> None:
    failed = int((rows["failure"].fillna("") != "").sum())
    if failed:
        text = f"{failed} of {len(rows)} failed, not shown"
        axis.set_title(text, loc="right", color=DATA, fontsize=8)
