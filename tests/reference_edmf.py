"""Slow textbook twins of the column model: saturation by root finding, transport by dense matrices of fluxes."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from rftune.experiments.edmf import kernel, scenarios


def saturated_liquid(theta, water, exner, pressure):
    """Liquid water of uniform air: the root of q_t - q_l = q_s(Π θ_l + L q_l / c_p)."""

    def excess(liquid):
        temperature = exner * theta + kernel.LATENT_HEAT / kernel.HEAT_CAPACITY * liquid
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
