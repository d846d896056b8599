"""F2: indices; F3: slices; what the sparse distribution learned; T3, T4 and the accuracy table, rendered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rftune import storage
from rftune.experiments.protocol import load_repeats
from rftune.experiments.results import percentiles, succeeded
from rftune.report.style import DATA, EMULATOR, TRUTH, Line, cell, style, table_figure

Paths = Sequence[str]

FIRST, TOTAL = EMULATOR, "#b5446e"
NAMES = {
    "truth": "truth on the design",
    "constant": "constant",
    "gp": "GP, fast",
    "gp_sklearn": "GP, scikit-learn",
    "untuned": "RF untuned",
    "lowrank": "RF lowrank",
    "sparse": "RF sparse",
    "sparse_unpruned": "RF sparse, not pruned",
    "boosted_trees": "boosted trees",
    "rbf_ridge": "RBFSampler + RidgeCV",
    "rf_serial": "RF lowrank, 1 worker",
    "rf_parallel": "RF lowrank, all workers",
}

# The lines of the tables, in their order.
COMPARED = [
    "truth",
    "constant",
    "boosted_trees",
    "rbf_ridge",
    "gp",
    "gp_sklearn",
    "untuned",
    "lowrank",
    "sparse_unpruned",
    "sparse",
]
TIMED = ["gp", "gp_sklearn", "rf_serial", "rf_parallel"]


def draw_indices(truths: Paths, lowrank: Paths, sparse: Paths) -> Figure:
    """F2: a row per dimension, `lowrank` left as in the paper, `sparse` right; bars are 5-95 % of the re-tunings."""
    loaded = [storage.load(path) for path in truths]
    columns = {
        name: [storage.load(path) for path in paths] for name, paths in (("lowrank", lowrank), ("sparse", sparse))
    }
    with style():
        figure, axes = plt.subplots(len(loaded), 2, figsize=(9.0, 2.1 * len(loaded)), sharey=True, squeeze=False)
        for column, (name, analyses) in enumerate(columns.items()):
            for row, (truth, analysis) in enumerate(zip(loaded, analyses, strict=True)):
                _draw_bars(axes[row, column], truth, analysis)
                axes[row, 0].set_ylabel(f"$d={truth.sizes['input']}$\nSobol index")
            good = int(np.count_nonzero(succeeded(analyses[0])))
            axes[0, column].set_title(f"RF {name}, {good} re-tunings")
        for axis in axes[-1]:
            axis.set_xlabel("input")
        handles = [
            Line2D([], [], marker="x", ls="", c="black", label="analytic"),
            Line2D([], [], marker="o", ls="", mfc="none", c="black", label="empirical, truth"),
            Line2D([], [], c=FIRST, lw=5, alpha=0.5, label="$V_i$ emulator, 5-95 %"),
            Line2D([], [], c=TOTAL, lw=5, alpha=0.5, label="$TV_i$ emulator, 5-95 %"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


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


def draw_slices(data: Paths, lowrank: Paths, sparse: Paths) -> Figure:
    """F3: truth and the first re-tuning of two emulators against x1, x2, x3, a row per dimension; data in red."""
    rows = list(zip(data, lowrank, sparse, strict=True))
    with style():
        figure, axes = plt.subplots(len(rows), 9, figsize=(12.0, 1.75 * len(rows) + 0.5), sharex=True, squeeze=False)
        for line, (data_path, *prediction_paths) in zip(axes, rows, strict=True):
            truth = storage.load(data_path)
            values = [
                truth["truth"].values[:, 0],
                *(storage.load(path)["mean"].values[0, :, 0] for path in prediction_paths),
            ]
            for group, mean in enumerate(values):
                for column in range(3):
                    _draw_slice(line[3 * group + column], truth, mean, column, is_truth=group == 0)
            for axis in line[1:]:
                axis.sharey(line[0])
                axis.tick_params(labelleft=False)
            line[0].set_ylabel(f"$d={truth.sizes['input']}$\n$f(x)$")
        for column, axis in enumerate(axes[-1]):
            axis.set_xlabel(f"$x_{column % 3 + 1}$")
        for group, name in enumerate(("truth", "RF lowrank", "RF sparse")):
            axes[0, 3 * group + 1].set_title(name)
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


def draw_inclusion(truths: Paths, **tuned: Paths) -> Figure:
    """Learned inclusion probabilities π_i beside the analytic total indices; one panel per dimension."""
    loaded = [storage.load(path) for path in truths]
    with style():
        figure, axes = plt.subplots(1, len(loaded), figsize=(3.0 * len(loaded), 2.7), squeeze=False)
        for axis, truth, paths in zip(axes[0], loaded, tuned.values(), strict=True):
            results = load_repeats(paths)
            inputs = np.arange(1, truth.sizes["input"] + 1)
            low, middle, high = percentiles(results["tuned_inclusion"].values[succeeded(results)])
            axis.vlines(inputs, low, high, color=EMULATOR, lw=4, alpha=0.5)
            axis.plot(inputs, middle, ls="", marker="_", ms=7, color=EMULATOR)
            axis.plot(inputs, truth["analytic_total"], ls="", marker="x", color="black")
            axis.set(title=f"$d={len(inputs)}$", xlabel="input", ylim=(0, 1), xlim=(0.4, len(inputs) + 0.6))
            axis.set_xticks(inputs if len(inputs) <= 10 else inputs[::2])
        handles = [
            Line2D([], [], c=EMULATOR, lw=4, alpha=0.5, label="learned $\\pi_i$, 5-95 % of re-tunings, and median"),
            Line2D([], [], c="black", marker="x", ls="", label="analytic $TV_i$"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def draw_times(table: Paths) -> Figure:
    """T3: seconds, and how many times an RF's time each is, with a sentence on who is faster where."""
    frame = pd.read_csv(table[0])
    lines = []
    for d in frame["dimension"].unique():
        same = frame[frame["dimension"] == d].sort_values("emulator", key=lambda names: names.map(TIMED.index))
        group = [_time_line(row) for _, row in same.iterrows()]
        lines += [*group[:-1], replace(group[-1], ends_group=True)]
    header = ["$d$", "method", "seconds", "repeats", "/ RF 1 worker", "/ RF all workers", "memory MB", "paper s"]
    return table_figure(header, lines, [0.4, 1.8, 1.1, 0.7, 1.1, 1.2, 0.9, 0.7], _who_is_faster(frame))


def _time_line(row: pd.Series) -> Line:
    seconds = cell(row["seconds_mean"], row["seconds_std"], decimals=1)
    return Line(
        [
            str(int(row["dimension"])),
            NAMES[row["emulator"]],
            seconds if row["finished"] else f"> {row['seconds_mean']:.0f}",
            str(int(row["n_repeats"])),
            cell(row["times_rf_serial"], decimals=2),
            cell(row["times_rf_parallel"], decimals=2),
            cell(row["peak_memory_mb"], decimals=0),
            cell(row["paper_seconds"], decimals=0),
        ]
    )


def _who_is_faster(frame: pd.DataFrame) -> str:
    """Say plainly where the fast GP is the faster choice."""
    gp = frame[(frame["emulator"] == "gp") & frame["finished"]].set_index("dimension")["times_rf_serial"]
    faster = ", ".join(str(d) for d in gp.index[gp < 1])
    slower = ", ".join(str(d) for d in gp.index[gp >= 1])
    parts = ["Timed alone on the machine, in one run; one BLAS thread per worker; > means stopped by the time limit."]
    if faster:
        parts.append(f"The fast GP is the faster choice at d = {faster}.")
    if slower:
        parts.append(f"RF with one worker is the faster choice at d = {slower}.")
    return " ".join(parts)


def draw_features(table: Paths) -> Figure:
    """T4: ours with the paper's values in grey below."""
    frame = pd.read_csv(table[0])
    lines = []
    for _, row in frame.iterrows():
        name = "GP" if row["emulator"] == "gp" else f"{row['n_features']:.0f}"
        errors = [cell(row[key], row[f"{key}_std"], decimals=6) for key in ("training_error", "test_error")]
        counts = f"{int(row['n_failed'])}/{int(row['n_retunings'])}"
        seconds, rmse = cell(row["seconds"], decimals=1), cell(row["relative_rmse"], row["relative_rmse_std"])
        lines.append(Line([name, "ours", seconds, *errors, rmse, counts]))
        quoted = [cell(row[f"paper_{key}"], decimals=6) for key in ("training_error", "test_error")]
        lines.append(Line(["", "paper", cell(row["paper_seconds"], decimals=0), *quoted, "", ""], quoted=True))
    header = ["$M$", "", "seconds", "training error", "test error", "rel. test RMSE", "failed"]
    note = (
        "Sobol G, d = 6, RF lowrank, M' = 1000. Errors as in the paper, ‖prediction - truth‖₂/n over n points; the "
        "paper's test set and noise differ."
    )
    return table_figure(header, lines, [0.6, 0.7, 0.9, 1.6, 1.6, 1.3, 0.6], note)


def draw_accuracy(table: Paths) -> Figure:
    """Every emulator in every dimension at the root seed, and the relative RMSE at the further seeds."""
    frame = pd.read_csv(table[0])
    seeds = list(frame["seed"].unique())
    root = frame[(frame["seed"] == seeds[0]) & frame["emulator"].isin(COMPARED)]
    lines = []
    for d in root["dimension"].unique():
        same = root[root["dimension"] == d].sort_values("emulator", key=lambda names: names.map(COMPARED.index))
        group = [_accuracy_line(row, frame, seeds[1:]) for _, row in same.iterrows()]
        lines += [*group[:-1], replace(group[-1], ends_group=True)]
    header = ["$d$", "emulator", "rel. test RMSE", *[f"seed {seed}" for seed in seeds[1:]]]
    header += ["error in $V$", "error in $TV$", "objective", "seconds", "memory MB", "failed"]
    widths = [0.4, 1.8, 1.1, *[0.75] * len(seeds[1:]), 0.85, 0.85, 0.75, 0.75, 0.85, 0.6]
    note = (
        "Index errors: largest distance of the mean over re-tunings from the analytic index. Objective: last over "
        "first value (the paper: under 0.1). Seconds to tune and fit; except the GPs', these "
        "jobs shared the machine. Pruned: the 1000 strongest of 4000 features."
    )
    return table_figure(header, lines, widths, note)


def _accuracy_line(row: pd.Series, frame: pd.DataFrame, further: Sequence[int]) -> Line:
    same = frame[(frame["dimension"] == row["dimension"]) & (frame["emulator"] == row["emulator"])].set_index("seed")
    elsewhere = [cell(same["relative_rmse_mean"].get(seed, np.nan)) for seed in further]
    failed = "" if pd.isna(row["n_failed"]) else f"{int(row['n_failed'])}/{int(row['n_retunings'])}"
    return Line(
        [
            str(int(row["dimension"])),
            NAMES[row["emulator"]],
            cell(row["relative_rmse_mean"], row["relative_rmse_std"]),
            *elsewhere,
            cell(row["first_error"]),
            cell(row["total_error"]),
            cell(row["objective_ratio"], decimals=2),
            cell(row["seconds"], decimals=1),
            cell(row["peak_memory_mb"], decimals=0),
            failed,
        ]
    )


FIGURES: dict[str, Callable[..., Figure]] = {
    "F2": draw_indices,
    "F3": draw_slices,
    "sparse_inclusion": draw_inclusion,
    "T3": draw_times,
    "T4": draw_features,
    "sobol_g_accuracy": draw_accuracy,
}
