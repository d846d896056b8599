"""Verdicts: a number that the paper prints, ours, and the rule by which they agree or not.

Every rule is a function here, with its meaning in `RULES`; docs/report.md says why they are as they are. Two runs with
the same seed give the same verdicts, but for those of kind "time".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from rftune.data import Array
from rftune.emulators.listed import Listed

Rows = dict[Any, dict[str, Any]]
Kind = Literal["value", "time"]
Direction = Literal["smaller", "larger"]

AGREED, BETTER, WORSE, NOT_COMPARABLE = VERDICTS = ("agreed", "better", "worse", "not comparable")
SETTING = "same setting"
RULES = {
    "nearer the exact value": "Agreed within two standard errors of the difference and the rounding of the print; "
    "otherwise better when nearer to the value known in closed form.",
    "smaller is better": "Agreed within two standard errors of the difference and the tolerance that is given; "
    "otherwise better when smaller.",
    "larger is better": "Agreed within two standard errors of the difference and the tolerance that is given; "
    "otherwise better when larger.",
    "factor of 2, smaller is better": "Agreed within a factor of two, because machines and implementations differ; "
    "otherwise better when smaller.",
    "factor of 2, larger is better": "Agreed within a factor of two, because machines and implementations differ; "
    "otherwise better when larger.",
    "bound": "The paper prints a bound: agreed when ours keeps it, worse when not; not comparable when ours is itself "
    "a bound that does not decide.",
    "at least as many": "A number of repeats: agreed when ours is as large, worse when it is smaller.",
    SETTING: "Agreed when equal; otherwise not comparable, because this preset asks for something else.",
    "not compared": "Named for completeness; the reason is given.",
}
N_STANDARD_ERRORS = 2.0
FACTOR = 2.0
STAGNATED_SHARE = 0.05  # of the whole fall: a curve that has less than this left to fall has stagnated
FINAL_ITERATIONS = 3  # whose mean is the level that a curve ends at


@dataclass(frozen=True)
class Verdict:
    """One line of verdicts.csv.

    Attributes
    ----------
    id
        Of the artifact: F1..F12, T1..T6.
    quantity
    kind
        "value"; "time" for whatever is measured with a clock.
    paper, ours
        Numbers, or words where there is none.
    standard_error
        Of ours minus the paper's, by Monte Carlo; NaN where it cannot be known.
    rule
        A key of `RULES`, after a colon what else it needs: a tolerance, a condition, a reason.
    verdict
        One of `VERDICTS`.
    """

    id: str
    quantity: str
    kind: Kind
    paper: float | str
    ours: float | str
    standard_error: float
    rule: str
    verdict: str


@dataclass(frozen=True, eq=False)
class Curves:
    """How the objective fell in some re-tunings.

    Attributes
    ----------
    misfit : (n_retunings, n_iterations + 1)
    logarithmic
        Whether the paper draws them on a logarithmic axis, where a fall is a factor and not a difference.
    """

    misfit: Array
    logarithmic: bool = False

    @property
    def n_iterations(self) -> int:
        return int(self.misfit.shape[1]) - 1

    @property
    def ratio(self) -> float:
        """Last over first value, median over re-tunings."""
        return float(np.median(self.misfit[:, -1] / self.misfit[:, 0]))

    def stagnation(self) -> Array:
        """First iteration of each with at most `STAGNATED_SHARE` of its fall still before it, (n_retunings,)."""
        heights = np.log(self.misfit) if self.logarithmic else self.misfit
        final = heights[:, -FINAL_ITERATIONS:].mean(axis=1, keepdims=True)
        fallen = heights - final <= STAGNATED_SHARE * (heights[:, :1] - final)
        iterations: Array = np.argmax(fallen, axis=1).astype(np.float64)
        return iterations


@dataclass(frozen=True)
class Evidence:
    """What verdicts are based on.

    Attributes
    ----------
    tables
        The tables of the run by name; those that it does not make are missing.
    emulators
        Those of the experiment, by name.
    curves
        Of the re-tunings that a figure shows, by figure; those that failed left out.
    """

    tables: Mapping[str, pd.DataFrame]
    emulators: Mapping[str, Listed] = field(default_factory=dict)
    curves: Mapping[str, Curves] = field(default_factory=dict)

    def at_root(self, table: str) -> pd.DataFrame:
        """The rows of a table at the root seed, which stand first."""
        rows = self.tables[table]
        found: pd.DataFrame = rows[rows["seed"] == rows["seed"].iloc[0]]
        return found

    def named(self, role: str) -> str:
        """Name of the emulator in a role; empty where there is none."""
        return next((name for name, entry in self.emulators.items() if entry.role == role), "")


def near_exact(
    id: str, quantity: str, paper: float, ours: float, exact: float, standard_error: float = np.nan, rounding: float = 0
) -> Verdict:
    """A value whose exact one is known."""
    verdict = _judged(paper, ours, standard_error, rounding, abs(ours - exact) < abs(paper - exact))
    return Verdict(id, quantity, "value", paper, ours, standard_error, "nearer the exact value", verdict)


def directed(
    id: str,
    quantity: str,
    paper: float | None,
    ours: float,
    direction: Direction,
    standard_error: float = np.nan,
    tolerance: float = 0.0,
    kind: Kind = "value",
) -> Verdict:
    """A value of which less, or more, is better."""
    number = _number(paper)
    verdict = _judged(number, ours, standard_error, tolerance, _improves(number, ours, direction))
    rule = f"{direction} is better" + (f": ±{tolerance:g}" if tolerance else "")
    return Verdict(id, quantity, kind, number, ours, standard_error, rule, verdict)


def ratio(
    id: str, quantity: str, paper: float | None, ours: float, direction: Direction, kind: Kind = "time"
) -> Verdict:
    """A ratio within one run, in which machine and implementation play a part."""
    number = _number(paper)
    if not _known(number, ours) or min(number, ours) <= 0:
        verdict = NOT_COMPARABLE
    elif max(number / ours, ours / number) <= FACTOR:
        verdict = AGREED
    else:
        verdict = BETTER if _improves(number, ours, direction) else WORSE
    return Verdict(id, quantity, kind, number, ours, np.nan, f"factor of 2, {direction} is better", verdict)


def bound(
    id: str, quantity: str, limit: float, ours: float, side: Literal["<", ">"], kind: Kind, open_ended: bool = False
) -> Verdict:
    """A number of which the paper prints a bound; ``open_ended`` says that ours is a lower bound too."""
    kept = ours < limit if side == "<" else ours > limit
    if not _known(ours) or (open_ended and not (kept and side == ">")):
        verdict = NOT_COMPARABLE
    else:
        verdict = AGREED if kept else WORSE
    shown: float | str = f"> {ours:.4g}" if open_ended else ours
    return Verdict(id, quantity, kind, f"{side} {limit:.4g}", shown, np.nan, "bound", verdict)


def count(id: str, quantity: str, paper: int, ours: float) -> Verdict:
    """A number of repeats."""
    verdict = NOT_COMPARABLE if not _known(ours) else AGREED if ours >= paper else WORSE
    judged = Verdict(id, quantity, "value", paper, ours, np.nan, "at least as many", verdict)
    return explained(judged, "config/full.yaml has as many, at more time")


def explained(verdict: Verdict, because: str) -> Verdict:
    """The verdict, where it is worse with what explains it beside its rule."""
    if verdict.verdict != WORSE:
        return verdict
    joint = "; " if ":" in verdict.rule else ": "
    return replace(verdict, rule=f"{verdict.rule}{joint}{because}")


def setting(id: str, quantity: str, paper: Any, ours: Any) -> Verdict:
    """A setting that the paper states."""
    verdict = AGREED if paper == ours else NOT_COMPARABLE
    return Verdict(id, quantity, "value", _shown(paper), _shown(ours), np.nan, SETTING, verdict)


def not_compared(
    id: str, quantity: str, paper: float | str | None, ours: float | str, reason: str, kind: Kind = "value"
) -> Verdict:
    """A number that is named and not judged."""
    printed = paper if isinstance(paper, str) else _number(paper)
    return Verdict(id, quantity, kind, printed, ours, np.nan, f"not compared: {reason}", NOT_COMPARABLE)


def convergence(id: str, paper: Mapping[str, Any], curves: Curves) -> list[Verdict]:
    """The iteration at which the objective stops falling, and how many re-tunings say so.

    Parameters
    ----------
    id
    paper
        The block ``convergence`` of config/paper_values.yaml.
    curves
        Fewer iterations than the paper's cannot tell.
    """
    n, n_iterations = len(curves.misfit), curves.n_iterations
    stagnated = curves.stagnation()
    mean = float(stagnated.mean()) if n else np.nan
    quantity = "iterations until the objective stops falling"
    if n_iterations < paper["iterations"]:
        reason = f"{n_iterations} iterations instead of {paper['iterations']}"
        stops = not_compared(id, quantity, paper[id], mean, reason)
    else:
        error = float(stagnated.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        stops = directed(id, quantity, paper[id], mean, "smaller", error, tolerance=2)
    return [stops, count(id, "re-tunings", paper["restarts"], n)]


def combined_error(*errors: float) -> float:
    """Standard error of a difference from those of its parts; NaN when none is known, the known ones otherwise."""
    known = np.array([error for error in errors if np.isfinite(error)])
    return float(np.sqrt((known**2).sum())) if len(known) else np.nan


def std_error(std: float, n: float) -> float:
    """Standard error of a standard deviation of n normal values."""
    return float(std / np.sqrt(2.0 * (n - 1.0))) if n > 1 else np.nan


def quotient_error(top: float, top_error: float, bottom: float, bottom_error: float = np.nan) -> float:
    """Standard error of a quotient, to first order, from the errors that are known; NaN where none is."""
    parts = [error / value for value, error in ((top, top_error), (bottom, bottom_error)) if np.isfinite(error)]
    return float(abs(top / bottom) * np.sqrt(np.square(parts).sum())) if parts else np.nan


def keyed(table: pd.DataFrame, *columns: str) -> Rows:
    """Rows of a table as dictionaries, by the values of some columns, in their order."""
    records: list[dict[str, Any]] = [
        {str(key): value for key, value in row.items()} for row in table.to_dict("records")
    ]
    keys = [tuple(row[name] for name in columns) for row in records]
    return {key if len(columns) > 1 else key[0]: row for key, row in zip(keys, records, strict=True)}


def to_frame(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """The verdicts as a table; a bad rule or verdict is an error here rather than a puzzle for the reader."""
    for verdict in verdicts:
        if verdict.rule.partition(":")[0] not in RULES or verdict.verdict not in VERDICTS:
            raise ValueError(
                f"{verdict.id}, {verdict.quantity}: no rule {verdict.rule!r} or verdict {verdict.verdict!r}"
            )
    frame = pd.DataFrame([asdict(verdict) for verdict in verdicts], columns=list(Verdict.__dataclass_fields__))
    for column in ("paper", "ours", "standard_error"):
        frame[column] = [_text(value) for value in frame[column]]
    return frame


def _judged(paper: float, ours: float, standard_error: float, tolerance: float, improves: bool) -> str:
    if not _known(paper, ours):
        return NOT_COMPARABLE
    error = standard_error if np.isfinite(standard_error) else 0.0
    # the last factor: a difference of exactly the tolerance, such as .3145 - .314, agrees whatever the rounding
    if abs(ours - paper) <= (N_STANDARD_ERRORS * error + tolerance) * (1.0 + 1e-9):
        return AGREED
    return BETTER if improves else WORSE


def _improves(paper: float, ours: float, direction: Direction) -> bool:
    return ours < paper if direction == "smaller" else ours > paper


def _known(*values: float) -> bool:
    return bool(np.isfinite(values).all())


def _text(value: float | str) -> str:
    """Six digits of a number, so that the last ones, which depend on the machine, do not show; nothing for NaN."""
    if isinstance(value, str):
        return value
    return f"{value:.6g}" if np.isfinite(value) else ""


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


def _shown(value: Any) -> float | str:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
