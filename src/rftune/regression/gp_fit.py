"""What a tuned Gaussian process predicts with: all of the data, or features in their place.

To add a fit: a file in ``gp_fits``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from rftune import memory
from rftune.data import Dataset, Model
from rftune.regression.covariances import Hyperparameters
from rftune.settings import Choice, Registry


class GPFit(Choice, ABC):
    """How the posterior at given hyperparameters is formed."""

    leaves_one_out: ClassVar[bool] = True  # whether errors without a data point have a closed form

    @abstractmethod
    def fit(self, data: Dataset, hyperparameters: Hyperparameters, rng: np.random.Generator) -> Model:
        """The posterior, of data in scaled coordinates."""

    @abstractmethod
    def n_elements(self, n_samples: int, n_outputs: int) -> int:
        """Numbers that are held at once."""

    def check(self, n_samples: int, n_outputs: int) -> None:
        """Raise a ValueError where the fit cannot be in memory."""
        what = f"the fit of a Gaussian process to {n_samples} samples, {self.kind_name()},"
        memory.check(self.n_elements(n_samples, n_outputs), what, "use fewer samples, or fewer features")


GP_FITS: Registry[GPFit] = Registry("rftune.regression.gp_fits", GPFit, default="exact")
