"""The posterior of the parameters given the observation, with an emulator or the simulator itself in its likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr

from rftune.data import Array, Dataset, Model
from rftune.experiments.edmf.data import has_simulator, prior_of, simulator_of, simulator_order
from rftune.inference import discrepancy
from rftune.inference.settings import SamplingSettings

LogDensity = Callable[[Array], Array]


class Variant(NamedTuple):
    """A likelihood, and how its posterior is sampled."""

    misfit_ensembles: int
    sampling: SamplingSettings


def variants(sampling: SamplingSettings, misfit_ensembles: int, printed_too: bool) -> dict[str, Variant]:
    """The likelihoods that posteriors are sampled with: ours, and beside it the paper's with its random walk alone."""
    ours = {"ours": Variant(misfit_ensembles, sampling)}
    return ours | ({"printed": Variant(0, sampling.but(jump_every=0))} if printed_too else {})


def log_posterior(model: Model, data: xr.Dataset, misfit_ensembles: int = 0) -> LogDensity:
    """-L(θ, y) of the paper's eq. mcmcloss_ml in unconstrained coordinates, (n, n_parameters) -> (n,).

    Γ_ML(θ) is the emulator's covariance plus the noise covariance of the observation, and the emulator's `discrepancy`
    at the last ``misfit_ensembles`` training ensembles of the calibration, which are near the posterior.
    """
    prior, observation, noise = prior_of(data), data["observation"].values, data["noise_covariance"].values
    if misfit_ensembles:
        noise = noise + discrepancy.covariance(model, latest_runs(data, misfit_ensembles), noise)

    def density(unconstrained: Array) -> Array:
        predicted = model.predict(unconstrained)
        chol_lower = np.linalg.cholesky(predicted.covariance + noise)
        residuals = np.linalg.solve(chol_lower, (observation - predicted.mean)[:, :, None])[:, :, 0]
        log_determinant = 2.0 * np.log(np.diagonal(chol_lower, axis1=1, axis2=2)).sum(axis=1)
        values: Array = prior.log_prior(unconstrained) - 0.5 * (np.sum(residuals**2, axis=1) + log_determinant)
        return values

    return density


def latest_runs(data: xr.Dataset, n_ensembles: int) -> Dataset:
    """The training runs of the calibration's last ensembles before the test set."""
    is_test, iteration = data["is_test"].values, data["iteration"].values
    chosen = ~is_test & (iteration > iteration[~is_test].max() - n_ensembles)
    return Dataset(data["points"].values[chosen], data["truth"].values[chosen])


def log_posterior_of_truth(data: xr.Dataset, n_workers: int = 1) -> LogDensity | None:
    """As `log_posterior` with the simulator in the emulator's place (eq. mcmcloss); None where there is only a file.

    The walkers of a chain are run on ``n_workers`` threads, whose number changes no digit.
    """
    if not has_simulator(data):
        return None
    prior, observation = prior_of(data), data["observation"].values
    whitening = np.linalg.inv(np.linalg.cholesky(data["noise_covariance"].values))
    simulator = simulator_of(data, n_workers)

    def density(unconstrained: Array) -> Array:
        paths = simulator.mean(simulator_order(prior, prior.constrain(unconstrained)))
        residuals = (observation - paths) @ whitening.T
        values: Array = prior.log_prior(unconstrained) - 0.5 * np.sum(residuals**2, axis=1)
        return values

    return density


def start(data: xr.Dataset, n_walkers: int, rng: np.random.Generator) -> Array:
    """Where walkers start, (n_walkers, n_parameters): a normal with the moments of the calibration's last ensemble."""
    last = data["points"].values[data["is_test"].values]
    return rng.multivariate_normal(last.mean(axis=0), np.atleast_2d(np.cov(last.T)), n_walkers)
