"""The compiled column: one time step of the EDMF equations for a block of `LANES` columns side by side.

Columns are independent, so the innermost loops run over a fixed number of lanes, which the compiler turns into vector
instructions; a lane's digits depend neither on its place in the block nor on its neighbours. A block is one flat array,
level by level, field by field, lane by lane: with constant distances between fields the compiler can prove that they do
not overlap. Level 0 lies below the ground and level n + 1 above the top; both are there to spare the loops their ends.

docs/edmf.md has the equations. A step costs divisions, which are gathered, and waiting for results: a processor looks
only some hundred instructions ahead, so short loops over many lanes give it more to do at a time than long ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rftune.experiments.edmf.air import (
    BUOYANCY_PER_KELVIN,
    LATENT_HEAT,
    VIRTUAL,
    adjust,
    vapour_pressure,
    virtual,
)
from rftune.experiments.edmf.compilation import compiled, vector_hint

LANES = 64
wide_vectors = vector_hint()

ONE = np.float32(1.0)  # sets the precision of a quotient

# Turbulence
KARMAN, DRAG_COEFFICIENT = 0.4, 1.2e-3
TKE_SOURCE = 1e-6  # m² s⁻³, keeps quiet air above zero

# Clouds: half-width of the triangular distribution of total water, as a fraction of saturation; rain; long-wave cooling
SPREAD_MEAN, SPREAD_UPDRAFT = 0.12, 0.03
RAIN_RATE, RAIN_ONSET = 3e-4, 1e-3  # s⁻¹, kg kg⁻¹
ABSORPTION = 100.0  # m² kg⁻¹
CLEAR_COOLING = 1.5 / 86400.0  # K s⁻¹

# Updraft
SOURCE_AREA, LARGEST_AREA = 0.05, 0.2
SOURCE_STRENGTH, SOURCE_SQUARE = 1.5, 0.02  # standard deviations of the surface layer; m² s⁻²
AREA_FLOOR = 1e-9  # keeps what is left of an updraft from numbers so small that processors slow down
ADJUSTMENT_TIME = 3600.0  # s
BACKGROUND_MIXING, DRAG = 8e-4, 4e-4  # m⁻¹
BUOYANCY_WORK, DRY_SHEDDING = 0.6, 2.0
BUOYANCY_CORNER = 1e-3  # m s⁻²
SPEED_CORNER, SPEED_FLOOR = 0.2, 1e-10  # m² s⁻², of the squared speed

# Where a field of a level starts; a field of an interface stands at the level below it. The first ones are given.
_FIELDS = tuple(LANES * i for i in range(27))
THETA, WATER, TKE, REFERENCE_THETA, REFERENCE_WATER, NUDGING, SUBSIDENCE, SHEAR_SQUARE, SPREAD = _FIELDS[:9]
LIQUID, COVER, VIRTUAL_THETA, WET_THETA, WET_WATER, HUMIDITY, HEAT, RAIN, ELIMINATED = _FIELDS[9:18]
STABILITY, LENGTH, MIXING, DAMPING, MASS_FLUX, UP_THETA, UP_WATER, UP_LIQUID, UP_SOURCE = _FIELDS[18:]
STRIDE = 27 * LANES
# Where a number of the whole column starts: parameters, forcing, and the updraft (P) on its way up
_SCALARS = tuple(LANES * i for i in range(24))
ENTRAINMENT, DETRAINMENT, DIFFUSION, DISSIPATION, STABLE = _SCALARS[:5]
SURFACE_THETA, SURFACE_WATER, RADIATION, EXCHANGE, SINKING, PATH, SHADE = _SCALARS[5:12]
P_THETA, P_WATER, P_SQUARE, P_MASS, P_ENTRAIN, P_DETRAIN, P_SLOWED, P_LIQUID, P_COVER, P_LIFT = _SCALARS[12:22]
P_RATE, P_AREA = _SCALARS[22:]
N_SCALARS = 24
# Rows of the grid
DEPTH, DENSITY, MASS, CONDUCTANCE, EXNER, PRESSURE, WARMING, NEARBY, LOG_LAYER = range(9)


@compiled
def reciprocal_root(x: Any) -> Any:
    """1 / √x to the last digit or two for 1e-37 < x < 1e37.

    A root and a division in single precision and a step of third order take half as long as those in double precision.
    """
    guess = float(ONE / np.sqrt(np.float32(x)))
    miss = 1.0 - x * guess * guess
    return guess + guess * miss * (0.5 + 0.375 * miss)


@compiled
def positive_part(x: Any) -> Any:
    """The mean of max(x + t, 0) over a triangular distribution of t on [-1, 1]: max(x, 0) with a round corner."""
    tail = max(1.0 - abs(x), 0.0)
    return max(x, 0.0) + (1.0 / 6.0) * tail * tail * tail


@compiled
def diagnose_clouds(w: Any, grid: Any) -> None:
    """Cloud water, cover, virtual potential temperature and what buoyancy fluxes need, on every level."""
    wide_vectors()
    for k in range(1, grid.shape[1] - 1):
        exner, pressure, heating = grid[EXNER, k], grid[PRESSURE, k], grid[WARMING, k]
        f = w[k * STRIDE : (k + 1) * STRIDE]
        for j in range(LANES):
            f[j + HUMIDITY] = vapour_pressure(exner * f[j + THETA])
        for j in range(LANES):
            theta, water, vapour = f[j + THETA], f[j + WATER], f[j + HUMIDITY]
            liquid, cover, release, slope, humidity = adjust(vapour, theta, water, exner, pressure, f[j + SPREAD])
            wet = (heating - (1.0 + VIRTUAL) * (theta + heating * liquid)) * release
            f[j + LIQUID] = liquid
            f[j + COVER] = cover
            f[j + HUMIDITY] = humidity
            f[j + VIRTUAL_THETA] = virtual(theta, water, liquid, heating)
            f[j + WET_WATER] = wet
            f[j + WET_THETA] = wet * slope
    for k in range(1, grid.shape[1] - 1):
        f = w[(k - 1) * STRIDE : (k + 2) * STRIDE]
        for j in range(LANES):
            i = j + STRIDE
            down, up = abs(f[i + HUMIDITY] - f[j + HUMIDITY]), abs(f[i + STRIDE + HUMIDITY] - f[i + HUMIDITY])
            f[i + SPREAD] = SPREAD_MEAN + min(down, up)


@compiled
def radiate_and_rain(w: Any, s: Any, grid: Any, step: float) -> None:
    """Long-wave cooling from the cloud top down, and rain that leaves the column; both as tendencies."""
    wide_vectors()
    for j in range(LANES):
        s[j + SHADE] = 1.0
    longer = 1.0 + step * RAIN_RATE
    for k in range(grid.shape[1] - 2, 0, -1):
        mass, heating, warming = grid[MASS, k], grid[WARMING, k], grid[WARMING, k] / (LATENT_HEAT * grid[MASS, k])
        f = w[k * STRIDE : (k + 1) * STRIDE]
        for j in range(LANES):
            liquid, above = f[j + LIQUID], s[j + SHADE]
            depth = ABSORPTION * mass * liquid
            onset = liquid * liquid * (1.0 / (RAIN_ONSET * RAIN_ONSET))
            dimming, waiting = 1.0 + depth + 0.5 * depth * depth, 1.0 + longer * onset
            inverse = 1.0 / (dimming * waiting)
            below = above * waiting * inverse
            rain = RAIN_RATE * onset * liquid * dimming * inverse
            s[j + SHADE] = below
            f[j + RAIN] = rain
            f[j + HEAT] = heating * rain - s[j + RADIATION] * (above - below) * warming - CLEAR_COOLING


@compiled
def diagnose_turbulence(w: Any, s: Any, grid: Any) -> None:
    """Stability N², mixing length and eddy diffusivity on the interfaces between levels."""
    wide_vectors()
    for k in range(1, grid.shape[1] - 2):
        nearby, per_jump = grid[NEARBY, k], BUOYANCY_PER_KELVIN / grid[DEPTH, k]
        f = w[k * STRIDE : (k + 2) * STRIDE]
        for j in range(LANES):
            u = j + STRIDE
            both = 0.5 * f[j + COVER] * f[u + COVER]
            a_theta = 1.0 + 0.5 * VIRTUAL * (f[j + WATER] + f[u + WATER]) - both * (f[j + WET_THETA] + f[u + WET_THETA])
            a_water = 0.5 * VIRTUAL * (f[j + THETA] + f[u + THETA]) + both * (f[j + WET_WATER] + f[u + WET_WATER])
            jump = a_theta * (f[u + THETA] - f[j + THETA]) + a_water * (f[u + WATER] - f[j + WATER])
            stability = per_jump * jump
            energy = 0.5 * (f[j + TKE] + f[u + TKE])
            stable = max(stability, 0.0)
            inverse = s[j + STABLE] * reciprocal_root(nearby * s[j + STABLE] * s[j + STABLE] * energy + stable)
            f[j + STABILITY] = stability
            f[j + LENGTH] = math.sqrt(energy) * inverse
            f[j + MIXING] = s[j + DIFFUSION] * energy * inverse
            f[j + DAMPING] = 0.5 * s[j + DIFFUSION] * stable * inverse


@compiled
def start_updraft(w: Any, s: Any, grid: Any) -> None:
    """The updraft in the lowest level: the strongest twentieth of the turbulence there."""
    wide_vectors()
    for j in range(LANES):
        i = STRIDE + j
        theta, water = w[i + THETA], w[i + WATER]
        square = (2.0 / 3.0) * w[i + TKE] + SOURCE_SQUARE
        speed = math.sqrt(square)
        kick = SOURCE_STRENGTH * s[j + EXCHANGE] / speed
        s[j + P_THETA] = w[i + UP_THETA] = theta + kick * (s[j + SURFACE_THETA] - theta)
        s[j + P_WATER] = w[i + UP_WATER] = water + kick * (s[j + SURFACE_WATER] - water)
        s[j + P_SQUARE] = square
        s[j + P_MASS] = grid[DENSITY, 1] * SOURCE_AREA * speed
        s[j + P_ENTRAIN] = s[j + P_DETRAIN] = BACKGROUND_MIXING
        s[j + PATH] = grid[MASS, 1] * w[i + LIQUID]


@compiled
def dilute(f: Any, s: Any, depth: float) -> None:
    """Mix the level's air ``f`` into the updraft that comes from below."""
    wide_vectors()
    for j in range(LANES):
        entrained, shed = 1.0 + depth * s[j + P_ENTRAIN], 1.0 + depth * s[j + P_DETRAIN]
        slowed = 2.0 * (entrained + depth * DRAG) - 1.0
        inverse = 1.0 / (entrained * slowed * shed)
        dilution = slowed * shed * inverse
        s[j + P_THETA] = f[j + THETA] + (s[j + P_THETA] - f[j + THETA]) * dilution
        s[j + P_WATER] = f[j + WATER] + (s[j + P_WATER] - f[j + WATER]) * dilution
        s[j + P_MASS] *= entrained * entrained * slowed * inverse
        s[j + P_SLOWED] = entrained * shed * inverse


@compiled
def lift(f: Any, s: Any, exner: float, pressure: float, heating: float) -> None:
    """Condensate and buoyancy of the updraft in the level ``f``."""
    wide_vectors()
    for j in range(LANES):
        s[j + P_LIFT] = vapour_pressure(exner * s[j + P_THETA])
    for j in range(LANES):
        theta, water = s[j + P_THETA], s[j + P_WATER]
        liquid, cover, _, _, _ = adjust(s[j + P_LIFT], theta, water, exner, pressure, SPREAD_UPDRAFT)
        s[j + P_LIQUID] = liquid
        s[j + P_COVER] = cover
        s[j + P_LIFT] = BUOYANCY_PER_KELVIN * (virtual(theta, water, liquid, heating) - f[j + VIRTUAL_THETA])
        f[j + UP_THETA] = theta
        f[j + UP_WATER] = water


@compiled
def accelerate(s: Any, depth: float, density: float) -> None:
    """Speed, area and mass flux of the updraft.

    The area approaches `LARGEST_AREA` smoothly, a (1 + r³) / (1 + r³ + r⁴) with r = a / `LARGEST_AREA`, and small areas
    stay as they are to fourth order; numerator and denominator are multiplied by the fourth power of the speed.
    """
    wide_vectors()
    for j in range(LANES):
        square = (s[j + P_SQUARE] + 2.0 * BUOYANCY_WORK * depth * s[j + P_LIFT]) * s[j + P_SLOWED]
        square = SPEED_CORNER * positive_part(square * (1.0 / SPEED_CORNER)) + SPEED_FLOOR
        speed, corner = math.sqrt(square), square + SPEED_CORNER
        flux = s[j + P_MASS] * (1.0 / density) + AREA_FLOOR * speed
        ratio = flux * (1.0 / LARGEST_AREA)
        cube = ratio * ratio * ratio
        whole = square * square + cube * (speed + ratio)
        inverse = 1.0 / (whole * corner)
        area = flux * (square * speed + cube) * corner * inverse
        s[j + P_SQUARE] = square
        s[j + P_RATE] = whole * inverse
        s[j + P_AREA] = area
        s[j + P_MASS] = density * area * speed


@compiled
def exchange(f: Any, s: Any, depth: float, density: float, blend: float) -> None:
    """What the updraft leaves in a level, and its exchange with the next; ``f`` starts one level below."""
    wide_vectors()
    for j in range(LANES):
        i, buoyancy, rate, mass = j + STRIDE, s[j + P_LIFT], s[j + P_RATE], s[j + P_MASS]
        rise = BUOYANCY_CORNER * positive_part(buoyancy * (1.0 / BUOYANCY_CORNER))
        fall = rise - buoyancy
        thirst = DRY_SHEDDING * s[j + P_COVER] * max(1.0 - f[i + HUMIDITY] * f[i + HUMIDITY], 0.0)
        lost = s[j + ENTRAINMENT] * fall + s[j + DETRAINMENT] * thirst * (rise + fall)
        s[j + P_ENTRAIN] = s[j + ENTRAINMENT] * rise * rate + BACKGROUND_MIXING
        s[j + P_DETRAIN] = lost * rate + BACKGROUND_MIXING
        f[j + MASS_FLUX] += blend * (mass - f[j + MASS_FLUX])
        wet = s[j + P_AREA] * s[j + P_SQUARE] * rate * s[j + P_LIQUID]
        liquid = f[i + UP_LIQUID] + blend * (wet - f[i + UP_LIQUID])
        s[j + PATH] += depth * density * (f[i + LIQUID] + liquid)
        f[i + UP_LIQUID] = liquid
        f[i + UP_SOURCE] = mass * rise * (1.0 / density)


@compiled
def raise_updraft(w: Any, s: Any, grid: Any, step: float) -> None:
    """The updraft level by level from the second; short loops keep more lanes in flight than a long one."""
    blend = step / (step + ADJUSTMENT_TIME)
    for k in range(2, grid.shape[1] - 1):
        f = w[k * STRIDE : (k + 1) * STRIDE]
        dilute(f, s, grid[DEPTH, k])
        lift(f, s, grid[EXNER, k], grid[PRESSURE, k], grid[WARMING, k])
        accelerate(s, grid[DEPTH, k], grid[DENSITY, k])
        exchange(w[(k - 1) * STRIDE : (k + 1) * STRIDE], s, grid[DEPTH, k], grid[DENSITY, k], blend)


@compiled
def mix(w: Any, s: Any, grid: Any, step: float) -> None:
    """Implicit step of θ_l and total water: diffusion, updraft and subsidence, surface, sources, nudging."""
    wide_vectors()
    for k in range(1, grid.shape[1] - 1):
        mass, under, over = grid[MASS, k], step * grid[CONDUCTANCE, k - 1], step * grid[CONDUCTANCE, k]
        ground = step * grid[DENSITY, 1] if k == 1 else 0.0
        f = w[(k - 1) * STRIDE : (k + 1) * STRIDE]
        for j in range(LANES):
            i = j + STRIDE
            lower, upper = under * f[j + MIXING], over * f[i + MIXING]
            fall, rise = step * f[j + MASS_FLUX], step * f[i + MASS_FLUX]
            sink = step * mass * s[j + SINKING] * f[i + SUBSIDENCE]
            touch, nudge = ground * s[j + EXCHANGE], step * mass * f[i + NUDGING]
            diagonal = mass + lower + fall + upper + sink + touch + nudge
            inverse = 1.0 / (diagonal - lower * f[j + ELIMINATED])
            theta = mass * (f[i + THETA] + step * f[i + HEAT]) + touch * s[j + SURFACE_THETA]
            theta += nudge * f[i + REFERENCE_THETA] + fall * f[j + UP_THETA] - rise * f[i + UP_THETA]
            water = mass * (f[i + WATER] - step * f[i + RAIN]) + touch * s[j + SURFACE_WATER]
            water += nudge * f[i + REFERENCE_WATER] + fall * f[j + UP_WATER] - rise * f[i + UP_WATER]
            f[i + ELIMINATED] = (upper + rise + sink) * inverse
            f[i + THETA] = (theta + lower * f[j + THETA]) * inverse
            f[i + WATER] = (water + lower * f[j + WATER]) * inverse
    for k in range(grid.shape[1] - 2, 0, -1):
        f = w[k * STRIDE : (k + 2) * STRIDE]
        for j in range(LANES):
            f[j + THETA] += f[j + ELIMINATED] * f[j + STRIDE + THETA]
            f[j + WATER] += f[j + ELIMINATED] * f[j + STRIDE + WATER]


@compiled
def step_tke(w: Any, s: Any, grid: Any, step: float) -> None:
    """Implicit step of the turbulent kinetic energy; sinks are linear in the new value, which stays positive."""
    wide_vectors()
    for k in range(1, grid.shape[1] - 1):
        mass, under, over = grid[MASS, k], step * grid[CONDUCTANCE, k - 1], step * grid[CONDUCTANCE, k]
        log_below, log_above = grid[LOG_LAYER, k - 1], grid[LOG_LAYER, k]
        ground = BUOYANCY_PER_KELVIN if k == 1 else 0.0
        rough = 2.0 / (KARMAN * grid[DEPTH, 1] * DRAG_COEFFICIENT * math.sqrt(DRAG_COEFFICIENT)) if k == 1 else 0.0
        f = w[(k - 1) * STRIDE : (k + 1) * STRIDE]
        for j in range(LANES):
            i = j + STRIDE
            exchange, energy = s[j + EXCHANGE], f[i + TKE]
            friction = exchange * exchange * (1.0 / DRAG_COEFFICIENT)
            warm = s[j + SURFACE_THETA] - f[i + THETA]
            warm += VIRTUAL * f[i + THETA] * (s[j + SURFACE_WATER] - f[i + WATER])
            buoyant = ground * exchange * warm
            above = f[i + SHEAR_SQUARE] + friction * log_above + max(-f[i + STABILITY], 0.0)
            below = f[j + SHEAR_SQUARE] + friction * log_below + max(-f[j + STABILITY], 0.0)
            source = f[i + MIXING] * above + f[j + MIXING] * below
            source += rough * exchange * exchange * exchange + max(buoyant, 0.0)
            source = 0.5 * source + f[i + UP_SOURCE] + TKE_SOURCE
            length = 0.5 * (f[i + LENGTH] + f[j + LENGTH])
            drain = 0.5 * max(-buoyant, 0.0) * length + s[j + DISSIPATION] * energy * math.sqrt(energy)
            lower, upper = under * f[j + MIXING], over * f[i + MIXING]
            scale = energy * length
            damped = mass * (1.0 + step * (f[i + DAMPING] + f[j + DAMPING]))
            diagonal = damped + lower * (1.0 - f[j + ELIMINATED]) + upper
            inverse = scale / (scale * diagonal + mass * step * drain)
            f[i + ELIMINATED] = upper * inverse
            f[i + TKE] = (mass * (energy + step * source) + lower * f[j + TKE]) * inverse
    for k in range(grid.shape[1] - 2, 0, -1):
        f = w[k * STRIDE : (k + 2) * STRIDE]
        for j in range(LANES):
            f[j + TKE] += f[j + ELIMINATED] * f[j + STRIDE + TKE]


@compiled
def advance(w: Any, s: Any, grid: Any, step: float) -> None:
    """One time step of all lanes; the path is that of the state at its start."""
    diagnose_clouds(w, grid)
    radiate_and_rain(w, s, grid, step)
    diagnose_turbulence(w, s, grid)
    start_updraft(w, s, grid)
    raise_updraft(w, s, grid, step)
    mix(w, s, grid, step)
    step_tke(w, s, grid, step)


@compiled
def aligned(n: int) -> Any:
    """An array of n zeros that starts on a cache line, so that no vector lies on two."""
    room = np.zeros(n + 7)
    skipped = -(room.ctypes.data // 8) % 8
    return room[skipped : skipped + n]


@compiled
def load(w: Any, s: Any, first: int, parameters: Any, profiles: Any, surface: Any) -> None:
    """Fill a block with the columns from number ``first`` on; beyond the last, the last again."""
    n_fields, n_levels, n_scenarios = profiles.shape
    last = parameters.shape[0] * n_scenarios - 1
    w[:] = 0.0
    for j in range(LANES):
        column = min(first + j, last)
        row, scenario = column // n_scenarios, column % n_scenarios
        for i in range(parameters.shape[1]):
            s[i * LANES + j] = parameters[row, i]
        for i in range(surface.shape[0]):
            s[SURFACE_THETA + i * LANES + j] = surface[i, scenario]
        for k in range(n_levels):
            for i in range(n_fields):
                w[k * STRIDE + i * LANES + j] = profiles[i, k, scenario]


@compiled
def run(
    parameters: Any, profiles: Any, surface: Any, swing: Any, grid: Any, step: float, path: Any, begin: int, end: int
) -> None:
    """Integrate parameter vectors in scenarios; a column is a pair of them, scenarios running fastest.

    parameters (n, 5); profiles (9, n_levels + 2, n_scenarios), the fields from THETA to SPREAD at the start; surface
    (3, n_scenarios), SURFACE_THETA to RADIATION; swing (n_steps, 2, n_scenarios), EXCHANGE and SINKING; grid (9,
    n_levels + 2); step in s; path (n · n_scenarios, n_times), kg m⁻², is filled at the start of the last n_times steps,
    for the columns from number ``begin`` on that come before ``end``.
    """
    n_times, n_steps = path.shape[1], swing.shape[0]
    w, s = aligned(grid.shape[1] * STRIDE), aligned(N_SCALARS * LANES)
    for first in range(begin, end, LANES):
        load(w, s, first, parameters, profiles, surface)
        for i in range(n_steps):
            for j in range(LANES):
                s[j + EXCHANGE] = swing[i, 0, (first + j) % swing.shape[2]]
                s[j + SINKING] = swing[i, 1, (first + j) % swing.shape[2]]
            advance(w, s, grid, step)
            if i >= n_steps - n_times:
                for j in range(min(LANES, end - first)):
                    path[first + j, i - n_steps + n_times] = s[j + PATH]
