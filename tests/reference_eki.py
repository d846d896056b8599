"""Textbook ensemble Kalman inversion with every matrix written out: the slow twin of rftune.tuning.optimisers.eki."""

from __future__ import annotations

import numpy as np


def eki_covariance(left, right):
    """Sample covariance of rows with 1/J, as the paper has it."""
    return sum(np.outer(a - left.mean(0), b - right.mean(0)) for a, b in zip(left, right, strict=True)) / len(left)


def eki_corrected_covariance(left, right):
    """Sample covariance whose correlations are shrunk one by one."""
    covariance = eki_covariance(left, right)
    for i in range(left.shape[1]):
        for k in range(right.shape[1]):
            r = np.corrcoef(left[:, i], right[:, k])[0, 1]
            covariance[i, k] *= r**2 / (r**2 + (1 - r**2) ** 2 / (len(left) - 1))
    return covariance


def eki_perturbed_update(ensemble, outputs, target, noise_covariance, Δt, perturbations, corrected=False):
    """eq:eki_update of the paper; perturbations (J, n_data) are the ξ of covariance Γ/Δt."""
    cross = (eki_corrected_covariance if corrected else eki_covariance)(ensemble, outputs)
    gain = cross @ np.linalg.inv(eki_covariance(outputs, outputs) + noise_covariance / Δt)
    return np.array([u + gain @ (target + ξ - g) for u, g, ξ in zip(ensemble, outputs, perturbations, strict=True)])


def eki_kalman_moments(ensemble, outputs, target, noise_covariance, Δt):
    """Mean and covariance after the Kalman update, from the ensemble's 1/J covariances."""
    cross = eki_covariance(ensemble, outputs)
    gain = cross @ np.linalg.inv(eki_covariance(outputs, outputs) + noise_covariance / Δt)
    mean = ensemble.mean(0) + gain @ (target - outputs.mean(0))
    return mean, eki_covariance(ensemble, ensemble) - gain @ cross.T


def eki_linear_posterior(forward, target, noise_covariance, prior_mean, prior_std):
    """Posterior mean and covariance of z = H u + η under independent normal priors."""
    precision = np.diag(prior_std**-2.0) + forward.T @ np.linalg.inv(noise_covariance) @ forward
    covariance = np.linalg.inv(precision)
    shift = forward.T @ np.linalg.inv(noise_covariance) @ (target - forward @ prior_mean)
    return prior_mean + covariance @ shift, covariance
