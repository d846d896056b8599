"""Inputs given an observation: an emulator in the likelihood, the suite's Markov chains, and how far to trust them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rftune.data import Array
from rftune.fitting.surrogate import Surrogate
from rftune.fitting.threads import one_thread
from rftune.inference import mcmc
from rftune.inference.diagnostics import Diagnostics, diagnose
from rftune.inference.mcmc import LogDensity, Progress
from rftune.inference.settings import SamplingSettings
from rftune.seeding import rng_for

N_STEPS = 40_000
_CANDIDATES = 4000  # draws of the prior from which walkers start
_SHARE = 3  # times as many of them as walkers are likely starts
_JUMP_EVERY = 2  # steps of which one is a jump, to other modes too


@dataclass(frozen=True, eq=False)
class Posterior:
    """Inputs that agree with an observation.

    Attributes
    ----------
    samples
        A column per input, a row per kept step of every walker.
    diagnostics
        R-hat, effective sample sizes, whether the chains converged and what is missing.
    settings
    """

    samples: pd.DataFrame
    diagnostics: Diagnostics
    settings: SamplingSettings

    @property
    def table(self) -> pd.DataFrame:
        """A row per input: mean, standard deviation, quantiles, R-hat and effective sample size."""
        quantiles = self.samples.quantile([0.05, 0.5, 0.95])
        return pd.DataFrame(
            {
                "input": list(self.samples.columns),
                "mean": self.samples.mean().to_numpy(),
                "std": self.samples.std(ddof=0).to_numpy(),
                "low": quantiles.loc[0.05].to_numpy(),
                "median": quantiles.loc[0.5].to_numpy(),
                "high": quantiles.loc[0.95].to_numpy(),
                "rhat": self.diagnostics.rhat,
                "ess": self.diagnostics.ess_bulk,
            }
        )


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Normal density of an observation, with what the emulator does not know added to the noise.

    Of many outputs the components alone are compared: these are what the emulator knows of.

    Attributes
    ----------
    surrogate
    observed : (n_components,)
    noise : (n_components, n_components)
        Of the observation, and what the components leave out.
    """

    surrogate: Surrogate
    observed: Array
    noise: Array

    @classmethod
    def of(cls, surrogate: Surrogate, observation: Array, noise: Array) -> Likelihood:
        """Of an observation (n_outputs,) with covariance (n_outputs, n_outputs) or variances (n_outputs,)."""
        projection = surrogate.projection
        matrix = projection.to_components
        covariance = matrix.T @ (noise @ matrix if noise.ndim == 2 else noise[:, None] * matrix)
        if projection.lost_variance.any():
            covariance = covariance + matrix.T @ (projection.lost_covariance() @ matrix)
        return cls(surrogate, projection.components(observation[None])[0], covariance)

    def log_density(self, inputs: Array) -> Array:
        """Up to a constant, (n_points,)."""
        mean, variance = self.surrogate.moments(inputs)
        covariance = self.noise + np.einsum("nk,kl->nkl", variance, np.eye(len(self.observed)))
        chol_lower = np.linalg.cholesky(covariance)
        whitened = np.linalg.solve(chol_lower, (self.observed - mean)[:, :, None])[:, :, 0]
        log_determinant = np.log(np.diagonal(chol_lower, axis1=1, axis2=2)).sum(axis=1)
        return np.asarray(-0.5 * np.sum(whitened**2, axis=1) - log_determinant)


def observation_of(given: Any, names: tuple[str, ...]) -> Array:
    """An observed value of every output, (n_outputs,)."""
    if isinstance(given, pd.DataFrame):
        if len(given) != 1:
            raise ValueError(f"an observation is one row; got {len(given)}")
        given = given.iloc[0].to_dict()
    if isinstance(given, pd.Series):
        given = given.to_dict()
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(f"the observation must have every output; {missing[0]!r} is missing")
        given = [given[name] for name in names]
    try:
        observed = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"an observation must be {len(names)} numbers; got {given!r}") from None
    if observed.shape == (1, len(names)):
        observed = observed[0]
    if observed.shape != (len(names),):
        raise ValueError(f"an observation must be {len(names)} numbers, one for each output; got {observed.size}")
    if not np.isfinite(observed).all():
        raise ValueError(
            f"an observation must be finite; output {names[int(np.argmin(np.isfinite(observed)))]!r} is not"
        )
    return observed


def sample(
    surrogate: Surrogate,
    input_names: tuple[str, ...],
    bounds: Array,
    observation: Array,
    noise: Array,
    settings: SamplingSettings,
    seed: int,
    progress: Progress | None = None,
) -> Posterior:
    """Draw inputs from their posterior, with a prior that is uniform between bounds.

    Parameters
    ----------
    surrogate
    input_names
    bounds : (n_inputs, 2)
    observation : (n_outputs,)
    noise
        Of the observation: variances (n_outputs,) or a covariance (n_outputs, n_outputs).
    settings
    seed
    progress
    """
    likelihood = Likelihood.of(surrogate, observation, noise)
    low, high = bounds.T

    def log_density(points: Array) -> Array:
        inside = ((points >= low) & (points <= high)).all(axis=1)
        values = np.full(len(points), -np.inf)
        if inside.any():
            values[inside] = likelihood.log_density(points[inside])
        return values

    def rng_of_block(block: int) -> np.random.Generator:
        return rng_for(seed, "own data", "posterior", block)

    with one_thread():
        start = _start(log_density, bounds, settings.n_walkers, rng_for(seed, "own data", "posterior", "start"))
        chain = mcmc.sample(log_density, start, settings, rng_of_block, progress=progress)
    flat = chain.samples.reshape(-1, len(low))
    return Posterior(pd.DataFrame(flat, columns=list(input_names)), diagnose(chain, settings), settings)


def _start(log_density: LogDensity, bounds: Array, n_walkers: int, rng: np.random.Generator) -> Array:
    """Walkers where the density is, in every mode that draws of the prior find, (n_walkers, n_inputs).

    Draws are taken in proportion to a tempered density, of which a good part of the draws has a share.
    """
    low, width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    candidates = low + width * rng.uniform(size=(_CANDIDATES, len(bounds)))
    values = log_density(candidates)
    order = np.argsort(-values, kind="stable")
    best = values[order[0]]
    scale = max(best - values[order[_SHARE * n_walkers]], 1.0)  # in which so many draws are still likely
    weights = np.exp(np.maximum((values - best) / scale, -500.0))
    chosen = rng.choice(_CANDIDATES, n_walkers, replace=False, p=weights / weights.sum())
    return np.asarray(candidates[chosen])


def settings_for(n_inputs: int, n_steps: int) -> SamplingSettings:
    """Chains of a length that suits laptops."""
    n_walkers = max(20, 2 * n_inputs)
    block = max(2000, 10 * n_walkers)
    return SamplingSettings(
        n_walkers=n_walkers,
        n_steps=n_steps,
        min_burn_in=min(8_000, n_steps),
        max_burn_in=max(4 * n_steps, 8_000),
        block=block,
        jump_every=_JUMP_EVERY,
        min_ess=400.0,
        max_rhat=1.02,
    )
