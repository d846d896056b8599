"""Chains of `mcmc` as stored results, and what interrupted ones are resumed from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.random import Generator

from rftune.data import Array
from rftune.inference import diagnostics as convergence
from rftune.inference import mcmc
from rftune.inference.settings import SamplingSettings
from rftune.progress import logger, progress_bar
from rftune.seeding import rng_for


@dataclass(frozen=True)
class Source:
    """What a chain depends on besides its settings.

    Attributes
    ----------
    path
        Of the checkpoint.
    labels
        Root seed, then the labels of its generators.
    inputs
        Stored results that the density is made from.
    settings
        What else it is made from; anything that json can write.
    """

    path: str
    labels: tuple[Any, ...]
    inputs: Sequence[xr.Dataset]
    settings: Sequence[Any]

    @property
    def checkpoint(self) -> Path:
        return Path(self.path)

    def rng_of_block(self, block: int) -> Generator:
        return rng_for(*self.labels, "sample", block)

    def key(self) -> str:
        """Digest of inputs and settings: a checkpoint of another density is not resumed."""
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True, default=str).encode())
        for data in self.inputs:
            for name in sorted(map(str, data.variables)):
                values = data[name].values
                digest.update(name.encode())
                digest.update(str(values.tolist()).encode() if values.dtype == object else values.tobytes())
        return digest.hexdigest()


def sampled(density: mcmc.LogDensity, start: Array, settings: SamplingSettings, source: Source) -> xr.Dataset:
    """Sample, resuming an interrupted chain; a chain that has not converged is stored, and said to be so."""
    with progress_bar(settings.n_steps, "sample") as bar:

        def progress(phase: str, n_steps: int, most: int) -> None:
            bar.set_postfix_str(phase)
            bar.n = n_steps if phase == "sampling" else 0
            bar.refresh()
            logger.info("%s: %d of at most %d steps", phase, n_steps, most)

        chain = mcmc.sample(
            density,
            start,
            settings,
            source.rng_of_block,
            checkpoint=source.checkpoint,
            key=source.key(),
            progress=progress,
        )
    found = convergence.diagnose(chain, settings)
    if not found.converged:
        logger.warning("the chain has not converged: %s", found.reason)
    return _packed(chain, found)


def missing(settings: SamplingSettings, n_parameters: int) -> xr.Dataset:
    """In the place of a chain whose emulator failed: every number NaN."""
    shape = (settings.rounds(settings.n_steps), settings.n_walkers, n_parameters)
    none = np.full(n_parameters, np.nan)
    chain = mcmc.Chain(
        samples=np.full(shape, np.nan),
        log_density=np.full(shape[:2], np.nan),
        burn_in=0,
        acceptance=np.nan,
        jump_acceptance=np.nan,
        n_undefined=0,
        proposal_covariance=np.full((n_parameters, n_parameters), np.nan),
    )
    return _packed(chain, convergence.Diagnostics(none, none, none, none, False, "no emulator"))


def draws(posterior: xr.Dataset) -> Array:
    """All kept samples of a stored chain, (n_steps, n_parameters)."""
    samples: Array = posterior["samples"].values
    return samples.reshape(-1, samples.shape[-1])


def _packed(chain: mcmc.Chain, found: convergence.Diagnostics) -> xr.Dataset:
    per_parameter = ("rhat", "ess_bulk", "ess_tail", "autocorrelation_time")
    return xr.Dataset(
        {
            "samples": (("step", "walker", "input"), chain.samples),
            "log_density": (("step", "walker"), chain.log_density),
            "proposal_covariance": (("input", "other_input"), chain.proposal_covariance),
            "burn_in": ((), chain.burn_in),
            "acceptance": ((), chain.acceptance),
            "jump_acceptance": ((), chain.jump_acceptance),
            "n_undefined": ((), chain.n_undefined),
            **{name: ("input", getattr(found, name)) for name in per_parameter},
            "converged": ((), found.converged),
            "not_converged_because": ((), np.array(found.reason, dtype=object)),
        }
    )
