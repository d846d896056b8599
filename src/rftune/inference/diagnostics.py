"""How far the chains of `mcmc` can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import emcee
import numpy as np
from arviz_stats.base import array_stats

from rftune.data import Array
from rftune.inference.mcmc import Chain
from rftune.inference.settings import SamplingSettings

_TAILS = (0.05, 0.95)  # quantiles whose effective sample size is the tail's (Vehtari et al. 2021)


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How well a chain has mixed, per parameter.

    Attributes
    ----------
    rhat, ess_bulk, ess_tail : (n_parameters,)
        Rank-normalised split R-hat, effective sample sizes of the bulk and of the 5 % and 95 % quantiles, with walkers
        as chains (Vehtari et al. 2021). The walkers of ensemble moves depend on each other, so these flatter them.
    autocorrelation_time : (n_parameters,)
        Integrated, in steps of one walker (emcee).
    converged
        Whether R-hat and both sizes meet the settings' bounds.
    reason
        Which bound is missed by which parameter; empty when converged.
    """

    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    autocorrelation_time: Array
    converged: bool
    reason: str


def diagnose(chain: Chain, settings: SamplingSettings) -> Diagnostics:
    """R-hat, effective sample sizes, autocorrelation times, and whether they meet the settings' bounds."""
    axes = {"chain_axis": 1, "draw_axis": 0}
    with np.errstate(divide="ignore", invalid="ignore"):  # walkers that never moved have no variance
        rhat = np.asarray(array_stats.rhat(chain.samples, **axes))
        ess_bulk = np.asarray(array_stats.ess(chain.samples, **axes, method="bulk"))
        ess_tail = np.asarray(array_stats.ess(chain.samples, **axes, method="tail", prob=_TAILS))
        autocorrelation_time = np.asarray(emcee.autocorr.integrated_time(chain.samples, tol=0))
    missed = [
        *_missed("R-hat", rhat, "above", settings.max_rhat),
        *_missed("bulk ESS", ess_bulk, "below", settings.min_ess),
        *_missed("tail ESS", ess_tail, "below", settings.min_ess),
    ]
    return Diagnostics(rhat, ess_bulk, ess_tail, autocorrelation_time, converged=not missed, reason="; ".join(missed))


def _missed(name: str, values: Array, side: Literal["above", "below"], bound: float) -> list[str]:
    """A complaint about the parameters on the wrong side of the bound, where NaN is too; none when there are none."""
    met = values <= bound if side == "above" else values >= bound
    listed = ", ".join(f"{values[i]:.4g} (parameter {i})" for i in np.flatnonzero(~met))
    return [f"{name} {side} {bound:g}: {listed}"] if listed else []
