"""T3: times; T4: accuracy against the number of features; accuracy: every emulator in every dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from rftune.data import Array
from rftune.experiments.results import Stored, counts, mean_and_spread, mean_or_nan, succeeded

# The emulators of T3 by the paper's column that they stand beside; the paper's RF ran 8 threads in parallel.
TIMED = {"gp": "gp", "gp_sklearn": "gp", "rf_serial": "rf_serial", "rf_parallel": "rf_8_threads"}


def dimension(case: str) -> int:
    return int(case.removeprefix("d"))


def timing_table(
    truths: Sequence[Stored], analyses: Sequence[Stored], timings: Sequence[Stored], paper: Mapping[str, Any]
) -> pd.DataFrame:
    """T3: seconds to tune and fit, with the ratio of each GP's time to each RF's in the same dimension."""
    finished = {(s.case, s.seed, s.emulator): not s.load()["failure"].values.any() for s in analyses}
    rows = []
    for source in timings:
        if source.emulator not in TIMED or source.seed != truths[0].seed:
            continue
        timing = source.load()
        seconds = timing["seconds"].values + timing["fit_seconds"].values
        printed = dict(zip(paper["dimensions"], paper[TIMED[source.emulator]], strict=True))
        rows.append(
            {
                "dimension": dimension(source.case),
                "emulator": source.emulator,
                **{f"seconds_{name}": value for name, value in mean_and_spread(seconds).items()},
                "n_repeats": len(seconds),
                "finished": finished[source.case, source.seed, source.emulator],
                "peak_memory_mb": float(timing["peak_memory_mb"].max()),
                "paper_seconds": printed.get(dimension(source.case)),
            }
        )
    frame = pd.DataFrame(rows)
    for rival in ("rf_serial", "rf_parallel"):
        seconds = frame[frame["emulator"] == rival].set_index("dimension")["seconds_mean"]
        frame[f"times_{rival}"] = frame["seconds_mean"] / frame["dimension"].map(seconds)
    return frame.sort_values(["dimension", "emulator"], kind="stable")


def features_table(
    truths: Sequence[Stored], analyses: Sequence[Stored], timings: Sequence[Stored], paper: Mapping[str, Any]
) -> pd.DataFrame:
    """T4: tuning time and errors in six dimensions against the number of features while tuning, and the GP's."""
    seconds = {(s.case, s.seed, s.emulator): s.load()["seconds"].values for s in timings}
    names = {f"m{m}": i for i, m in enumerate(paper["n_features"])}
    root = truths[0].seed
    rows = []
    for source in analyses:
        if source.case != "d6" or source.seed != root or source.emulator not in (*names, "gp"):
            continue
        printed = paper["gp"] if source.emulator == "gp" else {k: paper[k][names[source.emulator]] for k in paper["gp"]}
        analysis = source.load()
        good = succeeded(analysis)
        row: dict[str, Any] = {
            "emulator": source.emulator,
            "n_features": float(source.emulator[1:]) if source.emulator in names else np.inf,
            "seconds": float(seconds[source.case, source.seed, source.emulator].mean()),
            "paper_seconds": printed["seconds"],
        }
        for name in ("training_error", "test_error", "relative_rmse"):
            spread = mean_and_spread(analysis[name].values[good])
            row |= {name: spread["mean"], f"{name}_std": spread["std"]}
        row |= {"paper_training_error": printed["training_error"], "paper_test_error": printed["test_error"]}
        rows.append({**row, **counts(analysis)})
    return pd.DataFrame(rows).sort_values("n_features")


def accuracy_table(
    truths: Sequence[Stored], analyses: Sequence[Stored], timings: Sequence[Stored], paper: Mapping[str, Any]
) -> pd.DataFrame:
    """Errors, time and memory of every emulator in every dimension, and the truth's own index errors on the design."""
    known = {(source.case, source.seed): source.load() for source in truths}
    timed = {(s.case, s.seed, s.emulator): s.load() for s in timings}
    rows = [_truth_row(source, known[source.case, source.seed]) for source in truths]
    for source in analyses:
        truth, timing = known[source.case, source.seed], timed[source.case, source.seed, source.emulator]
        rows.append(_accuracy_row(source, source.load(), truth, timing))
    order = {source.seed: index for index, source in enumerate(truths)}
    frame = pd.DataFrame(rows)
    return frame.sort_values(
        ["seed", "dimension"], key=lambda c: c.map(order) if c.name == "seed" else c, kind="stable"
    )


def _truth_row(source: Stored, truth: xr.Dataset) -> dict[str, Any]:
    return {
        "seed": source.seed,
        "dimension": dimension(source.case),
        "emulator": "truth",
        "relative_rmse_mean": 0.0,
        "first_error": _largest(truth["empirical_first"].values, truth["analytic_first"].values),
        "total_error": _largest(truth["empirical_total"].values, truth["analytic_total"].values),
    }


def _accuracy_row(source: Stored, analysis: xr.Dataset, truth: xr.Dataset, timing: xr.Dataset) -> dict[str, Any]:
    good = succeeded(analysis)
    first, total = (mean_or_nan(analysis[name].values[good]) for name in ("first", "total"))
    return {
        "seed": source.seed,
        "dimension": dimension(source.case),
        "emulator": source.emulator,
        **{f"relative_rmse_{k}": v for k, v in mean_and_spread(analysis["relative_rmse"].values[good]).items()},
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


TABLES: dict[str, Callable[..., pd.DataFrame]] = {
    "T3": timing_table,
    "T4": features_table,
    "sobol_g_accuracy": accuracy_table,
}
