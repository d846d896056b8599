"""What an emulator's own covariance leaves out: the errors that it makes at runs it has not seen.

A Gaussian model whose few features cannot follow the data is sure of a wrong mean, and a likelihood that believes it
gives a posterior that is too narrow. The errors it would make at a training run without that run
(`leave_one_out`) need no other fit.
"""

from __future__ import annotations

import numpy as np

from rftune.data import Array, Dataset, Model
from rftune.regression.leave_one_out import leave_one_out
from rftune.scaling import noise_factor


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
