"""The table of integrators: one-step errors, long-time distances, horizons and departures of every emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from rftune.experiments.results import Stored, counts, mean_and_spread, mean_or_nan, succeeded

STATES = ("x", "y", "z")


def integrators_table(
    truths: Sequence[Stored], analyses: Sequence[Stored], timings: Sequence[Stored], paper: Mapping[str, Any]
) -> pd.DataFrame:
    """One row per seed, noise level and emulator, and one of truth against truth.

    One-step errors and horizons are means over the re-tunings that did not fail, with standard deviation and standard
    error; a re-tuning's horizon is the median over its starts. Distances are medians over the same re-tunings, those
    that left the attractor among them (an escape counts as KS distance 1); ``share_within_band`` is the share of these
    re-tunings whose three KS distances are all within the band of truth against truth.

    Parameters
    ----------
    truths, analyses, timings
        One per seed and case, and emulator.
    paper
        Not used: the paper prints no such numbers.
    """
    known = {(source.case, source.seed): source.load() for source in truths}
    seconds = {(s.case, s.seed, s.emulator): float(s.load()["seconds"].mean()) for s in timings}
    rows = [_truth_row(source, known[source.case, source.seed]) for source in truths]
    for source in analyses:
        row = _integrator_row(source, source.load(), known[source.case, source.seed])
        rows.append({**row, "tuning_seconds": seconds[source.case, source.seed, source.emulator]})
    order = {key: index for index, key in enumerate(known)}
    rows.sort(key=lambda row: order[row["case"], row["seed"]])
    return pd.DataFrame(rows)


def _truth_row(source: Stored, truth: xr.Dataset) -> dict[str, Any]:
    """Median and band of the distances between true trajectories from nearby starts."""
    medians = {name: np.median(truth[f"pair_{name}"], axis=0) for name in ("ks", "wasserstein")}
    return {
        "case": source.case,
        "seed": source.seed,
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


def _integrator_row(source: Stored, analysis: xr.Dataset, truth: xr.Dataset) -> dict[str, Any]:
    good = succeeded(analysis)
    row: dict[str, Any] = {"case": source.case, "seed": source.seed, "emulator": source.emulator}
    for name in ("training_error", "test_error"):
        row |= {f"{name}_{key}": value for key, value in mean_and_spread(analysis[name].values[good]).items()}
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


TABLES: dict[str, Callable[..., pd.DataFrame]] = {"lorenz63_integrators": integrators_table}
