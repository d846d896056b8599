"""Outputs as few uncorrelated components, one emulator each, and the way back with what the components leave out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from rftune.data import Array
from rftune.scaling import noise_factor

REDUCED_FROM = 11  # outputs; fewer have an emulator each
MOST_COMPONENTS = 40
_LOST_SHARE = 1e-6  # of the variance, which components may leave out
_KEPT_DIRECTIONS = 100  # of what is left out, whose correlations are kept
_EDGE = 1.05  # a singular value this far above the largest of pure noise is no noise


@dataclass(frozen=True, eq=False)
class Projection:
    """A linear map of outputs to components and back.

    Attributes
    ----------
    output_mean : (n_outputs,)
    to_components : (n_outputs, n_components)
    to_outputs : (n_components, n_outputs)
    lost_variance : (n_outputs,)
        Of what the components leave out, in the training data: function and noise together.
    lost_directions : (n_directions, n_outputs)
        The correlated part of it: its covariance is their sum of outer products, and the rest of the variance is taken
        to be independent.
    """

    output_mean: Array
    to_components: Array
    to_outputs: Array
    lost_variance: Array
    lost_directions: Array

    @property
    def n_outputs(self) -> int:
        return len(self.output_mean)

    @property
    def n_components(self) -> int:
        return len(self.to_outputs)

    @property
    def is_separate(self) -> bool:
        """Whether every component is one of the outputs."""
        is_square = self.n_components == self.n_outputs
        return is_square and np.count_nonzero(self.to_components) == self.n_outputs

    def components(self, outputs: Array) -> Array:
        """(n_samples, n_outputs) -> (n_samples, n_components)."""
        return (outputs - self.output_mean) @ self.to_components

    def outputs(self, components: Array) -> Array:
        """(..., n_components) -> (..., n_outputs)."""
        return self.output_mean + components @ self.to_outputs

    def variance(self, variances: Array) -> Array:
        """Variances of outputs from those of components, without what is left out, (n_samples, n_outputs)."""
        return np.asarray(variances @ self.to_outputs**2)

    def covariance(self, variances: Array) -> Array:
        """As `variance`, with the covariances of outputs, (n_samples, n_outputs, n_outputs)."""
        return np.asarray((self.to_outputs.T * variances[:, None, :]) @ self.to_outputs)

    def lost_covariance(self) -> Array:
        """Covariance of what the components leave out, (n_outputs, n_outputs)."""
        covariance: Array = self.lost_directions.T @ self.lost_directions
        covariance.flat[:: len(covariance) + 1] = self.lost_variance
        return covariance


def separate(outputs: Array, scales: Array) -> Projection:
    """Every output is a component, in units of its scale."""
    n_outputs = outputs.shape[1]
    return _complete(outputs.mean(axis=0), np.diag(1.0 / scales), np.diag(scales), n_outputs)


def whitened(outputs: Array, noise: Array) -> Projection:
    """As many components as outputs, with uncorrelated noise of unit variance.

    Parameters
    ----------
    outputs : (n_samples, n_outputs)
    noise : (n_outputs, n_outputs)
        Covariance.
    """
    factor, inverse = noise_factor(noise)
    return _complete(outputs.mean(axis=0), inverse.T, factor.T, outputs.shape[1])


def _complete(mean: Array, to_components: Array, to_outputs: Array, n_outputs: int) -> Projection:
    return Projection(mean, to_components, to_outputs, np.zeros(n_outputs), np.zeros((0, n_outputs)))


def reduced(outputs: Array, scales: Array, n_components: int | None = None) -> Projection:
    """The principal components of the scaled outputs that stand above the noise.

    Components are taken by size until the next one is no larger than the largest of pure noise would be, or the rest is
    a millionth of the variance.

    Parameters
    ----------
    outputs : (n_samples, n_outputs)
    scales : (n_outputs,)
        Units in which outputs are compared.
    n_components
        How many to keep; None to choose.
    """
    mean = outputs.mean(axis=0)
    scaled = (outputs - mean) / scales
    left, sizes, directions = linalg.svd(scaled, full_matrices=False, check_finite=False)
    if n_components is None:
        n_components = _above_noise(sizes, outputs.shape)
    n_kept = max(1, min(n_components, int(np.count_nonzero(sizes > 1e-12 * sizes[0]))))
    # Components have unit variance, as the scalar emulators expect.
    spread = sizes[:n_kept] / np.sqrt(len(outputs))
    degrees = max(len(outputs) - 1 - n_kept, 1)
    rest = slice(n_kept, n_kept + _KEPT_DIRECTIONS)
    lost = scaled - left[:, :n_kept] * sizes[:n_kept] @ directions[:n_kept]
    return Projection(
        output_mean=mean,
        to_components=(directions[:n_kept] / spread[:, None] / scales).T,
        to_outputs=directions[:n_kept] * spread[:, None] * scales,
        lost_variance=np.sum(lost**2, axis=0) / degrees * scales**2,
        lost_directions=directions[rest] * (sizes[rest] / np.sqrt(degrees))[:, None] * scales,
    )


def _above_noise(sizes: Array, shape: tuple[int, ...]) -> int:
    """How many singular values stand above those of noise, as large as the rest of the data is."""
    n_rows, n_columns = shape
    squares = sizes**2
    below = np.cumsum(squares[::-1])[::-1]  # sums of squares from each component on
    for taken in range(min(len(sizes), MOST_COMPONENTS)):
        rows, columns = n_rows - 1 - taken, n_columns - taken
        if rows < 1 or columns < 1 or below[taken] <= _LOST_SHARE * below[0]:
            return taken
        # Entries of variance v make a largest singular value of √v (√rows + √columns) (Bai & Yin 1993).
        edge = np.sqrt(below[taken] / (rows * columns)) * (np.sqrt(rows) + np.sqrt(columns))
        if sizes[taken] <= _EDGE * edge:
            return taken
    return min(len(sizes), MOST_COMPONENTS)
