"""What goes on inside the column: profiles at the end of a run and the water budget, for one parameter vector.

It steps the same compiled functions as `column`, one step at a time, and is not made for speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array
from rftune.experiments.edmf import kernel
from rftune.experiments.edmf.column import Simulator, checked_parameters

Indices = NDArray[np.intp]

PROFILES = {
    "theta": kernel.THETA,
    "water": kernel.WATER,
    "tke": kernel.TKE,
    "liquid": kernel.LIQUID,
    "cover": kernel.COVER,
    "mixing": kernel.MIXING,
    "mass_flux": kernel.MASS_FLUX,
    "updraft_theta": kernel.UP_THETA,
    "updraft_water": kernel.UP_WATER,
    "updraft_liquid": kernel.UP_LIQUID,
}


@dataclass(frozen=True, eq=False)
class WaterBudget:
    """Water of the columns over a whole run, kg m⁻²; every attribute has shape (n_scenarios,).

    Attributes
    ----------
    storage
        Change of the column's total water.
    surface
        Evaporated from the sea.
    large_scale
        Brought by subsidence and by relaxation to the reference.
    rain
        Fallen out.
    smallest
        The smallest total or liquid water of any level at any time, kg kg⁻¹.
    """

    storage: Array
    surface: Array
    large_scale: Array
    rain: Array
    smallest: Array

    @property
    def residual(self) -> Array:
        """What the budget does not explain: rounding."""
        difference: Array = self.storage - (self.surface + self.large_scale - self.rain)
        return difference


def final_profiles(simulator: Simulator, parameters: Array) -> dict[str, Array]:
    """Fields of `PROFILES` at the end of a run, each (n_levels, n_scenarios), in SI units.

    Diffusivity and mass flux hold at the upper interface of their level; clouds, diffusivity and updraft are those that
    the last step was made with.
    """
    result = {name: np.empty((simulator.settings.n_levels, len(simulator.scenarios))) for name in PROFILES}
    for columns, block, scalars in _blocks(simulator, parameters):
        for i in range(simulator.settings.n_steps):
            _advance(simulator, i, columns, block, scalars)
        for name, field in PROFILES.items():
            result[name][:, columns] = _field(simulator, block, field)[1:-1, : len(columns)]
    return result


def water_budget(simulator: Simulator, parameters: Array) -> WaterBudget:
    """Follow the water of every column through a run with parameters (5,)."""
    n = len(simulator.scenarios)
    terms = {name: np.zeros(n) for name in ("storage", "surface", "large_scale", "rain")}
    smallest = np.full(n, np.inf)
    mass = simulator.grid[kernel.MASS, 1:-1, None]
    for columns, block, scalars in _blocks(simulator, parameters):
        for i in range(simulator.settings.n_steps):
            before = _field(simulator, block, kernel.WATER)[1:-1, : len(columns)].copy()
            _advance(simulator, i, columns, block, scalars)
            after = _field(simulator, block, kernel.WATER)[1:-1, : len(columns)]
            liquid = _field(simulator, block, kernel.LIQUID)[1:-1, : len(columns)]
            smallest[columns] = np.minimum(smallest[columns], np.minimum(after, liquid).min(axis=0))
            terms["storage"][columns] += (mass * (after - before)).sum(axis=0)
            for name, value in _sources(simulator, i, columns, block).items():
                terms[name][columns] += value
    return WaterBudget(smallest=smallest, **terms)


def _sources(simulator: Simulator, i: int, columns: Indices, block: Array) -> dict[str, Array]:
    """Water brought to and taken from the columns in step i, kg m⁻², by the implicit values of the step."""
    step, grid = simulator.settings.step, simulator.grid
    mass = step * grid[kernel.MASS, 1:-1, None]
    exchange, sinking = simulator.swing[i][:, columns]
    n = len(columns)
    water = _field(simulator, block, kernel.WATER)[:, :n]
    subsidence = _field(simulator, block, kernel.SUBSIDENCE)[1:-1, :n] * sinking * (water[2:] - water[1:-1])
    reference = _field(simulator, block, kernel.REFERENCE_WATER)[1:-1, :n]
    nudging = _field(simulator, block, kernel.NUDGING)[1:-1, :n] * (reference - water[1:-1])
    sea = simulator.surface[1, columns]
    return {
        "surface": step * grid[kernel.DENSITY, 1] * exchange * (sea - water[1]),
        "large_scale": (mass * (subsidence + nudging)).sum(axis=0),
        "rain": (mass * _field(simulator, block, kernel.RAIN)[1:-1, :n]).sum(axis=0),
    }


def _blocks(simulator: Simulator, parameters: Array) -> Iterator[tuple[Indices, Array, Array]]:
    """Numbers of the scenarios of each block, its levels and its scalars, at the start of a run."""
    checked = checked_parameters(np.asarray(parameters)[None, :])
    n = len(simulator.scenarios)
    for first in range(0, n, kernel.LANES):
        block = np.empty(simulator.grid.shape[1] * kernel.STRIDE)
        scalars = np.zeros(kernel.N_SCALARS * kernel.LANES)
        kernel.load(block, scalars, first, checked, simulator.profiles, simulator.surface)
        yield np.arange(first, min(first + kernel.LANES, n), dtype=np.intp), block, scalars


def _advance(simulator: Simulator, i: int, columns: Indices, block: Array, scalars: Array) -> None:
    lanes = np.minimum(columns[0] + np.arange(kernel.LANES), columns[-1])
    scalars[kernel.EXCHANGE : kernel.EXCHANGE + kernel.LANES] = simulator.swing[i, 0, lanes]
    scalars[kernel.SINKING : kernel.SINKING + kernel.LANES] = simulator.swing[i, 1, lanes]
    kernel.advance(block, scalars, simulator.grid, simulator.settings.step)


def _field(simulator: Simulator, block: Array, field: int) -> Array:
    """A view of a field, (n_levels + 2, LANES)."""
    view: Array = block.reshape(simulator.grid.shape[1], -1, kernel.LANES)[:, field // kernel.LANES]
    return view
