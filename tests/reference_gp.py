"""Textbook Gaussian process regression: dense, explicit differences, solves with the full matrix."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from scipy import special, stats

from rftune.data import Array


def squared_exponential(inputs: Array, others: Array, variance: float, lengthscales: Array) -> Array:
    """v exp(-½ Σ_k (x_k - x'_k)²/ℓ_k²), (n, m)."""
    differences = (inputs[:, None, :] - others[None, :, :]) / lengthscales
    return variance * np.exp(-0.5 * (differences**2).sum(axis=-1))


def correlation(name: str, distances: Array) -> Array:
    """κ of distances in lengthscales; Matérn by the general formula with its Bessel function."""
    if name == "squared_exponential":
        return np.exp(-0.5 * distances**2)
    smoothness = {"matern32": 1.5, "matern52": 2.5}[name]
    scaled = np.sqrt(2.0 * smoothness) * np.maximum(distances, 1e-14)
    return 2.0 ** (1.0 - smoothness) / special.gamma(smoothness) * scaled**smoothness * special.kv(smoothness, scaled)


def anova(inputs: Array, others: Array, variance: float, lengthscales: Array, inclusion: Array, name: str) -> Array:
    """The sum over all subsets of inputs of their weight times the product of their correlations, (n, m)."""
    factors = correlation(name, np.abs(inputs[:, None, :] - others[None, :, :]) / lengthscales)
    total = np.zeros(factors.shape[:2])
    for subset in product([False, True], repeat=len(lengthscales)):
        kept = np.array(subset)
        total += np.prod(np.where(kept, inclusion, 1.0 - inclusion)) * np.prod(factors[:, :, kept], axis=2)
    return variance * total


def log_likelihood(matrix: Array, output: Array) -> float:
    """Log density of an output under N(0, matrix)."""
    return float(stats.multivariate_normal(np.zeros(len(output)), matrix, allow_singular=False).logpdf(output))


def posterior(
    kernel: Callable[[Array, Array], Array], inputs: Array, output: Array, points: Array, noise: float = 1.0
) -> tuple[Array, Array]:
    """Mean (m,) and covariance (m, m) of a scalar process."""
    matrix = kernel(inputs, inputs) + noise * np.eye(len(inputs))
    cross = kernel(points, inputs)
    return cross @ np.linalg.solve(matrix, output), kernel(points, points) - cross @ np.linalg.solve(matrix, cross.T)


def vector_covariance(inputs: Array, others: Array, factor: Array, variances: Array, lengthscales: Array) -> Array:
    """Covariances A diag(k_1, ..., k_p) Aᵀ of a vector-valued process, (n p, m p), samples outermost."""
    scalar = [
        squared_exponential(inputs, others, variance, scales)
        for variance, scales in zip(variances, lengthscales, strict=True)
    ]
    blocks = np.einsum("al,lij,bl->iajb", factor, np.array(scalar), factor)
    return blocks.reshape(len(inputs) * len(factor), len(others) * len(factor))


def vector_posterior(
    inputs: Array, outputs: Array, noise: Array, factor: Array, variances: Array, lengthscales: Array, points: Array
) -> tuple[Array, Array]:
    """Mean (m, p) and joint covariance (m, p, m, p) of a zero-mean vector process with noise covariance Σ."""
    n_outputs = outputs.shape[1]
    matrix = vector_covariance(inputs, inputs, factor, variances, lengthscales) + np.kron(np.eye(len(inputs)), noise)
    cross = vector_covariance(points, inputs, factor, variances, lengthscales)
    prior = vector_covariance(points, points, factor, variances, lengthscales)
    mean = cross @ np.linalg.solve(matrix, outputs.ravel())
    covariance = prior - cross @ np.linalg.solve(matrix, cross.T)
    return mean.reshape(-1, n_outputs), covariance.reshape(len(points), n_outputs, len(points), n_outputs)
