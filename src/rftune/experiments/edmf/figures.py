"""F6, F12: corner plots of posteriors; F11: convergence; T5 and T6, rendered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corner
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from rftune import storage
from rftune.data import Array
from rftune.experiments.edmf.data import prior_of
from rftune.experiments.protocol import load_repeats
from rftune.experiments.results import succeeded
from rftune.inference import chains
from rftune.report.style import EMULATOR, MUTED, TRUTH, Line, cell, convergence_figure, style, table_figure

Paths = Sequence[str]

# Probability inside the 1, 2 and 3 σ contours of a normal distribution in the plane.
LEVELS = tuple(1.0 - np.exp(-0.5 * np.arange(1, 4) ** 2))
N_BINS = 40
UNTUNED, SHARED, SIMULATOR = "#3a9a5b", "#8a4fb0", "black"
LABELS = {
    "entrainment_factor": "entrainment\nfactor",
    "detrainment_factor": "detrainment\nfactor",
    "tke_ed_coeff": "TKE eddy\ndiffusivity",
    "tke_diss_coeff": "TKE\ndissipation",
    "static_stab_coeff": "static\nstability",
}
NAMES = {
    "prior": "prior",
    "simulator": "simulator itself",
    "constant": "constant",
    "gp": "GP",
    "untuned": "RF untuned, rank 1",
    "separable_5_1": "RF separable (5, 1)",
    "separable_chosen": "RF separable, rank chosen",
    "nonseparable_1": "RF nonseparable, rank 1",
    "nonseparable_3": "RF nonseparable, rank 3",
    "nonseparable_chosen": "RF nonseparable, rank chosen",
    "shared": "RF shared features",
}
COLOURS = {"simulator": SIMULATOR, "gp": TRUTH, "untuned": UNTUNED, "shared": SHARED}


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


def draw_posterior(data: Paths, truth_posterior: Paths, **posteriors: Paths) -> Figure:
    """F6: the posteriors with a GP, with the paper's random features and with shared ones, and the simulator's own."""
    return _corners(storage.load(data[0]), [_clouds(data, truth_posterior, posteriors)], [""])


def draw_posteriors(data: Paths, truth_posterior: Paths, **posteriors: Paths) -> Figure:
    """F12: GP, tuned RF and untuned RF; nonseparable left, separable right."""
    columns, titles = [], []
    for tuned in ("nonseparable_1", "separable_5_1"):
        shown: dict[str, Paths] = {name: posteriors[name] for name in ("untuned", "gp", tuned)}
        columns.append(_clouds(data, truth_posterior, shown))
        titles.append(NAMES[tuned])
    return _corners(storage.load(data[0]), columns, titles)


def _clouds(data: Paths, truth_posterior: Paths, posteriors: Mapping[str, Paths]) -> list[Cloud]:
    prior = prior_of(storage.load(data[0]))
    stored = {name: storage.load(paths[0]).isel(repeat=0) for name, paths in posteriors.items()}
    own = storage.load(truth_posterior[0])
    if "samples" in own:
        stored["simulator"] = own
    found = []
    for name, chain in stored.items():
        converged = bool(chain["converged"])
        label = NAMES[name] if converged else f"{NAMES[name]}: not converged"
        draws = chains.draws(chain)
        if np.isfinite(draws).all():
            found.append(Cloud(prior.constrain(draws), label, COLOURS.get(name, EMULATOR), converged))
    return found


def _corners(data: xr.Dataset, columns: Sequence[Sequence[Cloud]], titles: Sequence[str]) -> Figure:
    """Corner plots side by side over the same ranges."""
    prior, true = prior_of(data), data["true_parameters"].values
    ranges = _ranges([cloud for clouds in columns for cloud in clouds], prior.bounds)
    with style():
        figure = plt.figure(figsize=(7.4 * len(columns), 7.4))
        blocks: Any = figure.subfigures(1, len(columns), squeeze=False)[0]
        for block, clouds, title in zip(blocks, columns, titles, strict=True):
            n = len(prior.names)
            axes = block.subplots(n, n, squeeze=False)
            for row in range(n):
                for column in range(n):
                    _draw_panel(axes[row, column], clouds, ranges, true, row, column)
                axes[row, 0].set_ylabel(LABELS.get(prior.names[row], prior.names[row]) if row else "")
                axes[-1, row].set_xlabel(LABELS.get(prior.names[row], prior.names[row]))
            handles = [Line2D([], [], color=c.colour, ls=c.style, label=c.label) for c in clouds]
            if np.isfinite(true).all():
                handles.append(Line2D([], [], color=MUTED, ls=":", label="true value"))
            block.legend(handles=handles, loc="upper right", title=title or None, fontsize=9.5)
    return figure


def _ranges(clouds: Sequence[Cloud], bounds: Array) -> Array:
    """Axis limits, (n_parameters, 2): the widest of the clouds' central 99.7 %, with a margin, within the bounds."""
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


def draw_distances(table: Paths) -> Figure:
    """How far each emulator's posterior is from the simulator's own, with the prior's distance as the yardstick."""
    frame = pd.read_csv(table[0])
    root = frame[frame["seed"] == frame["seed"].iloc[0]].set_index("emulator")
    shown = [name for name in NAMES if name in root.index and np.isfinite(root.loc[name, "posterior_distance_mean"])]
    others = frame[frame["seed"] != frame["seed"].iloc[0]]
    with style():
        figure, axis = plt.subplots(figsize=(6.4, 0.34 * len(shown) + 1.3))
        for place, name in enumerate(reversed(shown)):
            row = root.loc[name]
            spread = row["posterior_distance_std"] if np.isfinite(row["posterior_distance_std"]) else 0.0
            colour = COLOURS.get(name, MUTED if name == "prior" else EMULATOR)
            axis.errorbar(row["posterior_distance_mean"], place, xerr=spread, fmt="o", ms=5, color=colour, capsize=2)
            further = others.loc[others["emulator"] == name, "posterior_distance_mean"]
            axis.plot(further, np.full(len(further), place), ls="", marker="|", ms=8, color=colour)
        if "prior" in shown:
            third = root.loc["prior", "posterior_distance_mean"] / 3
            axis.axvline(third, color=MUTED, lw=0.8, ls=":")
            axis.annotate(" a third of the prior's", (third, len(shown) - 0.55), fontsize=7.5, color=MUTED)
        axis.set_yticks(range(len(shown)), [NAMES[name] for name in reversed(shown)])
        axis.set_xlabel("distance from the simulator's posterior\n(sliced Wasserstein, in prior standard deviations)")
        axis.set_xlim(0, None)
        axis.set_ylim(-0.5, len(shown) - 0.2)
    return figure


def draw_convergence(tuned: Paths, paper: Paths) -> Figure:
    """F11: objective against iteration."""
    results = load_repeats(tuned)
    stagnation = yaml.safe_load(Path(paper[0]).read_text(encoding="utf-8"))["convergence"]["F11"]
    return convergence_figure(results["misfit"].values, ~succeeded(results), stagnation)


def draw_parameters(table: Paths) -> Figure:
    """T5: bounds and prior means, with the paper's, and posteriors."""
    frame = pd.read_csv(table[0])
    shown = [name for name in ("simulator", "gp", "nonseparable_1", "shared") if f"posterior_{name}" in frame]
    lines = [
        Line(
            [
                f"[{row['lower']:g}, {row['upper']:g}]",
                row["parameter"],
                f"{row['prior_mean']:g}",
                _printed(row),
                cell(row["true_value"], decimals=2),
                *(str(row[f"posterior_{name}"]) for name in shown),
            ]
        )
        for _, row in frame.iterrows()
    ]
    header = ["bounds", "parameter", "prior mean", "paper", "truth", *(NAMES[name] for name in shown)]
    note = (
        "Prior: a normal of unit variance in the logit of the place between the bounds. Posteriors: physical value at "
        "the unconstrained mean, and one standard deviation to both sides; first re-tuning, root seed."
    )
    return table_figure(header, lines, [0.8, 1.5, 0.8, 1.3, 0.6, *(1.6 for _ in shown)], note)


def _printed(row: pd.Series) -> str:
    if not np.isfinite(row["paper_prior_mean"]):
        return "–"
    return f"[{row['paper_lower']:g}, {row['paper_upper']:g}] {row['paper_prior_mean']:g}"


def draw_emulators(table: Paths) -> Figure:
    """T6: root seed first, then the further seeds."""
    frame = pd.read_csv(table[0])
    lines: list[Line] = []
    for seed in frame["seed"].unique():
        rows = frame[frame["seed"] == seed]
        order = [name for name in NAMES if name in set(rows["emulator"])]
        group = [_emulator_line(rows[rows["emulator"] == name].iloc[0]) for name in order]
        lines += [*group[:-1], Line(group[-1].cells, ends_group=True)]
    header = [
        *("seed", "emulator", "n", "tuning s", "training", "test", "ms / likelihood", "posterior distance", "covered"),
        *("R-hat", "ESS", "paper: s, training, test, ms"),
    ]
    note = (
        "Errors: mean norm in noise units, mean (standard deviation) over n re-tunings. Posterior distance: sliced "
        "Wasserstein from the simulator's own posterior, in prior standard deviations. Covered: parameters whose true "
        "value lies within the central 99 %. R-hat and ESS: the worst over parameters and chains; * marks chains that "
        "have not converged."
    )
    return table_figure(header, lines, [0.5, 2.0, 0.3, 0.7, 1.0, 1.0, 1.1, 1.2, 0.7, 0.7, 0.6, 2.0], note)


def _emulator_line(row: pd.Series) -> Line:
    printed = [row[name] for name in row.index if name.startswith("paper_")]
    quoted = ", ".join(f"{value:g}" if np.isfinite(value) else "–" for value in map(float, printed))
    n_good = 1 if row["emulator"] == "simulator" else row["n_retunings"] - row["n_failed"]
    star = "*" if np.isfinite(row["n_converged"]) and row["n_converged"] < n_good else ""
    return Line(
        [
            str(row["seed"]),
            NAMES[row["emulator"]],
            cell(row["n_retunings"], decimals=0),
            cell(row["tuning_seconds"], decimals=0),
            cell(row["training_error_mean"], row["training_error_std"], decimals=2),
            cell(row["test_error_mean"], row["test_error_std"], decimals=2),
            cell(row["likelihood_ms"], decimals=2),
            cell(row["posterior_distance_mean"], row["posterior_distance_std"]),
            cell(row["covered"], decimals=1),
            cell(row["largest_rhat"], decimals=3) + star,
            cell(row["smallest_ess"], decimals=0),
            quoted if any(np.isfinite(float(value)) for value in printed) else "",
        ]
    )


FIGURES: dict[str, Callable[..., Figure]] = {
    "F6": draw_posterior,
    "F11": draw_convergence,
    "F12": draw_posteriors,
    "edmf_truth_posterior": draw_distances,
    "T5": draw_parameters,
    "T6": draw_emulators,
}
