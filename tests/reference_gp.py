"""Textbook Gaussian process regression: dense, explicit differences, solves with the full matrix."""

from __future__ import annotations

import numpy as np

from rftune.data import Array


def squared_exponential(inputs: Array, others: Array, variance: float, lengthscales: Array) -> Array:
    """v exp(-½ Σ_k (x_k - x'_k)²/ℓ_k²), (n, m)."""
    differences = (inputs[:, None, :] - others[None, :, :]) / lengthscales
    return variance * np.exp(-0.5 * (differences**2).sum(axis=-1))


def posterior(inputs: Array, output: Array, variance: float, lengthscales: Array, points: Array) -> tuple[Array, Array]:
    """Mean (m,) and covariance (m, m) of a scalar process with unit noise."""
    matrix = squared_exponential(inputs, inputs, variance, lengthscales) + np.eye(len(inputs))
    cross = squared_exponential(points, inputs, variance, lengthscales)
    prior = squared_exponential(points, points, variance, lengthscales)
    return cross @ np.linalg.solve(matrix, output), prior - cross @ np.linalg.solve(matrix, cross.T)


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
