"""The noise covariance Γ of an inverse problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from scipy.linalg import solve_triangular

from rftune.data import Array, as_matrix


class NoiseModel(Protocol):
    """The noise covariance Γ, known through one of its inverse square roots.

    Nothing else is needed: the perturbations of the data are drawn in whitened coordinates, where they are standard
    normal, so a draw cannot be inconsistent with the root.
    """

    @property
    def n_data(self) -> int: ...

    def whiten(self, residuals: Array) -> Array:
        """Γ^(-1/2) r for each row r, (..., n_data) -> (..., n_data)."""
        ...


@dataclass(frozen=True, eq=False)
class BlockNoise:
    """Block-diagonal Γ.

    Attributes
    ----------
    chol_lower : tuple of (n_block, n_block)
        Lower Cholesky factors of the blocks, in the order of the data.
    """

    chol_lower: tuple[Array, ...]

    @classmethod
    def from_covariances(cls, blocks: Sequence[Any]) -> BlockNoise:
        """Factor covariance blocks, each (n_block, n_block) and positive definite."""
        if len(blocks) == 0:
            raise ValueError("the noise must have at least one covariance block; got none")
        return cls(tuple(_chol_lower(f"noise block {index}", block) for index, block in enumerate(blocks)))

    @property
    def n_data(self) -> int:
        return sum(len(factor) for factor in self.chol_lower)

    def whiten(self, residuals: Array) -> Array:
        """L⁻¹ r for each row r, Γ = L Lᵀ, (..., n_data) -> (..., n_data)."""
        rows = residuals.reshape(-1, self.n_data)
        whitened = np.empty(rows.shape)
        for factor, columns in zip(self.chol_lower, self._columns(), strict=True):
            whitened[:, columns] = solve_triangular(factor, rows[:, columns].T, lower=True, check_finite=False).T
        return whitened.reshape(residuals.shape)

    def sample(self, n: int, rng: Generator) -> Array:
        """Draws from N(0, Γ), (n, n_data)."""
        draws = rng.standard_normal((n, self.n_data))
        for factor, columns in zip(self.chol_lower, self._columns(), strict=True):
            draws[:, columns] = draws[:, columns] @ factor.T
        return draws

    def _columns(self) -> list[slice]:
        ends = np.cumsum([len(factor) for factor in self.chol_lower])
        return [slice(end - len(factor), end) for factor, end in zip(self.chol_lower, ends, strict=True)]


def _chol_lower(name: str, covariance: Any) -> Array:
    """Lower Cholesky factor, or what is wrong with the covariance."""
    matrix = as_matrix(name, covariance)
    n = len(matrix)
    if matrix.shape != (n, n):
        raise ValueError(f"{name} must be a square covariance matrix; got shape {matrix.shape}")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-14 * np.abs(matrix).max()):
        raise ValueError(f"{name} must be symmetric: pass (block + block.T) / 2")
    remedy = "shrink the estimate towards its diagonal (Ledoit-Wolf) or drop redundant data"
    try:
        factor = np.linalg.cholesky(matrix).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} must be positive definite; it is not: {remedy}") from None
    # L_ii² / Γ_ii is the share of a datum's noise that the data before it do not determine, whatever the units.
    if (np.diagonal(factor) ** 2 <= n * np.finfo(np.float64).eps * np.diagonal(matrix)).any():
        raise ValueError(f"{name} must be positive definite; it is singular to rounding: {remedy}")
    factor.flags.writeable = False
    return factor
