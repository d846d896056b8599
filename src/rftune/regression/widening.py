"""Intervals that one can believe: a model that is too sure of its errors at data that it has not seen gets a factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import ndtri

from rftune.data import Array, Dataset, Model, Prediction
from rftune.regression.leave_one_out import leave_one_out
from rftune.regression.waves import Waves, waves_of

N_FOLDS = 5
_COVERAGE = 0.9  # of errors within their intervals
_LARGEST = 1e12  # factor


@runtime_checkable
class HasNoise(Protocol):
    """A model that was fitted with noise variances of its own, (n_outputs,)."""

    @property
    def noise_variances(self) -> Array: ...


@dataclass(frozen=True, eq=False)
class Widened:
    """A model whose covariance is wider by a factor per output; a `data.Model`.

    Attributes
    ----------
    model
    factors : (n_outputs,)
        Of the variances.
    """

    model: Model
    factors: Array

    def mean(self, inputs: Array) -> Array:
        return self.model.mean(inputs)

    def predict(self, inputs: Array) -> Prediction:
        found, root = self.model.predict(inputs), np.sqrt(self.factors)
        return Prediction(found.mean, found.covariance * np.multiply.outer(root, root))

    def sample(self, inputs: Array, n_draws: int, rng: np.random.Generator) -> Array:
        mean = self.model.mean(inputs)
        widened: Array = mean + np.sqrt(self.factors) * (self.model.sample(inputs, n_draws, rng) - mean)
        return widened

    def waves(self) -> Waves | None:
        return waves_of(self.model)


def by_leave_one_out(model: Model, data: Dataset) -> Widened:
    """A model widened by the errors that it would have at each of its data without it, in closed form.

    What was chosen with the help of the data, such as features from a pool, stays chosen: use `by_folds` for those.

    Parameters
    ----------
    model
        Fitted to the data.
    data
        In coordinates of unit noise.
    """
    noise = _noise(model, data.n_outputs)
    errors, covariances = leave_one_out(model, data, np.diag(noise))
    return Widened(model, factors(errors, np.einsum("ijj->ij", covariances), np.ones(data.n_outputs)))


def by_folds(model: Model, refit: Callable[[Dataset], Model], data: Dataset, rng: np.random.Generator) -> Widened:
    """A model widened by the errors at each fifth of its data of one that is fitted to the others.

    Parameters
    ----------
    model
        Fitted to the data.
    refit
        Fits the same to some of the data.
    data
        In coordinates of unit noise.
    rng
        Draws the fifths.
    """
    errors, variances = np.empty_like(data.outputs), np.empty_like(data.outputs)
    for rows in np.array_split(rng.permutation(data.n_samples), N_FOLDS):
        rest = np.setdiff1d(np.arange(data.n_samples), rows)
        found = refit(Dataset(data.inputs[rest], data.outputs[rest])).predict(data.inputs[rows])
        errors[rows], variances[rows] = data.outputs[rows] - found.mean, found.std**2
    return Widened(model, factors(errors, variances, _noise(model, data.n_outputs)))


def factors(errors: Array, variances: Array, noises: Array) -> Array:
    """The least factors, from 1, of the variances with which nine of ten errors are in their 90 % intervals.

    Parameters
    ----------
    errors : (n_samples, n_outputs)
        Output less prediction.
    variances : (n_samples, n_outputs)
        Of the function, as the model has them.
    noises : (n_outputs,)
        Variances of the noise, which is in the errors too and is not widened.
    """
    return np.array([_factor(*column) for column in zip(errors.T, variances.T, noises, strict=True)])


def _factor(errors: Array, variances: Array, noise: float) -> float:
    """Each error asks for a factor of its own to be just inside: the ninth of ten in order is taken."""
    squares = (errors / ndtri(0.5 + 0.5 * _COVERAGE)) ** 2
    needed = (squares - noise) / np.maximum(variances, np.finfo(np.float64).tiny)
    return float(np.clip(np.quantile(needed, _COVERAGE, method="higher"), 1.0, _LARGEST))


def _noise(model: Model, n_outputs: int) -> Array:
    return model.noise_variances if isinstance(model, HasNoise) else np.ones(n_outputs)
