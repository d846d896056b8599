"""The Ishigami function on a Saltelli design, its analytic indices, and noisy training data from the design."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from rftune.data import Array
from rftune.experiments import indices
from rftune.settings import Coefficient, Field

N_INPUTS = 3
BOUNDS = np.array([[-np.pi, np.pi]] * N_INPUTS)


class IshigamiData(indices.DesignSettings):
    """Noisy samples of the Ishigami function."""

    a: Coefficient = Field(description="coefficient of sin² x₂")
    b: Coefficient = Field(description="coefficient of x₃⁴ sin x₁")
    n_train: int = Field(ge=1, description="number of training points, drawn from the design")

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.n_train, N_INPUTS, 1

    def make(self, rng: np.random.Generator) -> xr.Dataset:
        """Design, truth with its analytic indices, and the training data."""
        return indices.design_data(
            partial(ishigami, a=self.a, b=self.b),
            BOUNDS,
            analytic_indices(self.a, self.b),
            n_base=self.n_base,
            n_train=self.n_train,
            noise_variance=self.noise_variance,
            rng=rng,
        )


def ishigami(inputs: Array, a: float, b: float) -> Array:
    """(1 + b x₃⁴) sin x₁ + a sin² x₂, (n_samples, 3) -> (n_samples,)."""
    x1, x2, x3 = inputs.T
    values: Array = (1.0 + b * x3**4) * np.sin(x1) + a * np.sin(x2) ** 2
    return values


def analytic_indices(a: float, b: float) -> tuple[Array, Array]:
    """First and total Sobol indices on [-π, π]³ (Homma and Saltelli 1996), each (3,)."""
    first_1 = 0.5 * (1.0 + b * np.pi**4 / 5.0) ** 2
    first_2 = a**2 / 8.0
    interaction_13 = b**2 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    variance = first_1 + first_2 + interaction_13
    first = np.array([first_1, first_2, 0.0]) / variance
    total = np.array([first_1 + interaction_13, first_2, interaction_13]) / variance
    return first, total
