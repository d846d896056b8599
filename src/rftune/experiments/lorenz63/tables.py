"""The table of integrators: one-step errors, long-time distances, horizons and departures of every emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from rftune.emulators.listed import Listed
from rftune.experiments.results import Results, Stored, counts, mean_and_spread, mean_or_nan, spreads, succeeded

STATES = ("x", "y", "z")


def family_of(entry: Listed) -> str:
    """Family of its features; of an emulator without features, its kind."""
    return str(entry.get("features.family.name", entry.settings["kind"]))


def is_separable(entry: Listed) -> bool:
    return len(rank_of(entry)) == 2 or bool(entry.get("features.separable", False))


def rank_of(entry: Listed) -> tuple[float, ...]:
    """Rank of its features, of separable ones input and output rank; infinite where it is as large as can be."""
    rank = entry.get("features.rank")
    if rank is None:
        return (np.inf,)
    return (rank,) if isinstance(rank, int) else tuple(rank)


def integrators_table(results: Results) -> pd.DataFrame:
    """One row per seed, noise level and emulator, and one of truth against truth.

    One-step errors and horizons are means over the re-tunings that did not fail, with standard deviation and standard
    error; a re-tuning's horizon is the median over its starts. Distances are medians over the same re-tunings, those
    that left the attractor among them (an escape counts as KS distance 1); ``share_within_band`` is the share of these
    re-tunings whose three KS distances are all within the band of truth against truth.
    """
    truths = {one.place: one.loaded for one in results.all("truth")}
    seconds = {one.key: float(one.loaded["seconds"].mean()) for one in results.all("times")}
    rows = [_truth_row(one) for one in results.all("truth")]
    for one in results.all("analysis"):
        rows.append({**_integrator_row(one, truths[one.place]), "tuning_seconds": seconds[one.key]})
    order = list(truths)
    rows.sort(key=lambda row: order.index((row["case"], row["seed"])))
    return pd.DataFrame(rows)


def _truth_row(one: Stored) -> dict[str, Any]:
    """Median and band of the distances between true trajectories from nearby starts."""
    truth = one.loaded
    medians = {name: np.median(truth[f"pair_{name}"], axis=0) for name in ("ks", "wasserstein")}
    return {
        "case": one.case,
        "seed": one.seed,
        "emulator": "truth",
        **{f"{name}_{state}": value for name in medians for state, value in zip(STATES, medians[name], strict=True)},
        **{
            f"{name}_band_{state}": value
            for name in medians
            for state, value in zip(STATES, truth[f"{name}_band"].values, strict=True)
        },
        "share_within_band": float((truth["pair_ks"].values <= truth["ks_band"].values).all(axis=1).mean()),
        "lyapunov_exponent": float(truth["lyapunov_exponent"]),
    }


def _integrator_row(one: Stored, truth: xr.Dataset) -> dict[str, Any]:
    analysis = one.loaded
    good = succeeded(analysis)
    row: dict[str, Any] = {"case": one.case, "seed": one.seed, "emulator": one.emulator}
    row |= spreads(analysis, "training_error", "test_error", "coverage")
    horizons = np.median(analysis["horizon"].values, axis=1)[good]
    row |= {f"horizon_{key}": value for key, value in mean_and_spread(horizons).items()}
    row["horizon_lyapunov_times"] = row["horizon_mean"] * float(truth["lyapunov_exponent"])
    for name in ("ks", "wasserstein"):
        values = analysis[name].values[good]
        medians = np.median(values, axis=0) if len(values) else np.full(3, np.nan)
        row |= {f"{name}_{state}": value for state, value in zip(STATES, medians, strict=True)}
    within = np.asarray((analysis["ks"].values <= truth["ks_band"].values).all(axis=1))
    stayed: NDArray[np.bool_] = analysis["left_reason"].values == ""
    times = analysis["left_time"].values[good & ~stayed]
    return {
        **row,
        "share_within_band": float(mean_or_nan(within[good].astype(float))),
        "share_stayed": float(mean_or_nan(stayed[good].astype(float))),
        "earliest_departure": float(times.min()) if len(times) else np.nan,
        "departures": "; ".join(sorted(set(analysis["left_reason"].values[good & ~stayed]))),
        "objective_ratio": float(mean_or_nan(analysis["objective_ratio"].values[good])),
        **counts(analysis),
    }
