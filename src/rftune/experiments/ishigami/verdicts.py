"""F1, F7, T2: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rftune.verdicts import (
    Evidence,
    Verdict,
    claim,
    combined_error,
    convergence,
    count,
    directed,
    near_exact,
    std_error,
)

# Our source by the paper's row; `lowrank` is the structure that stands in for the paper's.
SOURCES = {"analytic": "analytic", "empirical": "empirical", "gp": "gp", "rf": "lowrank"}
NAMES = {"analytic": "analytic", "empirical": "truth on the design", "gp": "GP", "rf": "RF"}
ROUNDING = 5e-4  # of the paper's three decimals


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made.

    Parameters
    ----------
    evidence
    paper
        All of config/paper_values.yaml.
    """
    found: list[Verdict] = []
    table = evidence.tables.get("T2")
    if table is not None:
        found += _tuning_helps(table) + _indices(table, paper["T2"])
    if "F7" in evidence.curves:
        found += convergence("F7", paper["convergence"], evidence.curves["F7"])
    return found


def _tuning_helps(table: pd.DataFrame) -> list[Verdict]:
    root = table[table["seed"] == table["seed"].iloc[0]].set_index(["source", "quantity"])["mean"]
    worst = float(root["untuned", "relative_rmse"])
    says = "tuned GP and RF follow the truth, untuned RF does not"
    return [
        claim(
            "F1",
            f"relative test RMSE, tuned {NAMES[name]} over untuned RF",
            says,
            float(root[source, "relative_rmse"]) / worst,
            "below 1",
            float(root[source, "relative_rmse"]) < worst,
        )
        for name, source in SOURCES.items()
        if name in ("gp", "rf")
    ]


def _indices(table: pd.DataFrame, paper: Mapping[str, Any]) -> list[Verdict]:
    """Every index of every row of T2, then the spreads of the RF.

    Ours is the mean over all root seeds where there are several. Then the scatter over draws of the data, which the
    seeds show, is part of both errors: the paper's numbers are from one draw.
    """
    seeds = table["seed"].astype(str)
    shown = "all" if (seeds == "all").any() else seeds.iloc[0]
    rows = table[seeds == shown].set_index(["source", "quantity"])
    root = table[seeds == seeds.iloc[0]].set_index(["source", "quantity"])
    n_paper = paper["retunings"]
    found: list[Verdict] = []
    for name, source in SOURCES.items():
        for index, quantity in enumerate(paper["quantities"]):
            row = rows.loc[(source, quantity)]
            spread_of_paper = paper["rf_std"][index] / np.sqrt(n_paper) if name == "rf" else np.nan
            draws = float(row["std"]) if shown == "all" else np.nan
            found.append(
                near_exact(
                    "T2",
                    f"{quantity}, {NAMES[name]}",
                    paper[name][index],
                    float(row["mean"]),
                    float(rows.loc[("analytic", quantity), "mean"]),
                    combined_error(float(row["standard_error"]), spread_of_paper, draws),
                    ROUNDING,
                )
            )
    n_ours = float(root.loc[("lowrank", paper["quantities"][0]), "n_retunings"])
    for index, quantity in enumerate(paper["quantities"]):
        std, printed = float(root.loc[("lowrank", quantity), "std"]), paper["rf_std"][index]
        error = combined_error(std_error(std, n_ours), std_error(printed, n_paper))
        found.append(
            directed("T2", f"standard deviation of {quantity}, RF", printed, std, "smaller", error, ROUNDING)
        )
    return [*found, count("T2", "re-tunings, RF", n_paper, n_ours)]
