"""Slow twins of the column model: saturation by root finding, transport by dense matrices of fluxes, a water budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from rftune.experiments.edmf import air, kernel, scenarios
from rftune.experiments.edmf.column import checked_parameters


def saturated_liquid(theta, water, exner, pressure):
    """Liquid water of uniform air: the root of q_t - q_l = q_s(Π θ_l + L q_l / c_p)."""

    def excess(liquid):
        temperature = exner * theta + air.LATENT_HEAT / air.HEAT_CAPACITY * liquid
        return water - liquid - scenarios.saturation_humidity(temperature, pressure)

    return brentq(excess, 0.0, excess(0.0), xtol=1e-16) if excess(0.0) > 0.0 else 0.0


def triangular_mean(function, n=20_001):
    """Mean of a function of t over the triangular distribution on [-1, 1], by the trapezoidal rule."""
    t = np.linspace(-1.0, 1.0, n)
    return np.trapezoid((1.0 - np.abs(t)) * function(t), t)


def lane(block, grid, name, j):
    """A field of lane j, (n_levels + 2,)."""
    return block.reshape(grid.shape[1], -1, kernel.LANES)[:, getattr(kernel, name) // kernel.LANES, j]


def scalar(scalars, name, j):
    return scalars[getattr(kernel, name) + j]


def transported(block, scalars, grid, step, j, field):
    """θ_l or total water of lane j after an implicit step, (n_levels,), from a dense matrix built flux by flux.

    A flux through an interface is ``coefficients @ φ + constant`` with the new values φ; what leaves a level enters the
    next. Row k of the system is mass (φ_k - old_k) = step (flux in - flux out + mass · tendencies).
    """
    n = grid.shape[1] - 2
    old, reference, updraft = (lane(block, grid, prefix + field, j) for prefix in ("", "REFERENCE_", "UP_"))
    source = lane(block, grid, "HEAT", j) if field == "THETA" else -lane(block, grid, "RAIN", j)
    mass = grid[kernel.MASS]
    matrix, right = np.diag(mass[1:-1]), mass[1:-1] * (old + step * source)[1:-1]
    exchange = grid[kernel.DENSITY, 1] * scalar(scalars, "EXCHANGE", j)
    matrix[0, 0] += step * exchange
    right[0] += step * exchange * scalar(scalars, "SURFACE_" + field, j)
    for k in range(1, n):  # the interface between levels k and k + 1
        coefficients = np.zeros(n)
        mixing = grid[kernel.CONDUCTANCE, k] * lane(block, grid, "MIXING", j)[k]
        rising = lane(block, grid, "MASS_FLUX", j)[k]
        coefficients[k - 1] = mixing
        coefficients[k] = -mixing - rising
        for row, sign in ((k - 1, 1.0), (k, -1.0)):
            matrix[row] += sign * step * coefficients
            right[row] -= sign * step * rising * updraft[k]
    for k in range(1, n + 1):
        sinking = mass[k] * scalar(scalars, "SINKING", j) * lane(block, grid, "SUBSIDENCE", j)[k]
        nudging = mass[k] * lane(block, grid, "NUDGING", j)[k]
        matrix[k - 1, k - 1] += step * (sinking + nudging)
        right[k - 1] += step * nudging * reference[k]
        if k < n:
            matrix[k - 1, k] -= step * sinking
        else:
            right[k - 1] += step * sinking * old[n + 1]  # what sinks in from above the column
    return np.linalg.solve(matrix, right)


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

    storage: np.ndarray
    surface: np.ndarray
    large_scale: np.ndarray
    rain: np.ndarray
    smallest: np.ndarray

    @property
    def residual(self):
        """What the budget does not explain: rounding."""
        return self.storage - (self.surface + self.large_scale - self.rain)


def water_budget(simulator, parameters):
    """Follow the water of every column through a run with parameters (5,), step by step."""
    n = len(simulator.scenarios)
    terms = {name: np.zeros(n) for name in ("storage", "surface", "large_scale", "rain")}
    smallest = np.full(n, np.inf)
    mass = simulator.grid[kernel.MASS, 1:-1, None]
    for columns, block, scalars in blocks(simulator, parameters):
        for i in range(simulator.settings.n_steps):
            before = _field(simulator, block, kernel.WATER)[1:-1, : len(columns)].copy()
            advance(simulator, i, columns, block, scalars)
            after = _field(simulator, block, kernel.WATER)[1:-1, : len(columns)]
            liquid = _field(simulator, block, kernel.LIQUID)[1:-1, : len(columns)]
            smallest[columns] = np.minimum(smallest[columns], np.minimum(after, liquid).min(axis=0))
            terms["storage"][columns] += (mass * (after - before)).sum(axis=0)
            for name, value in _sources(simulator, i, columns, block).items():
                terms[name][columns] += value
    return WaterBudget(smallest=smallest, **terms)


def _sources(simulator, i, columns, block):
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


def blocks(simulator, parameters):
    """Numbers of the scenarios of each block, its levels and its scalars, at the start of a run."""
    checked = checked_parameters(np.asarray(parameters)[None, :])
    n = len(simulator.scenarios)
    for first in range(0, n, kernel.LANES):
        block = np.empty(simulator.grid.shape[1] * kernel.STRIDE)
        scalars = np.zeros(kernel.N_SCALARS * kernel.LANES)
        kernel.load(block, scalars, first, checked, simulator.profiles, simulator.surface)
        yield np.arange(first, min(first + kernel.LANES, n)), block, scalars


def advance(simulator, i, columns, block, scalars):
    lanes = np.minimum(columns[0] + np.arange(kernel.LANES), columns[-1])
    scalars[kernel.EXCHANGE : kernel.EXCHANGE + kernel.LANES] = simulator.swing[i, 0, lanes]
    scalars[kernel.SINKING : kernel.SINKING + kernel.LANES] = simulator.swing[i, 1, lanes]
    kernel.advance(block, scalars, simulator.grid, simulator.settings.step)


def _field(simulator, block, field):
    """A view of a field, (n_levels + 2, LANES)."""
    return block.reshape(simulator.grid.shape[1], -1, kernel.LANES)[:, field // kernel.LANES]
