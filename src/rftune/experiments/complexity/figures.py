"""T1: costs against sizes, with the fitted exponents and the slopes of the paper's."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rftune.experiments.complexity.verdicts import SYMBOLS
from rftune.experiments.results import Results
from rftune.report.style import EMULATOR, MUTED, TRUTH, style
from rftune.report.verdicts import Rows, keyed

COLOURS = {"gpr": TRUTH, "rfr": EMULATOR}
ROWS = {
    "space": "space\n(bytes)",
    "cholesky": "Cholesky\n(seconds)",
    "mean": "mean at a point\n(seconds)",
    "covariance": "covariance at a point\n(seconds)",
}


def draw_costs(results: Results) -> Figure:
    """A row per operation, a column per variable; exponents in the corner, the paper's in brackets."""
    exponents = keyed(results.tables["T1"], "operation", "variable", "method")
    costs = results.tables["measured"]
    with style():
        figure, axes = plt.subplots(len(ROWS), len(SYMBOLS), figsize=(8.4, 8.6), sharex="col", sharey="row")
        for line, operation in zip(axes, ROWS, strict=True):
            for axis, variable in zip(line, SYMBOLS, strict=True):
                axis.set(xscale="log", yscale="log")
                _draw_panel(axis, costs, exponents, operation, variable)
            own = costs.loc[costs["operation"] == operation, "cost"]
            low, high = own.min(), own.max()
            line[0].set_ylim(low / 1.5, high * (high / low) ** 0.4)  # room for the exponents
            line[0].set_ylabel(ROWS[operation])
        for axis, (variable, symbol) in zip(axes[-1], SYMBOLS.items(), strict=True):
            sizes = sorted(costs.loc[costs["variable"] == variable, "size"].unique())
            axis.set_xticks(sizes, [str(size) for size in sizes])
            axis.minorticks_off()
            axis.set_xlabel(f"${symbol}$")
        handles = [
            Line2D([], [], c=COLOURS["gpr"], marker="o", ms=4, label="GPR, dense and vector-valued"),
            Line2D([], [], c=COLOURS["rfr"], marker="o", ms=4, label="RFR"),
            Line2D([], [], c=MUTED, ls="--", label="the paper's exponent"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def _draw_panel(axis: Axes, costs: pd.DataFrame, exponents: Rows, operation: str, variable: str) -> None:
    own = costs[(costs["operation"] == operation) & (costs["variable"] == variable)]
    for place, (method, colour) in enumerate(COLOURS.items()):
        points = own[own["method"] == method].sort_values("size")
        if points.empty:
            continue
        row = exponents[operation, variable, method]
        size, cost = points["size"].to_numpy(), points["cost"].to_numpy()
        axis.plot(size, cost[-1] * (size / size[-1]) ** row["paper_exponent"], color=MUTED, lw=0.9, ls="--")
        axis.plot(size, cost, color=colour, marker="o", ms=3.5, lw=1.3)
        exponent = round(row["exponent"], 2) + 0.0  # no minus before a zero
        text = f"{method.upper()} {exponent:.2f} (paper {row['paper_exponent']:g})"
        axis.text(0.03, 0.97 - 0.12 * place, text, transform=axis.transAxes, va="top", fontsize=7.5, color=colour)
