"""F4, F9: traces and densities; F5: distribution functions; F8: convergence; F10: errors by rank; the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rftune import storage
from rftune.data import Array
from rftune.experiments.lorenz63.data import SKILL_THRESHOLD
from rftune.experiments.lorenz63.tables import STATES
from rftune.experiments.protocol import load_repeats
from rftune.experiments.results import succeeded
from rftune.report.style import DATA, EMULATOR, MUTED, TRUTH, Line, cell, convergence_figure, style, table_figure

Paths = Sequence[str]

NAMES = {
    "truth": "truth",
    "persistence": "persistence",
    "quadratic": "quadratic least squares",
    "gp": "GP",
    "untuned": "RF untuned, rank 4",
    "nonseparable_4": "RF nonseparable, rank 4",
    "diagonal": "RF diagonal",
    "shared": "RF shared features",
    "separate": "RF separate outputs",
}
# Limits of the axes of x, y and z.
LIMITS = ((-22.0, 22.0), (-30.0, 30.0), (0.0, 55.0))
N_CONVERGENCE = 20  # the paper's number of restarts in F8


def draw_integrators(data: Paths, truth: Paths, **sources: Paths) -> Figure:
    """F4, F9: a block of rows per emulator, x, y and z below each other; the trace left, the density right.

    Parameters
    ----------
    data, truth
        Paths of one file each.
    sources
        "<emulator>_predicted" and "<emulator>_analysis" for every emulator; the first re-tuning is drawn.
    """
    known, yardstick = storage.load(data[0]), storage.load(truth[0])
    names = [key.removesuffix("_predicted") for key in sources if key.endswith("_predicted")]
    with style():
        figure = plt.figure(figsize=(9.0, 3.1 * len(names) + 0.4))
        blocks: Any = figure.subfigures(len(names), 1, squeeze=False)[:, 0]
        for block, name in zip(blocks, names, strict=True):
            axes = block.subplots(3, 2, width_ratios=(2.3, 1))
            predicted = storage.load(sources[f"{name}_predicted"][0]).isel(repeat=0)
            analysis = storage.load(sources[f"{name}_analysis"][0]).isel(repeat=0)
            for i, (left, right) in enumerate(axes):
                _draw_trace(left, known, predicted, i)
                _draw_density(right, yardstick, analysis, i)
            for axis in axes[:-1, 0]:
                axis.tick_params(labelbottom=False)
            axes[-1, 0].set_xlabel("time")
            heading = f"{_noise(known)}; truth orange, emulator blue\n" if block is blocks[0] else ""
            block.suptitle(f"{heading}{_name(name, predicted)}: {_fate(predicted, known)}", fontsize=9.5)
    return figure


def _draw_trace(axis: Axes, data: xr.Dataset, predicted: xr.Dataset, i: int) -> None:
    first = data.sizes["point"] - data.sizes["trace_step"] + 1
    times = (first + np.arange(data.sizes["trace_step"])) * float(data["time_step"])
    axis.plot(times, data["trace_truth"].values[:, i], color=TRUTH, lw=1.1)
    axis.plot(times, predicted["trace"].values[:, i], color=EMULATOR, lw=1.1)
    left = times[0] + float(predicted["left_time"])
    if left <= times[-1]:
        axis.axvline(left, color=DATA, lw=1.0, ls="--")
    axis.set(ylabel=f"${STATES[i]}$", ylim=LIMITS[i], xlim=(times[0], times[-1]))


def _draw_density(axis: Axes, truth: xr.Dataset, analysis: xr.Dataset, i: int) -> None:
    edges = truth["edges"].values[i]
    axis.stairs(truth["density"].values[i], edges, color=TRUTH, fill=True, alpha=0.35)
    axis.stairs(truth["density"].values[i], edges, color=TRUTH, lw=1.1)
    axis.stairs(analysis["density"].values[i], edges, color=EMULATOR, lw=1.1)
    axis.set(xlim=LIMITS[i], ylim=(0, 1.35 * truth["density"].values[i].max()), yticks=[])
    text: dict[str, Any] = {"transform": axis.transAxes, "va": "top", "fontsize": 8}
    axis.text(0.02, 0.97, f"${STATES[i]}$", **text)
    escaped = str(analysis["left_reason"].values) == "escaped"
    distance = "escaped" if escaped else f"KS {float(analysis['ks'].values[i]):.3f}"
    axis.text(0.99, 0.97, distance, ha="right", **text)


def _noise(data: xr.Dataset) -> str:
    return f"noise covariance {float(data['noise_covariance'][0, 0]):g}·I"


def _name(emulator: str, predicted: xr.Dataset) -> str:
    """The emulator, and of an untuned one the prior at whose mean it is."""
    if emulator != "untuned":
        return NAMES[emulator]
    prior = storage.settings_of(predicted)["prior"]
    (a, a_std), (scale, scale_std) = prior["amplitude"], prior["log_scale"]
    return f"{NAMES[emulator]} (a ~ N({a:g}, {a_std:g}²), log D ~ N({scale:g}, {scale_std:g}²))"


def _fate(predicted: xr.Dataset, data: xr.Dataset) -> str:
    """What became of the long trajectory, in words."""
    if str(predicted["failure"].values):
        return "its tuning failed"
    length = (data.sizes["kept"] - 1) * int(data["keep_every"]) * float(data["time_step"])
    reason = str(predicted["left_reason"].values)
    if not reason:
        return f"stays on the attractor for {length:g} time units"
    ending = {"escaped": "escapes", "cycle": "is caught in a cycle", "fixed point": "comes to rest"}[reason]
    in_trace = float(predicted["left_time"]) < (data.sizes["trace_step"] - 1) * float(data["time_step"])
    return f"{ending} after {float(predicted['left_time']):.2f} time units{' (dashed)' if in_trace else ''}"


def draw_distributions(truth: Paths, analysis: Paths) -> Figure:
    """F5: marginal distribution functions of the truth and of every re-tuning, and their differences below."""
    known, found = storage.load(truth[0]), storage.load(analysis[0])
    good, stayed = succeeded(found), found["left_reason"].values == ""
    edges = known["edges"].values
    true_cdf = _cumulative(known["density"].values, edges)
    cdfs = _cumulative(found["density"].values, edges)
    bands = known["ks_band"].values
    with style():
        figure, axes = plt.subplots(2, 3, figsize=(9.0, 4.6), sharex="col", height_ratios=(2, 1))
        for i, (upper, lower) in enumerate(axes.T):
            for cdf, is_good, stays in zip(cdfs[:, i], good, stayed, strict=True):
                if is_good:
                    colour = EMULATOR if stays else DATA
                    upper.plot(edges[i], cdf, color=colour, lw=0.7, alpha=0.5)
                    lower.plot(edges[i], cdf - true_cdf[i], color=colour, lw=0.6, alpha=0.5)
            upper.plot(edges[i], true_cdf[i], color=TRUTH, lw=2.0)
            lower.axhspan(-bands[i], bands[i], color=TRUTH, alpha=0.2, lw=0)
            lower.set(xlabel=f"${STATES[i]}$", xlim=LIMITS[i], ylim=(-0.1, 0.1))
            upper.set(ylim=(0, 1))
        axes[0, 0].set_ylabel("distribution function")
        axes[1, 0].set_ylabel("minus the truth's")
        handles = [
            Line2D([], [], c=TRUTH, lw=2, label="truth"),
            Line2D([], [], c=TRUTH, lw=6, alpha=0.2, label="95 % of truth against truth"),
            Line2D([], [], c=EMULATOR, label=f"RF: {(good & stayed).sum()} of {len(good)} re-tunings stay"),
        ]
        if (good & ~stayed).any():
            handles.append(Line2D([], [], c=DATA, label=f"{(good & ~stayed).sum()} leave the attractor"))
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return figure


def _cumulative(density: Array, edges: Array) -> Array:
    """Distribution functions at the edges, (..., n_edges)."""
    masses = np.cumsum(density * np.diff(edges, axis=1), axis=-1)
    return np.concatenate([np.zeros((*masses.shape[:-1], 1)), masses], axis=-1)


def draw_convergence(data: Paths, tuned: Paths, paper: Paths) -> Figure:
    """F8: normalised misfit against iteration on a logarithmic scale, the paper's number of re-tunings."""
    results = load_repeats(tuned).isel(repeat=slice(N_CONVERGENCE))
    stagnation = yaml.safe_load(Path(paper[0]).read_text(encoding="utf-8"))["convergence"]["F8"]
    figure = convergence_figure(results["misfit"].values, ~succeeded(results), stagnation, logarithmic=True)
    figure.axes[0].set_title(f"{NAMES['nonseparable_4']}, {_noise(storage.load(data[0]))}")
    return figure


def draw_ranks(table: Paths) -> Figure:
    """F10: one-step errors against rank, nonseparable left and separable right, with the GP's; test solid."""
    frame = pd.read_csv(table[0])
    root = frame[(frame["seed"] == frame["seed"].iloc[0]) & (frame["case"] == frame["case"].iloc[0])]
    rows = root.set_index("emulator")
    panels = {
        "nonseparable": {str(r): f"_{r}" for r in range(1, 10)},
        "separable": {f"({i},{o})": f"_{i}_{o}" for i in range(1, 4) for o in range(1, 4)},
    }
    with style():
        figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.5), sharey=True)
        handles: dict[str, Line2D] = {}
        for axis, (own, ranks) in zip(axes, panels.items(), strict=True):
            labels = [label for label, rank in ranks.items() if own + rank in rows.index]
            for structure, colour, name in (
                (own, EMULATOR, "RF, diag(D)² + UUᵀ"),
                ("perturbation", MUTED, "RF, the paper's (I + USUᵀ)²"),
            ):
                run = {place: structure + ranks[label] for place, label in enumerate(labels)}
                run = {place: emulator for place, emulator in run.items() if emulator in rows.index}
                if run:
                    counts = _draw_by_rank(axis, list(run), rows.loc[list(run.values())], colour)
                    handles.setdefault(name, Line2D([], [], c=colour, marker="o", ms=4, label=f"{name}, {counts}"))
            for error, line in (("test", "-"), ("training", "--")):
                axis.axhline(float(rows[f"{error}_error_mean"]["gp"]), color=TRUTH, lw=1.2, ls=line)
            axis.set_xticks(np.arange(len(labels)), labels)
        axes[0].set(xlabel="rank, nonseparable", ylabel="one-step error", yscale="log")
        axes[1].set(xlabel="(input, output) rank, separable")
        handles["gp"] = Line2D([], [], c=TRUTH, label="GP")
        handles["test"] = Line2D([], [], c="black", ls="-", label="test stretch")
        handles["training"] = Line2D([], [], c="black", ls="--", label="training stretch")
        figure.legend(handles=list(handles.values()), loc="outside upper center", ncols=3)
    return figure


def _draw_by_rank(axis: Axes, places: Sequence[int], rows: pd.DataFrame, colour: str) -> str:
    """Mean over re-tunings with its standard error at each rank; return how many re-tunings there are."""
    styles: dict[str, Any] = {"test": {"ls": "-"}, "training": {"ls": "--", "mfc": "white"}}
    for error, options in styles.items():
        means, errors = rows[f"{error}_error_mean"], rows[f"{error}_error_standard_error"]
        axis.errorbar(places, means, errors, color=colour, marker="o", ms=4, lw=1.2, **options)
    numbers = [int(number) for number in rows["n_retunings"]]
    counted = f"n = {min(numbers)}" + (f" to {max(numbers)}" if max(numbers) > min(numbers) else "")
    return f"{counted}, {int(rows['n_failed'].sum())} failed"


def draw_table(table: Paths) -> Figure:
    """Integrators at the root seed, a group per noise level, and test error and horizon at the further seeds."""
    frame = pd.read_csv(table[0])
    seeds = list(frame["seed"].unique())
    root = frame[(frame["seed"] == seeds[0]) & frame["emulator"].isin(NAMES)]
    lines: list[Line] = []
    for case in root["case"].unique():
        same = root[root["case"] == case].sort_values("emulator", key=lambda names: names.map(list(NAMES).index))
        group = [line for _, row in same.iterrows() for line in _table_lines(row, frame, seeds[1:])]
        lines += [*group[:-1], replace(group[-1], ends_group=True)]
    further = [f"seed {seed}" for seed in seeds[1:]]
    header = ["noise", "integrator", "training", "test error", *further, "horizon", *further, "Lyap. times"]
    header += [f"{name} ${state}$" for name in ("KS", "W") for state in STATES]
    header += ["in band", "stay", "first left", "seconds", "failed"]
    narrow = [0.7] * len(further)
    widths = [0.6, 1.9, 0.75, 1.25, *narrow, 1.0, *narrow, 0.8, *[0.55] * 6, 0.6, 0.5, 0.75, 0.65, 0.55]
    note = (
        "Errors: mean norm of the one-step error against the noise-free next state, on the training and the test "
        "stretch; mean (standard deviation) over re-tunings. Horizon: time until the error of a forecast exceeds "
        f"{SKILL_THRESHOLD:g} of the attractor's size, median over starts. KS, W: median over re-tunings of the "
        "Kolmogorov-Smirnov and Wasserstein distances of the marginals over the long trajectory; for the truth, of "
        "true trajectories from nearly the same start. In band: share within the 95 % band in x, y and z at once. "
        "Stay: share of re-tunings that stay on the attractor; first left: the earliest time at which one did not. "
        "The ranks of F10 are in the csv."
    )
    return table_figure(header, lines, widths, note)


def _table_lines(row: pd.Series, frame: pd.DataFrame, further: Sequence[int]) -> list[Line]:
    """The line of an integrator; of the truth, the median and the band of its distances."""
    noise = row["case"].removeprefix("noise")
    if row["emulator"] == "truth":
        blank = [""] * (4 + 2 * len(further))
        names = {"truth against truth: median": "", "    95 % band": "_band"}
        return [
            Line(
                [
                    *(noise, name, *blank),
                    *(cell(row[f"ks{key}_{s}"]) for s in STATES),
                    *(cell(row[f"wasserstein{key}_{s}"], decimals=2) for s in STATES),
                    *("" if key else cell(row["share_within_band"], decimals=2), "", "", "", ""),
                ]
            )
            for name, key in names.items()
        ]
    same = frame[(frame["case"] == row["case"]) & (frame["emulator"] == row["emulator"])].set_index("seed")

    def elsewhere(name: str, decimals: int) -> list[str]:
        return [cell(same[name].get(seed, np.nan), decimals=decimals) for seed in further]

    cells = [
        noise,
        NAMES[row["emulator"]],
        cell(row["training_error_mean"], decimals=4),
        cell(row["test_error_mean"], row["test_error_std"], decimals=4),
        *elsewhere("test_error_mean", 4),
        cell(row["horizon_mean"], row["horizon_std"], decimals=2),
        *elsewhere("horizon_mean", 2),
        cell(row["horizon_lyapunov_times"], decimals=2),
        *[cell(row[f"ks_{s}"]) for s in STATES],
        *[cell(row[f"wasserstein_{s}"], decimals=2) for s in STATES],
        cell(row["share_within_band"], decimals=2),
        cell(row["share_stayed"], decimals=2),
        "" if pd.isna(row["earliest_departure"]) else cell(row["earliest_departure"], decimals=1),
        cell(row["tuning_seconds"], decimals=1),
        f"{int(row['n_failed'])}/{int(row['n_retunings'])}",
    ]
    return [Line(cells)]


FIGURES: dict[str, Callable[..., Figure]] = {
    "F4": draw_integrators,
    "F5": draw_distributions,
    "F8": draw_convergence,
    "F9": draw_integrators,
    "F10": draw_ranks,
    "lorenz63_integrators": draw_table,
}
