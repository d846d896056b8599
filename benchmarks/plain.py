"""The same computations as one would write them first, in NumPy and SciPy alone."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rftune.data import Array
from rftune.tuning.objective import Objective


def features(objective: Objective, parameters: Array, rng: np.random.Generator) -> Array:
    """Φ of all samples, (n_samples, n_features), for a scalar output and the features that the objective draws."""
    drawn = objective.draw_features(parameters, rng)
    return np.asarray(np.sqrt(drawn.amplitude[0]) * np.cos(objective.data.inputs @ drawn.weights + drawn.biases))


def evaluate(objective: Objective, parameters: Array, rng: np.random.Generator) -> Array:
    """G(u) with the Gram matrix of each fold's training rows."""
    phi = features(objective, parameters, rng)
    outputs = objective.data.outputs[:, 0]
    n_features = phi.shape[1]
    stacked = []
    for fold in objective.folds:
        training = np.delete(phi, fold, axis=0)
        system = training.T @ training / n_features + np.eye(n_features)
        chol_lower = np.linalg.cholesky(system)
        beta = np.linalg.solve(system, training.T @ np.delete(outputs, fold))
        logdet = 2 * np.log(np.diag(chol_lower)).sum()
        stacked += [phi[fold] @ beta / n_features, [np.linalg.norm(beta) / np.sqrt(n_features), np.sqrt(logdet)]]
    return np.concatenate(stacked)


def evaluate_carefully(objective: Objective, parameters: Array, rng: np.random.Generator) -> Array:
    """G(u) with the full Gram matrix less the validation block's, and one Cholesky factor for all of a fold."""
    phi = features(objective, parameters, rng)
    outputs = objective.data.outputs[:, 0]
    n_features = phi.shape[1]
    gram, projected = phi.T @ phi, phi.T @ outputs
    stacked = []
    for fold in objective.folds:
        block = phi[fold]
        system = (gram - block.T @ block) / n_features + np.eye(n_features)
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        beta = cho_solve(factor, projected - block.T @ outputs[fold], check_finite=False)
        logdet = 2 * np.log(np.diag(factor[0])).sum()
        stacked += [block @ beta / n_features, [np.linalg.norm(beta) / np.sqrt(n_features), np.sqrt(logdet)]]
    return np.concatenate(stacked)


def eki_update(ensemble: Array, outputs: Array, target: Array, covariance: Array, step: float, noise: Array) -> Array:
    """The paper's eq:eki_update: u + C_ug (C_gg + Γ/Δt)⁻¹ (z + ξ - g) for each member, ξ ~ N(0, Γ/Δt) in ``noise``."""
    u = ensemble - ensemble.mean(axis=0)
    g = outputs - outputs.mean(axis=0)
    innovations = np.linalg.solve(g.T @ g / len(g) + covariance / step, (target + noise - outputs).T)
    return np.asarray(ensemble + (u.T @ g / len(g) @ innovations).T)
