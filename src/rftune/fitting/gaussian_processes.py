"""Exact Gaussian processes as contenders: noise learned with the kernel, left-out predictions in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack

from rftune.data import Array
from rftune.emulators.base import Task
from rftune.emulators.kinds.gp import GaussianProcess
from rftune.fitting.contenders import JITTER, MOST_EXACT, Contender, Fit, LeftOut, Problem
from rftune.regression.correlations import CorrelationName
from rftune.regression.covariances import KernelName
from rftune.regression.exact_gp import SearchSettings
from rftune.regression.gp_posterior import FittedGP
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Training

_MOST_ITERATIONS = 200
_EVALUATIONS = 80  # of a likelihood, that a tuning takes on average
_RATE = 1.2e10  # floating point operations in a second, on one core
_PASSES = 25  # operations for each input and pair of runs
_FLAT = 100.0  # a lengthscale, in standard deviations of the input, over which nothing changes
_ACTIVE = (0.001, 0.999)  # inclusion probabilities between which an input is neither out nor in


@dataclass(frozen=True)
class ExactGP(Contender):
    """A Gaussian process with the hyperparameters, and where need be the noise, of the largest likelihood.

    Attributes
    ----------
    kernel, correlation
        See `emulators.kinds.gp`.
    n_tune
        Runs from which hyperparameters are found; None for all.
    n_restarts
        Random starts beside the first.
    """

    name: str
    title: str
    kernel: KernelName
    correlation: CorrelationName
    n_tune: int | None = None
    n_restarts: int = 0
    learns_noise: ClassVar[bool] = True

    def obstacle(self, n_samples: int, n_inputs: int) -> str:
        return f"exact up to {MOST_EXACT} runs" if n_samples > MOST_EXACT else ""

    def seconds(self, n_samples: int, n_inputs: int) -> float:
        n_tuned = min(n_samples, self.n_tune or n_samples)
        evaluation = n_tuned**3 + _PASSES * n_inputs * n_tuned**2
        return float(0.1 + (_EVALUATIONS * (1 + self.n_restarts) * evaluation + 2 * n_samples**3) / _RATE)

    def fit(self, problem: Problem, rng: np.random.Generator) -> Fit:
        is_learned = problem.noise is None
        search = SearchSettings(n_tune=self.n_tune, n_restarts=self.n_restarts, max_iterations=_MOST_ITERATIONS)
        emulator = GaussianProcess(
            kernel=self.kernel,
            correlation=self.correlation,
            noise="learned" if is_learned else "known",
            tuning=search,
        )
        noise = 1.0 if problem.noise is None else max(problem.noise, JITTER)
        training = Training(problem.data, np.array([[noise]]))
        tuned = emulator.tune(Task(training, rng)).result
        model = emulator.fit(training, tuned, rng)
        assert isinstance(model, ScaledModel), "Gaussian processes are fitted to scaled data"
        if not is_learned:
            return Fit(model, noise)
        fitted = _unbiased(model, problem)
        variance = fitted.hyperparameters.noise_variances.item() * noise
        return Fit(replace(model, model=fitted), variance)

    def left_out(self, problem: Problem, fit: Fit, rng: np.random.Generator) -> LeftOut:
        """With Q = (K + σ²I)⁻¹ errors at left-out runs g are Q_gg⁻¹ (Q y)_g, of covariance Q_gg⁻¹."""
        assert isinstance(fit.model, ScaledModel)
        assert isinstance(fit.model.model, FittedGP)
        fitted, scaling = fit.model.model, fit.model.scaling
        inverse = lapack.dpotri(np.tril(fitted.chol_lower[0]), lower=1)[0]
        weights = fitted.weights[0]
        errors, variance = weights / np.diagonal(inverse), 1.0 / np.diagonal(inverse)
        labels, sizes = np.unique(problem.groups, return_counts=True)
        for label in labels[sizes > 1]:
            rows = np.flatnonzero(problem.groups == label)
            block = np.tril(inverse[np.ix_(rows, rows)])
            covariance = np.linalg.inv(block + np.tril(block, -1).T)
            errors[rows], variance[rows] = covariance @ weights[rows], np.diagonal(covariance)
        unit = scaling.factor[0, 0]
        mean = problem.data.outputs[:, 0] - unit * errors
        function = np.maximum(unit**2 * variance - fit.noise_variance, 0.0)
        noise = np.full(len(mean), fit.noise_variance)
        return LeftOut(mean, function, noise, "one run at a time, hyperparameters kept")


def _unbiased(model: ScaledModel, problem: Problem) -> FittedGP:
    """All variances by the factor that the whole data ask for, for as many degrees of freedom as are left.

    With the kernel in units of the noise, its best variance is yᵀ(K + I)⁻¹y/N. That is too small by the degrees of
    freedom that finding the other hyperparameters took, as in a regression; these are counted where they are not at an
    end of their range, the mean besides. Hyperparameters from a subset keep their ratios.
    """
    assert isinstance(model.model, FittedGP)
    fitted, hyperparameters = model.model, model.model.hyperparameters
    output = model.scaling.scale(problem.data).outputs[:, 0]
    n_active = 2 + _n_active(hyperparameters.inclusion[0], hyperparameters.lengthscales[0])
    factor = float(output @ fitted.weights[0]) / max(len(output) - n_active, len(output) / 2)
    rescaled = replace(
        hyperparameters,
        amplitude_variances=hyperparameters.amplitude_variances * factor,
        noise_variances=hyperparameters.noise_variances * factor,
    )
    chol_lower = np.asfortranarray(np.sqrt(factor) * np.tril(fitted.chol_lower[0]))
    return replace(fitted, hyperparameters=rescaled, weights=fitted.weights / factor, chol_lower=(chol_lower,))


def _n_active(inclusion: Array, lengthscales: Array) -> int:
    """Lengthscales of inputs that count and are not beyond all data, and inclusion probabilities between 0 and 1."""
    counts = (inclusion > _ACTIVE[0]) & (lengthscales < _FLAT)
    between = counts & (inclusion < _ACTIVE[1])
    return int(np.count_nonzero(counts) + np.count_nonzero(between))
