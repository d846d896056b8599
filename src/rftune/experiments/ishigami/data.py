"""The Ishigami function on a Saltelli design, its analytic indices, and noisy training data from the design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from rftune import sensitivity
from rftune.data import Array, Dataset
from rftune.experiments.protocol import pack_data

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
    n_bootstrap
        Resamples behind the intervals of the empirical indices.
    """

    a: float
    b: float
    noise_variance: float
    n_train: int
    n_base: int
    n_bootstrap: int

    def __post_init__(self) -> None:
        n_rows = self.n_base * (2 * N_INPUTS + 2)
        if not 1 <= self.n_train <= n_rows:
            raise ValueError(f"n_train must be between 1 and the design's {n_rows} rows; got {self.n_train}")


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


def make_data(settings: Settings, rng: np.random.Generator) -> xr.Dataset:
    """Design, truth with its analytic and empirical indices, and the training data."""
    design = sensitivity.saltelli(BOUNDS, settings.n_base, rng)
    truth = ishigami(design.points, settings.a, settings.b)
    rows = np.sort(rng.choice(design.n_rows, size=settings.n_train, replace=False))
    noise = np.sqrt(settings.noise_variance) * rng.standard_normal(settings.n_train)
    first, total = analytic_indices(settings.a, settings.b)
    empirical = sensitivity.indices(design, truth, settings.n_bootstrap, rng)
    return pack_data(
        Dataset(design.points[rows], (truth[rows] + noise)[:, None]),
        np.array([[settings.noise_variance]]),
        design.points,
        truth[:, None],
        train_rows=("sample", rows),
        bounds=(("input", "side"), BOUNDS),
        analytic_first=("input", first),
        analytic_total=("input", total),
        empirical_first=("input", empirical.first),
        empirical_total=("input", empirical.total),
        empirical_first_confidence=("input", empirical.first_confidence),
        empirical_total_confidence=("input", empirical.total_confidence),
    )
