"""Exact Gaussian process with ARD lengthscales, one per whitened output."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import xarray as xr

from rftune import memory
from rftune.data import Dataset, Model
from rftune.emulators import outcomes
from rftune.emulators.base import ScaledEmulator, Task
from rftune.emulators.outcomes import Tuned
from rftune.regression import exact_gp, gp_posterior
from rftune.settings import Field


class GaussianProcess(ScaledEmulator):
    """Exact Gaussian process with ARD lengthscales, tuned by maximum likelihood, see `exact_gp`."""

    tuning: exact_gp.SearchSettings = Field(exact_gp.SearchSettings(), description="how hyperparameters are found")

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        """Kernel matrix and its gradient: scikit-learn keeps that of every lengthscale."""
        n_matrices = 2 if self.tuning.implementation == "fast" else 2 + n_inputs
        what = f"a Gaussian process of {n_samples} samples"
        memory.check(n_matrices * n_samples**2, what, "use fewer samples, or random features")

    def tune_scaled(self, scaled: Dataset, task: Task) -> Tuned:
        start = perf_counter()
        tuned = exact_gp.tune(scaled, self.tuning, task.rng)
        seconds = perf_counter() - start
        failure = "the likelihood sees only noise in every output" if tuned.noise_only.all() else ""
        stopped = [message for message in tuned.messages if message.startswith(exact_gp.TIME_LIMIT)]
        variables = {
            "amplitude_variances": ("output", tuned.hyperparameters.amplitude_variances),
            "lengthscales": (("output", "input"), tuned.hyperparameters.lengthscales),
            "log_marginal_likelihood": ("output", tuned.log_marginal_likelihood),
            "n_evaluations": ("output", tuned.n_evaluations),
            "optimiser_message": ("output", np.array(tuned.messages, dtype=object)),
        }
        return outcomes.labelled(variables, seconds, failure="; ".join(stopped) or failure)

    def fit_scaled(self, scaled: Dataset, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        values = (tuned[name].values for name in ("amplitude_variances", "lengthscales"))
        return gp_posterior.fit(scaled, exact_gp.Hyperparameters(*values))
