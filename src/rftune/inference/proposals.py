"""Where a walker of `mcmc` may go next: a step of a random walk, or a jump to where the burn-in has been."""

from __future__ import annotations

import itertools
from typing import Any

import emcee
import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from rftune.data import Array

_DEGREES_OF_FREEDOM = 3.0


def is_jump(step: Any, jump_every: int) -> Any:
    """Whether a step, counted from 1, is a jump; vectorised. Every so many are, none for 0."""
    return step % jump_every == 0 if jump_every else step < 0


def metropolis(shape: Array, scale: float, archive: Array, jump_every: int, first_step: int) -> emcee.moves.Move:
    """Metropolis-Hastings with a random walk of covariance scale² ``shape`` and jumps around the points of ``archive``.

    Both leave the target as it is, whatever the archive, so long as that does not change. Walkers stay independent.
    """
    root = scale * np.linalg.cholesky(shape)
    density = KernelDensity(archive, shape)
    steps = itertools.count(first_step)

    def propose(positions: Array, rng: Any) -> tuple[Array, Array]:
        if is_jump(next(steps), jump_every):
            jumped = density.draw(len(positions), rng)
            return jumped, density.log(positions) - density.log(jumped)
        return positions + rng.standard_normal(positions.shape) @ root.T, np.zeros(len(positions))

    # Not GaussianMove: with a full covariance emcee 3.1 moves all walkers by one draw (dfm/emcee#571), which makes
    # them dependent and R-hat and effective sample sizes wrong.
    return emcee.moves.MHMove(propose)


class KernelDensity:
    """A Student t distribution of scale h² ``shape`` around each point (n_points, n_parameters), h by Scott's rule.

    A walker stays long where jumps hardly ever land, so their tails must be heavier than the target's. Unlike SciPy's
    it takes the shape, which is regularised, from the caller: walkers may have hardly moved.
    """

    def __init__(self, points: Array, shape: Array) -> None:
        n_points, n_parameters = points.shape
        self.points = points
        self.root = n_points ** (-1.0 / (n_parameters + 4)) * np.linalg.cholesky(shape)
        self.whitened = self._whiten(points)

    def _whiten(self, points: Array) -> Array:
        return np.asarray(solve_triangular(self.root, points.T, lower=True)).T

    def draw(self, n_draws: int, rng: Any) -> Array:
        """(n_draws, n_parameters), with a generator of NumPy's older kind, which emcee hands on."""
        around = self.points[rng.randint(len(self.points), size=n_draws)]
        stretch = np.sqrt(_DEGREES_OF_FREEDOM / rng.chisquare(_DEGREES_OF_FREEDOM, size=(n_draws, 1)))
        draws: Array = around + stretch * rng.standard_normal(around.shape) @ self.root.T
        return draws

    def log(self, points: Array) -> Array:
        """Log density up to a constant, (n_points,)."""
        squares = cdist(self._whiten(points), self.whitened, "sqeuclidean")
        power = 0.5 * (_DEGREES_OF_FREEDOM + points.shape[1])
        return np.asarray(logsumexp(-power * np.log1p(squares / _DEGREES_OF_FREEDOM), axis=1))
