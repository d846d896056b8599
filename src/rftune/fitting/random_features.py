"""Random features as contenders: tuned by ensemble Kalman inversion, their noise found by a Gaussian process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from rftune.emulators.base import Task
from rftune.emulators.kinds.random_features import PredictionSettings, RandomFeatures
from rftune.features.distribution import Prior, Tails
from rftune.features.family import FAMILIES
from rftune.features.settings import FeatureSettings
from rftune.fitting.contenders import N_FOLDS, Contender, Fit, LeftOut, Problem
from rftune.fitting.gaussian_processes import ExactGP
from rftune.scaling import Training
from rftune.settings import Normal
from rftune.tuning.loop import TuningSettings
from rftune.tuning.optimisers.eki import EnsembleKalmanInversion

LEAST_TUNING_NOISE = 0.03**2  # in output variances: ensembles do not converge where the noise is smaller
LEAST_NOISE = 1e-7  # in output variances: so few features cannot follow data more closely
LARGEST_RANK = 3  # unless one is asked for
NOISE_RUNS = 1000  # from which a Gaussian process finds the noise
MOST_ROWS = 5000  # of data for which features are tuned by ensembles within a race

_RATE = 2e10  # floating point operations in a second, of small products on one core
_OVERHEAD = 3e-4  # seconds of an evaluation besides


@dataclass(frozen=True, eq=False)
class _Tuned(Fit):
    """A fit with what is needed to fit again to other data."""

    result: xr.Dataset
    training_noise: float


@dataclass(frozen=True)
class TunedFeatures(Contender):
    """Random features of a family.

    Attributes
    ----------
    features
        The block ``features`` of the emulator.
    n_features
        For prediction.
    pool
        Features that are drawn, of which the strongest are kept; None to draw as many as predict.
    n_tuning_features, n_members, n_iterations
        Of the ensemble Kalman inversion.
    """

    name: str
    title: str
    features: FeatureSettings
    n_features: int = 1000
    pool: int | None = None
    n_tuning_features: int = 150
    n_members: int = 40
    n_iterations: int = 15
    is_approximate: ClassVar[bool] = True

    def obstacle(self, n_samples: int, n_inputs: int) -> str:
        return f"tuned for up to {MOST_ROWS} runs" if n_samples > MOST_ROWS else ""

    def seconds(self, n_samples: int, n_inputs: int) -> float:
        n_evaluations = 20 + self.n_members * (self.n_iterations + 1)
        m, drawn = self.n_tuning_features, self.pool or self.n_features
        evaluation = _OVERHEAD * _RATE + 2 * n_samples * m * (m + n_inputs) + 2 * m**3
        fit = 2 * n_samples * drawn * min(n_samples, drawn) + 4 * self.n_features**2 * (self.n_features + n_samples)
        return float(0.5 + (n_evaluations * evaluation + (1 + N_FOLDS) * fit) / _RATE)

    def fit(self, problem: Problem, rng: np.random.Generator) -> Fit:
        emulator = self.emulator()
        noise_rng, tune_rng, fit_rng = rng.spawn(3)
        noise = problem.noise if problem.noise is not None else problem.noise_guess
        if noise is None:
            noise = noise_by_likelihood(problem, noise_rng)
        while_tuning = Training(problem.data, np.array([[max(noise, LEAST_TUNING_NOISE)]]))
        tuned = emulator.tune(Task(while_tuning, tune_rng)).result
        if not np.isfinite(tuned["parameters"].values).all():
            raise ArithmeticError(str(tuned["failure"].item()))
        training = Training(problem.data, np.array([[max(noise, LEAST_NOISE)]]))
        model = emulator.fit(training, tuned, fit_rng)
        return _Tuned(model, noise, tuned, max(noise, LEAST_NOISE))

    def left_out(self, problem: Problem, fit: Fit, rng: np.random.Generator) -> LeftOut:
        """By folds, in which features are drawn and selected anew; their distribution stays."""
        assert isinstance(fit, _Tuned)
        emulator = self.emulator()
        mean, variance = np.empty(problem.data.n_samples), np.empty(problem.data.n_samples)
        folds = problem.folds(N_FOLDS, rng)
        for rows, stream in zip(folds, rng.spawn(len(folds)), strict=True):
            rest = Training(problem.without(rows).data, np.array([[fit.training_noise]]))
            predicted = emulator.fit(rest, fit.result, stream).predict(problem.data.inputs[rows])
            mean[rows], variance[rows] = predicted.mean[:, 0], predicted.covariance[:, 0, 0]
        noise = np.full(len(mean), fit.noise_variance)
        return LeftOut(mean, np.maximum(variance, 0.0), noise, f"{len(folds)} folds, hyperparameters kept")

    def emulator(self) -> RandomFeatures:
        optimiser = EnsembleKalmanInversion(n_members=self.n_members, inflation=1e-2)
        return RandomFeatures(
            features=self.features,
            tuning=TuningSettings(
                n_features=self.n_tuning_features, n_iterations=self.n_iterations, optimiser=optimiser
            ),
            prediction=PredictionSettings(n_features=self.n_features, pool=self.pool),
        )


def suited(family: str, rank: int | None = None) -> FeatureSettings:
    """Settings of a family that do well on most functions.

    Parameters
    ----------
    family
        By its name.
    rank
        Of the families that have one; None for the number of inputs, at most 3.
    """
    prior, draw = Prior(), Tails()
    if family == "sparse":
        prior = Prior(log_scale=Normal(-0.3, 0.7))
        draw = Tails(tail="student", degrees_of_freedom=5.0, mixing="independent")
    elif family == "lowrank":
        prior = Prior(log_scale=Normal(-1.0, 1.0))  # smooth functions need long lengthscales
    largest = LARGEST_RANK if rank is None and FAMILIES[family].has_rank else None
    return FeatureSettings(family=FAMILIES.read(family), rank=rank, max_rank=largest, prior=prior, draw=draw)


def noise_by_likelihood(problem: Problem, rng: np.random.Generator) -> float:
    """Noise variance of the largest likelihood of a Gaussian process with the features' limiting kernel.

    The likelihood of random features themselves does not find it, nor does their ensemble (docs/own_data.md).
    """
    n_samples = problem.data.n_samples
    if n_samples > NOISE_RUNS:
        problem = problem.without(np.sort(rng.choice(n_samples, n_samples - NOISE_RUNS, replace=False)))
    process = ExactGP("anova", "a Gaussian process", "anova", "squared_exponential")
    return process.fit(problem, rng).noise_variance
