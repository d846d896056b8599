"""T1: the paper's exponents beside those measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from rftune.verdicts import Evidence, Verdict, directed

SYMBOLS = {"n_train": "N", "n_features": "M", "n_outputs": "p"}
TOLERANCE = 0.3  # sizes that fit into two minutes are not yet asymptotic


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on every exponent that the paper prints; bytes are counted, seconds measured."""
    table = evidence.tables.get("T1")
    if table is None:
        return []
    printed = table[table["paper_exponent"].notna()]
    return [_verdict(row) for _, row in printed.iterrows()]


def _verdict(row: pd.Series) -> Verdict:
    counted = row["operation"] == "space"
    return directed(
        "T1",
        f"exponent of {SYMBOLS[row['variable']]}, {row['operation']}, {row['method'].upper()}",
        row["paper_exponent"],
        float(row["exponent"]),
        "smaller",
        float(row["standard_error"]),
        TOLERANCE,
        kind="value" if counted else "time",
    )
