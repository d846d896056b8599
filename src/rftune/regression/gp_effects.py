"""What each subset of inputs contributes to a Gaussian process posterior, in closed form, and its Sobol indices.

With independent inputs, each uniform on an interval, a function is a sum over subsets S of inputs of components f_S
that depend on the inputs in S alone and have mean zero over any of them: the Hoeffding (Sobol) decomposition. It is
linear, so the components of a Gaussian process are Gaussian processes: main effects, interactions and their bands
follow from one-dimensional integrals of the kernel, a product over inputs of f_k = 1 - π_k + π_k κ_k (`covariances`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from rftune.data import Array, Model, Prediction, as_matrix
from rftune.regression.correlation_integrals import Block, uniform_means
from rftune.regression.correlations import CORRELATIONS
from rftune.regression.covariances import Covariance, triangle_panels
from rftune.regression.gp_posterior import FittedGP
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Scaling


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """First and total indices of every input, and the variance that they are shares of.

    Those of the posterior mean, a function; and the expectation of a component's variance over that of the whole, which
    counts too what the data leave open.

    Attributes
    ----------
    first, total, expected_first, expected_total : (n_outputs, n_inputs)
    variance, expected_variance : (n_outputs,)
        In squared units of the output.
    """

    first: Array
    total: Array
    variance: Array
    expected_first: Array
    expected_total: Array
    expected_variance: Array


class Effects:
    """The components of the posterior of a fitted Gaussian process, in physical coordinates.

    Parameters
    ----------
    model
        What an emulator of kind gp fits.
    bounds : (n_inputs, 2)
        Each input is uniform between these, independent of the others.
    """

    def __init__(self, model: Model, bounds: Any) -> None:
        self._scaling, fitted = _parts(model)
        limits = as_matrix("bounds", bounds, 2)
        self._n_inputs = fitted.inputs.shape[1]
        if len(limits) != self._n_inputs or not (limits[:, 0] < limits[:, 1]).all():
            raise ValueError(f"bounds must be {self._n_inputs} rows [low, high] with low < high; got {limits.tolist()}")
        low, high = self._scaling.scale_inputs(limits.T)
        parts = zip(fitted.hyperparameters.covariances(), fitted.weights, fitted.chol_lower, strict=True)
        self._outputs = [_Components(fitted.inputs, low, high, *part) for part in parts]

    @property
    def mean(self) -> Array:
        """Mean of the posterior mean over all inputs, (n_outputs,)."""
        return self._scaling.unscale_outputs(np.array([output.mean for output in self._outputs]))

    def component(self, inputs: Sequence[int], points: Any) -> Prediction:
        """Mean and covariance of f_S at points: of one input its main effect, of two their interaction.

        Parameters
        ----------
        inputs
            S, counted from 0.
        points : (n_points, len(inputs))
            Values of these inputs.
        """
        subset = self._subset(inputs)
        values = as_matrix("points", points, len(subset))
        scaled = (values - self._scaling.input_mean[subset]) / self._scaling.input_std[subset]
        means, variances = zip(*(output.component(subset, scaled) for output in self._outputs), strict=True)
        covariance = np.zeros((len(values), len(means), len(means)))
        np.einsum("ijj->ij", covariance)[:] = np.column_stack(variances)
        factor = self._scaling.factor
        return Prediction(np.column_stack(means) @ factor.T, self._scaling.unscale_covariance(covariance))

    def variances(self, subsets: Sequence[Sequence[int]]) -> tuple[Array, Array]:
        """Variance over the inputs of components f_S: of the posterior mean, and expected, (n_subsets, n_outputs).

        Outputs must have uncorrelated noise, with which each is a process of its own.
        """
        checked = [self._subset(inputs) for inputs in subsets]
        found = np.array([output.sums(checked).subsets for output in self._outputs])
        of_mean, expected = (self._in_squared_units(found[:, :, place].T) for place in (0, 1))
        return of_mean, expected

    def sobol_indices(self) -> SobolIndices:
        """First and total Sobol indices; outputs must have uncorrelated noise."""
        sums = [output.sums([[k] for k in range(self._n_inputs)]) for output in self._outputs]
        first, total = (np.array([getattr(part, name) for part in sums]) for name in ("subsets", "totals"))
        variance = np.array([part.all for part in sums])
        variances = self._in_squared_units(variance.T)
        first_shares, total_shares = (part / variance[:, None] for part in (first, total))
        return SobolIndices(
            first=first_shares[:, :, 0],
            total=total_shares[:, :, 0],
            variance=variances[0],
            expected_first=first_shares[:, :, 1],
            expected_total=total_shares[:, :, 1],
            expected_variance=variances[1],
        )

    def _subset(self, inputs: Sequence[int]) -> list[int]:
        subset = sorted(inputs)
        if not subset or len(set(subset)) < len(subset) or not 0 <= subset[0] <= subset[-1] < self._n_inputs:
            raise ValueError(f"a component has different inputs from 0 to {self._n_inputs - 1}; got {list(inputs)}")
        return subset

    def _in_squared_units(self, variances: Array) -> Array:
        """Variances (..., n_outputs) of scaled outputs in physical units."""
        factor = self._scaling.factor
        if np.count_nonzero(factor - np.diag(np.diagonal(factor))):
            raise ValueError("variances of components need outputs with uncorrelated noise: pass a diagonal covariance")
        physical: Array = variances * np.diagonal(factor) ** 2
        return physical


def _parts(model: Model) -> tuple[Scaling, FittedGP]:
    """Scaling and posterior of a model in physical coordinates."""
    if not isinstance(model, ScaledModel) or not isinstance(model.model, FittedGP):
        raise ValueError(
            f"effects are those of a fitted emulator of kind gp, with prediction exact and intervals as_fitted; got "
            f"{type(model).__name__}"
        )
    if model.scaling.input_root is not None:
        raise ValueError("whitened inputs mix the physical ones: fit the Gaussian process with inputs: standardised")
    return model.scaling, model.model


@dataclass(frozen=True, eq=False)
class _Sums:
    """Variances of the posterior mean, and expected ones, in the last axis.

    Attributes
    ----------
    subsets : (n_subsets, 2)
        Of components.
    totals : (n_inputs, 2)
        Of all components that an input has a part in.
    all : (2,)
        Of all components.
    """

    subsets: Array
    totals: Array
    all: Array


class _Components:
    """The components of a scalar posterior in scaled coordinates.

    Notation: e_k(x) is the mean of f_k(t, x) over t and E_k that over both points.
    """

    def __init__(
        self, inputs: Array, low: Array, high: Array, covariance: Covariance, weights: Array, chol_lower: Array
    ) -> None:
        self._covariance, self._weights, self._chol_lower = covariance, weights, chol_lower
        self._share = covariance.inclusion
        self._inputs = inputs / covariance.lengthscales
        ends = zip(low / covariance.lengthscales, high / covariance.lengthscales, strict=True)
        self._means = [uniform_means(CORRELATIONS[covariance.correlation], *pair) for pair in ends]
        columns = zip(self._means, self._inputs.T, strict=True)
        self._once = np.column_stack([of_input.once(x) for of_input, x in columns])
        self._twice = np.array([of_input.twice for of_input in self._means])

    @cached_property
    def _e(self) -> Array:
        """e_k at the training inputs, (n_samples, n_inputs)."""
        return 1.0 - self._share + self._share * self._once

    @cached_property
    def _ee(self) -> Array:
        """E_k, (n_inputs,)."""
        means: Array = 1.0 - self._share + self._share * self._twice
        return means

    @property
    def mean(self) -> float:
        return float(self._covariance.amplitude_variance * np.prod(self._e, axis=1) @ self._weights)

    def component(self, subset: list[int], points: Array) -> tuple[Array, Array]:
        """Mean and variance of f_S at points, each (n_points,)."""
        correlation = CORRELATIONS[self._covariance.correlation]
        others = np.setdiff1d(np.arange(len(self._ee)), subset)
        cross = np.tile(self._covariance.amplitude_variance * np.prod(self._e[:, others], axis=1), (len(points), 1))
        prior = np.full(len(points), self._covariance.amplitude_variance * np.prod(self._ee[others]))
        for k, values in zip(subset, points.T, strict=True):
            x, share = values / self._covariance.lengthscales[k], self._share[k]
            cross *= share * (correlation(np.abs(x[:, None] - self._inputs[:, k])) - self._once[:, k])
            prior *= share * (1.0 - 2.0 * self._means[k].once(x) + self._twice[k])
        solved = blas.dtrsm(1.0, self._chol_lower, cross.T, lower=1)
        return cross @ self._weights, np.maximum(prior - np.einsum("ij,ij->j", solved, solved), 0.0)

    def sums(self, subsets: list[list[int]]) -> _Sums:
        """Variances of components, and of all that an input has a part in.

        ∫ f_S² of the mean v Σ_i α_i Π_S c_k(x, x_i) Π e_k(x_i) is v² αᵀ M α, M the elementwise product over S of C_k,
        the means of c_k(t, x_i) c_k(t, x_j), and over the rest of e_k e_kᵀ. The expected one has α αᵀ - (K + σ²I)⁻¹ in
        the place of α αᵀ, and beside it the prior's variance.
        """
        inverse, _ = lapack.dpotri(self._chol_lower, lower=1)
        products = [of_input.products(x) for of_input, x in zip(self._means, self._inputs.T, strict=True)]
        sums = self._prior_sums(subsets)
        for rows, columns in triangle_panels(len(self._inputs)):
            pairs = np.multiply.outer(self._weights[rows], self._weights[columns])
            multiplicity = 2.0 * np.triu(np.ones_like(pairs), 1) + np.eye(*pairs.shape)
            factors = np.stack([pairs, pairs - inverse.T[rows, columns]])
            factors *= multiplicity * self._covariance.amplitude_variance**2
            centred = [self._centred(k, block, rows, columns) for k, block in enumerate(products)]
            self._add(sums, subsets, np.where(multiplicity > 0.0, factors, 0.0), centred, rows, columns)
        # of a component that is next to nothing rounding may leave less
        return _Sums(*(np.maximum(part, 0.0) for part in (sums.subsets, sums.totals, sums.all)))

    def _prior_sums(self, subsets: list[list[int]]) -> _Sums:
        """The prior's variances, which are in the expected ones alone."""
        v, own, rest = self._covariance.amplitude_variance, 1.0 - self._ee, self._ee
        of_subsets = [np.prod(own[subset]) * np.prod(np.delete(rest, subset)) for subset in subsets]
        priors = (np.array(of_subsets), own, np.array(1.0 - np.prod(rest)))
        return _Sums(*(v * np.stack([np.zeros_like(prior), prior], axis=-1) for prior in priors))

    def _centred(self, k: int, block: Block, rows: slice, columns: slice) -> Array:
        """C_k of some pairs of training inputs."""
        centred: Array = block(rows, columns) - np.multiply.outer(self._once[rows, k], self._once[columns, k])
        centred *= self._share[k] ** 2
        return centred

    def _add(
        self, sums: _Sums, subsets: list[list[int]], factors: Array, centred: list[Array], rows: slice, columns: slice
    ) -> None:
        """Add what a panel of pairs contributes."""
        for place, subset in enumerate(subsets):
            rest = np.prod(np.delete(self._e, subset, axis=1), axis=1)
            product = np.prod([centred[k] for k in subset], axis=0)
            sums.subsets[place] += np.einsum("i,pij,ij,j->p", rest[rows], factors, product, rest[columns])
        e = self._e
        whole = [part + np.multiply.outer(e[rows, k], e[columns, k]) for k, part in enumerate(centred)]
        before, after = _products_before(whole), _products_before(whole[::-1])[::-1]
        for k, part in enumerate(centred):
            sums.totals[k] += np.einsum("pij,ij->p", factors, part * before[k] * after[k])
        constant = np.prod(e, axis=1)
        varying = before[-1] * whole[-1] - np.multiply.outer(constant[rows], constant[columns])
        sums.all[:] += np.einsum("pij,ij->p", factors, varying)


def _products_before(arrays: list[Array]) -> list[Array]:
    """For each array the product of those before it."""
    products = [np.ones_like(arrays[0])]
    for array in arrays[:-1]:
        products.append(products[-1] * array)
    return products
