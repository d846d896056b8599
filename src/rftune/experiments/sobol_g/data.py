"""Sobol's G function on a Saltelli design, its analytic indices, and noisy training data from the design."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from rftune.data import Array
from rftune.experiments import indices


@dataclass(frozen=True)
class Settings:
    """Attributes
    ----------
    n_inputs
        d.
    noise_variance
        Of the training outputs.
    n_train_per_input
        Training points per dimension, drawn from the design.
    n_base
        Base samples of the Saltelli design, which has n_base·(2d + 2) rows.
    """

    n_inputs: int
    noise_variance: float
    n_train_per_input: int
    n_base: int

    def __post_init__(self) -> None:
        indices.check_training_size(self.n_train, self.n_base, self.n_inputs)

    @property
    def n_train(self) -> int:
        return self.n_train_per_input * self.n_inputs


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


def is_case(name: str) -> bool:
    """Whether a name is that of a case, of this config or another."""
    return re.fullmatch(r"d[0-9]+", name) is not None


def cases(block: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Data settings of every case: one per dimension."""
    return {f"d{d}": {**block["data"], "n_inputs": d} for d in block["dimensions"]}


def shape(settings: Settings) -> tuple[int, int, int]:
    """Numbers of training samples, inputs and outputs."""
    return settings.n_train, settings.n_inputs, 1


def make_data(settings: Settings, rng: np.random.Generator) -> xr.Dataset:
    """Design, truth with its analytic indices, and the training data."""
    return indices.design_data(
        sobol_g,
        np.tile([0.0, 1.0], (settings.n_inputs, 1)),
        analytic_indices(settings.n_inputs),
        n_base=settings.n_base,
        n_train=settings.n_train,
        noise_variance=settings.noise_variance,
        rng=rng,
    )
