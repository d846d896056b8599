"""What an emulator's own covariance leaves out: the errors that it makes at runs it has not seen.

A Gaussian model whose few features cannot follow the data is sure of a wrong mean, and a likelihood that believes it
gives a posterior that is too narrow. The errors it would make at a training run without that run follow from its
posterior at the run, in closed form, so nothing is fitted again.
"""

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


def covariance(model: Model, runs: Dataset, noise: Array) -> Array:
    """Second moment of the leave-one-out errors at some noiseless runs beyond what the model expects there.

    (n_outputs, n_outputs), not whitened. The moment is shrunk (Ledoit & Wolf), because runs may be few; of the
    difference the positive part is taken.
    """
    from sklearn.covariance import ledoit_wolf  # takes a second to import, which most users of this module do not need

    errors, expected = leave_one_out(model, runs, noise)
    second_moment, _ = ledoit_wolf(errors, assume_centered=True)
    excess = second_moment - expected.mean(axis=0)
    values, vectors = np.linalg.eigh(0.5 * (excess + excess.T))
    root = noise_factor(noise)[0] @ vectors * np.sqrt(np.maximum(values, 0.0))
    found: Array = root @ root.T
    return found
