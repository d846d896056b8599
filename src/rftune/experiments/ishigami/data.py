"""The Ishigami function on a Saltelli design, its analytic indices, and noisy training data from the design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from rftune.data import Array
from rftune.experiments import indices

N_INPUTS = 3
BOUNDS = np.array([[-np.pi, np.pi]] * N_INPUTS)


@dataclass(frozen=True)
class Settings:
    """Attributes
    ----------
    a, b
        Coefficients of the function.
    noise_variance
        Of the training outputs.
    n_train
        Number of training points, drawn from the design.
    n_base
        Base samples of the Saltelli design, which has 8·n_base rows.
    """

    a: float
    b: float
    noise_variance: float
    n_train: int
    n_base: int

    def __post_init__(self) -> None:
        indices.check_training_size(self.n_train, self.n_base, N_INPUTS)


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


def shape(settings: Settings) -> tuple[int, int, int]:
    """Numbers of training samples, inputs and outputs."""
    return settings.n_train, N_INPUTS, 1


def is_case(name: str) -> bool:
    """Whether a name is that of a case, of this config or another."""
    return name == "standard"


def cases(block: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Data settings of every case: there is one."""
    return {"standard": dict(block["data"])}


def make_data(settings: Settings, rng: np.random.Generator) -> xr.Dataset:
    """Design, truth with its analytic indices, and the training data."""
    return indices.design_data(
        partial(ishigami, a=settings.a, b=settings.b),
        BOUNDS,
        analytic_indices(settings.a, settings.b),
        n_base=settings.n_base,
        n_train=settings.n_train,
        noise_variance=settings.noise_variance,
        rng=rng,
    )
