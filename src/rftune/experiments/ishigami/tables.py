"""T2: Sobol indices of truth and emulators beside the paper's; what choices of the tuning do."""

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
from rftune.experiments.results import Results, counts, mean_and_spread, spreads, succeeded
from rftune.report.verdicts import Curves
from rftune.tuning.loop import TuningSettings

ERRORS = ("relative_rmse", "fresh_rmse", "coverage")
COUNTS = ("n_retunings", "n_failed", "n_restarts", "n_failed_members")


def indices_table(results: Results) -> pd.DataFrame:
    """One row per seed, source (analytic, empirical, emulators) and quantity (V1..TV3, then `ERRORS`).

    The relative test RMSE is at the design's other rows and at fresh points, the coverage that of the 90 % intervals of
    the noise-free function at the fresh points.

    Means, standard deviations and standard errors are over the re-tunings that did not fail; failed attempts, restarts
    among them, are counted. ``bootstrap_error`` is the standard error of an index by the design's bootstrap, which
    overstates it. With several seeds, rows with seed "all" give mean and spread over the seeds: over draws of the data.
    """
    paper = results.paper["T2"]
    truths = results.all("truth")
    rows = [row for one in truths for row in _truth_rows(one.seed, one.loaded, paper)]
    shown = [one for one in results.all("analysis") if results.emulators[one.emulator].role != "choice"]
    for one in shown:
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
    errors = [analysis[name].values[:, None] for name in ERRORS]
    values = np.concatenate([analysis["first"], analysis["total"], *errors], axis=1)
    bootstrap = _bootstrap_errors(
        analysis["first_confidence"][good].mean("repeat"), analysis["total_confidence"][good].mean("repeat")
    )
    paper_row = _paper_row(emulator)
    rows = []
    for index, quantity in enumerate([*paper["quantities"], *ERRORS]):
        in_paper = paper_row != "" and index < len(bootstrap)
        rows.append(
            {
                "seed": seed,
                "source": emulator.name,
                "quantity": quantity,
                **mean_and_spread(values[good, index]),
                "bootstrap_error": bootstrap[index] if index < len(bootstrap) else np.nan,
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


def choices_table(results: Results) -> pd.DataFrame:
    """One row per choice and value: errors, and the objective per datum at the start and at the end.

    Each emulator differs from the paper's RF in the choice that is named; the RF itself is in every choice. If Γ were
    the covariance of all errors the objective would end at one per datum. At the root seed.
    """
    n_train = results.one("data").sizes["sample"]
    reference = results.emulator("rf")
    tuned = {one.emulator: one.loaded for one in results.all("tuned")}
    analyses = {one.emulator: one.loaded for one in results.all("analysis")}
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, analysis in analyses.items():
        place, value = _difference(reference.settings, results.emulators[name].settings)
        measured = _choice_row(analysis, tuned[name], results.emulators[name], n_train)
        if place:
            rows.setdefault(place, []).append({"choice": place, "value": value, "emulator": name, **measured})
    own = _choice_row(analyses[reference.name], tuned[reference.name], reference, n_train)
    for place, group in rows.items():
        group.append({"choice": place, "value": _scale(reference.get(place)), "emulator": reference.name, **own})
        group.sort(key=lambda row: (isinstance(row["value"], str), row["value"]))
    return pd.DataFrame([row for group in rows.values() for row in group])


def _difference(ours: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, Any]:
    """Dotted name of the first setting that differs, and the other's value; empty where none does."""
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(ours.get(key), Mapping):
            place, found = _difference(ours[key], value)
            if place:
                return f"{key}.{place}", found
        elif ours.get(key) != value:
            return key, _scale(value)
    return "", None


def _scale(value: Any) -> Any:
    """A number or word that a choice is ordered by: of a prior [mean, std] the std."""
    return value[1] if isinstance(value, list | tuple) else value


def _choice_row(analysis: xr.Dataset, tuned: xr.Dataset, emulator: Listed, n_train: int) -> dict[str, Any]:
    misfit = tuned["misfit"].values[succeeded(tuned)]
    per_datum = misfit / TuningSettings(**emulator.settings["tuning"]).n_data(n_train, 1)
    first, last = (mean_and_spread(per_datum[:, place]) for place in (0, -1))
    return {
        **spreads(analysis, *ERRORS),
        **{f"objective_first_{key}": value for key, value in first.items()},
        **{f"objective_last_{key}": value for key, value in last.items()},
        "objective_ratio": float(np.mean(misfit[:, -1] / misfit[:, 0])) if len(misfit) else np.nan,
        "stagnation": float(np.mean(Curves(misfit).stagnation())) if len(misfit) else np.nan,
        **counts(analysis),
    }
