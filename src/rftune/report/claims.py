"""Claims: what the paper says in sentences, each beside the numbers of a run that decide it.

An experiment's ``claims`` module holds the sentences that its tables decide, as ``CLAIMS``. To add one: a function of
the evidence and a line there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from rftune.report.verdicts import Evidence, Kind

HOLDS, FAILS, UNDECIDED = VERDICTS = ("holds", "does not hold", "not decided")


class Finding(NamedTuple):
    """What a run says: its numbers in words, and whether the claim holds; None where they do not decide."""

    ours: str
    holds: bool | None


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper.

    Attributes
    ----------
    section
        Of the paper.
    artifact
        The figure or table that it is about, or whose run decides it.
    says
        The sentence, cut with "…" where it is long.
    condition
        What we take it to mean in numbers.
    decide
        None where the run lacks what decides.
    because
        Where the claim does not hold in the reference run, what shows why.
    kind
        "time" where a clock decides.
    """

    section: str
    artifact: str
    says: str
    condition: str
    decide: Callable[[Evidence], Finding | None]
    because: str = ""
    kind: Kind = "value"


class Undecided(Exception):
    """A run does not decide a claim; the message says why."""


def stagnates_near(figure: str, iteration: int, within: int = 2) -> Callable[[Evidence], Finding]:
    """Whether the curves of a figure stop falling at about this iteration."""

    def decide(evidence: Evidence) -> Finding:
        curves = evidence.curves[figure]
        mean = float(curves.stagnation().mean())
        axis = " on the figure's logarithmic axis" if curves.logarithmic else ""
        text = f"at {mean:.1f}{axis}; last over first value {curves.ratio:.2g}"
        return Finding(text, abs(mean - iteration) <= within)

    return decide


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's, of three or more numbers without ties."""
    if len(one) < 3:
        raise ValueError(f"{len(one)} numbers have no correlation")
    first, second = (np.argsort(np.argsort(values)) - (len(values) - 1) / 2.0 for values in (one, other))
    return float(first @ second / (first @ first))


def judged(claims: Sequence[Claim], evidence: Evidence) -> list[dict[str, str]]:
    """Lines of claims.csv."""
    return [_line(claim, _decided(claim, evidence)) for claim in claims]


def to_frame(lines: Sequence[dict[str, str]]) -> pd.DataFrame:
    """The claims in the paper's order: the abstract, sections by number, appendices; within one as they are told."""
    columns = ["section", "artifact", "says", "condition", "ours", "verdict", "because", "kind"]
    ordered = sorted(range(len(lines)), key=lambda index: _place(lines[index]["section"]))
    return pd.DataFrame([lines[index] for index in ordered], columns=columns)


def _decided(claim: Claim, evidence: Evidence) -> Finding:
    try:
        found = claim.decide(evidence)
    except Undecided as why:
        found = Finding(str(why), None)
    except (LookupError, ValueError, StopIteration):  # a table, an emulator or a case that this run does not make
        found = None
    return found or Finding("this run does not make what decides it", None)


def _line(claim: Claim, found: Finding) -> dict[str, str]:
    verdict = UNDECIDED if found.holds is None else HOLDS if found.holds else FAILS
    return {
        "section": claim.section,
        "artifact": claim.artifact,
        "says": claim.says,
        "condition": claim.condition,
        "ours": found.ours,
        "verdict": verdict,
        "because": claim.because if verdict == FAILS else "",
        "kind": claim.kind,
    }


def _place(section: str) -> tuple[bool, list[tuple[bool, int, str]]]:
    parts = section.split(".")
    return section != "abstract", [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]
