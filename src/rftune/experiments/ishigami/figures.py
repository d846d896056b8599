"""F1: slices of truth and emulators; F7: convergence of the tuning; T2, rendered; what choices of the tuning do."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MultipleLocator

from rftune.experiments.convergence import draw_convergence
from rftune.experiments.ishigami.tables import ERRORS
from rftune.experiments.results import Results
from rftune.report.style import (
    DATA,
    EMULATOR,
    MUTED,
    TRUTH,
    Column,
    Line,
    cell,
    failures,
    group,
    style,
    table_figure,
    width_of,
)

__all__ = ["draw_choices", "draw_convergence", "draw_slices", "draw_table"]

N_QUANTITIES = 6 + len(ERRORS)  # of T2: three first and three total indices, then errors
CHOICES = {
    "tuning.n_folds": "validation folds",
    "tuning.optimiser.inflation": "inflation",
    "tuning.optimiser.n_members": "J, members",
    "tuning.rows": "rows of the objective",
    "tuning.noise_draws": "draws behind Γ",
    "tuning.n_features": "M, tuning",
    "prediction.n_features": "M', predicting",
    "features.family.log_strength": "width of the priors\n(std of log S, log ς)",
}
TRUTHS = {"analytic": "analytic", "empirical": "empirical, truth on the design"}


def draw_slices(results: Results) -> Figure:
    """F1: rows truth, untuned RF, tuned GP, tuned RF; columns x1, x2, x3. One re-tuning, the first."""
    truth = results.one("data")
    points, values = truth["points"].values, truth["truth"].values[:, 0]
    rows = [("truth", values, TRUTH)]
    for role in ("rf_untuned", "gp", "rf"):
        mean = results.one("predicted", role=role)["mean"].values[0, :, 0]
        label = results.emulator(role).label
        rows.append((label if role == "rf_untuned" else f"{label}, tuned", mean, EMULATOR))
    inputs, outputs = truth["train_inputs"].values, truth["train_outputs"].values[:, 0]
    with style():
        figure, axes = plt.subplots(4, 3, figsize=(7.2, 8.6), sharex=True, sharey=True)
        for line, (name, mean, colour) in zip(axes, rows, strict=True):
            for column, axis in enumerate(line):
                axis.scatter(points[:, column], mean, s=1.2, c=colour, alpha=0.35, lw=0, rasterized=True)
                if colour != TRUTH:
                    axis.scatter(inputs[:, column], outputs, s=5, c=DATA, lw=0, rasterized=True)
                _mark_pi(axis)
            line[0].set_ylabel(f"{name}\n$f(x)$")
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


def draw_table(results: Results) -> Figure:
    """T2 as a picture: the root seed with the paper's values in grey below ours, then the other seeds and all."""
    frame = results.tables["T2"]
    frame = frame.assign(seed=frame["seed"].astype(str), label=[_label(results, name) for name in frame["source"]])
    seeds = list(frame["seed"].unique())
    lines: list[Line] = []
    for seed in seeds if len(seeds) <= 4 else [seeds[0], "all"]:
        lines += group(_table_lines(frame[frame["seed"] == seed], quote=seed == seeds[0]))
    names = ["$V_1$", "$V_2$", "$V_3$", "$TV_1$", "$TV_2$", "$TV_3$", "rel. RMSE", "fresh points"]
    columns = [Column("seed", 0.5), Column("source", width_of(frame["label"])), *(Column(name, 0.95) for name in names)]
    return table_figure(
        [*columns, Column("coverage", 0.7), Column("failed", 0.55)],
        lines,
        "Mean (standard deviation) over re-tunings on the same data; for seed “all” over the seeds, that is over draws "
        "of the data. Relative test RMSE at the design's other rows, and at fresh uniform points; coverage of the 90 % "
        "intervals there. Failed re-tunings are counted, not averaged. Grey: the paper.",
    )


def _label(results: Results, source: str) -> str:
    return TRUTHS.get(source) or results.label(source)


def _table_lines(frame: pd.DataFrame, quote: bool) -> list[Line]:
    """One seed's lines; the analytic one, which is the same for all, and the paper's values only where quoted."""
    lines = []
    for source in frame["source"].unique():
        if source == "analytic" and not quote:
            continue
        own = frame[frame["source"] == source].set_index("quantity")
        first = own.iloc[0]
        cells = [cell(own["mean"][quantity], own["std"][quantity]) for quantity in own.index]
        cells += [""] * (N_QUANTITIES - len(cells))
        lines.append(Line([first["seed"], first["label"], *cells, failures(first)]))
        quoted = own["paper_mean"].notna()
        if quote and quoted.any() and source != "analytic":
            paper = [cell(own["paper_mean"][q], own["paper_std"][q]) if quoted[q] else "" for q in own.index]
            lines.append(Line(["", "    paper", *paper, *[""] * (N_QUANTITIES + 1 - len(paper))], quoted=True))
    return lines


def draw_choices(results: Results) -> Figure:
    """A column per choice: error at fresh points, objective per datum before and after, and their ratio."""
    frame = results.tables["ishigami_choices"]
    own = results.emulator("rf").name
    groups = list(frame.groupby("choice", sort=False))
    with style():
        figure, axes = plt.subplots(
            3, len(groups), figsize=(1.55 * len(groups) + 0.6, 5.6), sharey="row", squeeze=False
        )
        for column, (choice, rows) in zip(axes.T, groups, strict=True):
            places, is_own = np.arange(len(rows)), (rows["emulator"] == own).to_numpy()
            lines = {
                "fresh_rmse": (column[0], EMULATOR, "o"),
                "objective_first": (column[1], MUTED, "v"),
                "objective_last": (column[1], EMULATOR, "o"),
            }
            for name, (axis, colour, marker) in lines.items():
                means, spread = rows[f"{name}_mean"].to_numpy(), rows[f"{name}_std"].to_numpy()
                axis.errorbar(places, means, spread, color=colour, marker=marker, ms=4, lw=0.8)
                axis.plot(places[is_own], means[is_own], ls="", marker="o", ms=8, mfc="none", color=TRUTH)
            column[1].axhline(1.0, color="black", lw=0.7, ls=":")
            column[1].set_yscale("log")
            column[2].plot(places, rows["objective_ratio"], color=EMULATOR, marker="o", ms=4, lw=0.8)
            column[2].set(xlabel=CHOICES.get(str(choice), str(choice)), yscale="log")
            column[2].yaxis.set_major_formatter("{x:g}")
            column[2].yaxis.set_minor_formatter("{x:g}")
            for axis in column:
                axis.set_xlim(-0.5, len(rows) - 0.5)
                axis.set_xticks(places, [""] * len(rows))
            column[2].set_xticklabels([_short(value) for value in rows["value"]])
        for axis, label in zip(
            axes[:, 0], ("rel. RMSE,\nfresh points", "objective\nper datum", "objective,\nlast / first"), strict=True
        ):
            axis.set_ylabel(label)
        axes[0, 0].set_ylim(0, None)
        handles = [
            Line2D(
                [], [], c=EMULATOR, marker="o", ms=4, label="after tuning, bars: standard deviation over re-tunings"
            ),
            Line2D([], [], c=MUTED, marker="v", ms=4, label="at the first ensemble"),
            Line2D([], [], c=TRUTH, marker="o", ms=8, ls="", mfc="none", label="as in the other figures"),
            Line2D([], [], c="black", ls=":", label="one per datum"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def _short(value: Any) -> str:
    """A value as a tick says it; the table's column holds words too."""
    try:
        return f"{float(value):.2g}" if float(value) < 10 else f"{float(value):g}"
    except ValueError:
        return str(value)
