"""The picture of a sweep, from its table: error and time against each varied setting, every repeat a dot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rftune.data import Array
from rftune.experiments import base
from rftune.report.style import DATA, MUTED, style
from rftune.report.text import literal

PALETTE = ("#1f5fa8", "#e07b00", "#3a8f5c", "#8a4fa3", "#6b6b6b", "#8c5a2b")
QUANTITIES = {"test_error": "test error", "seconds": "seconds to tune"}
LOG_RATIO = 20.0  # errors and times that span more than this go on a logarithmic axis
# What an axis can show: values with a circle and a label each, and dots. Beyond that neighbouring values share a circle
# and an even choice of dots is drawn.
MOST_VALUES = 30
N_BINS = 20
MOST_DOTS = 2000


class Panel(NamedTuple):
    """An experiment and one of its varied settings, a column of ``rows``; ``others`` tell lines apart."""

    experiment: str
    setting: str
    rows: pd.DataFrame
    others: Sequence[str]


def sweep_figure(table: pd.DataFrame, settings: Sequence[str], title: str) -> Figure:
    """A row per experiment and varied setting: error left, time right.

    Dots are repeats, circles their medians, bars reach from 5 to 95 % of them; lines tell apart cases and the values of
    the other settings. Settings that are varied together, not on a grid, share one row, unless they have more
    combinations than an axis can show.

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
        figure.supxlabel(_explained(panels), fontsize=7.5, color=MUTED)
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
        is_grid = n_combinations == np.prod([shown[name].nunique() for name in varied])
        if not is_grid and n_combinations <= MOST_VALUES:
            joint = ", ".join(varied)
            labels = [" ".join(text for text in row if text != "none") for row in shown[varied].astype(str).to_numpy()]
            yield Panel(str(experiment), joint, shown.assign(**{joint: labels}), cases)
            continue
        for name in varied:
            others = [other for other in varied if other != name and is_grid]
            yield Panel(str(experiment), name, shown, [*_telling(cases, shown, name), *others])


def _explained(panels: Sequence[Panel]) -> str:
    """What the marks are."""
    n_dots = max(len(panel.rows) for panel in panels)
    n_values = max(panel.rows[panel.setting].nunique() for panel in panels)
    dots = "dots: repeats" if n_dots <= MOST_DOTS else f"dots: some of {n_dots} repeats"
    circles = "circles: their medians" if n_values <= MOST_VALUES else "circles: medians of neighbouring values"
    return f"{dots}; {circles}; bars: from 5 to 95 % of them"


def _is_numeric(panel: Panel) -> bool:
    return bool(pd.api.types.is_numeric_dtype(panel.rows[panel.setting]))


def _telling(cases: Sequence[str], rows: pd.DataFrame, name: str) -> list[str]:
    """The case, unless each value of the setting has one of its own: then it says nothing more."""
    return [case for case in cases if rows.groupby(name, sort=False)[case].nunique().max() > 1]


def _draw(axis: Axes, panel: Panel, quantity: str) -> None:
    values = list(pd.unique(panel.rows[panel.setting]))
    numeric = _is_numeric(panel)
    places = np.array(values, dtype=float) if numeric else np.arange(len(values), dtype=float)
    series = _series(panel)
    for index, (label, rows) in enumerate(series):
        # lines may cross; circles without lines stand side by side
        shift = 0.0 if numeric else 0.16 * (index - (len(series) - 1) / 2)
        position = dict(zip(values, places + shift, strict=True))
        drawn = rows[np.isfinite(rows[quantity].to_numpy(dtype=float))]
        if not drawn.empty:
            at = np.array([position[value] for value in drawn[panel.setting]])
            style_of_line = {"color": PALETTE[index % len(PALETTE)], "label": label}
            _draw_series(axis, at, drawn[quantity].to_numpy(dtype=float), "-o" if numeric else "o", style_of_line)
    if numeric and _is_geometric(places):
        axis.set_xscale("log")
    _label(axis, values, places, numeric)
    measured = panel.rows[quantity].to_numpy(dtype=float)
    measured = measured[np.isfinite(measured)]
    if len(measured) and measured.min() > 0 and measured.max() / measured.min() > LOG_RATIO:
        axis.set_yscale("log")
    else:
        axis.set_ylim(0, None)


def _label(axis: Axes, values: Sequence[Any], places: Array, numeric: bool) -> None:
    """Ticks: at every value where there is room for all, of numbers else where Matplotlib likes them."""
    axis.minorticks_off()
    if len(values) <= MOST_VALUES:
        axis.set_xticks(places, [f"{value:g}" if isinstance(value, float) else str(value) for value in values])
    elif not numeric:
        axis.set_xticks([])
    if not numeric and sum(len(str(value)) for value in values) > 24:
        axis.tick_params(axis="x", labelrotation=25, labelsize=8)


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


def _draw_series(axis: Axes, at: Array, measured: Array, marker: str, look: Mapping[str, Any]) -> None:
    colour = look["color"]
    some = _evenly(len(at))
    axis.plot(at[some], measured[some], "o", ms=3, color=colour, alpha=0.35, mew=0)
    places, groups = _grouped(at)
    ordered = np.split(measured[np.argsort(groups, kind="stable")], np.cumsum(np.bincount(groups))[:-1])
    low, median, high = np.array([np.percentile(values, [5, 50, 95]) for values in ordered]).T
    axis.vlines(places, low, high, color=colour, lw=1.0)
    axis.plot(places, median, marker, lw=1.2, ms=4.5, **look)


def _evenly(n_entries: int) -> Any:
    """All entries, or as many as there may be dots: by the golden ratio, which is in step with no grid."""
    if n_entries <= MOST_DOTS:
        return slice(None)
    return np.unique((np.arange(MOST_DOTS) * (np.sqrt(5.0) - 1.0) / 2.0 % 1.0 * n_entries).astype(int))


def _grouped(at: Array) -> tuple[Array, NDArray[np.intp]]:
    """Places of the circles, in order, and which of them each entry belongs to: of many values neighbours share one."""
    places, groups = np.unique(at, return_inverse=True)
    if len(places) > MOST_VALUES:
        shared = np.arange(len(places)) * N_BINS // len(places)
        places, groups = np.array([np.median(places[shared == group]) for group in range(N_BINS)]), shared[groups]
    return places, groups


def _count_failures(axis: Axes, rows: pd.DataFrame) -> None:
    failed = int((rows["failure"].fillna("") != "").sum())
    if failed:
        text = f"{failed} of {len(rows)} failed, not shown"
        axis.set_title(text, loc="right", color=DATA, fontsize=8)
