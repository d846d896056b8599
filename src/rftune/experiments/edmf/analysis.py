"""Errors of every emulator in noise units, and how far its posterior is from the simulator's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from rftune.analysis import metrics
from rftune.data import Array
from rftune.experiments.edmf.data import prior_of
from rftune.experiments.protocol import OUTCOME
from rftune.inference import chains
from rftune.scaling import noise_factor

COVERAGE = 0.99
N_PRIOR_DRAWS = 20_000
DIAGNOSTICS = (
    *("rhat", "ess_bulk", "ess_tail", "autocorrelation_time"),
    *("acceptance", "jump_acceptance", "burn_in", "converged"),
)


def analyse(
    data: xr.Dataset,
    predictions: xr.Dataset,
    rng: np.random.Generator,
    posteriors: xr.Dataset | None = None,
    truth_posterior: xr.Dataset | None = None,
) -> xr.Dataset:
    """One-run errors, and per repeat the moments, coverage and distance of the posterior, where it was sampled.

    Parameters
    ----------
    data
        Of `EDMFData.make`.
    predictions
        Of `prediction.predict`, with a repeat dimension.
    rng
        Draws the projections of the distance.
    posteriors
        Chains with dimensions repeat and likelihood (`sampling.variants`); the numbers of the second likelihood have
        its name before them.
    truth_posterior
        Chain with the simulator in the likelihood; without samples where there is no simulator.
    """
    is_test = data["is_test"].values
    inverse = noise_factor(data["noise_covariance"].values)[1]
    errors = (predictions["mean"].values - data["truth"].values) @ inverse.T
    zero = np.zeros(errors.shape[1:])
    variables: dict[str, Any] = {
        "training_error": ("repeat", [metrics.mean_error_norm(e[~is_test], zero[~is_test]) for e in errors]),
        "test_error": ("repeat", [metrics.mean_error_norm(e[is_test], zero[is_test]) for e in errors]),
        **{name: predictions[name] for name in OUTCOME},
    }
    if posteriors is not None:
        for name in posteriors["likelihood"].values:
            own = posteriors.sel(likelihood=name, drop=True)
            found = [
                _posterior_summary(own.isel(repeat=i), data, truth_posterior, rng) for i in range(own.sizes["repeat"])
            ]
            summaries = xr.concat(found, dim="repeat", join="exact").assign({key: own[key] for key in DIAGNOSTICS})
            prefix = "" if name == "ours" else f"{name}_"
            variables |= {f"{prefix}{key}": values for key, values in summaries.items()}
    return xr.Dataset(variables, coords={"repeat": predictions["repeat"]})


def analyse_truth(data: xr.Dataset, truth_posterior: xr.Dataset, rng: np.random.Generator) -> xr.Dataset:
    """The parameters, the prior's distance from the simulator's own posterior, and that posterior's moments, if any."""
    prior = prior_of(data)
    draws = prior.unconstrained_mean + rng.standard_normal((N_PRIOR_DRAWS, len(prior.names)))
    summary = _summary_of(draws, data, truth_posterior, rng)
    described = {name: data[name] for name in ("parameter", "bounds", "prior_mean", "true_parameters")}
    named = xr.Dataset(described).assign({f"prior_{name}": summary[name] for name in ("distance", "covered")})
    if "samples" not in truth_posterior:
        return named
    own = _summary_of(chains.draws(truth_posterior), data, None, rng)[["mean", "std", "covered"]]
    return named.assign({f"posterior_{name}": own[name] for name in own}).assign(
        {name: truth_posterior[name] for name in DIAGNOSTICS}
    )


def _posterior_summary(
    posterior: xr.Dataset, data: xr.Dataset, truth_posterior: xr.Dataset | None, rng: np.random.Generator
) -> xr.Dataset:
    summary = _summary_of(chains.draws(posterior), data, truth_posterior, rng)
    return summary.rename({name: f"posterior_{name}" for name in ("distance", "covered", "mean", "std")})


def _summary_of(
    draws: Array, data: xr.Dataset, truth_posterior: xr.Dataset | None, rng: np.random.Generator
) -> xr.Dataset:
    """Unconstrained moments of draws, their coverage of the truth and distance from the simulator's posterior."""
    prior = prior_of(data)
    true = data["true_parameters"].values
    covered, distance = np.full(len(true), np.nan), np.nan
    if np.isfinite(draws).all():
        if np.isfinite(true).all():
            covered = metrics.covered(draws, prior.unconstrain(true[None])[0], COVERAGE).astype(np.float64)
        if truth_posterior is not None and "samples" in truth_posterior:
            # in units of the prior's standard deviations, which are one
            distance = metrics.sliced_wasserstein(draws, chains.draws(truth_posterior), rng)
    return xr.Dataset(
        {
            "mean": ("input", draws.mean(axis=0)),
            "std": ("input", draws.std(axis=0)),
            "covered": ("input", covered),
            "distance": ((), distance),
        }
    )
