"""F6, F12: corner plots of posteriors; F11: convergence; T5 and T6, rendered."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import corner
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from rftune.data import Array
from rftune.experiments.convergence import draw_convergence
from rftune.experiments.edmf.data import prior_of
from rftune.experiments.edmf.tables import PRINTED
from rftune.experiments.results import Results, Stored
from rftune.inference import chains
from rftune.report.style import (
    EMULATOR,
    FURTHER,
    MUTED,
    TRUTH,
    Column,
    Line,
    cell,
    group,
    line,
    number,
    style,
    table_figure,
    width_of,
)
from rftune.report.text import literal

__all__ = [
    "draw_convergence",
    "draw_distances",
    "draw_emulators",
    "draw_parameters",
    "draw_posterior",
    "draw_posteriors",
]

# Probability inside the 1, 2 and 3 σ contours of a normal distribution in the plane.
LEVELS = tuple(1.0 - np.exp(-0.5 * np.arange(1, 4) ** 2))
N_BINS = 40
LABELS = {
    "entrainment_factor": "entrainment\nfactor",
    "detrainment_factor": "detrainment\nfactor",
    "tke_ed_coeff": "TKE eddy\ndiffusivity",
    "tke_diss_coeff": "TKE\ndissipation",
    "static_stab_coeff": "static\nstability",
}
LIKELIHOODS = {"ours": "with the emulator's misfit", "printed": "the paper's likelihood"}
REFERENCES = {"simulator": "simulator itself"}  # rows of T6 that are no emulators and have another name in figures
COLOURS = {"gp": TRUTH, "rf_untuned": FURTHER[0], "shared": FURTHER[1]}  # by role
OF_REFERENCES = {"simulator": "black", "prior": MUTED}


@dataclass(frozen=True, eq=False)
class Cloud:
    """Samples of one posterior in physical coordinates, (n, n_parameters), and how they are drawn."""

    samples: Array
    label: str
    colour: str
    converged: bool

    @property
    def style(self) -> str:
        """A chain that has not converged is dashed."""
        return "-" if self.converged else "--"


def draw_posterior(results: Results) -> Figure:
    """F6: posteriors with a GP, the paper's random features and shared ones, and the simulator's; by likelihood."""
    posteriors = results.all("posterior")
    blocks = {LIKELIHOODS[name]: _clouds(results, posteriors, name) for name in _likelihoods(posteriors)}
    return _corners(results.one("data"), [blocks])


def draw_posteriors(results: Results) -> Figure:
    """F12: GP, tuned RF and untuned RF; nonseparable left, separable right; a row per likelihood."""
    own = [one for one in results.all("posterior") if one.emulator == ""]
    rows = []
    for likelihood in _likelihoods(results.all("posterior")):
        blocks = {}
        for tuned in ("rf_nonseparable_1", "rf_separable_5_1"):
            shown = [one for role in ("rf_untuned", "gp", tuned) for one in results.all("posterior", role=role)]
            title = f"{results.emulator(tuned).label}\n{LIKELIHOODS[likelihood]}"
            blocks[title] = _clouds(results, [*own, *shown], likelihood)
        rows.append(blocks)
    return _corners(results.one("data"), rows)


def _likelihoods(posteriors: Sequence[Stored]) -> list[str]:
    """Those that posteriors were sampled with."""
    return next([str(name) for name in one.loaded["likelihood"].values] for one in posteriors if one.emulator)


def _clouds(results: Results, posteriors: Sequence[Stored], likelihood: str) -> list[Cloud]:
    """The first re-tuning of each, the simulator's own last and so on top."""
    prior = prior_of(results.one("data"))
    found = []
    for one in sorted(posteriors, key=lambda one: one.emulator == ""):
        if "samples" not in one.loaded:  # there is no simulator
            continue
        name = one.emulator or "simulator"
        chain = one.loaded.isel(repeat=0).sel(likelihood=likelihood) if one.emulator else one.loaded
        converged, draws = bool(chain["converged"]), chains.draws(chain)
        label = _label(results, name) if converged else f"{_label(results, name)}: not converged"
        if np.isfinite(draws).all():
            found.append(Cloud(prior.constrain(draws), label, _colour(results, name), converged))
    return found


def _label(results: Results, name: str) -> str:
    return REFERENCES.get(name) or results.label(name)


def _colour(results: Results, name: str) -> str:
    """Of an emulator by its role, of other rows of T6 by their name."""
    if name in results.emulators:
        return COLOURS.get(results.emulators[name].role, EMULATOR)
    return OF_REFERENCES.get(name, MUTED)


def _corners(data: xr.Dataset, rows: Sequence[Mapping[str, Sequence[Cloud]]]) -> Figure:
    """Corner plots over the same ranges, by title, in rows."""
    prior, true = prior_of(data), data["true_parameters"].values
    ranges = _ranges([cloud for blocks in rows for clouds in blocks.values() for cloud in clouds], prior.bounds)
    names = [LABELS.get(name) or literal(textwrap.fill(name.replace("_", " "), 14)) for name in prior.names]
    with style():
        side = max(7.4, 1.4 * len(names))
        figure = plt.figure(figsize=(side * len(rows[0]), side * len(rows)))
        blocks: Any = figure.subfigures(len(rows), len(rows[0]), squeeze=False)
        titled = [entry for titled in rows for entry in titled.items()]
        for block, (title, clouds) in zip(blocks.flat, titled, strict=True):
            n = len(names)
            axes = block.subplots(n, n, squeeze=False)
            for row in range(n):
                for column in range(n):
                    _draw_panel(axes[row, column], clouds, ranges, true, row, column)
                axes[row, 0].set_ylabel(names[row] if row else "")
                axes[-1, row].set_xlabel(names[row])
            handles = [Line2D([], [], color=c.colour, ls=c.style, label=c.label) for c in clouds]
            if np.isfinite(true).all():
                handles.append(Line2D([], [], color=MUTED, ls=":", label="true value"))
            block.legend(handles=handles, loc="upper right", title=title, fontsize=9.5)
    return figure


def _ranges(clouds: Sequence[Cloud], bounds: Array) -> Array:
    """Axis limits, (n_parameters, 2): the widest of the clouds' central 99.7 %, with a margin, within the bounds."""
    if not clouds:
        return bounds
    low, high = (
        np.quantile(np.stack([np.quantile(cloud.samples, q, axis=0) for cloud in clouds]), edge, axis=0)
        for q, edge in ((0.0015, 0.0), (0.9985, 1.0))
    )
    margin = 0.05 * (high - low)
    return np.stack([np.maximum(low - margin, bounds[:, 0]), np.minimum(high + margin, bounds[:, 1])], axis=1)


def _draw_panel(axis: Axes, clouds: Sequence[Cloud], ranges: Array, true: Array, row: int, column: int) -> None:
    if column > row:
        axis.axis("off")
        return
    for cloud in clouds:
        if row == column:
            counts, edges = np.histogram(cloud.samples[:, row], N_BINS, tuple(ranges[row]), density=True)
            axis.stairs(counts, edges, color=cloud.colour, ls=cloud.style, lw=1.2)
        else:
            corner.hist2d(
                cloud.samples[:, column],
                cloud.samples[:, row],
                bins=N_BINS,
                range=[tuple(ranges[column]), tuple(ranges[row])],
                levels=LEVELS,
                smooth=1.0,
                ax=axis,
                color=cloud.colour,
                plot_datapoints=False,
                plot_density=False,
                no_fill_contours=True,
                contour_kwargs={"linewidths": 1.0, "linestyles": cloud.style},
            )
    if np.isfinite(true).all():
        axis.axvline(true[column], color=MUTED, lw=0.8, ls=":")
        if row != column:
            axis.axhline(true[row], color=MUTED, lw=0.8, ls=":")
    axis.set_xlim(*ranges[column])
    if row == column:
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
    else:
        axis.set_ylim(*ranges[row])
        axis.yaxis.set_major_locator(MaxNLocator(3))
    axis.xaxis.set_major_locator(MaxNLocator(2))
    axis.tick_params(labelbottom=row == len(ranges) - 1, labelleft=column == 0 and row > 0, labelsize=7.5)


def draw_distances(results: Results) -> Figure:
    """How far each emulator's posterior is from the simulator's own, with the prior's distance as the yardstick."""
    frame = results.tables["T6"]
    is_root = frame["seed"] == frame["seed"].iloc[0]
    root, others = frame[is_root & np.isfinite(frame["posterior_distance_mean"])], frame[~is_root]
    shown = root.set_index("emulator")[::-1]
    with style():
        figure, axis = plt.subplots(figsize=(6.4, 0.34 * len(shown) + 1.3))
        for place, (name, row) in enumerate(shown.iterrows()):
            spread = row["posterior_distance_std"] if np.isfinite(row["posterior_distance_std"]) else 0.0
            colour = _colour(results, str(name))
            marker: dict[str, Any] = {"fmt": "o", "ms": 5, "capsize": 2, "color": colour, "clip_on": False}
            axis.errorbar(row["posterior_distance_mean"], place, xerr=spread, **marker)
            further = others.loc[others["emulator"] == name, "posterior_distance_mean"]
            axis.plot(further, np.full(len(further), place), ls="", marker="|", ms=8, color=colour)
        if "prior" in shown.index:
            third = shown.loc["prior", "posterior_distance_mean"] / 3
            axis.axvline(third, color=MUTED, lw=0.8, ls=":")
            axis.annotate(" a third of the prior's", (third, len(shown) - 0.55), fontsize=7.5, color=MUTED)
        axis.set_yticks(range(len(shown)), [_label(results, str(name)) for name in shown.index])
        axis.set_xlabel("distance from the simulator's posterior\n(sliced Wasserstein, in prior standard deviations)")
        axis.set_xlim(0, None)
        axis.set_ylim(-0.5, len(shown) - 0.2)
    return figure


def draw_parameters(results: Results) -> Figure:
    """T5, a column per parameter: bounds and prior means, with the paper's, and posteriors."""
    frame = results.tables["T5"]
    rows = [row for _, row in frame.iterrows()]
    priors = [
        Line(["prior", "bounds", *(f"[{row['lower']:g}, {row['upper']:g}]" for row in rows)]),
        Line(["", "mean", *(f"{row['prior_mean']:g}" for row in rows)]),
        Line(["paper", "bounds", *(_paper_bounds(row) for row in rows)], quoted=True),
        Line(["", "mean", *(_number(row["paper_prior_mean"]) for row in rows)], quoted=True),
        Line(["truth", "", *(_number(row["true_value"]) for row in rows)]),
    ]
    names = [str(name).removeprefix("posterior_") for name in frame if str(name).startswith("posterior_")]
    posteriors = [
        Line(["" if i else "posterior", _label(results, name), *(_interval(row[f"posterior_{name}"]) for row in rows)])
        for i, name in enumerate(names)
    ]
    lines = [*group(priors), *posteriors]
    columns = [Column("", 0.8), Column("", width_of(entry.cells[1] for entry in lines))]
    for place, row in enumerate(rows, start=2):
        heading = literal(str(row["parameter"]))
        columns.append(Column(heading, width_of([heading, *(entry.cells[place] for entry in lines)])))
    note = (
        "Prior: a normal of unit variance in the logit of the place between the bounds. Posteriors: physical value at "
        "the unconstrained mean, and one standard deviation to both sides; first re-tuning, root seed."
    )
    return table_figure(columns, lines, note)


def _paper_bounds(row: pd.Series) -> str:
    return f"[{row['paper_lower']:g}, {row['paper_upper']:g}]" if np.isfinite(row["paper_lower"]) else "–"


def _interval(text: str) -> str:
    """A posterior; none of an emulator whose tuning failed."""
    return "–" if "nan" in text else text


def _number(value: float) -> str:
    return f"{value:g}" if np.isfinite(value) else "–"


def draw_emulators(results: Results) -> Figure:
    """T6: root seed first, then the further seeds."""
    frame = results.tables["T6"]
    labels = {name: _label(results, name) for name in frame["emulator"].unique()}
    columns = [
        Column("seed", 0.5, lambda row: str(row["seed"])),
        Column("emulator", width_of(labels.values()), lambda row: labels[row["emulator"]]),
        Column("n", 0.3, number("n_retunings", 0)),
        Column("tuning s", 0.7, number("tuning_seconds", 1)),
        Column("training", 1.0, number("training_error_mean", 2, "training_error_std")),
        Column("test", 1.0, number("test_error_mean", 2, "test_error_std")),
        Column("ms / likelihood", 1.1, number("likelihood_ms", 2)),
        Column("posterior distance", 1.4, number("posterior_distance_mean", 3, "posterior_distance_std")),
        Column("covered", 0.7, number("covered", 1)),
        Column("R-hat", 0.7, _rhat),
        Column("ESS", 0.6, number("smallest_ess", 0)),
        Column(
            "printed likelihood", 1.4, number("printed_posterior_distance_mean", 3, "printed_posterior_distance_std")
        ),
        Column("covered", 0.7, number("printed_covered", 1)),
        Column("coverage", 0.75, number("coverage_mean", 2)),
        Column("paper: s, training, test, ms", 2.0, _printed),
    ]
    lines: list[Line] = []
    for _, rows in frame.groupby("seed", sort=False):
        lines += group([line(columns, row) for _, row in rows.iterrows()])
    note = (
        "Errors: mean norm in noise units, mean (standard deviation) over n re-tunings. Posterior distance: sliced "
        "Wasserstein from the simulator's own posterior, in prior standard deviations. Covered: parameters whose true "
        "value lies within the central 99 %. R-hat and ESS: the worst over parameters and chains; * marks chains that "
        "have not converged. Printed likelihood: distance and covered with the paper's own, without the misfit. "
        "Coverage: of the 90 % intervals of the noise-free outputs on the test ensemble."
    )
    return table_figure(columns, lines, note)


def _rhat(row: pd.Series) -> str:
    """The worst, with a star where chains have not converged."""
    n_good = 1 if row["emulator"] == "simulator" else row["n_retunings"] - row["n_failed"]
    return cell(row["largest_rhat"]) + ("*" if np.isfinite(row["n_converged"]) and row["n_converged"] < n_good else "")


def _printed(row: pd.Series) -> str:
    printed = [float(row[name]) for name in PRINTED]
    return ", ".join(map(_number, printed)) if np.isfinite(printed).any() else ""
