"""Nyström features: a Gaussian process seen through its covariances with a few of the training points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from rftune.data import Array
from rftune.regression.covariances import Covariance
from rftune.regression.waves import Waves


@dataclass(frozen=True, eq=False)
class NystromBasis:
    """Features φ(x) = L⁻¹ k(Z, x) with k(Z, Z) = L Lᵀ: φᵀφ' is the part of the kernel that the points Z explain.

    Attributes
    ----------
    covariance
    points : (n_features, n_inputs)
        Z.
    chol_lower : (n_features, n_features)
        L.
    """

    covariance: Covariance
    points: Array
    chol_lower: Array

    @classmethod
    def of(cls, covariance: Covariance, points: Array) -> NystromBasis:
        """Of the points, but for those that the others explain to rounding."""
        factor, pivots, rank, _ = lapack.dpstrf(covariance.matrix(points, points), lower=1)
        kept = pivots[:rank] - 1
        return cls(covariance, points[kept], np.asfortranarray(np.tril(factor[:rank, :rank])))

    def evaluate(self, inputs: Array) -> Array:
        """φ, (n_samples, n_features)."""
        cross = self.covariance.matrix(inputs, self.points)
        columns: Array = blas.dtrsm(1.0, self.chol_lower, cross.T, lower=1, overwrite_b=1)
        return columns.T

    def left_out(self, inputs: Array, phi: Array) -> Array:
        """Prior variance that the points do not explain, (n_samples,)."""
        explained = np.einsum("ij,ij->i", phi, phi)
        left_out: Array = np.maximum(self.covariance.amplitude_variance - explained, 0.0)
        return left_out

    def left_out_matrix(self, inputs: Array, phi: Array) -> Array:
        """The same between all pairs of inputs, (n_samples, n_samples)."""
        matrix: Array = self.covariance.matrix(inputs, inputs) - phi @ phi.T
        return matrix

    def waves(self, coefficients: Array) -> Waves | None:
        return None


def greedy_points(covariance: Covariance, inputs: Array, n_points: int) -> NDArray[np.intp]:
    """Rows of inputs, one after the other the one whose value those before it explain least.

    It is the Cholesky factorisation of the kernel matrix with complete pivoting, stopped early; fewer than asked for
    where the rest is explained to rounding.
    """
    variances = np.full(len(inputs), covariance.amplitude_variance)
    factor = np.empty((n_points, len(inputs)))
    negligible = len(inputs) * np.finfo(np.float64).eps * covariance.amplitude_variance
    chosen: list[int] = []
    while len(chosen) < n_points and variances.max() > negligible:
        best, step = int(np.argmax(variances)), len(chosen)
        row = covariance.matrix(inputs[best : best + 1], inputs)[0]
        row -= factor[:step, best] @ factor[:step]
        row /= np.sqrt(variances[best])
        factor[step] = row
        variances -= row**2
        chosen.append(best)
        variances[chosen] = 0.0
    return np.array(chosen, dtype=np.intp)
