"""A single-column eddy-diffusivity mass-flux model: five parameters in, liquid water paths of all scenarios out.

``Simulator(scenarios, settings).mean(parameters)`` is the call; the forcing is prepared once for many of them.
docs/edmf.md has the equations, `kernel` the time step.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from rftune.data import Array, as_matrix
from rftune.experiments.edmf import air, kernel, scenarios
from rftune.experiments.edmf.parameters import SIMULATED
from rftune.experiments.edmf.scenarios import Scenarios

BOUNDS = ((0.0, 1.0), (0.0, 1.0), (0.01, 1.0), (0.01, 1.0), (0.01, 1.0))

GRAMS = 1e3  # per kilogram
LONGEST_LENGTH = 200.0  # m, mixing length far from the ground
FREE_LAPSE = 5.5e-3  # K m⁻¹, above the inversion
ADVECTION_HOURS, FREE_HOURS = 12.0, 6.0  # relaxation to the reference: everywhere, and more above the inversion
WIND_STD, DIVERGENCE_STD = 0.15, 0.3  # of the fluctuations, relative


@dataclass(frozen=True)
class Settings:
    """Resolution of the column and of its time steps.

    Attributes
    ----------
    n_levels
        Of equal depth.
    height
        Top of the column, m.
    step
        In s.
    spin_up_hours, average_hours
        The path is averaged over the latter, after the former; whole numbers of steps.
    """

    n_levels: int = 50
    height: float = 2500.0
    step: float = 1200.0
    spin_up_hours: float = 12.0
    average_hours: float = 24.0

    def __post_init__(self) -> None:
        if self.n_levels < 10:
            raise ValueError(f"n_levels must be at least 10, to resolve an inversion; got {self.n_levels}")
        if not (self.height > 0.0 and self.step > 0.0):
            raise ValueError(f"height and step must be positive; got {self.height} m and {self.step} s")
        for name, hours in (("spin_up_hours", self.spin_up_hours), ("average_hours", self.average_hours)):
            steps = hours * 3600.0 / self.step
            if steps < 0.0 or abs(steps - round(steps)) > 1e-9:
                raise ValueError(f"{name} must be a whole number of steps of {self.step} s; got {hours} hours")
        if self.n_times < 1:
            raise ValueError(f"average_hours must hold at least one step of {self.step} s; got {self.average_hours}")

    @property
    def n_times(self) -> int:
        """Number of steps over which the path is averaged."""
        return round(self.average_hours * 3600.0 / self.step)

    @property
    def n_steps(self) -> int:
        return round(self.spin_up_hours * 3600.0 / self.step) + self.n_times


class Simulator:
    """The column in all scenarios, ready to be run for parameters.

    Attributes
    ----------
    scenarios, settings, n_workers
        What it was made from; threads, whose number changes no digit.
    grid, profiles, surface, swing
        What `kernel.run` takes.
    """

    def __init__(self, conditions: Scenarios, settings: Settings | None = None, n_workers: int = 1) -> None:
        self.scenarios, self.n_workers = conditions, n_workers
        self.settings = settings or Settings()
        top = self.settings.height
        if not (conditions.inversion_height < 0.9 * top).all():
            raise ValueError(
                f"inversions must lie below 0.9 of the column's height, {0.9 * top} m; the highest is at "
                f"{conditions.inversion_height.max()} m: raise settings.height"
            )
        self.grid = _grid(self.settings)
        self.profiles = _profiles(conditions, self.settings)
        self.surface = _surface(conditions)
        self.swing = _swing(conditions, self.settings)

    def series(self, parameters: Any) -> Array:
        """Liquid water path in g m⁻² at every step after the spin-up, (n, n_scenarios, n_times); else as `mean`."""
        checked = checked_parameters(parameters)
        n_columns = len(checked) * len(self.scenarios)
        path = np.empty((n_columns, self.settings.n_times))
        prepared = self.profiles, self.surface, self.swing, self.grid, self.settings.step

        def run(begin: int) -> None:
            kernel.run(checked, *prepared, path, begin, min(begin + kernel.LANES, n_columns))

        with ThreadPoolExecutor(self.n_workers) as pool:  # the kernel works on a block of columns without Python's lock
            for _ in pool.map(run, range(0, n_columns, kernel.LANES)):
                pass
        return GRAMS * path.reshape(len(checked), len(self.scenarios), -1)

    def mean(self, parameters: Any) -> Array:
        """Time-averaged liquid water path in g m⁻², (n, n_scenarios).

        Parameters
        ----------
        parameters : (n, 5)
            In the order of `SIMULATED`, within `BOUNDS`. A row's digits do not depend on the other rows.
        """
        average: Array = self.series(parameters).mean(axis=2)
        return average


def checked_parameters(parameters: Any) -> Array:
    """Return parameters (n, 5) as a matrix, or say which lies outside its bounds."""
    matrix = as_matrix("parameters", parameters, n_columns=len(SIMULATED))
    low, high = np.array(BOUNDS).T
    outside = (matrix < low) | (matrix > high)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(
            f"{SIMULATED[column]} must lie in [{low[column]:g}, {high[column]:g}]; got {matrix[row, column]:g} in "
            f"row {row}: columns are {', '.join(SIMULATED)}, in physical units, not unconstrained ones"
        )
    return matrix


def levels(settings: Settings) -> Array:
    """Heights of the levels in m, (n_levels,)."""
    heights: Array = (np.arange(settings.n_levels) + 0.5) * settings.height / settings.n_levels
    return heights


def _grid(settings: Settings) -> Array:
    """Rows of the kernel's grid, (9, n_levels + 2), the first and last level outside the column."""
    depth = settings.height / settings.n_levels
    centre = np.concatenate([levels(settings)[:1], levels(settings), levels(settings)[-1:]])
    above: Array = np.arange(settings.n_levels + 2, dtype=np.float64) * depth  # the first interface is the ground
    grid = np.empty((9, settings.n_levels + 2))
    grid[kernel.DEPTH] = depth
    grid[kernel.DENSITY] = _density(centre)
    grid[kernel.MASS] = grid[kernel.DENSITY] * depth
    grid[kernel.CONDUCTANCE] = _density(above) / depth
    grid[kernel.EXNER] = scenarios.exner(centre)
    grid[kernel.PRESSURE] = scenarios.pressure(centre)
    grid[kernel.WARMING] = air.HEATING / grid[kernel.EXNER]
    inverse = 1.0 / (kernel.KARMAN * np.maximum(above, depth))
    grid[kernel.NEARBY] = (inverse + 1.0 / LONGEST_LENGTH) ** 2
    grid[kernel.LOG_LAYER] = np.where(above > 0.0, inverse**2, 0.0)
    return grid


def _density(height: Array) -> Array:
    theta = scenarios.REFERENCE_THETA + scenarios.REFERENCE_LAPSE * height
    values: Array = scenarios.pressure(height) / (scenarios.GAS_CONSTANT * theta * scenarios.exner(height))
    return values


def _profiles(conditions: Scenarios, settings: Settings) -> Array:
    """Initial and reference state and forcing, (9, n_levels + 2, n_scenarios), in the order of the kernel's fields."""
    depth = settings.height / settings.n_levels
    z = levels(settings)[:, None]
    inversion, mixed = conditions.inversion_height, conditions.mixed_depth
    free = np.clip((z - inversion) / depth + 0.5, 0.0, 1.0)  # part of the level above the inversion
    under = conditions.air_theta + conditions.lapse * np.maximum(np.minimum(z, inversion) - mixed, 0.0)
    over = conditions.air_theta + conditions.lapse * (inversion - mixed) + conditions.inversion_theta
    over = over + FREE_LAPSE * np.maximum(z - inversion, 0.0)
    way = np.clip((z - mixed) / (inversion - mixed), 0.0, 1.0)
    moist = conditions.air_water + way * (conditions.top_water - conditions.air_water)
    theta = (1.0 - free) * under + free * over
    water = (1.0 - free) * moist + free * (conditions.top_water - conditions.inversion_water)
    ramp = np.clip((z - inversion - 150.0) / 400.0, 0.0, 1.0)
    nudging = 1.0 / ADVECTION_HOURS + ramp * ramp * (3.0 - 2.0 * ramp) / FREE_HOURS
    inner = np.empty((9, settings.n_levels + 2, len(conditions)))
    subsidence = conditions.divergence * np.minimum(z, 1.3 * inversion) / depth
    rows = (theta, water, 0.4 * (1.0 - free) + 0.01, theta, water, nudging / 3600.0, subsidence)
    for row, values in zip(
        inner, (*rows, conditions.shear**2 + 0.0 * z, kernel.SPREAD_MEAN + 0.0 * theta), strict=True
    ):
        row[1:-1] = values
    inner[:, 0] = inner[:, -1] = 0.0
    inner[:2, -1] = inner[:2, -2]  # what sinks in from above
    return inner


def _surface(conditions: Scenarios) -> Array:
    """θ and humidity of the sea surface and the cloud's long-wave cooling, (3, n_scenarios)."""
    sea = conditions.surface_temperature
    theta = sea / scenarios.exner(np.zeros(1))
    water = scenarios.SALT * scenarios.saturation_humidity(sea, scenarios.SURFACE_PRESSURE)
    return np.stack([theta, water, conditions.radiation])


def _swing(conditions: Scenarios, settings: Settings) -> Array:
    """Exchange velocity in m s⁻¹ and factor of the subsidence in the middle of each step, (n_steps, 2, n_scenarios)."""
    hours = (np.arange(settings.n_steps) + 0.5) * settings.step / 3600.0
    waves = np.sin(2.0 * np.pi * hours[:, None, None, None] / conditions.period + conditions.phase)
    noise = np.sqrt(2.0 / scenarios.N_WAVES) * waves.sum(axis=2)  # of unit variance
    noise = 1.0 + noise * np.array([[WIND_STD], [DIVERGENCE_STD]])
    noise[:, 0] *= kernel.DRAG_COEFFICIENT * conditions.wind
    swing: Array = np.ascontiguousarray(noise)
    return swing
