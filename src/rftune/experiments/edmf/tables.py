"""T5: the parameters, their priors and posteriors; T6: emulators by time, error, and distance of their posterior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from rftune.emulators.listed import Listed
from rftune.experiments.edmf.data import prior_of
from rftune.experiments.results import Results, Stored, counts, mean_and_spread, mean_or_nan, spreads, succeeded

# What the paper prints of an emulator, in its order.
PRINTED = ("paper_tuning_seconds", "paper_training_error", "paper_test_error", "paper_likelihood_ms")
# Columns of T6 that are there, and empty, also where nothing was sampled.
OF_POSTERIORS = (
    *(f"posterior_distance_{name}" for name in ("mean", "std", "standard_error")),
    *("posterior_width", "covered", "largest_rhat", "smallest_ess", "largest_autocorrelation_time"),
    *("acceptance", "jump_acceptance", "burn_in", "n_converged"),
)
LIKELIHOODS = ("", "printed_")  # before the names of numbers: ours, and the paper's
OF_CHAINS = tuple(f"{likelihood}{name}" for likelihood in LIKELIHOODS for name in OF_POSTERIORS)


def parameters_table(results: Results) -> pd.DataFrame:
    """T5: bounds and prior of each parameter beside the paper's; its true value and what the posteriors say of it.

    A posterior is given by the physical values at its unconstrained mean and one standard deviation around it, at the
    root seed: the simulator's own, then that of the first re-tuning of every emulator.
    """
    root, paper = results.all("truth")[0], results.paper.get("T5", {})
    truth = root.loaded
    rows = [_parameter_row(truth, index, paper) for index in range(truth.sizes["input"])]
    for one in results.all("analysis"):
        if one.seed == root.seed and "posterior_mean" in one.loaded:
            for row, text in zip(rows, _intervals(truth, one.loaded.isel(repeat=0)), strict=True):
                row[f"posterior_{one.emulator}"] = text
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
    prior = prior_of(truth)
    mean, std = summary["posterior_mean"].values, summary["posterior_std"].values
    low, middle, high = prior.constrain(np.stack([mean - std, mean, mean + std]))
    return [f"{m:.3f} [{a:.3f}, {b:.3f}]" for a, m, b in zip(low, middle, high, strict=True)]


def emulators_table(results: Results) -> pd.DataFrame:
    """T6: one row per seed and emulator, one of the simulator's own posterior and one of the prior.

    Errors are means over points of the norm of the error in noise units, then means over the re-tunings that did not
    fail, with standard deviation and standard error. ``posterior_distance`` is the sliced Wasserstein distance from
    the posterior with the simulator in the likelihood, in prior standard deviations; ``covered`` is the number of
    parameters whose true value lies within the central 99 %, in the mean over re-tunings. ``largest_rhat`` and
    ``smallest_ess`` are over parameters and re-tunings. Columns that begin with ``printed_`` are of the posteriors with
    the paper's likelihood.
    """
    times, paper = {one.key: one.loaded for one in results.all("times")}, results.paper.get("T6", {})
    rows = [row for one in results.all("truth") for row in _reference_rows(one)]
    for one in results.all("analysis"):
        printed = _printed(results.emulators[one.emulator], paper)
        rows.append({**_emulator_row(one, times[one.key]), **printed, **counts(one.loaded)})
    order = [one.place for one in results.all("truth")]
    rows.sort(key=lambda row: order.index((row["case"], row["seed"])))
    frame = pd.DataFrame(rows)
    return frame.reindex(columns=[*frame, *(name for name in OF_CHAINS if name not in frame)])


def _reference_rows(one: Stored) -> list[dict[str, Any]]:
    """The prior, and the simulator's own posterior where there is one."""
    truth, labels = one.loaded, {"case": one.case, "seed": one.seed}
    prior = {
        **labels,
        "emulator": "prior",
        "posterior_distance_mean": float(truth["prior_distance"]),
        "posterior_width": 1.0,
        "covered": float(truth["prior_covered"].sum(skipna=False)),
    }
    if "posterior_mean" not in truth:
        return [prior]
    simulator = {
        **labels,
        "emulator": "simulator",
        "posterior_distance_mean": 0.0,
        "posterior_width": float(truth["posterior_std"].mean()),
        "covered": float(truth["posterior_covered"].sum(skipna=False)),
        **_diagnostics(truth.expand_dims("repeat"), np.ones(1, dtype=bool)),
    }
    return [prior, simulator]


def _printed(entry: Listed, paper: Mapping[str, Any]) -> dict[str, float | None]:
    """What the paper prints of the emulator in this role; nothing of one that it does not have."""
    printed = paper.get(entry.role)
    return dict(zip(PRINTED, printed if isinstance(printed, list) else [None] * len(PRINTED), strict=True))


def _emulator_row(one: Stored, timing: xr.Dataset) -> dict[str, Any]:
    analysis = one.loaded
    good = succeeded(analysis)
    row: dict[str, Any] = {"case": one.case, "seed": one.seed, "emulator": one.emulator}
    row["tuning_seconds"] = float(timing["seconds"].mean())
    row |= spreads(analysis, "training_error", "test_error", "coverage")
    if "likelihood_seconds" in timing:
        row["likelihood_ms"] = 1e3 * float(timing["likelihood_seconds"].min())
    for likelihood in LIKELIHOODS:
        own = {
            str(name).removeprefix(likelihood): v for name, v in analysis.items() if str(name).startswith(likelihood)
        }
        if "posterior_distance" in own:
            row |= {f"{likelihood}{name}": value for name, value in _posterior_row(xr.Dataset(own), good).items()}
    return row


def _posterior_row(posteriors: xr.Dataset, good: NDArray[np.bool_]) -> dict[str, Any]:
    """Distances, widths (mean standard deviation, the prior's is 1), covered parameters and diagnostics of chains."""
    distances = mean_and_spread(posteriors["posterior_distance"].values[good])
    return {
        **{f"posterior_distance_{key}": value for key, value in distances.items()},
        "posterior_width": float(mean_or_nan(posteriors["posterior_std"].values[good].mean(axis=1))),
        "covered": float(mean_or_nan(posteriors["posterior_covered"].values[good].sum(axis=1))),
        **_diagnostics(posteriors, good),
    }


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
