"""T1: the paper's exponents beside those measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rftune.report.verdicts import Evidence, Verdict, directed, keyed

SYMBOLS = {"n_train": "N", "n_features": "M", "n_outputs": "p"}
TOLERANCE = 0.3  # sizes that fit into two minutes are not yet asymptotic


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on every exponent that the paper prints; bytes are counted, seconds measured."""
    table = evidence.tables.get("T1")
    if table is None:
        return []
    printed = table[table["paper_exponent"].notna()]
    return [_verdict(row) for row in keyed(printed, "method", "operation", "variable").values()]


def _verdict(row: Mapping[str, Any]) -> Verdict:
    counted = row["operation"] == "space"
    return directed(
        "T1",
        f"exponent of {SYMBOLS[row['variable']]}, {row['operation']}, {row['method'].upper()}",
        row["paper_exponent"],
        row["exponent"],
        "smaller",
        row["standard_error"],
        TOLERANCE,
        kind="value" if counted else "time",
    )
