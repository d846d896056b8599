"""A few gradient steps on the frequencies and phases of cosine features: from a draw towards a trained network."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rftune.data import Array, Dataset
from rftune.features import kernels
from rftune.features.drawn import Features
from rftune.regression.selection import pursuit
from rftune.regression.weight_space import solve_native


@dataclass(frozen=True, eq=False)
class CosineFeatures:
    """Features s cos(x·Ξ + B), with a row for each of the ``n_blocks`` outputs of a sample.

    Attributes
    ----------
    weights : (n_inputs, n_blocks·n_features)
        Ξ; blocks side by side.
    phases, scales : (n_blocks·n_features,)
        B and s. Coefficients have unit prior variance.
    n_blocks
    """

    weights: Array
    phases: Array
    scales: Array
    n_blocks: int = 1

    def evaluate(self, inputs: Array) -> Array:
        """Φ, (n_samples·n_blocks, n_features), rows grouped by sample."""
        return self._rows(kernels.fourier_features(inputs, self.weights, self.phases, self.scales))

    def slopes(self, inputs: Array) -> Array:
        """Derivatives of Φ by the arguments of its cosines."""
        return self._rows(kernels.fourier_features(inputs, self.weights, self.phases + 0.5 * np.pi, self.scales))

    def scaled(self, factor: float) -> CosineFeatures:
        """The features times a number."""
        return replace(self, scales=factor * self.scales)

    def subset(self, kept: NDArray[np.intp]) -> CosineFeatures:
        """Some of the features, ``kept`` (n_kept,)."""
        columns = (kept + len(self.phases) // self.n_blocks * np.arange(self.n_blocks)[:, None]).ravel()
        weights = np.ascontiguousarray(self.weights[:, columns])
        return replace(self, weights=weights, phases=self.phases[columns], scales=self.scales[columns])

    def _rows(self, values: Array) -> Array:
        return values.reshape(len(values) * self.n_blocks, -1)


def pursued(drawn: Features, data: Dataset, n_kept: int) -> Features:
    """Of a draw of native features those that `selection.pursuit` chooses, for data with unit noise."""
    phi = drawn.evaluate(data.inputs) / np.sqrt(drawn.n_features)
    return drawn.subset(pursuit(phi, data.outputs.ravel(), n_kept))


def refined_draw(drawn: Features, data: Dataset, n_steps: int) -> Features:
    """A draw of native cosine features after some steps of `refined`, for data with unit noise."""
    scales = np.repeat(np.sqrt(drawn.amplitude / drawn.n_features), drawn.n_features)
    features = CosineFeatures(drawn.weights, drawn.biases, scales, drawn.n_outputs)
    found = refined(features, data.inputs, data.outputs.ravel(), n_steps)
    return replace(drawn, weights=found.weights, biases=found.phases)


def refined(features: CosineFeatures, inputs: Array, outputs: Array, n_steps: int) -> CosineFeatures:
    """The features after some L-BFGS steps on the penalised squared error of their best fit.

    A frequency that is zero, of an input that a sparse feature does not involve, stays zero.

    Parameters
    ----------
    features
    inputs : (n_samples, n_inputs)
    outputs : (n_samples·n_blocks,)
        With noise of unit variance, rows grouped by sample.
    n_steps
    """
    free = features.weights != 0.0
    n_free = int(np.count_nonzero(free))

    def at(parameters: Array) -> CosineFeatures:
        weights = np.zeros_like(features.weights)
        weights[free] = parameters[:n_free]
        return CosineFeatures(weights, parameters[n_free:], features.scales, features.n_blocks)

    def objective(parameters: Array) -> tuple[float, Array]:
        value, of_weights, of_phases = penalised_error(at(parameters), inputs, outputs)
        gradient = np.concatenate([of_weights[free], of_phases])
        return value / unit, gradient / unit

    start, unit = np.concatenate([features.weights[free], features.phases]), 1.0
    # the first step is as long as the gradient, which must not throw the features far away
    unit = max(float(np.linalg.norm(objective(start)[1])), np.finfo(np.float64).tiny)
    best = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": n_steps, "maxfun": 2 * n_steps})
    return at(best.x)


def penalised_error(features: CosineFeatures, inputs: Array, outputs: Array) -> tuple[float, Array, Array]:
    """½ min_w |y - Φw|² + |w|², which is ½ yᵀ(ΦΦᵀ + I)⁻¹y, and its gradients in Ξ and B.

    The best w makes its own derivative vanish: what is left is -Σ_n r_n w_m dΦ_nm with the residuals r.
    """
    phi = features.evaluate(inputs)
    n_features = phi.shape[1]
    gram = phi.T @ phi
    gram *= n_features  # of features √M Φ, whose coefficients β/√M are w
    coefficients, _ = solve_native(gram, np.sqrt(n_features) * (phi.T @ outputs), out=gram)
    weights = coefficients / np.sqrt(n_features)
    residuals = outputs - phi @ weights
    descent = features.slopes(inputs)
    descent *= residuals[:, None]
    descent *= weights
    by_sample = descent.reshape(len(inputs), -1)
    return 0.5 * float(outputs @ residuals), -(inputs.T @ by_sample), -by_sample.sum(axis=0)
