"""T5: the parameters, their priors and posteriors; T6: emulators by time, error, and distance of their posterior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from rftune.experiments.edmf.parameters import Parameters
from rftune.experiments.results import Stored, counts, mean_and_spread, mean_or_nan, succeeded

# Our emulators by the paper's row that they stand beside: seconds, training error, test error, ms per likelihood.
PAPER_ROWS = {
    "gp": "gp",
    "untuned": "rf_untuned",
    "separable_5_1": "rf_separable_5_1",
    "nonseparable_1": "rf_nonseparable_1",
}
PRINTED = ("paper_tuning_seconds", "paper_training_error", "paper_test_error", "paper_likelihood_ms")
# Columns of T6 that are there, and empty, also where nothing was sampled.
OF_CHAINS = (
    *(f"posterior_distance_{name}" for name in ("mean", "std", "standard_error")),
    *("covered", "largest_rhat", "smallest_ess", "largest_autocorrelation_time"),
    *("acceptance", "jump_acceptance", "burn_in", "n_converged"),
)


def parameters_table(
    truths: Sequence[Stored], analyses: Sequence[Stored], timings: Sequence[Stored], paper: Mapping[str, Any]
) -> pd.DataFrame:
    """T5: bounds and prior of each parameter beside the paper's; its true value and what the posteriors say of it.

    A posterior is given by the physical values at its unconstrained mean and one standard deviation around it, at the
    root seed: the simulator's own, then that of the first re-tuning of every emulator.
    """
    truth = truths[0].load()
    rows = [_parameter_row(truth, index, paper) for index in range(truth.sizes["input"])]
    for source in analyses:
        analysis = source.load()
        if source.seed == truths[0].seed and "posterior_mean" in analysis:
            first = analysis.isel(repeat=0)
            for row, text in zip(rows, _intervals(truth, first), strict=True):
                row[f"posterior_{source.emulator}"] = text
    return pd.DataFrame(rows)


def _parameter_row(truth: xr.Dataset, index: int, paper: Mapping[str, Any]) -> dict[str, Any]:
    one = truth.isel(input=index)
    name = str(one["parameter"].item())
    printed = paper.get(name, {})
    row = {
        "parameter": name,
        "lower": float(one["bounds"][0]),
        "upper": float(one["bounds"][1]),
        "prior_mean": float(one["prior_mean"]),
        "paper_lower": printed.get("bounds", [np.nan])[0],
        "paper_upper": printed.get("bounds", [np.nan])[-1],
        "paper_prior_mean": printed.get("prior_mean", np.nan),
        "true_value": float(one["true_parameters"]),
    }
    if "posterior_mean" in truth:
        row["posterior_simulator"] = _intervals(truth, truth)[index]
    return row


def _intervals(truth: xr.Dataset, summary: xr.Dataset) -> list[str]:
    """Median and central 68 % of a normal with the posterior's unconstrained moments, in physical units."""
    prior = _prior(truth)
    mean, std = summary["posterior_mean"].values, summary["posterior_std"].values
    low, middle, high = prior.constrain(np.stack([mean - std, mean, mean + std]))
    return [f"{m:.3f} [{a:.3f}, {b:.3f}]" for a, m, b in zip(low, middle, high, strict=True)]


def _prior(truth: xr.Dataset) -> Parameters:
    names = tuple(str(name) for name in truth["parameter"].values)
    return Parameters(names, truth["bounds"].values, truth["prior_mean"].values)


def emulators_table(
    truths: Sequence[Stored], analyses: Sequence[Stored], timings: Sequence[Stored], paper: Mapping[str, Any]
) -> pd.DataFrame:
    """T6: one row per seed and emulator, one of the simulator's own posterior and one of the prior.

    Errors are means over points of the norm of the error in noise units, then means over the re-tunings that did not
    fail, with standard deviation and standard error. ``posterior_distance`` is the sliced Wasserstein distance from
    the posterior with the simulator in the likelihood, in prior standard deviations; ``covered`` is the number of
    parameters whose true value lies within the central 99 %, in the mean over re-tunings. ``largest_rhat`` and
    ``smallest_ess`` are over parameters and re-tunings.
    """
    known = {(source.case, source.seed): source.load() for source in truths}
    timed = {(s.case, s.seed, s.emulator): s.load() for s in timings}
    rows = [row for source in truths for row in _reference_rows(source, known[source.case, source.seed])]
    for source in analyses:
        rows.append(_emulator_row(source, source.load(), timed[source.case, source.seed, source.emulator], paper))
    order = {key: index for index, key in enumerate(known)}
    rows.sort(key=lambda row: order[row["case"], row["seed"]])
    frame = pd.DataFrame(rows)
    return frame.reindex(columns=[*frame, *(name for name in OF_CHAINS if name not in frame)])


def _reference_rows(source: Stored, truth: xr.Dataset) -> list[dict[str, Any]]:
    labels = {"case": source.case, "seed": source.seed}
    prior = {
        **labels,
        "emulator": "prior",
        "posterior_distance_mean": float(truth["prior_distance"]),
        "covered": float(truth["prior_covered"].sum(skipna=False)),
    }
    if "posterior_mean" not in truth:
        return [prior]
    simulator = {
        **labels,
        "emulator": "simulator",
        "posterior_distance_mean": 0.0,
        "covered": float(truth["posterior_covered"].sum(skipna=False)),
        **_diagnostics(truth.expand_dims("repeat"), np.ones(1, dtype=bool)),
    }
    return [prior, simulator]


def _emulator_row(source: Stored, analysis: xr.Dataset, timing: xr.Dataset, paper: Mapping[str, Any]) -> dict[str, Any]:
    good = succeeded(analysis)
    row: dict[str, Any] = {"case": source.case, "seed": source.seed, "emulator": source.emulator}
    row["tuning_seconds"] = float(timing["seconds"].mean())
    for name in ("training_error", "test_error"):
        row |= {f"{name}_{key}": value for key, value in mean_and_spread(analysis[name].values[good]).items()}
    if "likelihood_seconds" in timing:
        row["likelihood_ms"] = 1e3 * float(timing["likelihood_seconds"].min())
    if "posterior_distance" in analysis:
        distances = mean_and_spread(analysis["posterior_distance"].values[good])
        row |= {f"posterior_distance_{key}": value for key, value in distances.items()}
        row["covered"] = float(mean_or_nan(analysis["posterior_covered"].values[good].sum(axis=1)))
        row |= _diagnostics(analysis, good)
    printed = paper.get(PAPER_ROWS.get(source.emulator, ""), [None] * len(PRINTED))
    return {**row, **dict(zip(PRINTED, printed, strict=True)), **counts(analysis)}


def _diagnostics(chains: xr.Dataset, good: NDArray[np.bool_]) -> dict[str, Any]:
    """The worst of the chains' diagnostics and how many of them converged."""
    if not good.any():
        return {}
    sizes = np.minimum(chains["ess_bulk"].values, chains["ess_tail"].values)[good]
    return {
        "largest_rhat": float(chains["rhat"].values[good].max()),
        "smallest_ess": float(sizes.min()),
        "largest_autocorrelation_time": float(chains["autocorrelation_time"].values[good].max()),
        "acceptance": float(chains["acceptance"].values[good].mean()),
        "jump_acceptance": float(chains["jump_acceptance"].values[good].mean()),
        "burn_in": float(chains["burn_in"].values[good].mean()),
        "n_converged": int(np.count_nonzero(chains["converged"].values[good])),
    }


TABLES: dict[str, Callable[..., pd.DataFrame]] = {"T5": parameters_table, "T6": emulators_table}
