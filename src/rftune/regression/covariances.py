"""Prior covariances of Gaussian processes, one per output: ANOVA kernels, of which the ARD kernels are a special case.

``k(x, x') = v Π_k (1 - π_k + π_k κ(|x_k - x'_k|/ℓ_k))``: multiplied out, a sum over all subsets of inputs, of processes
that depend on the inputs of their subset alone (`docs/sparse.md`). With every π_k = 1 there is one subset, all inputs,
and k is the ARD kernel: a product over inputs of κ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.linalg import blas

from rftune.data import Array, as_matrix
from rftune.regression import product_kernel
from rftune.regression.correlations import CORRELATIONS, CorrelationName

KernelName = Literal["ard", "anova"]

PANEL = 64  # rows per panel of an N x N pass: a panel stays in cache between its elementwise operations


@dataclass(frozen=True, eq=False)
class Covariance(ABC):
    """Prior covariance of one output.

    Attributes
    ----------
    amplitude_variance
        v, the prior variance everywhere.
    lengthscales : (n_inputs,)
    inclusion : (n_inputs,)
        π.
    correlation
        κ, by its name.
    """

    amplitude_variance: float
    lengthscales: Array
    inclusion: Array
    correlation: CorrelationName

    @abstractmethod
    def against(self, inputs: Array) -> Callable[[Array], Array]:
        """What gives the covariances (n_points, n_samples) of points with these inputs, C-ordered."""

    @abstractmethod
    def fill_upper(self, inputs: Array, out: Array) -> None:
        """Fill the upper triangle of ``out``, and its diagonal, with the covariances of inputs."""

    @abstractmethod
    def slopes(self, inputs: Array, weighted: Array) -> Array:
        """Σ_ij A_ij ∂(log k_ij), for a symmetric A given by its upper triangle.

        (1 + 2·n_inputs,): by log v, by the logarithms of the lengthscales, by the logits of π.
        """

    def matrix(self, inputs: Array, others: Array) -> Array:
        """Covariances between two sets of points, (n_samples, n_others), C-ordered."""
        return self.against(others)(inputs)


class SquaredExponential(Covariance):
    """v exp(-½ Σ_k (x_k - x'_k)²/ℓ_k²): all exponents are one matrix product, and one exponential serves all inputs."""

    def against(self, inputs: Array) -> Callable[[Array], Array]:
        right = exponent_factors(inputs / self.lengthscales)[1].T
        return lambda points: exponentiate(
            exponent_factors(points / self.lengthscales)[0] @ right, self.amplitude_variance
        )

    def fill_upper(self, inputs: Array, out: Array) -> None:
        left, right = exponent_factors(inputs / self.lengthscales)
        for rows, columns in triangle_panels(len(inputs)):
            exponentiate(np.matmul(left[rows], right[columns].T, out=out[rows, columns]), self.amplitude_variance)
        np.einsum("ii->i", out)[:] = self.amplitude_variance

    def slopes(self, inputs: Array, weighted: Array) -> Array:
        """With s = x/ℓ the slope by log ℓ_k is (s_ik - s_jk)², whose sum is 2 (Σ_i s_ik² (A1)_i - s_kᵀ A s_k).

        That takes one product A [s, 1] for all lengthscales.
        """
        scaled = inputs / self.lengthscales
        extended = np.asfortranarray(np.column_stack([scaled, np.ones(len(scaled))]))
        product = blas.dsymm(1.0, weighted.T, extended, lower=1)
        row_sums = product[:, -1]
        of_lengthscales = 2.0 * (row_sums @ scaled**2 - np.einsum("ik,ik->k", scaled, product[:, :-1]))
        return np.concatenate([[row_sums.sum()], of_lengthscales, np.zeros(len(of_lengthscales))])


class Product(Covariance):
    """v Π_k (1 - π_k + π_k κ(|x_k - x'_k|/ℓ_k)), by compiled loops."""

    def against(self, inputs: Array) -> Callable[[Array], Array]:
        return partial(self._against, self._columns(inputs))

    def _against(self, right: Array, points: Array) -> Array:
        out = np.empty((len(points), right.shape[1]))
        product_kernel.fill(points / self.lengthscales, right, *self._constants(), out)
        return out

    def fill_upper(self, inputs: Array, out: Array) -> None:
        product_kernel.fill_upper(inputs / self.lengthscales, self._columns(inputs), *self._constants(), out)

    def slopes(self, inputs: Array, weighted: Array) -> Array:
        inclusion, coefficients, _ = self._constants()
        columns = self._columns(inputs)
        sums = product_kernel.slopes(inputs / self.lengthscales, columns, inclusion, coefficients, weighted)
        off_diagonal = sum(np.triu(weighted[rows, columns], 1).sum() for rows, columns in triangle_panels(len(inputs)))
        total = 2.0 * off_diagonal + np.trace(weighted)
        return np.concatenate([[total], sums[0], inclusion * (1.0 - inclusion) * sums[1]])

    def _columns(self, inputs: Array) -> Array:
        return np.ascontiguousarray((inputs / self.lengthscales).T)

    def _constants(self) -> tuple[Array, Array, float]:
        return np.array(self.inclusion), CORRELATIONS[self.correlation].coefficients, float(self.amplitude_variance)


def covariance(
    correlation: CorrelationName, amplitude_variance: float, lengthscales: Array, inclusion: Array
) -> Covariance:
    """The covariance with these parameters, in the form that is fastest."""
    is_one_product = correlation == "squared_exponential" and bool((inclusion == 1.0).all())
    kind = SquaredExponential if is_one_product else Product
    return kind(amplitude_variance, lengthscales, inclusion, correlation)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """What a tuning finds, all that is needed to refit.

    Attributes
    ----------
    amplitude_variances : (n_outputs,)
        Prior variance of each whitened output.
    lengthscales : (n_outputs, n_inputs)
        In standard deviations of the inputs.
    inclusion : (n_outputs, n_inputs)
        π, between 0 and 1; all ones for ARD kernels.
    noise_variances : (n_outputs,)
        Of each whitened output; ones where the noise is known.
    correlation
    """

    amplitude_variances: Array
    lengthscales: Array
    inclusion: Any = None
    noise_variances: Any = None
    correlation: CorrelationName = "squared_exponential"

    def __post_init__(self) -> None:
        lengthscales = as_matrix("lengthscales", self.lengthscales)
        n_outputs, n_inputs = lengthscales.shape
        given = np.ones_like(lengthscales) if self.inclusion is None else self.inclusion
        inclusion = as_matrix("inclusion", given, n_inputs)
        variances = as_matrix("amplitude_variances", np.atleast_2d(self.amplitude_variances), n_outputs)[0]
        noises = np.ones(n_outputs) if self.noise_variances is None else self.noise_variances
        noise_variances = as_matrix("noise_variances", np.atleast_2d(noises), n_outputs)[0]
        if not (lengthscales > 0).all() or not (variances > 0).all() or not (noise_variances > 0).all():
            raise ValueError(
                "lengthscales, amplitude_variances and noise_variances must be positive: pass them, not their "
                "logarithms"
            )
        if inclusion.shape != lengthscales.shape or not ((inclusion >= 0) & (inclusion <= 1)).all():
            raise ValueError(f"inclusion must be {lengthscales.shape} probabilities, not their logits")
        object.__setattr__(self, "lengthscales", lengthscales)
        object.__setattr__(self, "amplitude_variances", variances)
        object.__setattr__(self, "inclusion", inclusion)
        object.__setattr__(self, "noise_variances", noise_variances)

    def covariances(self) -> list[Covariance]:
        """Prior covariance of each output."""
        rows = zip(self.amplitude_variances.tolist(), self.lengthscales, self.inclusion, strict=True)
        return [covariance(self.correlation, *row) for row in rows]


def exponent_factors(scaled: Array) -> tuple[Array, Array]:
    """Return P and Q, both (n_samples, n_inputs + 2), with (P Qᵀ)_ij = -½‖x_i - x_j‖²: one GEMM per kernel."""
    half_norms, ones = -0.5 * np.einsum("ij,ij->i", scaled, scaled), np.ones(len(scaled))
    return np.column_stack([scaled, half_norms, ones]), np.column_stack([scaled, ones, half_norms])


def exponentiate(exponents: Array, amplitude_variance: float) -> Array:
    """Kernel values in place of their exponents, of which rounding makes some slightly positive."""
    np.minimum(exponents, 0.0, out=exponents)
    np.exp(exponents, out=exponents)
    exponents *= amplitude_variance
    return exponents


def triangle_panels(n_samples: int) -> list[tuple[slice, slice]]:
    """Panels of rows that cover the upper triangle."""
    starts = range(0, n_samples, PANEL)
    return [(slice(start, min(start + PANEL, n_samples)), slice(start, n_samples)) for start in starts]
