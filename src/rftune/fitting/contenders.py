"""What takes part in the race: scalar emulators, each with its noise and its predictions of left-out runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array, Dataset, Model

JITTER = 1e-9  # variance of the noise, in that of the output, that stands for none
MOST_EXACT = 4000  # runs of an exact Gaussian process: its factor takes 128 MB then
N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Problem:
    """What every contender learns from: one component.

    Attributes
    ----------
    data
        Physical inputs, and one output of about unit variance.
    noise
        Variance of the output's noise; None where it is to be learned.
    groups : (n_samples,)
        The same number for runs at the same inputs, which are left out together.
    noise_guess
        Where it is to be learned, what is known of it so far, for those who cannot learn it.
    """

    data: Dataset
    noise: float | None
    groups: NDArray[np.intp]
    noise_guess: float | None = None

    def without(self, rows: NDArray[np.intp]) -> Problem:
        """The rest, where some runs are left out."""
        kept = np.setdiff1d(np.arange(self.data.n_samples), rows)
        data = Dataset(self.data.inputs[kept], self.data.outputs[kept])
        return replace(self, data=data, groups=self.groups[kept])

    def folds(self, n_folds: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
        """Rows in parts of about one size, of which none shares inputs with another."""
        labels, members = np.unique(self.groups, return_inverse=True)
        n_parts = min(n_folds, len(labels))
        part = np.empty(len(labels), dtype=np.intp)
        part[rng.permutation(len(labels))] = np.arange(len(labels)) % n_parts
        return [np.flatnonzero(part[members] == fold) for fold in range(n_parts)]


@dataclass(frozen=True, eq=False)
class Fit:
    """A model of one component.

    Attributes
    ----------
    model
    noise_variance
        Known or learned.
    """

    model: Model
    noise_variance: float


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What is predicted at each run from the others.

    Attributes
    ----------
    mean : (n_samples,)
    variance : (n_samples,)
        Of the function.
    noise_variance : (n_samples,)
        Of the data.
    method
        How it came about, in words.
    """

    mean: Array
    variance: Array
    noise_variance: Array
    method: str

    @property
    def std(self) -> Array:
        """Of data, (n_samples,)."""
        return np.sqrt(self.variance + self.noise_variance)


class Contender(ABC):
    """A way to make an emulator of one component.

    Attributes
    ----------
    name
        In a table, and what a user calls it.
    title
        In words.
    learns_noise
        Whether `fit` finds the noise where it is not known.
    is_approximate
        Whether it follows the data with few features, so that it may be too sure of itself.
    """

    name: str
    title: str
    learns_noise: ClassVar[bool] = False
    is_approximate: ClassVar[bool] = False

    def obstacle(self, n_samples: int, n_inputs: int) -> str:
        """Why it cannot run on data of this size; empty where it can."""
        return ""

    @abstractmethod
    def seconds(self, n_samples: int, n_inputs: int) -> float:
        """About how long `fit` and `left_out` take on two cores."""

    @abstractmethod
    def fit(self, problem: Problem, rng: np.random.Generator) -> Fit:
        """Tune and fit."""

    @abstractmethod
    def left_out(self, problem: Problem, fit: Fit, rng: np.random.Generator) -> LeftOut:
        """Predictions of every run from the others, with the hyperparameters that are found."""


def cross_validated(contender: Contender, problem: Problem, n_folds: int, rng: np.random.Generator) -> LeftOut:
    """Predictions of every run by a contender that saw nothing of its fold: hyperparameters are found anew."""
    mean, variance, noise = (np.empty(problem.data.n_samples) for _ in range(3))
    for rows, stream in zip(folds := problem.folds(n_folds, rng), rng.spawn(len(folds)), strict=True):
        fit = contender.fit(problem.without(rows), stream)
        predicted = fit.model.predict(problem.data.inputs[rows])
        mean[rows], variance[rows] = predicted.mean[:, 0], np.maximum(predicted.covariance[:, 0, 0], 0.0)
        noise[rows] = fit.noise_variance
    return LeftOut(mean, variance, noise, f"{len(folds)} folds, everything tuned again")
