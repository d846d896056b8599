"""F1: slices of truth and emulators; F7: convergence of the tuning; T2: the table, rendered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MultipleLocator

from rftune import storage
from rftune.experiments.protocol import load_repeats
from rftune.experiments.results import succeeded
from rftune.report.style import DATA, EMULATOR, TRUTH, Line, cell, convergence_figure, style, table_figure

Paths = Sequence[str]

SOURCE_NAMES = {
    "analytic": "analytic",
    "empirical": "empirical, truth on the design",
    "gp": "GP",
    "untuned": "RF untuned",
    "lowrank": "RF lowrank",
    "diagonal": "RF diagonal",
    "perturbation": "RF perturbation",
    "constant": "constant",
}


def draw_slices(data: Paths, untuned: Paths, gp: Paths, tuned: Paths) -> Figure:
    """F1: rows truth, untuned RF, tuned GP, tuned RF; columns x1, x2, x3. One re-tuning, the first."""
    truth = storage.load(data[0])
    points, values = truth["points"].values, truth["truth"].values[:, 0]
    rows = [("truth", values, TRUTH)]
    for name, path in (("RF untuned", untuned), ("GP tuned", gp), ("RF tuned", tuned)):
        rows.append((name, storage.load(path[0])["mean"].values[0, :, 0], EMULATOR))
    inputs, outputs = truth["train_inputs"].values, truth["train_outputs"].values[:, 0]
    with style():
        figure, axes = plt.subplots(4, 3, figsize=(7.2, 8.6), sharex=True, sharey=True)
        for row, (name, mean, colour) in zip(axes, rows, strict=True):
            for column, axis in enumerate(row):
                axis.scatter(points[:, column], mean, s=1.2, c=colour, alpha=0.35, lw=0, rasterized=True)
                if name != "truth":
                    axis.scatter(inputs[:, column], outputs, s=5, c=DATA, lw=0, rasterized=True)
                _mark_pi(axis)
            row[0].set_ylabel(f"{name}\n$f(x)$")
        for column, axis in enumerate(axes[-1]):
            axis.set_xlabel(f"$x_{column + 1}$")
        _legend(figure, len(values), len(outputs))
    return figure


def _legend(figure: Figure, n_points: int, n_train: int) -> None:
    labels = {
        TRUTH: f"true function, {n_points} Sobol points",
        DATA: f"noisy training data, {n_train}",
        EMULATOR: "emulator mean, same points",
    }
    handles = [Line2D([], [], marker="o", ls="", ms=4, c=colour, label=text) for colour, text in labels.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)


def _mark_pi(axis: Axes) -> None:
    axis.set_xlim(-np.pi, np.pi)
    axis.xaxis.set_major_locator(MultipleLocator(np.pi))
    axis.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: {-1: "$-\\pi$", 0: "0", 1: "$\\pi$"}.get(round(x / np.pi), ""))
    )


def draw_convergence(tuned: Paths, paper: Paths) -> Figure:
    """F7: normalised misfit against iteration, one line per re-tuning and their median."""
    results = load_repeats(tuned)
    stagnation = yaml.safe_load(Path(paper[0]).read_text(encoding="utf-8"))["convergence"]["F7"]
    return convergence_figure(results["misfit"].values, ~succeeded(results), stagnation)


def draw_table(table: Paths) -> Figure:
    """T2 as a picture: the root seed with the paper's values in grey below ours, then the other seeds and all."""
    frame = pd.read_csv(table[0], dtype={"seed": str})
    seeds = list(frame["seed"].unique())
    shown = seeds if len(seeds) <= 4 else [seeds[0], "all"]
    lines = []
    for seed in shown:
        group = _table_lines(frame[frame["seed"] == seed], quote=seed == seeds[0])
        lines += [*group[:-1], replace(group[-1], ends_group=True)]
    names = ["$V_1$", "$V_2$", "$V_3$", "$TV_1$", "$TV_2$", "$TV_3$"]
    return table_figure(
        ["seed", "source", *names, "rel. RMSE", "failed"],
        lines,
        [0.5, 2.0, *[0.95] * 6, 0.95, 0.55],
        "Mean (standard deviation) over re-tunings on the same data; for seed “all” over the seeds, that is over draws "
        "of the data. Failed re-tunings are counted, not averaged. Grey: the paper.",
    )


def _table_lines(frame: pd.DataFrame, quote: bool) -> list[Line]:
    """One seed's lines; analytic, constant and the paper's values only where quoted."""
    lines = []
    seed = str(frame["seed"].iloc[0])
    for source in frame["source"].unique():
        if not quote and source in ("analytic", "constant"):
            continue
        own = frame[frame["source"] == source].set_index("quantity")
        cells = [cell(own["mean"][quantity], own["std"][quantity]) for quantity in own.index]
        cells += [""] * (7 - len(cells))
        counts = own[["n_failed", "n_retunings"]].iloc[0]
        failed = "" if counts.isna().any() else f"{int(counts.iloc[0])}/{int(counts.iloc[1])}"
        lines.append(Line([seed, SOURCE_NAMES.get(source, source), *cells, failed]))
        quoted = own["paper_mean"].notna()
        if quote and quoted.any() and source != "analytic":
            paper = [cell(own["paper_mean"][q], own["paper_std"][q]) if quoted[q] else "" for q in own.index]
            lines.append(Line(["", "    paper", *paper, *[""] * (8 - len(paper))], quoted=True))
    return lines


FIGURES: dict[str, Callable[..., Figure]] = {"F1": draw_slices, "F7": draw_convergence, "T2": draw_table}
