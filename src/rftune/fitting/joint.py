"""Covariances between points, of the kinds of models that have them in closed form."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from rftune.data import Array, Model
from rftune.fitting.least_squares import Polynomial
from rftune.fitting.surrogate import Surrogate
from rftune.regression.gp_posterior import FittedGP
from rftune.regression.scaled import ScaledModel
from rftune.regression.weight_space import NativeRegression


def joint_covariance(surrogate: Surrogate, points: Array) -> Array:
    """Covariances of every output between points, (n_points, n_points, n_outputs)."""
    parts = []
    for part in surrogate.components:
        covariance = _of_model(part.model, points)
        covariance.flat[:: len(points) + 1] += part.misfit_variance
        parts.append(part.widening**2 * covariance)
    outputs: Array = np.stack(parts, axis=-1) @ surrogate.projection.to_outputs**2
    outputs[np.diag_indices(len(points))] += surrogate.projection.lost_variance
    return outputs


def _of_model(model: Model, points: Array) -> Array:
    """Of one output, (n_points, n_points)."""
    if isinstance(model, ScaledModel):
        unit = model.scaling.factor[0, 0]
        return np.asarray(unit**2 * _of_model(model.model, model.scaling.scale_inputs(points)))
    if isinstance(model, FittedGP):
        prior = model.hyperparameters.covariances()[0]
        solved = solve_triangular(model.chol_lower[0], prior.matrix(model.inputs, points), lower=True)
        return np.asarray(prior.matrix(points, points) - solved.T @ solved)
    if isinstance(model, NativeRegression):
        phi = model.features.evaluate(points)
        solved = solve_triangular(model.chol_lower, phi.T, lower=True)
        return np.asarray(solved.T @ solved / model.features.n_features)
    if isinstance(model, Polynomial):
        solved = model.terms(points) @ model.root
        return np.asarray(solved @ solved.T)
    raise TypeError(f"{type(model).__name__} has no covariance between points here: predict standard deviations")
