"""The exact Gaussian process as one of the `emulators`."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from rftune.data import Array, Dataset, Model
from rftune.emulators import outcomes
from rftune.emulators.outcomes import TunedEmulator
from rftune.regression import exact_gp as gp
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Scaling

if TYPE_CHECKING:
    from rftune.tuning.loop import Progress


@dataclass(frozen=True)
class GaussianProcess:
    """Exact Gaussian process with ARD lengthscales, see `gp`."""

    settings: gp.Settings = field(default_factory=gp.Settings)

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        return None

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        start = perf_counter()
        tuned = gp.tune(Scaling.of(data, noise).scale(data), self.settings, rng)
        seconds = perf_counter() - start
        failure = "the likelihood sees only noise in every output" if tuned.noise_only.all() else ""
        failure = "; ".join(message for message in tuned.messages if message.startswith(gp.TIME_LIMIT)) or failure
        variables = {
            "amplitude_variances": ("output", tuned.hyperparameters.amplitude_variances),
            "lengthscales": (("output", "input"), tuned.hyperparameters.lengthscales),
            "log_marginal_likelihood": ("output", tuned.log_marginal_likelihood),
            "n_evaluations": ("output", tuned.n_evaluations),
            "optimiser_message": ("output", np.array(tuned.messages, dtype=object)),
        }
        return outcomes.labelled(variables, seconds, failure=failure)

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        scaling = Scaling.of(data, noise)
        hyperparameters = gp.Hyperparameters(tuned["amplitude_variances"].values, tuned["lengthscales"].values)
        return ScaledModel(scaling, gp.fit(scaling.scale(data), hyperparameters))
