"""Polynomials by least squares, with the intervals of a linear regression: what an emulator should beat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg

from rftune.data import Array, Prediction, as_matrix
from rftune.fitting.contenders import Contender, Fit, LeftOut, Problem

_LEAST_SPREAD = 1e-12  # of an input, in its largest size


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A polynomial in standardised inputs, fitted by least squares; a `data.Model` of one output.

    Attributes
    ----------
    degree
        0, 1 or 2, mixed terms among them.
    centre, spread : (n_inputs,)
    coefficients : (n_terms,)
    root : (n_terms, n_terms)
        A root R of the coefficients' covariance R Rᵀ.
    misfit_variance
        Of what the polynomial cannot follow.
    """

    degree: Literal[0, 1, 2]
    centre: Array
    spread: Array
    coefficients: Array
    root: Array
    misfit_variance: float

    def mean(self, inputs: Any) -> Array:
        return np.asarray(self.terms(inputs) @ self.coefficients)[:, None]

    def predict(self, inputs: Any) -> Prediction:
        terms = self.terms(inputs)
        variance = np.sum((terms @ self.root) ** 2, axis=1) + self.misfit_variance
        return Prediction((terms @ self.coefficients)[:, None], variance[:, None, None])

    def sample(self, inputs: Any, n_draws: int, rng: np.random.Generator) -> Array:
        """What the polynomial cannot follow is left out of the draws: it is no polynomial."""
        drawn = self.coefficients + rng.standard_normal((n_draws, len(self.coefficients))) @ self.root.T
        return np.asarray(drawn @ self.terms(inputs).T)[:, :, None]

    def terms(self, inputs: Any) -> Array:
        """Products of standardised inputs, (n_samples, n_terms)."""
        return monomials((as_matrix("inputs", inputs, len(self.centre)) - self.centre) / self.spread, self.degree)


def monomials(standardised: Array, degree: int) -> Array:
    """All products of at most so many inputs, (n_samples, n_terms)."""
    terms = [np.ones((len(standardised), 1))]
    if degree >= 1:
        terms.append(standardised)
    if degree >= 2:
        left, right = np.triu_indices(standardised.shape[1])
        terms.append(standardised[:, left] * standardised[:, right])
    return np.concatenate(terms, axis=1)


@dataclass(frozen=True)
class LeastSquares(Contender):
    """A polynomial of some degree."""

    name: str
    title: str
    degree: Literal[0, 1, 2]

    def obstacle(self, n_samples: int, n_inputs: int) -> str:
        n_terms = math.comb(n_inputs + self.degree, self.degree)
        return f"needs more than {n_terms + 1} runs" if n_samples < n_terms + 2 else ""

    def seconds(self, n_samples: int, n_inputs: int) -> float:
        return 0.01 + 1e-9 * n_samples * math.comb(n_inputs + self.degree, self.degree) ** 2

    def fit(self, problem: Problem, rng: np.random.Generator) -> Fit:
        inputs, output = problem.data.inputs, problem.data.outputs[:, 0]
        centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
        spread = np.where(spread > _LEAST_SPREAD * np.abs(inputs).max(axis=0), spread, 1.0)
        terms = monomials((inputs - centre) / spread, self.degree)
        left, sizes, right = linalg.svd(terms, full_matrices=False, check_finite=False)
        kept = sizes > max(terms.shape) * np.finfo(np.float64).eps * sizes[0]
        inverse = right[kept].T / sizes[kept]
        coefficients = inverse @ (left[:, kept].T @ output)
        residuals = output - terms @ coefficients
        # What is left is noise where that is not known, and beyond the noise the polynomial's own error where it is.
        variance = float(residuals @ residuals) / max(len(output) - int(kept.sum()), 1)
        noise = variance if problem.noise is None else problem.noise
        root = inverse * np.sqrt(variance)
        root = np.concatenate([root, np.zeros((len(root), len(root) - root.shape[1]))], axis=1)
        model = Polynomial(self.degree, centre, spread, coefficients, root, max(variance - noise, 0.0))
        return Fit(model, noise)

    def left_out(self, problem: Problem, fit: Fit, rng: np.random.Generator) -> LeftOut:
        """A run left out changes its residual e to e/(1 - h), with h its leverage."""
        prediction = fit.model.predict(problem.data.inputs)
        assert isinstance(fit.model, Polynomial)
        misfit = fit.model.misfit_variance
        own = prediction.covariance[:, 0, 0] - misfit
        total = max(misfit + fit.noise_variance, np.finfo(np.float64).tiny)
        rest = np.maximum(1.0 - own / total, 1e-6)
        output = problem.data.outputs[:, 0]
        errors = (output - prediction.mean[:, 0]) / rest
        noise = np.full(len(output), fit.noise_variance)
        return LeftOut(output - errors, own / rest + misfit, noise, "one run at a time")
