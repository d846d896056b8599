"""Standardised inputs, outputs centred and whitened by the noise, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rftune.data import Array, Dataset, as_matrix


def noise_covariance(noise: Any, n_outputs: int) -> Array:
    """Return the noise as a checked covariance matrix.

    Parameters
    ----------
    noise
        A variance (float), variances (n_outputs,) or a covariance (n_outputs, n_outputs).
    n_outputs
        Number of outputs p.
    """
    covariance = np.asarray(noise, dtype=np.float64)
    if covariance.ndim == 0:
        covariance = np.full(n_outputs, covariance)
    if covariance.ndim == 1:
        covariance = np.diag(covariance)
    if covariance.shape != (n_outputs, n_outputs):
        raise ValueError(
            f"noise must be a variance, {n_outputs} variances or a ({n_outputs}, {n_outputs}) covariance; "
            f"got shape {np.shape(noise)}"
        )
    if not np.isfinite(covariance).all() or not (np.diagonal(covariance) > 0).all():
        raise ValueError(f"noise variances must be finite and positive; got {np.diagonal(covariance)}")
    if not np.allclose(covariance, covariance.T, rtol=1e-10, atol=0):
        raise ValueError("the noise covariance must be symmetric: pass (noise + noise.T) / 2")
    return covariance


def noise_factor(covariance: Array) -> tuple[Array, Array]:
    """Factor Σ = A Aᵀ through the eigenvectors of its correlation matrix; return A and its inverse.

    Outputs in the coordinates A⁻¹y have unit, uncorrelated noise. Working with the correlation keeps the factor
    accurate when the outputs' units differ by many orders of magnitude; a diagonal Σ gives a diagonal A.
    """
    std = np.sqrt(np.diagonal(covariance))
    correlation = covariance / np.outer(std, std)
    if np.count_nonzero(correlation - np.diag(np.diagonal(correlation))) == 0:
        return np.diag(std), np.diag(1.0 / std)
    eigenvalues, vectors = np.linalg.eigh(correlation)
    if eigenvalues[0] <= len(std) * np.finfo(np.float64).eps:
        raise ValueError(
            f"the noise covariance must be positive definite; its correlation matrix has smallest eigenvalue "
            f"{eigenvalues[0]:.1e}: drop redundant outputs or add noise"
        )
    root = np.sqrt(eigenvalues)
    return std[:, None] * vectors * root, (vectors / root).T / std


@dataclass(frozen=True, eq=False)
class Scaling:
    """Coordinates in which inputs have zero mean and unit variance, and outputs zero mean and noise covariance I.

    Attributes
    ----------
    input_mean, input_std : (n_inputs,)
    input_root : (n_inputs, n_inputs) or None
        C^(-1/2) of the standardised inputs' correlation C, where inputs are whitened.
    output_mean : (n_outputs,)
    factor, inverse_factor : (n_outputs, n_outputs)
        A and A⁻¹ with Σ = A Aᵀ.
    """

    input_mean: Array
    input_std: Array
    output_mean: Array
    factor: Array
    inverse_factor: Array
    input_root: Array | None = None

    @classmethod
    def of(cls, data: Dataset, noise: Any, whiten: bool = False) -> Scaling:
        """Scaling of a training set whose outputs have the given noise (see `noise_covariance`).

        Inputs are standardised one by one, or with ``whiten`` decorrelated too.
        """
        std = data.inputs.std(axis=0)
        negligible = std <= 1e-12 * (np.abs(data.inputs).max(axis=0) + np.finfo(np.float64).tiny)
        factor, inverse = noise_factor(noise_covariance(noise, data.n_outputs))
        mean, scale = data.inputs.mean(axis=0), np.where(negligible, 1.0, std)  # a constant input carries no scale
        return cls(
            input_mean=mean,
            input_std=scale,
            output_mean=data.outputs.mean(axis=0),
            factor=factor,
            inverse_factor=inverse,
            input_root=_inverse_root((data.inputs - mean) / scale) if whiten else None,
        )

    def scale_inputs(self, inputs: Any) -> Array:
        matrix = as_matrix("inputs", inputs, n_columns=len(self.input_mean))
        standardised = (matrix - self.input_mean) / self.input_std
        return standardised if self.input_root is None else standardised @ self.input_root

    def scale_outputs(self, outputs: Array) -> Array:
        return (outputs - self.output_mean) @ self.inverse_factor.T

    def scale(self, data: Dataset) -> Dataset:
        return Dataset(self.scale_inputs(data.inputs), self.scale_outputs(data.outputs))

    def unscale_weights(self, weights: Array) -> Array:
        """What centred physical inputs are multiplied by, where scaled ones are by weights (n_inputs, n)."""
        standardised = weights if self.input_root is None else self.input_root @ weights
        return np.asarray(standardised / self.input_std[:, None])

    def unscale_outputs(self, outputs: Array) -> Array:
        """Physical outputs from scaled ones, (..., n_outputs)."""
        return self.output_mean + outputs @ self.factor.T

    def unscale_covariance(self, covariance: Array) -> Array:
        return self.factor @ covariance @ self.factor.T


def _inverse_root(standardised: Array) -> Array:
    """C^(-1/2) of the rows' correlation; directions in which nothing varies are left as they are."""
    values, vectors = np.linalg.eigh(standardised.T @ standardised / len(standardised))
    varies = values > 1e-12 * values[-1]
    return np.asarray(vectors / np.sqrt(np.where(varies, values, 1.0)) @ vectors.T)


@dataclass(frozen=True, eq=False)
class Training:
    """What an emulator learns from.

    Attributes
    ----------
    data
        Physical inputs and outputs.
    noise : (n_outputs, n_outputs)
        Covariance of the outputs' noise.
    """

    data: Dataset
    noise: Array

    def scaling(self, whiten: bool = False) -> Scaling:
        return Scaling.of(self.data, self.noise, whiten)
