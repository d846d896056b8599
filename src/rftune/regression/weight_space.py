"""Random feature regression in weight space: Bayes' rule with the prior GP(0, K_M).

With w ~ N(0, I_M) and F(x) = Φ(x) w / √M, the posterior of w given data with noise Σ is
N(β/√M, (G + I)⁻¹) with G = Φᵀ B_Σ⁻¹ Φ / M and (G + I) β = Φᵀ B_Σ⁻¹ Y (the paper's eqs. rf_vector_summary and
coeff_vector_summary; a scalar σ² is Σ = σ² I). `fit` chooses the form by the features it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from rftune.data import Array, Dataset, Prediction, as_matrix
from rftune.features.drawn import Features
from rftune.regression.waves import Waves
from rftune.scaling import noise_covariance, noise_factor

# Rows per block in prediction: keeps the feature block of a few thousand features in memory caches.
BLOCK_ROWS = 2048


def fit(features: Features, data: Dataset, noise: Any) -> NativeRegression | SharedRegression:
    """Condition the random feature prior on data.

    Parameters
    ----------
    features
        One draw of features, native or shared.
    data
        Centred outputs: the prior mean is zero.
    noise
        Variance σ², variances (n_outputs,) or covariance Σ (n_outputs, n_outputs).
    """
    if data.n_outputs != features.n_outputs:
        raise ValueError(f"the features are for {features.n_outputs} outputs; the data have {data.n_outputs}")
    factor, inverse = noise_factor(noise_covariance(noise, data.n_outputs))
    if features.outputs == "native":
        return _fit_native(features, data, inverse)
    return _fit_shared(features, data, factor, inverse)


def strongest(features: Features, data: Dataset, noise: Any, n_kept: int) -> Features:
    """Of a large draw, the features that contribute most to a fit to the data: by their coefficient, √ς in it.

    What the data do not need is dropped, so the kept ones say more than as many drawn at once. They are no longer a
    draw from the tuned distribution: a posterior covariance made with them is that of the kept features alone.
    """
    if features.outputs == "shared":
        fitted = fit(features, data, noise).coefficients
        coefficients = np.linalg.norm(fitted * np.sqrt(features.amplitude), axis=1)
    elif data.n_samples * data.n_outputs < features.n_features:
        inverse = noise_factor(noise_covariance(noise, data.n_outputs))[1]
        coefficients = solve_dual(*_whitened(features, data, inverse))
    else:
        coefficients = fit(features, data, noise).coefficients
    order = np.argsort(-np.abs(coefficients), kind="stable")
    return features.subset(np.sort(order[:n_kept]))


@dataclass(frozen=True, eq=False)
class _Posterior(ABC):
    """What both posteriors have: features, and a mean that is linear in them."""

    features: Features

    @abstractmethod
    def _mean_of(self, phi: Array) -> Array:
        """Mean where the features are ``phi``."""

    def mean(self, inputs: Any) -> Array:
        return np.concatenate([self._mean_of(phi) for phi in _blocks(self.features, inputs)])


@dataclass(frozen=True, eq=False)
class NativeRegression(_Posterior):
    """Posterior with vector-valued features, one coefficient per feature.

    Attributes
    ----------
    features
    coefficients : (n_features,)
        β.
    chol_lower : (n_features, n_features)
        Lower Cholesky factor of G + I.
    """

    coefficients: Array
    chol_lower: Array

    def predict(self, inputs: Any) -> Prediction:
        means, covariances = [], []
        for phi in _blocks(self.features, inputs):
            means.append(self._mean_of(phi))
            root = linalg.solve_triangular(self.chol_lower, phi.T, lower=True, check_finite=False)
            per_point = root.T.reshape(-1, self.features.n_outputs, self.features.n_features)
            covariances.append(per_point @ per_point.transpose(0, 2, 1) / self.features.n_features)
        return Prediction(np.concatenate(means), np.concatenate(covariances))

    def sample(self, inputs: Any, n_draws: int, rng: np.random.Generator) -> Array:
        noise = rng.standard_normal((self.features.n_features, n_draws))
        deviations = linalg.solve_triangular(self.chol_lower, noise, lower=True, trans="T")
        weights = self.coefficients[:, None] / np.sqrt(self.features.n_features) + deviations
        draws = [phi @ weights / np.sqrt(self.features.n_features) for phi in _blocks(self.features, inputs)]
        return np.concatenate(draws).T.reshape(n_draws, -1, self.features.n_outputs)

    def waves(self) -> Waves | None:
        readout = np.kron(np.diag(np.sqrt(self.features.amplitude)), self.coefficients / self.features.n_features)
        return _as_waves(self.features, readout)

    def _mean_of(self, phi: Array) -> Array:
        return (phi @ self.coefficients / self.features.n_features).reshape(-1, self.features.n_outputs)


def _whitened(features: Features, data: Dataset, inverse_factor: Array) -> tuple[Array, Array]:
    """Φ (n_rows, n_features) and outputs (n_rows,) in coordinates of unit noise."""
    phi = features.evaluate(data.inputs).reshape(data.n_samples, data.n_outputs, features.n_features)
    if (inverse_factor != np.eye(data.n_outputs)).any():  # scaled data have unit noise: a product would only copy Φ
        phi = inverse_factor @ phi
    return phi.reshape(-1, features.n_features), (data.outputs @ inverse_factor.T).ravel()


def _fit_native(features: Features, data: Dataset, inverse_factor: Array) -> NativeRegression:
    whitened, outputs = _whitened(features, data, inverse_factor)
    try:
        coefficients, chol_lower = solve_native(whitened.T @ whitened, whitened.T @ outputs)
    except np.linalg.LinAlgError:
        coefficients, chol_lower = solve_collinear(whitened, outputs)
    return NativeRegression(features, coefficients, chol_lower)


def solve_dual(whitened: Array, outputs: Array) -> Array:
    """β of `solve_native`, where there are fewer rows than features: Φᵀ (ΦΦᵀ/M + I)⁻¹ y.

    Parameters
    ----------
    whitened : (n_rows, n_features)
        Φ with noise of unit variance.
    outputs : (n_rows,)
    """
    system = whitened @ whitened.T / whitened.shape[1]
    system.flat[:: len(system) + 1] += 1.0
    coefficients: Array = whitened.T @ linalg.cho_solve(linalg.cho_factor(system, lower=True), outputs)
    return coefficients


def solve_collinear(whitened: Array, outputs: Array) -> tuple[Array, Array]:
    """As `solve_native` from the features themselves, where their Gram matrix is lost to rounding; slower.

    Long lengthscales with a large amplitude make features nearly collinear: forming ΦᵀΦ squares their condition number
    and may leave it indefinite by more than the identity. (G + I) β = Φᵀy is the least squares problem with the rows
    Φ/√M and I and the right-hand sides √M y and 0, whose QR factor R is the transposed Cholesky factor.

    Parameters
    ----------
    whitened : (n_rows, n_features)
        Φ with noise of unit variance.
    outputs : (n_rows,)
    """
    n_rows, n_features = whitened.shape
    if not np.isfinite(whitened).all():
        raise np.linalg.LinAlgError("the features must be finite; they are not")
    root = np.sqrt(n_features)
    q, r = linalg.qr(np.vstack([whitened / root, np.eye(n_features)]), mode="economic", check_finite=False)
    coefficients = linalg.solve_triangular(r, root * (q[:n_rows].T @ outputs), check_finite=False)
    chol_lower = (r * np.sign(np.diagonal(r))[:, None]).T
    return coefficients, chol_lower


def solve_native(gram: Array, projected: Array, out: Array | None = None) -> tuple[Array, Array]:
    """Solve (gram/M + I) β = projected; return β and the lower Cholesky factor of gram/M + I.

    Parameters
    ----------
    gram : (n_features, n_features)
        Φᵀ B_Σ⁻¹ Φ.
    projected : (n_features,)
        Φᵀ B_Σ⁻¹ Y.
    out : (n_features, n_features)
        C-ordered buffer that the Cholesky factor is a view of, possibly the Gram's own; a fresh array when None.
    """
    system = np.multiply(gram, 1.0 / len(gram), out=out)
    system.flat[:: len(gram) + 1] += 1.0
    # The transpose of a symmetric C-ordered matrix is the same matrix in the order in which LAPACK works in place.
    chol_lower, info = lapack.dpotrf(system.T, lower=1, overwrite_a=1)
    coefficients, _ = lapack.dpotrs(chol_lower, projected, lower=1)
    # LAPACK lets NaN pass
    if info != 0 or not np.isfinite(coefficients).all():
        raise np.linalg.LinAlgError("the Gram matrix must be finite and positive semidefinite; it is not to rounding")
    return coefficients, chol_lower


@dataclass(frozen=True, eq=False)
class SharedRegression(_Posterior):
    """Posterior with scalar features shared by all outputs, one coefficient vector per output.

    In the whitened coordinates A⁻¹y (Σ = A Aᵀ) the outputs are independent with kernels ς_o·k_M, so one
    eigendecomposition of the Gram of k_M serves them all.

    Attributes
    ----------
    features
    factor : (n_outputs, n_outputs)
        A.
    coefficients : (n_features, n_outputs)
        β of each whitened output, for features of amplitude √ς_o.
    vectors : (n_features, n_features)
        Eigenvectors Q of ΦᵀΦ/M, unit amplitude.
    shrinkage : (n_features, n_outputs)
        1/(1 + ς_o λ_m).
    """

    factor: Array
    coefficients: Array
    vectors: Array
    shrinkage: Array

    def predict(self, inputs: Any) -> Prediction:
        means, covariances = [], []
        for phi in _blocks(self.features, inputs):
            means.append(self._mean_of(phi))
            variance = (phi @ self.vectors) ** 2 @ self.shrinkage * self.features.amplitude / self.features.n_features
            covariances.append((self.factor * variance[:, None, :]) @ self.factor.T)
        return Prediction(np.concatenate(means), np.concatenate(covariances))

    def sample(self, inputs: Any, n_draws: int, rng: np.random.Generator) -> Array:
        noise = rng.standard_normal((n_draws, *self.shrinkage.shape))
        deviations = self.vectors @ (np.sqrt(self.shrinkage) * noise)
        root_m = np.sqrt(self.features.n_features)
        weights = (self.coefficients / root_m + deviations) * np.sqrt(self.features.amplitude) / root_m
        draws = [phi @ weights @ self.factor.T for phi in _blocks(self.features, inputs)]
        return np.concatenate(draws, axis=1)

    def waves(self) -> Waves | None:
        whitened = self.coefficients * np.sqrt(self.features.amplitude) / self.features.n_features
        return _as_waves(self.features, self.factor @ whitened.T)

    def _mean_of(self, phi: Array) -> Array:
        whitened: Array = phi @ self.coefficients * np.sqrt(self.features.amplitude) / self.features.n_features
        return whitened @ self.factor.T


def _fit_shared(features: Features, data: Dataset, factor: Array, inverse_factor: Array) -> SharedRegression:
    phi = features.evaluate(data.inputs)
    solution = solve_shared(phi.T @ phi, phi.T @ (data.outputs @ inverse_factor.T), features.amplitude)
    coefficients, vectors, shrinkage = solution
    return SharedRegression(features, factor, coefficients, vectors, shrinkage)


def solve_shared(gram: Array, projected: Array, amplitude: Array) -> tuple[Array, Array, Array]:
    """Solve (ς_o·gram/M + I) β_o = √ς_o·projected_o for every output with one eigendecomposition.

    Parameters
    ----------
    gram : (n_features, n_features)
        ΦᵀΦ at unit amplitude.
    projected : (n_features, n_outputs)
        ΦᵀY, whitened outputs.
    amplitude : (n_outputs,)

    Returns
    -------
    coefficients : (n_features, n_outputs)
    vectors : (n_features, n_features)
    shrinkage : (n_features, n_outputs)
        1/(1 + ς_o λ_m), whose negative log sums to the log determinant.
    """
    eigenvalues, vectors = linalg.eigh(gram / len(gram), check_finite=False, driver="evd")
    shrinkage = 1.0 / (1.0 + np.outer(np.maximum(eigenvalues, 0.0), amplitude))
    coefficients = vectors @ (shrinkage * (vectors.T @ projected)) * np.sqrt(amplitude)
    if not np.isfinite(coefficients).all():
        raise np.linalg.LinAlgError("the Gram matrix and the amplitudes must be finite; they are not")
    return coefficients, vectors, shrinkage


def _as_waves(features: Features, readout: Array) -> Waves | None:
    """The mean with a readout (n_outputs, n_blocks·n_features) of cosines; None for other feature maps."""
    if not features.feature_map.is_cosine:
        return None
    return Waves(features.weights, features.biases, readout, np.zeros(features.n_outputs))


def _blocks(features: Features, inputs: Any) -> Iterator[Array]:
    """Features of the inputs, a block of rows at a time."""
    matrix = as_matrix("inputs", inputs, n_columns=features.weights.shape[0])
    for start in range(0, len(matrix), BLOCK_ROWS):
        yield features.evaluate(matrix[start : start + BLOCK_ROWS])
