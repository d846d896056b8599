"""The problems that are timed: data in scaled coordinates, objectives, ensembles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from rftune.analysis.dynamics import integrator, iterate
from rftune.data import Array, Dataset
from rftune.experiments.ishigami.data import BOUNDS
from rftune.experiments.ishigami.data import ishigami as ishigami_function
from rftune.experiments.lorenz63.data import lorenz63 as lorenz63_tendency
from rftune.features.settings import FeatureSettings
from rftune.scaling import Scaling
from rftune.tuning.objective import Objective, ObjectiveSettings


@dataclass(frozen=True)
class Size:
    """N samples of d inputs, M features from a lowrank structure."""

    n_samples: int
    n_inputs: int
    n_features: int
    rank: int

    def __str__(self) -> str:
        return f"N={self.n_samples} d={self.n_inputs} M={self.n_features}"


TINY, ISHIGAMI, MIDDLE, LARGE = Size(60, 3, 20, 2), Size(300, 3, 150, 3), Size(1500, 6, 300, 6), Size(5000, 20, 300, 10)


def _noisy(inputs: Array, outputs: Array, noise_variance: float, rng: np.random.Generator) -> Dataset:
    outputs = outputs + np.sqrt(noise_variance) * rng.standard_normal(len(outputs))
    data = Dataset(inputs, outputs[:, None])
    return Scaling.of(data, noise_variance).scale(data)


def sobol_g(n_samples: int, n_inputs: int) -> Dataset:
    """Sobol's G function with a_i = (i - 1)/2 on [0, 1]^d."""
    rng = np.random.default_rng(0)
    inputs = rng.uniform(size=(n_samples, n_inputs))
    a = np.arange(n_inputs) / 2
    return _noisy(inputs, np.prod((np.abs(4 * inputs - 2) + a) / (1 + a), axis=1), 1e-3, rng)


def ishigami(n_samples: int) -> Dataset:
    rng = np.random.default_rng(0)
    inputs = rng.uniform(BOUNDS[:, 0], BOUNDS[:, 1], size=(n_samples, len(BOUNDS)))
    return _noisy(inputs, ishigami_function(inputs, a=7.0, b=0.1), 1e-2, rng)


def lorenz63(n_samples: int) -> Dataset:
    """Pairs of successive states of the Euler map, not scaled, the outputs with noise of variance 1e-4."""
    rng = np.random.default_rng(0)
    step = integrator(partial(lorenz63_tendency, sigma=10.0, rho=28.0, beta=8 / 3), 0.01)
    trajectory = iterate(step, np.array([[1.0, 0.0, 0.0]]), 2000)[0]
    rows = rng.choice(2000, n_samples, replace=False)
    return Dataset(trajectory[rows], trajectory[rows + 1] + 0.01 * rng.standard_normal((n_samples, 3)))


def features(size: Size) -> FeatureSettings:
    return FeatureSettings(family="lowrank", rank=size.rank)


def objective(size: Size, precision: Literal["float64", "float32"] = "float64") -> Objective:
    """Two validation folds of 20 %, the paper's."""
    data = ishigami(size.n_samples) if size.n_inputs == 3 else sobol_g(size.n_samples, size.n_inputs)
    settings = ObjectiveSettings(n_features=size.n_features, precision=precision)
    return Objective(data, features(size), settings, np.random.default_rng(1))


def ensemble(problem: Objective, n_members: int) -> Array:
    """Parameters drawn from the prior, (n_members, n_parameters)."""
    prior = problem.structure
    normal = np.random.default_rng(2).standard_normal((n_members, prior.n_parameters))
    return np.asarray(prior.prior_mean + prior.prior_std * normal)
