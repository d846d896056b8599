"""Curves of the objective while tuning (F7, F8, F11)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from rftune.experiments.results import Results, succeeded
from rftune.report.style import DATA, EMULATOR, MUTED, style


def draw_convergence(results: Results) -> Figure:
    """Normalised misfit against iteration, a line per re-tuning and their median; no more than the paper's number.

    Re-tunings that failed are red and left out of the median. Where the paper's curves stop falling is marked, unless
    ours are shorter.
    """
    paper = results.paper["convergence"]
    tuned = results.one("tuned").isel(repeat=slice(paper["restarts"]))
    failed, stagnation = ~succeeded(tuned), paper[results.artifact]
    normalised = tuned["misfit"].values / tuned["misfit"].values[:, :1]
    iterations = np.arange(normalised.shape[1])
    with style():
        figure, axis = plt.subplots(figsize=(5.2, 3.4))
        for curve, is_failed in zip(normalised, failed, strict=True):
            axis.plot(iterations, curve, color=DATA if is_failed else EMULATOR, lw=0.8, alpha=0.4)
        if not failed.all():
            axis.plot(iterations, np.median(normalised[~failed], axis=0), color="black", lw=1.8, label="median")
        runs = "re-tuning" if len(failed) == 1 else "re-tunings"
        axis.plot([], [], color=EMULATOR, lw=0.8, alpha=0.6, label=f"{len(failed)} {runs}, {failed.sum()} failed")
        if stagnation <= iterations[-1]:
            axis.axvline(stagnation, color=MUTED, lw=0.8, ls=":", label="the paper's curves stop falling")
        axis.set(xlabel="EKI iteration", ylabel="objective, first value = 1", xlim=(0, iterations[-1]))
        axis.set_yscale("log") if results.artifact in paper["logarithmic"] else axis.set_ylim(0, None)
        axis.xaxis.set_major_locator(MultipleLocator(2))
        axis.legend()
    return figure
