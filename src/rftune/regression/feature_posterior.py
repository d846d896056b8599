"""Posterior of processes that are sums of finitely many features, each output with features of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from rftune.data import Array, Dataset, Prediction, as_matrix
from rftune.regression.gp_posterior import semidefinite_root
from rftune.regression.waves import Waves
from rftune.regression.weight_space import solve_collinear, solve_native

_BLOCK_ELEMENTS = 4_000_000  # entries of one block of features, 32 MB


class Basis(Protocol):
    """Features of a scalar process f(x) = φ(x)ᵀw + e(x), w ~ N(0, I), e what they leave out of its prior."""

    def evaluate(self, inputs: Array) -> Array:
        """φ, (n_samples, n_features)."""
        ...

    def left_out(self, inputs: Array, phi: Array) -> Array:
        """Prior variance of e where the features are ``phi``, (n_samples,)."""
        ...

    def left_out_matrix(self, inputs: Array, phi: Array) -> Array:
        """Prior covariance of e, (n_samples, n_samples)."""
        ...

    def waves(self, coefficients: Array) -> Waves | None:
        """φᵀw as a sum of plane waves, with a readout (1, n_features); None where it is none."""
        ...


@dataclass(frozen=True, eq=False)
class FeaturePosterior:
    """Posterior of independent processes with features; a `data.Model`.

    The data are explained by the features alone. What these leave out is added to the variance.

    Attributes
    ----------
    bases
        One per output.
    coefficients
        Posterior mean of w, per output (n_features,).
    chol_lower
        Per output the lower Cholesky factor of the precision of w, (n_features, n_features).
    noise_variances : (n_outputs,)
        Of the data.
    n_inputs
    """

    bases: tuple[Basis, ...]
    coefficients: tuple[Array, ...]
    chol_lower: tuple[Array, ...]
    noise_variances: Array
    n_inputs: int

    def mean(self, inputs: Array) -> Array:
        """Posterior mean, (n_samples, n_outputs)."""
        points = as_matrix("inputs", inputs, n_columns=self.n_inputs)
        mean = np.empty((len(points), len(self.bases)))
        for rows, output, phi in self._blocks(points):
            mean[rows, output] = phi @ self.coefficients[output]
        return mean

    def predict(self, inputs: Array) -> Prediction:
        """Posterior mean and pointwise covariance, which is diagonal."""
        points = as_matrix("inputs", inputs, n_columns=self.n_inputs)
        n_outputs = len(self.bases)
        mean, covariance = np.empty((len(points), n_outputs)), np.zeros((len(points), n_outputs, n_outputs))
        for rows, output, phi in self._blocks(points):
            mean[rows, output] = phi @ self.coefficients[output]
            root = solve_triangular(self.chol_lower[output], phi.T, lower=True, check_finite=False)
            left_out = self.bases[output].left_out(points[rows], phi)
            covariance[rows, output, output] = np.einsum("ij,ij->j", root, root) + left_out
        return Prediction(mean, covariance)

    def sample(self, inputs: Array, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws, (n_draws, n_samples, n_outputs); where features leave something out, memory for n_samples²."""
        points = as_matrix("inputs", inputs, n_columns=self.n_inputs)
        if n_draws < 1:
            raise ValueError(f"n_draws must be at least 1; got {n_draws}")
        draws = np.empty((n_draws, len(points), len(self.bases)))
        for output, basis in enumerate(self.bases):
            phi = basis.evaluate(points)
            noise = rng.standard_normal((phi.shape[1], n_draws))
            deviations = solve_triangular(self.chol_lower[output], noise, lower=True, trans="T")
            draws[:, :, output] = (phi @ (self.coefficients[output][:, None] + deviations)).T
            if basis.left_out(points, phi).any():
                root = semidefinite_root(basis.left_out_matrix(points, phi))
                draws[:, :, output] += rng.standard_normal((n_draws, len(points))) @ root.T
        return draws

    def waves(self) -> Waves | None:
        """The mean as a sum of plane waves; None where the features are none."""
        parts = [basis.waves(weights) for basis, weights in zip(self.bases, self.coefficients, strict=True)]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        readout = np.zeros((len(found), sum(len(part.phases) for part in found)))
        ends = np.cumsum([0] + [len(part.phases) for part in found])
        for output, part in enumerate(found):
            readout[output, ends[output] : ends[output + 1]] = part.readout[0]
        return Waves(
            weights=np.hstack([part.weights for part in found]),
            phases=np.concatenate([part.phases for part in found]),
            readout=readout,
            offset=np.zeros(len(found)),
        )

    def _blocks(self, points: Array) -> Iterator[tuple[slice, int, Array]]:
        """Features of the points in blocks of bounded size, with their rows and output."""
        for output, basis in enumerate(self.bases):
            size = max(1, _BLOCK_ELEMENTS // len(self.coefficients[output]))
            for rows in (slice(start, start + size) for start in range(0, len(points), size)):
                yield rows, output, basis.evaluate(points[rows])


def fit(bases: tuple[Basis, ...], data: Dataset, noise_variances: Array) -> FeaturePosterior:
    """Condition the coefficients of each output on the data; (n_outputs,) noise variances."""
    fits = [
        _solve(basis.evaluate(data.inputs) / np.sqrt(noise), column / np.sqrt(noise))
        for basis, column, noise in zip(bases, data.outputs.T, noise_variances, strict=True)
    ]
    coefficients, factors = zip(*fits, strict=True)
    return FeaturePosterior(bases, coefficients, factors, noise_variances, data.n_inputs)


def _solve(phi: Array, output: Array) -> tuple[Array, Array]:
    """Posterior mean and Cholesky factor of the precision ΦᵀΦ + I, by the solver of random features √M Φ."""
    root = np.sqrt(phi.shape[1])
    features = root * phi
    try:
        coefficients, chol_lower = solve_native(features.T @ features, features.T @ output)
    except np.linalg.LinAlgError:
        coefficients, chol_lower = solve_collinear(features, output)
    return coefficients / root, chol_lower
