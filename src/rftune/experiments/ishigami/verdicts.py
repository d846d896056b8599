"""T2: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rftune.report.verdicts import (
    Evidence,
    Rows,
    Verdict,
    combined_error,
    count,
    directed,
    keyed,
    near_exact,
    std_error,
)

NAMES = {"analytic": "analytic", "empirical": "truth on the design", "gp": "GP", "rf": "RF"}  # of the paper's rows
ROUNDING = 1e-3  # the last of the paper's three decimals, which it cuts off rather than rounds


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made.

    Parameters
    ----------
    evidence
    paper
        All of config/paper_values.yaml.
    """
    if "T2" not in evidence.tables:
        return []
    root, pooled, has_seeds = _rows(evidence.tables["T2"])
    sources = _sources(evidence)
    found = _indices(pooled, sources, paper["T2"], has_seeds)
    return found + (_spreads(root, sources["rf"], paper["T2"]) if "rf" in sources else [])


def _sources(evidence: Evidence) -> dict[str, str]:
    """Our source by the paper's row, where it is run; rows of emulators are called as their roles."""
    emulators = {role: evidence.named(role) for role in ("gp", "rf")}
    return {"analytic": "analytic", "empirical": "empirical"} | {role: name for role, name in emulators.items() if name}


def root_rows(table: pd.DataFrame) -> Rows:
    """Rows of T2 at the root seed by source and quantity."""
    return _rows(table)[0]


def _rows(table: pd.DataFrame) -> tuple[Rows, Rows, bool]:
    """Rows by source and quantity at the root seed, those over all seeds, and whether there are several."""
    seeds = table["seed"].astype(str)
    has_seeds = bool((seeds == "all").any())
    root, pooled = (table[seeds == seed] for seed in (seeds.iloc[0], "all" if has_seeds else seeds.iloc[0]))
    return keyed(root, "source", "quantity"), keyed(pooled, "source", "quantity"), has_seeds


def _indices(rows: Rows, sources: Mapping[str, str], paper: Mapping[str, Any], has_seeds: bool) -> list[Verdict]:
    """Every index of every row of T2.

    Ours is the mean over all root seeds where there are several. Then the scatter over draws of the data, which the
    seeds show, is part of both errors: the paper's numbers are from one draw.
    """
    found = []
    for name, source in sources.items():
        for index, quantity in enumerate(paper["quantities"]):
            row = rows[source, quantity]
            of_paper = paper["rf_std"][index] / np.sqrt(paper["retunings"]) if name == "rf" else np.nan
            of_draws = row["std"] if has_seeds else np.nan
            found.append(
                near_exact(
                    "T2",
                    f"{quantity}, {NAMES[name]}",
                    paper[name][index],
                    row["mean"],
                    rows["analytic", quantity]["mean"],
                    combined_error(row["standard_error"], of_paper, of_draws),
                    ROUNDING,
                )
            )
    return found


def _spreads(root: Rows, source: str, paper: Mapping[str, Any]) -> list[Verdict]:
    """Standard deviations over re-tunings of the RF, and how many there are."""
    n_ours = root[source, paper["quantities"][0]]["n_retunings"]
    found = []
    for quantity, printed in zip(paper["quantities"], paper["rf_std"], strict=True):
        std = root[source, quantity]["std"]
        error = combined_error(std_error(std, n_ours), std_error(printed, paper["retunings"]))
        found.append(directed("T2", f"standard deviation of {quantity}, RF", printed, std, "smaller", error, ROUNDING))
    return [*found, count("T2", "re-tunings, RF", paper["retunings"], n_ours)]
