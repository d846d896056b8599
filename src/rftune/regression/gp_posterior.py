"""Exact Gaussian processes (`exact_gp`) conditioned on data: mean, covariance and draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from rftune.data import Array, Dataset, Prediction, as_matrix
from rftune.regression.covariances import Covariance, Hyperparameters
from rftune.regression.marginal_likelihood import cholesky_in_place

_PREDICTION_ELEMENTS = 4_000_000  # entries of one block of cross-covariances, 32 MB


@dataclass(frozen=True, eq=False)
class FittedGP:
    """Posterior of independent Gaussian processes; a `scaling.Model`.

    Attributes
    ----------
    inputs : (n_samples, n_inputs)
        Training inputs.
    weights : (n_outputs, n_samples)
        (K_l + σ_l² I)⁻¹ y_l.
    chol_lower
        Per output the lower Cholesky factor of K_l + σ_l² I, (n_samples, n_samples); the upper part is undefined.
    """

    hyperparameters: Hyperparameters
    inputs: Array
    weights: Array
    chol_lower: tuple[Array, ...]

    @property
    def noise_variances(self) -> Array:
        """Of the data, (n_outputs,)."""
        noises: Array = self.hyperparameters.noise_variances
        return noises

    def mean(self, inputs: Array) -> Array:
        """Posterior mean, (n_samples, n_outputs)."""
        points = as_matrix("inputs", inputs, n_columns=self.inputs.shape[1])
        mean = np.empty((len(points), len(self.weights)))
        for rows, output, cross in self._cross_blocks(points):
            mean[rows, output] = cross @ self.weights[output]
        return mean

    def predict(self, inputs: Array) -> Prediction:
        """Posterior mean and pointwise covariance, which is diagonal."""
        points = as_matrix("inputs", inputs, n_columns=self.inputs.shape[1])
        n_outputs = len(self.weights)
        mean = np.empty((len(points), n_outputs))
        covariance = np.zeros((len(points), n_outputs, n_outputs))
        for rows, output, cross in self._cross_blocks(points):
            mean[rows, output] = cross @ self.weights[output]
            solved = self._solve_in_place(output, cross)
            variance = self.hyperparameters.amplitude_variances[output] - np.einsum("ij,ij->i", solved, solved)
            covariance[rows, output, output] = np.maximum(variance, 0.0)
        return Prediction(mean, covariance)

    def sample(self, inputs: Array, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws, (n_draws, n_samples, n_outputs); needs memory for n_samples² and n_samples · n_training."""
        points = as_matrix("inputs", inputs, n_columns=self.inputs.shape[1])
        if n_draws < 1:
            raise ValueError(f"n_draws must be at least 1; got {n_draws}")
        draws = np.empty((n_draws, len(points), len(self.weights)))
        for output, prior in enumerate(self._covariances):
            cross = prior.matrix(points, self.inputs)
            mean = cross @ self.weights[output]
            solved = self._solve_in_place(output, cross)
            root = semidefinite_root(prior.matrix(points, points) - solved @ solved.T)
            draws[:, :, output] = mean + rng.standard_normal((n_draws, len(points))) @ root.T
        return draws

    @cached_property
    def _covariances(self) -> list[Covariance]:
        return self.hyperparameters.covariances()

    @cached_property
    def _with_training(self) -> list[Callable[[Array], Array]]:
        return [covariance.against(self.inputs) for covariance in self._covariances]

    def _cross_blocks(self, points: Array) -> Iterator[tuple[slice, int, Array]]:
        """Prior covariances of points and training inputs in blocks of bounded size, with their rows and output."""
        size = max(1, _PREDICTION_ELEMENTS // len(self.inputs))
        for rows in (slice(start, start + size) for start in range(0, len(points), size)):
            for output, with_training in enumerate(self._with_training):
                yield rows, output, with_training(points[rows])

    def _solve_in_place(self, output: int, cross: Array) -> Array:
        """Rows L⁻¹ k(x) in the memory of the rows k(x)."""
        columns: Array = blas.dtrsm(1.0, self.chol_lower[output], cross.T, lower=1, overwrite_b=1)
        return columns.T


def semidefinite_root(covariance: Array) -> Array:
    """Root R, R Rᵀ = C, by pivoted Cholesky, which stops at the numerical rank instead of failing there."""
    factor, pivots, rank, _ = lapack.dpstrf(covariance, lower=1)
    root: Array = np.tril(factor)
    root[:, rank:] = 0.0
    return root[np.argsort(pivots)]


def fit(data: Dataset, hyperparameters: Hyperparameters) -> FittedGP:
    """Condition the priors on data in scaled coordinates, at one Cholesky factor per output."""
    expected, shape = (data.n_outputs, data.n_inputs), hyperparameters.lengthscales.shape
    if shape != expected:
        raise ValueError(f"lengthscales must be {expected} for these data; got {shape}: tune on the same columns")
    weights, factors = [], []
    noises = hyperparameters.noise_variances
    for column, covariance, noise in zip(data.outputs.T, hyperparameters.covariances(), noises, strict=True):
        matrix = np.empty((data.n_samples, data.n_samples))
        covariance.fill_upper(data.inputs, matrix)
        np.einsum("ii->i", matrix)[:] += noise
        factors.append(cholesky_in_place(matrix))
        weights.append(lapack.dpotrs(factors[-1], column, lower=1)[0])
    return FittedGP(hyperparameters, data.inputs, np.array(weights), tuple(factors))
