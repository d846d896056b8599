"""The race: contenders are judged by left-out runs, and the best of them makes the emulator of a component.

What takes part follows from the sizes and from a budget of estimated seconds, never from a clock, so that the same
data, seed and budget give the same digits on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from rftune.data import Array
from rftune.fitting import scores
from rftune.fitting.contenders import Contender, Fit, LeftOut, Problem, cross_validated
from rftune.fitting.least_squares import LeastSquares
from rftune.fitting.surrogate import Component

_NO_RESULT = (ArithmeticError, ValueError, np.linalg.LinAlgError)  # of a contender that data like these defeat
_LEAST_SCORE = 1e-300
_MOST_FOLDS = 10
_SHARE_OF_CHECK = 0.5  # of the budget, that the check of the winner may take
_PULL = 100  # runs with whose weight a widening is drawn towards none
_WIDENING = (0.4, 4.0)

Report = Callable[[str, float], None]  # what comes next, and the estimated seconds that are over


@dataclass(frozen=True, eq=False)
class Entry:
    """A contender in the race of one component.

    Attributes
    ----------
    contender
    planned
        Estimated seconds.
    status
        "" where it ran, or why it did not or came to nothing.
    fit, left_out
        None where it came to nothing.
    losses : (n_samples,)
        Its scores at the left-out runs; None likewise.
    misfit_variance
        What its left-out errors have beyond what it expects, if it follows the data with few features.
    seconds
        Measured.
    """

    contender: Contender
    planned: float
    status: str = ""
    fit: Fit | None = None
    left_out: LeftOut | None = None
    losses: Array | None = None
    misfit_variance: float = 0.0
    seconds: float = 0.0

    @property
    def score(self) -> float:
        return float("inf") if self.losses is None else float(self.losses.mean())


@dataclass(frozen=True, eq=False)
class Result:
    """A component's emulator and how it was found.

    Attributes
    ----------
    component
    left_out
        Predictions of every run from others, as wide as the component's.
    table
        A row per contender.
    winner
        Its name.
    """

    component: Component
    left_out: LeftOut
    table: pd.DataFrame
    winner: str


def run(
    problem: Problem,
    contenders: Sequence[Contender],
    budget: float,
    rng: np.random.Generator,
    report: Report,
    *,
    check: bool = True,
) -> Result:
    """Let the contenders run, in the order of preference, as far as the budget goes.

    Parameters
    ----------
    problem
    contenders
        Simple ones first: the first of those within a standard error of the best wins.
    budget
        Estimated seconds. The first contender that can run does so whatever it takes.
    rng
    report
    check
        Whether the winner's errors at left-out runs widen its error bars.
    """
    if np.ptp(problem.data.outputs) == 0.0:
        contenders = [LeastSquares("constant", "the only value that there is", 0)]
    entries, spent = list[Entry](), 0.0
    for contender, stream in zip(contenders, rng.spawn(len(contenders)), strict=True):
        entry = _planned(contender, problem, budget - spent, ran=any(not other.status for other in entries))
        if not entry.status:
            report(contender.title, spent)
            entry = _ran(entry, problem, stream)
            spent += entry.planned
            if problem.noise is None and entry.fit is not None and contender.learns_noise:
                problem = replace(problem, noise_guess=_better_guess(entries, entry, problem))
        entries.append(entry)
    winner = _winner(entries, problem)
    assert winner.fit is not None
    assert winner.left_out is not None
    checked, widening = winner.left_out, 1.0
    if check:
        report(f"{winner.contender.title}, checked", spent)
        checked = _check(winner, problem, budget * _SHARE_OF_CHECK, rng)
        widening = _widening(problem.data.outputs[:, 0] - checked.mean, checked)
    component = Component(winner.fit.model, winner.fit.noise_variance, winner.misfit_variance, widening)
    wide = replace(checked, variance=widening**2 * checked.variance)
    return Result(component, wide, _table(entries, winner, problem), winner.contender.name)


def _planned(contender: Contender, problem: Problem, left: float, ran: bool) -> Entry:
    """Whether a contender takes part."""
    n_samples, n_inputs = problem.data.n_samples, problem.data.n_inputs
    obstacle = contender.obstacle(n_samples, n_inputs)
    if obstacle:
        return Entry(contender, 0.0, obstacle)
    seconds = contender.seconds(n_samples, n_inputs)
    if seconds > left and ran:
        return Entry(contender, seconds, f"beyond the budget: it would take some {seconds:.0f} s")
    return Entry(contender, seconds)


def _ran(entry: Entry, problem: Problem, rng: np.random.Generator) -> Entry:
    start = perf_counter()
    try:
        fit = entry.contender.fit(problem, rng)
        left_out = entry.contender.left_out(problem, fit, rng)
    except _NO_RESULT as error:
        reason = " ".join(str(error).split())
        return replace(entry, status=f"came to nothing: {reason}", seconds=perf_counter() - start)
    errors = problem.data.outputs[:, 0] - left_out.mean
    misfit = 0.0
    if entry.contender.is_approximate:
        misfit = max(float(np.mean(errors**2 - left_out.std**2)), 0.0)
        left_out = replace(left_out, variance=left_out.variance + misfit)
    losses = scores.crps(errors, left_out.std)
    if not np.isfinite(losses).all():
        return replace(entry, status="came to nothing: no finite prediction", seconds=perf_counter() - start)
    return replace(
        entry, fit=fit, left_out=left_out, losses=losses, misfit_variance=misfit, seconds=perf_counter() - start
    )


def _better_guess(before: Sequence[Entry], entry: Entry, problem: Problem) -> float | None:
    """The noise variance that the best so far has found."""
    assert entry.fit is not None
    learned = [other for other in before if other.contender.learns_noise and other.losses is not None]
    if problem.noise_guess is None or all(entry.score < other.score for other in learned):
        return entry.fit.noise_variance
    return problem.noise_guess


def _winner(entries: Sequence[Entry], problem: Problem) -> Entry:
    """The first whose score is not worse than the best one by more than the standard error of their difference."""
    finished = [entry for entry in entries if entry.losses is not None]
    if not finished:
        reasons = "; ".join(f"{entry.contender.name}: {entry.status}" for entry in entries)
        raise ValueError(f"no emulator could be fitted to these {problem.data.n_samples} runs ({reasons})")
    best = min(finished, key=lambda entry: entry.score)
    for entry in finished:
        differences = np.asarray(entry.losses) - np.asarray(best.losses)
        if differences.mean() <= differences.std() / np.sqrt(len(differences)):
            return entry
    return best


def _check(winner: Entry, problem: Problem, budget: float, rng: np.random.Generator) -> LeftOut:
    """Left-out predictions with everything found anew, where the budget allows it."""
    assert winner.left_out is not None
    contender, n_samples, n_inputs = winner.contender, problem.data.n_samples, problem.data.n_inputs
    for n_folds in (_MOST_FOLDS, _MOST_FOLDS // 2):
        can_run = not contender.obstacle(n_samples - -(-n_samples // n_folds), n_inputs)
        if can_run and n_folds * contender.seconds(n_samples, n_inputs) <= budget:
            with suppress(*_NO_RESULT):
                checked = cross_validated(contender, problem, n_folds, rng)
                return replace(checked, variance=checked.variance + winner.misfit_variance)
    return winner.left_out


def _widening(errors: Array, left_out: LeftOut) -> float:
    """A factor of the function's standard deviation from the errors at left-out runs.

    By how much their standardised errors, of which nine in ten should be below 1.64, are too large. The fewer the runs,
    the more it is drawn towards 1: the quantile of a few errors is itself uncertain, and folds have fewer runs than the
    whole.
    """
    standardised = np.abs(errors) / np.maximum(left_out.std, _LEAST_SCORE)
    ratio = float(np.quantile(standardised, scores.MAIN_LEVEL)) / scores.half_width(scores.MAIN_LEVEL)
    weight = len(errors) / (len(errors) + _PULL)
    return float(np.clip(ratio, *_WIDENING) ** weight)


def _table(entries: Sequence[Entry], winner: Entry, problem: Problem) -> pd.DataFrame:
    """What the race was like, in units of the component's standard deviation and of the constant's score."""
    output = problem.data.outputs[:, 0]
    spread = max(float(output.std()), _LEAST_SCORE)
    yardstick = max(float(scores.crps(output - output.mean(), np.full(len(output), spread)).mean()), _LEAST_SCORE)
    rows = list[dict[str, Any]]()
    for entry in entries:
        row: dict[str, Any] = {"emulator": entry.contender.name, "title": entry.contender.title}
        if entry.fit is not None and entry.left_out is not None:
            errors = output - entry.left_out.mean
            row |= {
                "crps": entry.score / yardstick,
                "relative_rmse": float(np.sqrt(np.mean(errors**2))) / spread,
                "coverage_90": float(scores.coverage(errors, entry.left_out.std, scores.MAIN_LEVEL)),
                "noise_std": float(np.sqrt(entry.fit.noise_variance)) / spread,
            }
        status = "chosen" if entry is winner else entry.status
        rows.append({**row, "planned_seconds": entry.planned, "seconds": entry.seconds, "status": status})
    columns = ["emulator", "title", "crps", "relative_rmse", "coverage_90", "noise_std", "planned_seconds", "seconds"]
    return pd.DataFrame(rows).reindex(columns=[*columns, "status"])
