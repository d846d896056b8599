"""Exact Gaussian process with an ARD or an ANOVA kernel, one per whitened output."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Literal, Self

import numpy as np
import xarray as xr
from pydantic import model_validator

from rftune import memory
from rftune.data import Dataset, Model
from rftune.emulators import outcomes
from rftune.emulators.base import ScaledEmulator, Task
from rftune.emulators.outcomes import Tuned
from rftune.regression import exact_gp
from rftune.regression.correlations import CorrelationName
from rftune.regression.covariances import Hyperparameters, KernelName
from rftune.regression.gp_fit import GP_FITS, GPFit
from rftune.regression.marginal_likelihood import Prior
from rftune.settings import Field


class GaussianProcess(ScaledEmulator):
    """Exact Gaussian process, tuned by maximum likelihood, see `exact_gp`."""

    kernel: KernelName = Field(
        "ard", description="a product over inputs of correlations; or a sum of such products over all subsets of inputs"
    )
    correlation: CorrelationName = Field(
        "squared_exponential", description="of the values at two points on a line: how smooth the function is"
    )
    noise: Literal["known", "learned"] = Field(
        "known", description="noise variance of the data as stated, or found with the other hyperparameters"
    )
    tuning: exact_gp.SearchSettings = Field(exact_gp.SearchSettings(), description="how hyperparameters are found")
    prediction: Annotated[GPFit, GP_FITS] = Field(
        default_factory=GP_FITS.default, description="what predicts: all of the data, or features in their place"
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if self.tuning.implementation == "sklearn" and self._prior != Prior():
            raise ValueError(
                "implementation sklearn is there for kernel ard, correlation squared_exponential and noise known: use "
                "implementation fast"
            )
        if self.intervals == "leave_one_out" and not self.prediction.leaves_one_out:
            raise ValueError(
                f"intervals leave_one_out have no closed form with {self.prediction.kind_name()}: use folds"
            )
        return self

    @property
    def _prior(self) -> Prior:
        return Prior(self.kernel, self.correlation, self.noise)

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        """Kernel matrix and its gradient: scikit-learn keeps that of every lengthscale; then the fit."""
        n_matrices = 2 if self.tuning.implementation == "fast" else 2 + n_inputs
        n_tuned = min(n_samples, self.tuning.n_tune or n_samples)
        what = f"a Gaussian process of {n_samples} samples"
        memory.check(n_matrices * n_tuned**2, what, "use fewer samples, or random features")
        self.prediction.check(n_samples, n_outputs)

    def tune_scaled(self, scaled: Dataset, task: Task) -> Tuned:
        start = perf_counter()
        tuned = exact_gp.tune(scaled, self.tuning, task.rng, self._prior)
        seconds = perf_counter() - start
        failure = "the likelihood sees only noise in every output" if tuned.noise_only.all() else ""
        stopped = [message for message in tuned.messages if message.startswith(exact_gp.TIME_LIMIT)]
        variables = {
            "amplitude_variances": ("output", tuned.hyperparameters.amplitude_variances),
            "lengthscales": (("output", "input"), tuned.hyperparameters.lengthscales),
            "inclusion": (("output", "input"), tuned.hyperparameters.inclusion),
            "noise_variances": ("output", tuned.hyperparameters.noise_variances),
            "log_marginal_likelihood": ("output", tuned.log_marginal_likelihood),
            "n_evaluations": ("output", tuned.n_evaluations),
            "optimiser_message": ("output", np.array(tuned.messages, dtype=object)),
        }
        return outcomes.labelled(variables, seconds, failure="; ".join(stopped) or failure)

    def fit_scaled(self, scaled: Dataset, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        hyperparameters = Hyperparameters(
            amplitude_variances=tuned["amplitude_variances"].values,
            lengthscales=tuned["lengthscales"].values,
            inclusion=tuned["inclusion"].values,
            noise_variances=tuned["noise_variances"].values,
            correlation=self.correlation,
        )
        return self.prediction.fit(scaled, hyperparameters, rng)
