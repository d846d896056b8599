"""Optimisers of an inverse problem: start, then ask what to evaluate and tell what came out; state in, state out.

The inverse problem is z = G(u) + η, η ~ N(0, Γ). An optimiser never sees G: the caller evaluates it where `ask` says
and hands the outputs to `tell`. To add one: a file in ``optimisers``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.random import Generator

from rftune.data import Array
from rftune.settings import Choice, Registry
from rftune.tuning.noise import NoiseModel


class EnsembleCollapse(RuntimeError):
    """No member of the ensemble has a usable output."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What an optimiser knows of an inverse problem.

    Attributes
    ----------
    target : (n_data,)
        z.
    noise
        Γ.
    prior_mean, prior_std : (n_parameters,)
        Of the unconstrained parameters, independent and normal.
    """

    target: Array
    noise: NoiseModel
    prior_mean: Array
    prior_std: Array

    def misfit(self, outputs_mean: Array) -> float:
        """‖Γ^(-1/2)(z - outputs_mean)‖², the value of the convergence curves; outputs_mean (n_data,)."""
        return float(np.sum(self.noise.whiten(self.target - outputs_mean) ** 2))

    def spread(self, ensemble: Array) -> float:
        """Root mean square over the parameters of the ensemble's standard deviation in units of the prior's."""
        return float(np.sqrt(np.mean((ensemble.std(axis=0) / self.prior_std) ** 2)))


@dataclass(frozen=True)
class Info:
    """What an optimiser saw and did when it was told outputs.

    Attributes
    ----------
    misfit
        ‖Γ^(-1/2)(z - mean_j G(u_j))‖² over the points that did not fail.
    spread
        Of the points that were evaluated, see `Problem.spread`.
    n_failed
        Points without a usable output.
    step
        Δt of a Kalman inversion (0 when a single survivor left nothing to estimate a covariance from); NaN where there
        is no such thing.
    done
        Whether there is nothing left to ask.
    """

    misfit: float
    spread: float
    n_failed: int
    step: float = np.nan
    done: bool = False


S = TypeVar("S")


class Optimiser(Choice, ABC, Generic[S]):
    """A search for the parameters of an inverse problem; S is the type of its state, which it never changes."""

    def check(self, n_data: int) -> None:
        """Raise a ValueError when the settings do not fit a problem with so many data."""
        return None

    @abstractmethod
    def start(self, problem: Problem, rng: Generator) -> S:
        """The state before anything is evaluated."""

    @abstractmethod
    def ask(self, state: S) -> Array:
        """Points to evaluate, (n_points, n_parameters)."""

    @abstractmethod
    def tell(self, state: S, outputs: Array, problem: Problem, rng: Generator) -> tuple[S, Info]:
        """The state after G was evaluated there: outputs (n_points, n_data), rows not finite where that failed.

        `EnsembleCollapse` when all of them failed.
        """

    @abstractmethod
    def estimate(self, state: S) -> Array:
        """The answer so far, (n_parameters,)."""


OPTIMISERS: Registry[Optimiser[Any]] = Registry("rftune.tuning.optimisers", Optimiser, default="eki")
