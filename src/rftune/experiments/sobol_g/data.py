"""Sobol's G function on a Saltelli design, its analytic indices, and noisy training data from the design."""

from __future__ import annotations

import numpy as np
import xarray as xr

from rftune.data import Array
from rftune.experiments import indices
from rftune.settings import Field


class SobolGData(indices.DesignSettings):
    """Noisy samples of the G function."""

    n_train_per_input: int = Field(ge=1, description="training points per dimension, drawn from the design")
    n_inputs: int = Field(3, ge=3, le=50, description="number of inputs d; every case has its own")

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.n_train_per_input * self.n_inputs, self.n_inputs, 1

    def make(self, rng: np.random.Generator) -> xr.Dataset:
        """Design, truth with its analytic indices, and the training data."""
        return indices.design_data(
            sobol_g,
            np.tile([0.0, 1.0], (self.n_inputs, 1)),
            analytic_indices(self.n_inputs),
            n_base=self.n_base,
            n_train=self.shape[0],
            noise_variance=self.noise_variance,
            rng=rng,
        )


def coefficients(n_inputs: int) -> Array:
    """a_i = (i - 1)/2: the first variable matters most."""
    return np.arange(n_inputs) / 2.0


def sobol_g(inputs: Array) -> Array:
    """Π (|4x_i - 2| + a_i)/(1 + a_i) on the unit cube, (n_samples, d) -> (n_samples,)."""
    a = coefficients(inputs.shape[1])
    values: Array = np.prod((np.abs(4.0 * inputs - 2.0) + a) / (1.0 + a), axis=1)
    return values


def analytic_indices(n_inputs: int) -> tuple[Array, Array]:
    """First and total Sobol indices, each (n_inputs,).

    The factors are independent with mean 1 and variance v_i = 1/(3(1 + a_i)²), so the product has variance
    Π(1 + v_i) - 1.
    """
    v = 1.0 / (3.0 * (1.0 + coefficients(n_inputs)) ** 2)
    product = np.prod(1.0 + v)
    variance = product - 1.0
    return v / variance, v * product / (1.0 + v) / variance
