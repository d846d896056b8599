"""F4, F9: traces and densities; F5: distribution functions; F8: convergence; F10: errors by rank; the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rftune.data import Array
from rftune.emulators.listed import Listed
from rftune.experiments import convergence
from rftune.experiments.lorenz63.data import SKILL_THRESHOLD
from rftune.experiments.lorenz63.tables import STATES, family_of, is_separable, rank_of
from rftune.experiments.results import Results, succeeded
from rftune.features.family import FAMILIES
from rftune.report.style import (
    DATA,
    EMULATOR,
    FURTHER,
    MUTED,
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

# Limits of the axes of x, y and z.
LIMITS = ((-22.0, 22.0), (-30.0, 30.0), (0.0, 55.0))
# Lines of the table, with what stands in the names of their columns.
TRUTHS = {"truth against truth: median": "", "    95 % band": "_band"}
# Families of features by the covariance of their frequencies.
COVARIANCES = {
    "subspace": "RF, QSQᵀ + εI, as the authors ran it",
    "lowrank": "RF, diag(D)² + UUᵀ, ours",
    "perturbation": "RF, (I + USUᵀ)², as printed",
}


def draw_integrators(results: Results) -> Figure:
    """F4, F9: a block of rows per emulator, x, y and z below each other; the trace left, the density right.

    Untuned emulators come first, as in the paper. Of each the first re-tuning is drawn.
    """
    known, yardstick = results.one("data"), results.one("truth")
    shown = sorted(
        results.all("predicted"), key=lambda one: results.emulators[one.emulator].get("tuning", {}) is not None
    )
    analyses = {one.key: one.loaded.isel(repeat=0) for one in results.all("analysis")}
    with style():
        figure = plt.figure(figsize=(9.0, 3.1 * len(shown) + 0.4))
        blocks: Any = figure.subfigures(len(shown), 1, squeeze=False)[:, 0]
        for block, one in zip(blocks, shown, strict=True):
            axes = block.subplots(3, 2, width_ratios=(2.3, 1))
            predicted = one.loaded.isel(repeat=0)
            for i, (left, right) in enumerate(axes):
                _draw_trace(left, known, predicted, i)
                _draw_density(right, yardstick, analyses[one.key], i)
            for axis in axes[:-1, 0]:
                axis.tick_params(labelbottom=False)
            axes[-1, 0].set_xlabel("time")
            block.align_ylabels(axes[:, 0])
            heading = f"{_noise(known)}; truth orange, emulator blue\n" if block is blocks[0] else ""
            name = _name(results.emulators[one.emulator])
            block.suptitle(f"{heading}{name}: {_fate(predicted, known)}", fontsize=9.5)
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


def _name(entry: Listed) -> str:
    """The emulator, and of untuned features the prior at whose mean they are."""
    prior = entry.get("features.prior")
    if prior is None or entry.is_tuned_features:
        return entry.label
    family = FAMILIES.read(entry.get("features.family"))
    strength = entry.get("features.family.log_strength")
    scale, (mean, std) = ("D", prior["log_scale"]) if strength is None else ("S", strength)
    a, a_std = prior["amplitude"] or family.amplitude
    return f"{entry.label} (a ~ N({a:g}, {a_std:g}²), log {scale} ~ N({mean:g}, {std:g}²))"


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


def draw_distributions(results: Results) -> Figure:
    """F5: marginal distribution functions of the truth and of every re-tuning, and their differences below."""
    known, found = results.one("truth"), results.one("analysis")
    good, stayed = succeeded(found), found["left_reason"].values == ""
    bands, edges = known["ks_band"].values, known["edges"].values
    limit = max(0.1, 1.2 * bands.max())
    true_cdf = _cumulative(known["density"].values, edges)
    cdfs = _cumulative(found["density"].values, edges)
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
            lower.set(xlabel=f"${STATES[i]}$", xlim=LIMITS[i], ylim=(-limit, limit))
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


def draw_convergence(results: Results) -> Figure:
    """F8: the curves, and whose they are."""
    figure = convergence.draw_convergence(results)
    figure.axes[0].set_title(f"{results.emulator('rf').label}, {_noise(results.one('data'))}")
    return figure


def draw_ranks(results: Results) -> Figure:
    """F10: one-step errors against rank, nonseparable left and separable right, with the GP's; test solid."""
    table = results.tables["lorenz63_integrators"]
    first = (table["seed"] == table["seed"].iloc[0]) & (table["case"] == table["case"].iloc[0])
    rows = table[first].set_index("emulator")
    run = [entry for entry in results.emulators.values() if entry.name in rows.index]
    levels = [entry for entry in run if entry.role == "gp"]
    shown = [entry for role in ("rf", "lowrank", "by_rank") for entry in run if entry.role == role]
    panels = {
        "rank, nonseparable": [entry for entry in shown if not is_separable(entry)],
        "(input, output) rank, separable": [entry for entry in shown if is_separable(entry)],
    }
    panels = {xlabel: entries for xlabel, entries in panels.items() if entries}
    colours = _colours(shown)
    with style():
        figure, axes = plt.subplots(1, len(panels), figsize=(8.4, 3.7), sharey=True, squeeze=False)
        for axis, (xlabel, entries) in zip(axes[0], panels.items(), strict=True):
            _draw_panel(axis, entries, rows, colours)
            for entry in levels:
                _draw_level(axis, rows.loc[entry.name])
            axis.set_xlabel(xlabel)
        axes[0, 0].set(ylabel="one-step error, bars: standard error", yscale="log")
        handles = [
            Line2D([], [], c=colour, marker="o", ms=4, label=_described(family, shown, rows))
            for family, colour in colours.items()
        ]
        handles += [Line2D([], [], c=TRUTH, label=entry.label) for entry in levels]
        handles.append(Line2D([], [], c="black", ls="-", label="test stretch"))
        handles.append(Line2D([], [], c="black", ls="--", label="training stretch"))
        figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def _colours(shown: Sequence[Listed]) -> dict[str, str]:
    """By family: the first is the emulator of the other figures, the paper's covariance is grey."""
    first, *others = dict.fromkeys(family_of(entry) for entry in shown)
    further = cycle(FURTHER)
    return {first: EMULATOR, **{name: MUTED if name == "perturbation" else next(further) for name in others}}


def _draw_panel(axis: Axes, entries: Sequence[Listed], rows: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """Errors of some emulators at the place of their rank, a curve per family."""
    ranks = sorted({rank_of(entry) for entry in entries})
    for family in dict.fromkeys(family_of(entry) for entry in entries):
        own = sorted((entry for entry in entries if family_of(entry) == family), key=rank_of)
        places = [ranks.index(rank_of(entry)) for entry in own]
        _draw_errors(axis, places, rows.loc[[entry.name for entry in own]], colours[family])
    axis.set_xticks(np.arange(len(ranks)), [_rank(rank) for rank in ranks])
    axis.set_xlim(-0.5, len(ranks) - 0.5)


def _rank(rank: Sequence[float]) -> str:
    """A rank, or a pair, as the axis says it."""
    parts = ["full" if np.isinf(part) else f"{part:g}" for part in rank]
    return parts[0] if len(parts) == 1 else f"({','.join(parts)})"


def _draw_errors(axis: Axes, places: Sequence[int], rows: pd.DataFrame, colour: str) -> None:
    """Mean over re-tunings with its standard error at each rank."""
    styles: dict[str, Any] = {"test": {"ls": "-"}, "training": {"ls": "--", "mfc": "white"}}
    for error, options in styles.items():
        means, errors = rows[f"{error}_error_mean"], rows[f"{error}_error_standard_error"]
        axis.errorbar(places, means, errors, color=colour, marker="o", ms=4, lw=1.2, **options)


def _draw_level(axis: Axes, row: pd.Series) -> None:
    for error, dashes in (("test", "-"), ("training", "--")):
        axis.axhline(float(row[f"{error}_error_mean"]), color=TRUTH, lw=1.2, ls=dashes)


def _described(family: str, shown: Sequence[Listed], rows: pd.DataFrame) -> str:
    """A family and how many re-tunings there are at each of its ranks."""
    own = rows.loc[[entry.name for entry in shown if family_of(entry) == family]]
    numbers = [int(number) for number in own["n_retunings"]]
    counted = f"n = {min(numbers)}" + (f" to {max(numbers)}" if max(numbers) > min(numbers) else "")
    return f"{COVARIANCES.get(family, f'RF {family}')}, {counted}, {int(own['n_failed'].sum())} failed"


def draw_table(results: Results) -> Figure:
    """Integrators at the root seed, a group per noise level, and test error and horizon at the further seeds."""
    frame = results.tables["lorenz63_integrators"]
    ranks = [entry.name for entry in results.emulators.values() if entry.role == "by_rank"]
    root = frame[(frame["seed"] == frame["seed"].iloc[0]) & ~frame["emulator"].isin(ranks)]
    columns = _columns(results, frame, [name for name in root["emulator"] if name != "truth"])
    lines: list[Line] = []
    for _, same in root.groupby("case", sort=False):
        rows = [row for _, row in same.iterrows()]
        of_truth = [entry for row in rows if row["emulator"] == "truth" for entry in _truth_lines(columns, row)]
        lines += group([*of_truth, *(line(columns, row) for row in rows if row["emulator"] != "truth")])
    note = (
        "Noise: its variance. Errors: mean norm of the one-step error against the noise-free next state, on the "
        "training and the test stretch; mean (standard deviation) over re-tunings. Horizon: time until the error of a "
        f"forecast exceeds {SKILL_THRESHOLD:g} of the attractor's size, median over starts; also in Lyapunov times. "
        "Coverage of the 90 % intervals of the noise-free next state on the test stretch. "
        "KS, W: median over re-tunings of the Kolmogorov-Smirnov and Wasserstein distances of the marginals over the "
        "long trajectory; for the truth, of true trajectories from nearly the same start. In band: share within the "
        "95 % band in x, y and z at once. Stay: share of re-tunings that stay on the attractor; first left: the "
        "earliest time at which one did not."
    )
    return table_figure(columns, lines, f"{note} The ranks of F10 are in the csv." if ranks else note)


def _columns(results: Results, frame: pd.DataFrame, emulators: Sequence[str]) -> list[Column]:
    def elsewhere(name: str, decimals: int) -> list[Column]:
        return at_seeds(frame, ("case", "emulator"), name, decimals, 0.7)

    def left(row: pd.Series) -> str:
        return "" if pd.isna(row["earliest_departure"]) else cell(row["earliest_departure"], decimals=1)

    named = width_of([*map(results.label, emulators), *TRUTHS])
    return [
        Column("noise", 0.6, _noise_variance),
        Column("integrator", named, lambda row: results.label(row["emulator"])),
        Column("training error", 1.0, number("training_error_mean", 5)),
        Column("test error", 1.25, number("test_error_mean", 5, "test_error_std")),
        *elsewhere("test_error_mean", 5),
        Column("horizon", 1.0, number("horizon_mean", 2, "horizon_std")),
        *elsewhere("horizon_mean", 2),
        Column("Lyap. times", 0.9, number("horizon_lyapunov_times", 2)),
        Column("coverage", 0.75, number("coverage_mean", 2)),
        *(Column(f"KS ${s}$", 0.55, number(f"ks_{s}")) for s in STATES),
        *(Column(f"W ${s}$", 0.55, number(f"wasserstein_{s}", 2)) for s in STATES),
        Column("in band", 0.6, number("share_within_band", 2)),
        Column("stay", 0.5, number("share_stayed", 2)),
        Column("first left", 0.75, left),
        Column("seconds", 0.65, number("tuning_seconds", 1)),
        Column("failed", 0.55, failures),
    ]


def _noise_variance(row: pd.Series) -> str:
    return str(row["case"].removeprefix("noise"))


def _truth_lines(columns: Sequence[Column], row: pd.Series) -> Iterator[Line]:
    """The median and the band of the distances of truth against truth."""
    for name, key in TRUTHS.items():
        cells = {"noise": _noise_variance(row), "integrator": name}
        cells |= {f"KS ${s}$": cell(row[f"ks{key}_{s}"]) for s in STATES}
        cells |= {f"W ${s}$": cell(row[f"wasserstein{key}_{s}"], decimals=2) for s in STATES}
        cells["in band"] = "" if key else cell(row["share_within_band"], decimals=2)
        yield line_of(columns, cells)
