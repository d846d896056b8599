"""Errors that a Gaussian model would make at its data without them, in closed form: nothing is fitted again."""

from __future__ import annotations

import numpy as np

from rftune.data import Array, Dataset, Model
from rftune.scaling import noise_factor


def leave_one_out(model: Model, runs: Dataset, noise: Array) -> tuple[Array, Array]:
    """Errors and covariances that the model would have at each run had it not been fitted to it, hyperparameters kept.

    With the noise whitened to the identity, a posterior covariance P and a residual e at a run become P (I - P)⁻¹ and
    (I - P)⁻¹ e without the run. Features that were selected with the runs (``prediction.pool``) stay selected.

    Parameters
    ----------
    model
        Fitted to the runs, and any others, with this noise.
    runs
    noise : (n_outputs, n_outputs)

    Returns
    -------
    errors : (n_runs, n_outputs)
        Output less prediction, whitened.
    covariances : (n_runs, n_outputs, n_outputs)
        Of the function, without the noise, whitened.
    """
    inverse = noise_factor(noise)[1]
    seen = model.predict(runs.inputs)
    residuals = (runs.outputs - seen.mean) @ inverse.T
    covariances = inverse @ seen.covariance @ inverse.T
    rest = np.eye(len(noise)) - covariances
    if np.linalg.eigvalsh(rest).min() <= 0.0:
        raise ValueError(
            "the model's covariance at a run that it was fitted to must be below the noise, and is not: pass the runs "
            "and the noise of the fit"
        )
    errors = np.linalg.solve(rest, residuals[:, :, None])[:, :, 0]
    return np.asarray(errors), np.asarray(np.linalg.solve(rest, covariances))
