"""T2: Sobol indices of truth and emulators beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from rftune.analysis.sensitivity import CONFIDENCE_LEVEL
from rftune.data import Array
from rftune.emulators.listed import Listed
from rftune.experiments.results import Results, counts, mean_and_spread, succeeded

COUNTS = ("n_retunings", "n_failed", "n_restarts", "n_failed_members")


def indices_table(results: Results) -> pd.DataFrame:
    """One row per seed, source (analytic, empirical, emulators) and quantity (V1..TV3 and the relative test RMSE).

    Means, standard deviations and standard errors are over the re-tunings that did not fail; failed attempts, restarts
    among them, are counted. ``bootstrap_error`` is the standard error of an index by the design's bootstrap, which
    overstates it. With several seeds, rows with seed "all" give mean and spread over the seeds: over draws of the data.
    """
    paper = results.paper["T2"]
    truths = results.all("truth")
    rows = [row for one in truths for row in _truth_rows(one.seed, one.loaded, paper)]
    for one in results.all("analysis"):
        rows += _emulator_rows(one.seed, results.emulators[one.emulator], one.loaded, paper)
    seeds = [one.seed for one in truths]
    rows.sort(key=lambda row: seeds.index(row["seed"]))
    return pd.DataFrame(rows + _all_seeds(rows) if len(seeds) > 1 else rows)


def _all_seeds(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows with seed "all": mean, spread and standard error of the seeds' means, that is over draws of the data."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["source"], row["quantity"]), []).append(row)
    return [
        {
            **group[0],
            "seed": "all",
            **mean_and_spread(np.array([row["mean"] for row in group])),
            "bootstrap_error": np.nan,
            **{name: sum(row[name] for row in group) for name in COUNTS if name in group[0]},
        }
        for group in groups.values()
    ]


def _truth_rows(seed: int, truth: xr.Dataset, paper: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for source in ("analytic", "empirical"):
        values = np.concatenate([truth[f"{source}_first"], truth[f"{source}_total"]])
        errors = np.full(len(values), np.nan)
        if source == "empirical":
            errors = _bootstrap_errors(truth["empirical_first_confidence"], truth["empirical_total_confidence"])
        for index, quantity in enumerate(paper["quantities"]):
            rows.append(
                {
                    "seed": seed,
                    "source": source,
                    "quantity": quantity,
                    "mean": values[index],
                    "bootstrap_error": errors[index],
                    "paper_mean": paper[source][index],
                }
            )
    return rows


def _emulator_rows(seed: int, emulator: Listed, analysis: xr.Dataset, paper: Mapping[str, Any]) -> list[dict[str, Any]]:
    good = succeeded(analysis)
    values = np.concatenate([analysis["first"], analysis["total"], analysis["relative_rmse"].values[:, None]], axis=1)
    errors = _bootstrap_errors(
        analysis["first_confidence"][good].mean("repeat"), analysis["total_confidence"][good].mean("repeat")
    )
    paper_row = _paper_row(emulator)
    rows = []
    for index, quantity in enumerate([*paper["quantities"], "relative_rmse"]):
        in_paper = paper_row != "" and index < len(errors)
        rows.append(
            {
                "seed": seed,
                "source": emulator.name,
                "quantity": quantity,
                **mean_and_spread(values[good, index]),
                "bootstrap_error": errors[index] if index < len(errors) else np.nan,
                **counts(analysis),
                "paper_mean": paper[paper_row][index] if in_paper else np.nan,
                "paper_std": paper["rf_std"][index] if in_paper and paper_row == "rf" else np.nan,
            }
        )
    return rows


def _paper_row(emulator: Listed) -> str:
    """The paper's row that an emulator stands beside; empty for none."""
    return "rf" if emulator.is_tuned_features else "gp" if emulator.get("kind") == "gp" else ""


def _bootstrap_errors(first: Any, total: Any) -> Array:
    """Standard errors from the half-widths of the intervals."""
    return np.concatenate([first, total]) / NormalDist().inv_cdf(0.5 + CONFIDENCE_LEVEL / 2.0)
