"""Slow textbook twins of the fast paths, written as the formulas are printed; and what many tests make first."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np

from rftune.features import drawn
from rftune.features.feature_map import MAPS
from rftune.features.settings import FeatureSettings


def make_structure(family, n_inputs, n_outputs, rank=None, **settings):
    """The distribution of native features from a family's name or block, see `FeatureSettings`."""
    return FeatureSettings(family=family, rank=rank, **settings).structure(n_inputs, n_outputs)


def draw_features(structure, parameters, n_features, output_variance, rng, outputs="native", feature_map="fourier"):
    """A draw from a structure, see `drawn.draw`."""
    return drawn.draw(structure, parameters, n_features, output_variance, rng, outputs, MAPS.read(feature_map))


def add_kind(monkeypatch, folder, package, name, source):
    """Add the file of a kind to those of a package, until the test ends."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    home, module = import_module(package), f"{package}.{name}"
    monkeypatch.setattr(home, "__path__", [*home.__path__, str(folder)])
    monkeypatch.setitem(sys.modules, module, None)  # so that what the test imports is forgotten when it ends
    del sys.modules[module]


def feature_value(features, x, m):
    """φ(x; θ_m), one feature at one point, (n_blocks,); shared features at unit amplitude."""
    value = []
    for block in range(features.n_blocks):
        column = block * features.n_features + m
        amplitude = features.amplitude[block] if features.outputs == "native" else 1.0
        argument = sum(features.weights[i, column] * x[i] for i in range(len(x))) + features.biases[column]
        value.append(np.sqrt(amplitude) * np.cos(argument))
    return np.array(value)


def kernel_block(features, x, other, factor=None):
    """K_M(x, x'), (n_outputs, n_outputs): the average of outer products; shared features as k_M · A diag(ς) Aᵀ."""
    total = 0.0
    for m in range(features.n_features):
        total = total + np.outer(feature_value(features, x, m), feature_value(features, other, m))
    total = total / features.n_features
    if features.outputs == "shared":
        return total[0, 0] * factor @ np.diag(features.amplitude) @ factor.T
    return total


def kernel_matrix(features, points, others, factor=None):
    """K_M(X, X'), (n·p, n'·p), rows and columns grouped by point."""
    return np.block([[kernel_block(features, x, other, factor) for other in others] for x in points])


def gp_posterior(prior, cross, training, outputs, noise):
    """Posterior mean (n·p,) and covariance (n·p, n·p) from dense prior covariances and B_Σ."""
    system = training + np.kron(np.eye(len(outputs)), noise)
    mean = cross @ np.linalg.solve(system, outputs.ravel())
    return mean, prior - cross @ np.linalg.solve(system, cross.T)


def rbf(points, others, scales, amplitude):
    """ς/2 · exp(-½ Σ D_i² (x_i - x'_i)²): the limit of Fourier features with frequencies N(0, diag(D)²)."""
    differences = (points[:, None, :] - others[None, :, :]) * scales
    return 0.5 * amplitude * np.exp(-0.5 * np.sum(differences**2, axis=2))


def forward_map(objective, features):
    """G(u) for given features: every fold by dense algebra with K_M, unit noise, from its training rows alone."""
    rows = []
    identity = np.eye(objective.data.n_outputs)
    everything = np.arange(objective.data.n_samples)
    for fold in objective.folds:
        held = everything[fold]
        kept = np.setdiff1d(everything, held)
        x, y = objective.data.inputs[kept], objective.data.outputs[kept]
        training = kernel_matrix(features, x, x, identity)
        cross = kernel_matrix(features, objective.data.inputs[held], x, identity)
        system = training + np.eye(len(training))
        alpha = np.linalg.solve(system, y.ravel())
        rows.append(cross @ alpha)
        if objective.settings.rows == "full":
            # ‖β‖²/M = αᵀ K_M α and logdet(G + I) = logdet(K_M + I), by the paper's identities.
            rows.append([np.sqrt(alpha @ training @ alpha), np.sqrt(np.linalg.slogdet(system)[1])])
    return np.concatenate(rows)
