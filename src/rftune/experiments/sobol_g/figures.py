"""F2: indices; F3: slices; what the sparse distribution learned; T3, T4 and the accuracy table, rendered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rftune.experiments.results import Results, percentiles, succeeded
from rftune.report.style import (
    DATA,
    EMULATOR,
    TRUTH,
    Column,
    Line,
    at_seeds,
    cell,
    failures,
    group,
    line,
    line_of,
    number,
    style,
    table_figure,
    width_of,
)

FIRST, TOTAL = EMULATOR, "#b5446e"
BOTH = ("rf", "sparse")  # the paper's kind of features left, ours right
TRUTHS = {"truth": "truth on the design"}
FRESH = (
    "Relative test RMSE at the design's other rows, which share coordinates with training rows, and at fresh uniform "
    "points; coverage of the 90 % intervals of the noise-free function there."
)
HAVE_TABLES = ("rf_serial", "rf_parallel", "by_features")  # of their own: T3, T4


def draw_indices(results: Results) -> Figure:
    """F2: a row per dimension, a column per emulator; bars are 5-95 % of the re-tunings."""
    truths = results.all("truth")
    with style():
        figure, axes = plt.subplots(len(truths), 2, figsize=(9.0, 2.1 * len(truths)), sharey=True, squeeze=False)
        for column, role in zip(axes.T, BOTH, strict=True):
            analyses = [results.one("analysis", role, one.case) for one in truths]
            for axis, truth, analysis in zip(column, truths, analyses, strict=True):
                _draw_bars(axis, truth.loaded, analysis)
            column[0].set_title(f"{results.emulator(role).label}, {_n_good(analyses)} re-tunings")
            column[-1].set_xlabel("input")
        for axis, truth in zip(axes[:, 0], truths, strict=True):
            axis.set_ylabel(f"$d={truth.loaded.sizes['input']}$\nSobol index")
        handles = [
            Line2D([], [], marker="x", ls="", c="black", label="analytic"),
            Line2D([], [], marker="o", ls="", mfc="none", c="black", label="empirical, truth"),
            Line2D([], [], c=FIRST, lw=5, alpha=0.5, label="$V_i$ emulator, 5–95 % and median"),
            Line2D([], [], c=TOTAL, lw=5, alpha=0.5, label="$TV_i$ emulator, 5–95 % and median"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def _n_good(analyses: Sequence[xr.Dataset]) -> str:
    """How many re-tunings did not fail, in words where not as many in every dimension."""
    numbers = [int(np.count_nonzero(succeeded(analysis))) for analysis in analyses]
    return " to ".join(str(number) for number in sorted({min(numbers), max(numbers)}))


def _draw_bars(axis: Axes, truth: xr.Dataset, analysis: xr.Dataset) -> None:
    good = succeeded(analysis)
    inputs = np.arange(1, truth.sizes["input"] + 1)
    for name, colour, shift in (("first", FIRST, -0.18), ("total", TOTAL, 0.18)):
        low, middle, high = percentiles(analysis[name].values[good])
        axis.vlines(inputs + shift, low, high, color=colour, lw=5, alpha=0.5)
        axis.plot(inputs + shift, middle, ls="", marker="_", ms=6, color=colour)
        axis.plot(inputs + shift, truth[f"analytic_{name}"], ls="", marker="x", ms=4.5, mew=1, color="black")
        axis.plot(
            inputs + shift, truth[f"empirical_{name}"], ls="", marker="o", ms=5.5, mew=0.7, mfc="none", color="black"
        )
    axis.axhline(0, color="black", lw=0.4)
    axis.set_xticks(inputs)
    axis.set_xlim(0.4, len(inputs) + 0.6)


def draw_slices(results: Results) -> Figure:
    """F3: truth and the first re-tuning of two emulators against x1, x2, x3, a row per dimension; data in red."""
    cases = results.all("data")
    with style():
        figure, axes = plt.subplots(len(cases), 9, figsize=(12.0, 1.75 * len(cases) + 0.5), sharex=True, squeeze=False)
        for line, case in zip(axes, cases, strict=True):
            truth = case.loaded
            means = [results.one("predicted", role, case.case)["mean"].values[0, :, 0] for role in BOTH]
            for place, mean in enumerate([truth["truth"].values[:, 0], *means]):
                for column in range(3):
                    _draw_slice(line[3 * place + column], truth, mean, column, is_truth=place == 0)
            for axis in line[1:]:
                axis.sharey(line[0])
                axis.tick_params(labelleft=False)
            line[0].set_ylabel(f"$d={truth.sizes['input']}$\n$f(x)$")
        for column, axis in enumerate(axes[-1]):
            axis.set_xlabel(f"$x_{column % 3 + 1}$")
        for place, name in enumerate(["truth", *(results.emulator(role).label for role in BOTH)]):
            axes[0, 3 * place + 1].set_title(name)
        handles = [
            Line2D([], [], marker="o", ls="", ms=4, c=colour, label=text)
            for colour, text in ((TRUTH, "truth"), (DATA, "some training data"), (EMULATOR, "emulator mean"))
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def _draw_slice(axis: Axes, truth: xr.Dataset, mean: np.ndarray, column: int, is_truth: bool, most: int = 3000) -> None:
    points = truth["points"].values[:, column]
    some = np.linspace(0, len(points) - 1, min(most, len(points))).astype(int)
    options: dict[str, Any] = {"lw": 0, "rasterized": True}
    axis.scatter(points[some], mean[some], s=1.5, c=TRUTH if is_truth else EMULATOR, alpha=0.5, **options)
    if not is_truth:
        train = np.linspace(0, truth.sizes["sample"] - 1, min(100, truth.sizes["sample"])).astype(int)
        inputs, outputs = truth["train_inputs"].values[train, column], truth["train_outputs"].values[train, 0]
        axis.scatter(inputs, outputs, s=4, c=DATA, **options)
    axis.set_xlim(0, 1)
    axis.set_xticks([0, 0.5, 1], ["0", ".5", "1"])


def draw_inclusion(results: Results) -> Figure:
    """Learned inclusion probabilities π_i beside the analytic total indices; one panel per dimension."""
    truths = results.all("truth")
    with style():
        figure, axes = plt.subplots(1, len(truths), figsize=(3.0 * len(truths), 2.7), squeeze=False)
        for axis, truth in zip(axes[0], truths, strict=True):
            tuned = results.one("tuned", "sparse", truth.case)
            inputs = np.arange(1, truth.loaded.sizes["input"] + 1)
            low, middle, high = percentiles(tuned["tuned_inclusion"].values[succeeded(tuned)])
            axis.vlines(inputs, low, high, color=EMULATOR, lw=4, alpha=0.5)
            axis.plot(inputs, middle, ls="", marker="_", ms=7, color=EMULATOR)
            axis.plot(inputs, truth.loaded["analytic_total"], ls="", marker="x", color="black")
            axis.set(title=f"$d={len(inputs)}$", xlabel="input", ylim=(0, 1), xlim=(0.4, len(inputs) + 0.6))
            axis.set_xticks(inputs if len(inputs) <= 10 else inputs[::2])
        axes[0, 0].set_ylabel("probability, index")
        handles = [
            Line2D([], [], c=EMULATOR, lw=4, alpha=0.5, label=r"learned $\pi_i$, 5–95 % of re-tunings, and median"),
            Line2D([], [], c="black", marker="x", ls="", label="analytic $TV_i$"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def draw_times(results: Results) -> Figure:
    """T3: seconds, and how many times an RF's time each is, with a sentence on who is faster where."""
    frame, order = results.tables["T3"], list(results.emulators)
    columns = [
        Column("$d$", 0.4, number("dimension", 0)),
        Column("method", width_of(map(results.label, frame["emulator"])), lambda row: results.label(row["emulator"])),
        Column("seconds", 1.1, _or_more(number("seconds_mean", 1, "seconds_std"))),
        Column("repeats", 0.7, number("n_repeats", 0)),
        Column("/ RF 1 worker", 1.1, _or_more(number("times_rf_serial", 2))),
        Column("/ RF all workers", 1.2, _or_more(number("times_rf_parallel", 2))),
        Column("memory MB", 0.9, number("peak_memory_mb", 0)),
        Column("paper s", 0.7, number("paper_seconds", 0)),
    ]
    lines: list[Line] = []
    for _, same in frame.groupby("dimension"):
        rows = same.sort_values("emulator", key=lambda names: names.map(order.index))
        lines += group([line(columns, row) for _, row in rows.iterrows()])
    return table_figure(columns, lines, _who_is_faster(results))


def _or_more(text: Callable[[pd.Series], str]) -> Callable[[pd.Series], str]:
    """Of a tuning that was stopped, time and ratios are lower bounds."""
    return lambda row: text(row) if row["finished"] or text(row) == cell(np.nan) else f"> {text(row)}"


def _who_is_faster(results: Results) -> str:
    """Say plainly where the GP is the faster choice."""
    parts = ["Timed alone on the machine, in one run; one BLAS thread per worker; > means stopped by the time limit."]
    frame = results.tables["T3"]
    gp = frame[frame["finished"] & (_roles(results, frame) == "gp")].set_index("dimension")["times_rf_serial"]
    for role, places in (("gp", gp.index[gp < 1]), ("rf_serial", gp.index[gp >= 1])):
        if len(places):
            dimensions = ", ".join(map(str, places))
            parts.append(f"“{results.emulator(role).label}” is the faster choice at d = {dimensions}.")
    return " ".join(parts)


def _roles(results: Results, frame: pd.DataFrame) -> pd.Series:
    """Role of each row's emulator; empty for what is none."""
    roles = {name: entry.role for name, entry in results.emulators.items()}
    return frame["emulator"].map(lambda name: roles.get(name, ""))


def draw_features(results: Results) -> Figure:
    """T4: ours with the paper's values in grey below."""

    def name(row: pd.Series) -> str:
        return number("n_features", 0)(row) if np.isfinite(row["n_features"]) else results.label(row["emulator"])

    frame = results.tables["T4"]
    columns = [
        Column("$M$", width_of(name(row) for _, row in frame.iterrows()), name),
        Column("", 0.7, lambda row: "ours"),
        Column("seconds", 0.9, number("seconds", 1)),
        Column("training error", 1.6, number("training_error", 6, "training_error_std")),
        Column("test error", 1.6, number("test_error", 6, "test_error_std")),
        Column("rel. test RMSE", 1.3, number("relative_rmse", 3, "relative_rmse_std")),
        Column("fresh points", 1.3, number("fresh_rmse", 3, "fresh_rmse_std")),
        Column("coverage", 1.3, number("coverage", 3, "coverage_std")),
        Column("failed", 0.6, failures),
    ]
    lines = []
    for _, row in frame.iterrows():
        errors = {f"{kind} error": cell(row[f"paper_{kind}_error"], decimals=6) for kind in ("training", "test")}
        quoted = {"": "paper", "seconds": cell(row["paper_seconds"], decimals=0), **errors}
        lines += [line(columns, row), line_of(columns, quoted, quoted=True)]
    note = (
        f"Sobol G, d = 6{_features(results)}. Errors as in the paper, ‖prediction - truth‖₂/n over n points; the "
        f"paper's test set and noise differ. {FRESH}"
    )
    return table_figure(columns, lines, note)


def _features(results: Results) -> str:
    """What the random features of T4 have in common, where it is common."""
    shown = [entry for entry in results.emulators.values() if entry.role == "by_features"]
    families = {entry.get("features.family.name") for entry in shown}
    predicting = {entry.get("prediction.n_features") for entry in shown}
    family = f", RF {families.pop()}" if len(families) == 1 else ""
    return family + (f", M' = {predicting.pop()}" if len(predicting) == 1 else "")


def draw_accuracy(results: Results) -> Figure:
    """Every emulator in every dimension at the root seed, and the relative RMSE at the further seeds."""
    frame = results.tables["sobol_g_accuracy"]
    frame = frame[~_roles(results, frame).isin(HAVE_TABLES)]
    labels = {name: TRUTHS.get(name) or results.label(name) for name in frame["emulator"].unique()}
    columns = [
        Column("$d$", 0.4, number("dimension", 0)),
        Column("emulator", width_of(labels.values()), lambda row: labels[row["emulator"]]),
        Column("rel. test RMSE", 1.1, number("relative_rmse_mean", 3, "relative_rmse_std")),
        Column("fresh points", 1.1, number("fresh_rmse_mean", 3, "fresh_rmse_std")),
        *at_seeds(frame, ("dimension", "emulator"), "fresh_rmse_mean", 3, 0.75),
        Column("coverage", 0.8, number("coverage_mean", 2)),
        Column("error in $V$", 0.85, number("first_error")),
        Column("error in $TV$", 0.85, number("total_error")),
        Column("objective", 0.75, number("objective_ratio", 2)),
        Column("seconds", 0.75, number("seconds", 1)),
        Column("memory MB", 0.85, number("peak_memory_mb", 0)),
        Column("failed", 0.6, failures),
    ]
    lines: list[Line] = []
    for _, same in frame[frame["seed"] == frame["seed"].iloc[0]].groupby("dimension"):
        lines += group([line(columns, row) for _, row in same.iterrows()])
    limit = results.paper["convergence"]["sobol_g_normalised_objective"]
    note = (
        "Index errors: largest distance of the mean over re-tunings from the analytic index. Objective: last over "
        f"first value (the paper: under {limit:g}). Seconds to tune and fit, of jobs that may have shared the machine; "
        f"those of T3 ran alone. {FRESH} Seeds: fresh points at the further seeds."
    )
    return table_figure(columns, lines, " ".join([note, *_pools(results)]))


def _pools(results: Results) -> list[str]:
    """A sentence per emulator that keeps the strongest of the features that it draws."""
    pools = [(entry, entry.get("prediction.pool")) for entry in results.emulators.values()]
    return [
        f"“{entry.label}” predicts with the {entry.get('prediction.n_features')} strongest of {pool} features."
        for entry, pool in pools
        if pool is not None
    ]
