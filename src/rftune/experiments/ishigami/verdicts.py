"""F1, F7, T2: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rftune.report.verdicts import (
    Evidence,
    Rows,
    Verdict,
    claim,
    combined_error,
    convergence,
    count,
    directed,
    keyed,
    near_exact,
    std_error,
)

# Our source by the paper's row; `lowrank` is the structure that stands in for the paper's.
SOURCES = {"analytic": "analytic", "empirical": "empirical", "gp": "gp", "rf": "lowrank"}
NAMES = {"analytic": "analytic", "empirical": "truth on the design", "gp": "GP", "rf": "RF"}
ROUNDING = 1e-3  # the last of the paper's three decimals, which it cuts off rather than rounds


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made.

    Parameters
    ----------
    evidence
    paper
        All of config/paper_values.yaml.
    """
    found: list[Verdict] = []
    if "T2" in evidence.tables:
        root, pooled, has_seeds = _rows(evidence.tables["T2"])
        found += _tuning_helps(root) + _indices(pooled, paper["T2"], has_seeds) + _spreads(root, paper["T2"])
    if "F7" in evidence.curves:
        found += convergence("F7", paper["convergence"], evidence.curves["F7"])
    return found


def _rows(table: pd.DataFrame) -> tuple[Rows, Rows, bool]:
    """Rows by source and quantity at the root seed, those over all seeds, and whether there are several."""
    seeds = table["seed"].astype(str)
    has_seeds = bool((seeds == "all").any())
    root, pooled = (table[seeds == seed] for seed in (seeds.iloc[0], "all" if has_seeds else seeds.iloc[0]))
    return keyed(root, "source", "quantity"), keyed(pooled, "source", "quantity"), has_seeds


def _tuning_helps(root: Rows) -> list[Verdict]:
    untuned = root["untuned", "relative_rmse"]["mean"]
    says = "only the tuned ones fit"
    found = []
    for name in ("gp", "rf"):
        share = root[SOURCES[name], "relative_rmse"]["mean"] / untuned
        quantity = f"relative test RMSE, tuned {NAMES[name]} over untuned RF"
        found.append(claim("F1", quantity, says, share, "below 1", share < 1))
    return found


def _indices(rows: Rows, paper: Mapping[str, Any], has_seeds: bool) -> list[Verdict]:
    """Every index of every row of T2.

    Ours is the mean over all root seeds where there are several. Then the scatter over draws of the data, which the
    seeds show, is part of both errors: the paper's numbers are from one draw.
    """
    found = []
    for name, source in SOURCES.items():
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


def _spreads(root: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    """Standard deviations over re-tunings of the RF, and how many there are."""
    n_ours = root["lowrank", paper["quantities"][0]]["n_retunings"]
    found = []
    for quantity, printed in zip(paper["quantities"], paper["rf_std"], strict=True):
        std = root["lowrank", quantity]["std"]
        error = combined_error(std_error(std, n_ours), std_error(printed, paper["retunings"]))
        found.append(directed("T2", f"standard deviation of {quantity}, RF", printed, std, "smaller", error, ROUNDING))
    return [*found, count("T2", "re-tunings, RF", paper["retunings"], n_ours)]
