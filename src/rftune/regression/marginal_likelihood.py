"""Log marginal likelihood of a Gaussian process and its gradient, with known noise or with its best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import lapack

from rftune.data import Array, as_matrix
from rftune.regression.correlations import CorrelationName
from rftune.regression.covariances import PANEL, Covariance, KernelName, covariance, triangle_panels

INDEFINITE = (
    "the kernel matrix plus unit noise must be positive definite, and in float64 it is not: the amplitude variance is "
    "too large beside the noise, so lower its upper bound or state more noise"
)
_LEAST_NOISE = 1e-20  # variance of an output that a kernel explains to the last digit


@dataclass(frozen=True)
class Prior:
    """What is assumed of every output.

    Attributes
    ----------
    kernel
        "ard", a product over inputs of correlations, or "anova", a sum of such products over all subsets of inputs.
    correlation
    noise
        "known", of unit variance; or "learned": the noise variance is a hyperparameter.
    """

    kernel: KernelName = "ard"
    correlation: CorrelationName = "squared_exponential"
    noise: Literal["known", "learned"] = "known"

    def n_parameters(self, n_inputs: int) -> int:
        """Number of unconstrained parameters: log v, log ℓ, for the ANOVA kernels also logit π."""
        return 1 + n_inputs * (2 if self.kernel == "anova" else 1)

    def covariance(self, parameters: Array) -> Covariance:
        """The covariance of an output with these unconstrained parameters; in noise variances."""
        n_inputs = (len(parameters) - 1) // (2 if self.kernel == "anova" else 1)
        scales = np.exp(parameters[: 1 + n_inputs])
        inclusion = 1.0 / (1.0 + np.exp(-parameters[1 + n_inputs :])) if self.kernel == "anova" else np.ones(n_inputs)
        return covariance(self.correlation, float(scales[0]), scales[1:], inclusion)


class MarginalLikelihood:
    """Log marginal likelihood of scalar outputs at fixed inputs, and its gradient in unconstrained parameters.

    Two N x N buffers serve every evaluation, because page faults on fresh ones cost as much as the passes over them;
    only one triangle is ever formed. Not for use from two threads at once.
    """

    def __init__(self, inputs: Array, prior: Prior | None = None) -> None:
        self._inputs = as_matrix("inputs", inputs)
        self._prior = prior or Prior()
        n_samples = len(self._inputs)
        # C-ordered upper triangles, whose transposes LAPACK takes in place as Fortran-ordered lower triangles
        self._kernel = np.zeros((n_samples, n_samples))
        self._factor = np.zeros((n_samples, n_samples))
        self._panel = np.empty((min(PANEL, n_samples), n_samples))

    def __call__(self, output: Array, parameters: Array) -> tuple[float, Array]:
        """Return log p(y) and its gradient (n_parameters,), or raise LinAlgError for an indefinite kernel matrix.

        With the noise learned, y ~ N(0, σ²(K + I)) at its best σ² = yᵀ(K + I)⁻¹y/N: K is in units of it.

        Parameters
        ----------
        output : (n_samples,)
            Centred; where the noise is known, with unit noise variance.
        parameters : (n_parameters,)
            Log amplitude variance, log lengthscales, logits of the inclusion probabilities if there are any.
        """
        chol_lower, weights = self._solve(output, parameters)
        log_determinant = 2.0 * np.log(np.diagonal(chol_lower)).sum()
        noise = best_noise(output, weights) if self._prior.noise == "learned" else 1.0
        value = -0.5 * (output @ weights / noise + log_determinant + len(output) * np.log(2.0 * np.pi * noise))
        return float(value), self._gradient(parameters, weights / np.sqrt(noise), chol_lower)

    def noise_variance(self, output: Array, parameters: Array) -> float:
        """The noise variance of which the amplitude variance is a multiple."""
        return best_noise(output, self._solve(output, parameters)[1]) if self._prior.noise == "learned" else 1.0

    def _solve(self, output: Array, parameters: Array) -> tuple[Array, Array]:
        """Fill the upper triangles, of the kernel and of the factor; return L and (K + I)⁻¹y."""
        self._prior.covariance(parameters).fill_upper(self._inputs, self._kernel)
        for rows, columns in triangle_panels(len(self._inputs)):
            self._factor[rows, columns] = self._kernel[rows, columns]
        np.einsum("ii->i", self._factor)[:] += 1.0
        chol_lower = cholesky_in_place(self._factor)
        return chol_lower, lapack.dpotrs(chol_lower, output, lower=1)[0]

    def _gradient(self, parameters: Array, weights: Array, chol_lower: Array) -> Array:
        """Gradient ½ tr(W ∂K) with W = ααᵀ - (K+I)⁻¹, α the weights, from A = W ∘ K; consumes both buffers."""
        _, info = lapack.dpotri(chol_lower, lower=1, overwrite_c=1)
        if info != 0:
            raise np.linalg.LinAlgError(f"the inverse from the Cholesky factor failed (LAPACK dpotri: {info})")
        for rows, columns in triangle_panels(len(self._inputs)):
            panel = self._panel[: rows.stop - rows.start, columns]
            np.multiply.outer(weights[rows], weights[columns], out=panel)
            panel -= self._factor[rows, columns]
            self._kernel[rows, columns] *= panel
        slopes = self._prior.covariance(parameters).slopes(self._inputs, self._kernel)
        return 0.5 * slopes[: len(parameters)]


def best_noise(output: Array, weights: Array) -> float:
    """The noise variance σ² = yᵀ(K + I)⁻¹y/N of the largest likelihood."""
    return max(float(output @ weights) / len(output), _LEAST_NOISE)


def cholesky_in_place(upper: Array) -> Array:
    """Factor a C-ordered upper triangle; return L, Fortran-ordered in the same memory, upper part undefined."""
    chol_lower, info = lapack.dpotrf(upper.T, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError(INDEFINITE)
    return np.asarray(chol_lower)
