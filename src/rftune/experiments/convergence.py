"""Curves of the objective while tuning (F7, F8, F11)."""

from __future__ import annotations

from matplotlib.figure import Figure

from rftune.experiments.results import Results, succeeded
from rftune.report.style import convergence_figure


def draw_convergence(results: Results) -> Figure:
    """Normalised misfit against iteration, a line per re-tuning and their median; no more than the paper's number."""
    paper = results.paper["convergence"]
    tuned = results.one("tuned").isel(repeat=slice(paper["restarts"]))
    logarithmic = results.artifact in paper["logarithmic"]
    return convergence_figure(tuned["misfit"].values, ~succeeded(tuned), paper[results.artifact], logarithmic)
