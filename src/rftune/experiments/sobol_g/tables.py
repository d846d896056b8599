"""T3: times; T4: accuracy against the number of features; accuracy: every emulator in every dimension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from rftune.data import Array
from rftune.emulators.listed import Listed
from rftune.experiments.results import Results, Stored, counts, mean_and_spread, mean_or_nan, spreads, succeeded
from rftune.experiments.sobol_g import TIMED

RIVALS = ("rf_serial", "rf_parallel")


def dimensions(results: Results) -> dict[str, int]:
    """Number of inputs of every case."""
    return {one.case: one.loaded.sizes["input"] for one in results.all("truth")}


def timing_table(results: Results) -> pd.DataFrame:
    """T3: seconds to tune and fit, with the ratio of each GP's time to each RF's in the same dimension."""
    inputs, paper = dimensions(results), results.paper["T3"]
    finished = {one.key: not one.loaded["failure"].values.any() for one in results.all("analysis")}
    rows = []
    for one in results.all("times"):
        role = results.emulators[one.emulator].role
        if role in TIMED and one.seed == results.root_seed:
            printed = dict(zip(paper["dimensions"], paper[TIMED[role]], strict=True))
            rows.append(_timing_row(one, inputs[one.case], finished[one.key], printed))
    frame = pd.DataFrame(rows)
    roles = frame["emulator"].map(lambda name: results.emulators[name].role)
    for rival in RIVALS:
        seconds = frame[roles == rival].set_index("dimension")["seconds_mean"]
        frame[f"times_{rival}"] = frame["seconds_mean"] / frame["dimension"].map(seconds)
    return frame.sort_values(["dimension", "emulator"], kind="stable")


def _timing_row(one: Stored, dimension: int, finished: bool, printed: Mapping[int, float | None]) -> dict[str, Any]:
    seconds = one.loaded["seconds"].values + one.loaded["fit_seconds"].values
    return {
        "dimension": dimension,
        "emulator": one.emulator,
        **{f"seconds_{name}": value for name, value in mean_and_spread(seconds).items()},
        "n_repeats": len(seconds),
        "finished": finished,
        "peak_memory_mb": float(one.loaded["peak_memory_mb"].max()),
        "paper_seconds": printed.get(dimension),
    }


def features_table(results: Results) -> pd.DataFrame:
    """T4: tuning time and errors in six dimensions against the number of features while tuning, and the GPs'.

    The first GP is ours, the other scikit-learn's with the restarts of the public code.
    """
    inputs, printed = dimensions(results), printed_by_features(results.paper["T4"])
    seconds = {one.key: float(one.loaded["seconds"].values.mean()) for one in results.all("times")}
    rows = []
    for one in results.all("analysis"):
        emulator = results.emulators[one.emulator]
        if (
            emulator.role in ("gp", "gp_sklearn_restarts", "by_features")
            and inputs[one.case] == 6
            and one.seed == results.root_seed
        ):
            n_features = _n_features(emulator)
            row = {"emulator": emulator.name, "n_features": n_features, "seconds": seconds[one.key]}
            rows.append(row | _features_row(one.loaded, printed.get(n_features, {})))
    return pd.DataFrame(rows).sort_values("n_features")


def printed_by_features(paper: Mapping[str, Any]) -> dict[float, Mapping[str, float]]:
    """What T4 prints by the number of features; infinity for the GP."""
    printed = {m: {key: paper[key][index] for key in paper["gp"]} for index, m in enumerate(paper["n_features"])}
    return {**printed, np.inf: paper["gp"]}


def _n_features(emulator: Listed) -> float:
    """While tuning; infinity for a GP."""
    return np.inf if emulator.get("kind") == "gp" else float(emulator.get("tuning.n_features", np.nan))


def _features_row(analysis: xr.Dataset, printed: Mapping[str, float]) -> dict[str, Any]:
    row: dict[str, Any] = {"paper_seconds": printed.get("seconds", np.nan)}
    good = succeeded(analysis)
    for name in ("training_error", "test_error", "relative_rmse", "fresh_rmse", "coverage"):
        spread = mean_and_spread(analysis[name].values[good])
        row |= {name: spread["mean"], f"{name}_std": spread["std"]}
    for name in ("training_error", "test_error"):
        row[f"paper_{name}"] = printed.get(name, np.nan)
    return row | counts(analysis)


def accuracy_table(results: Results) -> pd.DataFrame:
    """Errors, time and memory of every emulator in every dimension, and the truth's own index errors on the design."""
    truths = results.all("truth")
    known = {one.place: one.loaded for one in truths}
    timed = {one.key: one.loaded for one in results.all("times")}
    rows = [_truth_row(one.seed, one.loaded) for one in truths]
    rows += [_accuracy_row(one, known[one.place], timed[one.key]) for one in results.all("analysis")]
    order = {one.seed: index for index, one in enumerate(truths)}
    frame = pd.DataFrame(rows)
    return frame.sort_values(
        ["seed", "dimension"], key=lambda c: c.map(order) if c.name == "seed" else c, kind="stable"
    )


def _truth_row(seed: int, truth: xr.Dataset) -> dict[str, Any]:
    return {
        "seed": seed,
        "dimension": truth.sizes["input"],
        "emulator": "truth",
        "relative_rmse_mean": 0.0,
        "fresh_rmse_mean": 0.0,
        "first_error": _largest(truth["empirical_first"].values, truth["analytic_first"].values),
        "total_error": _largest(truth["empirical_total"].values, truth["analytic_total"].values),
    }


def _accuracy_row(one: Stored, truth: xr.Dataset, timing: xr.Dataset) -> dict[str, Any]:
    analysis = one.loaded
    good = succeeded(analysis)
    first, total = (mean_or_nan(analysis[name].values[good]) for name in ("first", "total"))
    return {
        "seed": one.seed,
        "dimension": truth.sizes["input"],
        "emulator": one.emulator,
        **spreads(analysis, "relative_rmse", "fresh_rmse", "coverage"),
        "first_error": _largest(first, truth["analytic_first"].values),
        "total_error": _largest(total, truth["analytic_total"].values),
        "objective_ratio": float(mean_or_nan(analysis["objective_ratio"].values[good])),
        "seconds": float((timing["seconds"] + timing["fit_seconds"]).mean()),
        "peak_memory_mb": float(timing["peak_memory_mb"].max()),
        **counts(analysis),
    }


def _largest(indices: Array, analytic: Array) -> float:
    """Index error: the largest distance from the analytic values."""
    return float(np.abs(indices - analytic).max())
