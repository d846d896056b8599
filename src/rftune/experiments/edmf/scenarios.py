"""Forcing scenarios from stratocumulus to trade cumulus, as a seeded design."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from rftune.data import Array
from rftune.experiments.edmf import air

SURFACE_PRESSURE = 1.015e5  # Pa
REFERENCE_PRESSURE = 1e5  # Pa
GAS_CONSTANT = 287.0  # J kg⁻¹ K⁻¹, of dry air
KAPPA = GAS_CONSTANT / air.HEAT_CAPACITY
REFERENCE_THETA, REFERENCE_LAPSE = 290.0, 0.004  # K, K m⁻¹: the air whose weight gives the pressure
SALT = 0.98  # vapour pressure over sea water, relative to fresh water
N_WAVES = 3
SHORTEST_PERIOD, LONGEST_PERIOD = 8.0, 36.0  # hours


@dataclass(frozen=True, eq=False)
class Scenarios:
    """Large-scale conditions of columns over the sea; every attribute but the last two has shape (n_scenarios,).

    Attributes
    ----------
    surface_temperature
        Of the sea, K.
    air_theta
        θ_l of the mixed layer, K.
    air_water
        Total water of the mixed layer, kg kg⁻¹.
    mixed_depth
        Height up to which θ_l and total water are constant, m.
    inversion_height
        In m, above `mixed_depth`.
    lapse
        Increase of θ_l with height between the two, K m⁻¹.
    top_water
        Total water under the inversion, kg kg⁻¹.
    inversion_theta
        Jump of θ_l across the inversion, K.
    inversion_water
        Drop of total water across the inversion, kg kg⁻¹.
    divergence
        Of the large-scale wind, s⁻¹: the air sinks at divergence · height, up to 1.3 times the inversion's.
    wind
        At the surface, m s⁻¹.
    shear
        Of the wind above the surface layer, s⁻¹.
    radiation
        Long-wave cooling of a thick cloud, W m⁻².
    period, phase : (2, 3, n_scenarios)
        In hours and radians, of the three waves in which wind and divergence fluctuate.
    """

    surface_temperature: Array
    air_theta: Array
    air_water: Array
    mixed_depth: Array
    inversion_height: Array
    lapse: Array
    top_water: Array
    inversion_theta: Array
    inversion_water: Array
    divergence: Array
    wind: Array
    shear: Array
    radiation: Array
    period: Array
    phase: Array

    def __post_init__(self) -> None:
        n = np.size(self.surface_temperature)
        for field in fields(self):
            values = np.array(getattr(self, field.name), dtype=np.float64)
            expected = (2, N_WAVES, n) if field.name in ("period", "phase") else (n,)
            if n == 0 or values.shape != expected or not np.isfinite(values).all():
                raise ValueError(
                    f"{field.name} must hold finite numbers of shape {expected}, one per surface temperature; got "
                    f"shape {values.shape}: make the scenarios with scenarios.design(n, rng)"
                )
            values.flags.writeable = False
            object.__setattr__(self, field.name, values)
        self._check_ranges()

    def _check_ranges(self) -> None:
        for name in ("surface_temperature", "air_theta"):
            if not ((getattr(self, name) > 270.0) & (getattr(self, name) < 310.0)).all():
                raise ValueError(f"{name} must lie between 270 and 310 K; got {getattr(self, name)}: use kelvin")
        positive = ("air_water", "top_water", "mixed_depth", "wind", "period")
        for name in positive:
            if not (getattr(self, name) > 0.0).all():
                raise ValueError(f"{name} must be positive; got {getattr(self, name)}: leave such scenarios out")
        if not (self.inversion_height > self.mixed_depth).all():
            raise ValueError(
                f"inversion_height must exceed mixed_depth; got {self.inversion_height} and {self.mixed_depth} m"
            )
        if not ((self.inversion_water >= 0.0) & (self.inversion_water < self.top_water)).all():
            raise ValueError(
                f"inversion_water, a drop, must lie between zero and top_water, or the air above holds no water; got "
                f"{self.inversion_water} and {self.top_water}"
            )

    def __len__(self) -> int:
        return len(self.surface_temperature)

    def subset(self, index: Array | list[int] | slice) -> Scenarios:
        """Return some of the scenarios."""
        return replace(self, **{field.name: getattr(self, field.name)[..., index] for field in fields(self)})

    def fluctuate(self, rng: np.random.Generator) -> Scenarios:
        """Return the same scenarios under another realisation of the fluctuations of wind and divergence."""
        period, phase = _waves(len(self), rng)
        return replace(self, period=period, phase=phase)


def exner(height: Array) -> Array:
    """Exner function of hydrostatic air with θ = `REFERENCE_THETA` + `REFERENCE_LAPSE` · height, the same for all."""
    surface = (SURFACE_PRESSURE / REFERENCE_PRESSURE) ** KAPPA
    weight = air.GRAVITY / (air.HEAT_CAPACITY * REFERENCE_LAPSE)
    values: Array = surface - weight * np.log1p(REFERENCE_LAPSE * height / REFERENCE_THETA)
    return values


def pressure(height: Array) -> Array:
    """Pressure in Pa of the air of `exner`."""
    values: Array = REFERENCE_PRESSURE * exner(height) ** (1.0 / KAPPA)
    return values


def saturation_humidity(temperature: Array, pressure: Array | float) -> Array:
    """Saturation humidity in kg kg⁻¹ by Bolton's formula; temperature in K, pressure in Pa."""
    celsius = temperature - 273.15
    vapour = 611.2 * np.exp(17.67 * celsius / (celsius + 243.5))
    values: Array = air.VAPOUR_RATIO * vapour / (pressure - air.DRYNESS * vapour)
    return values


def design(n_scenarios: int, rng: np.random.Generator) -> Scenarios:
    """Draw scenarios from cold sea under a strong, low inversion to warm sea under a weak, high one.

    A regime in [0, 1] runs through the design in even steps: the first third is stratocumulus, the last fifth trade
    cumulus. Around it every condition varies as a Latin hypercube; ``rng`` draws it, and the fluctuations.
    """
    if n_scenarios < 1:
        raise ValueError(f"n_scenarios must be at least 1; got {n_scenarios}")

    def uniform(low: float, high: float) -> Array:
        values: Array = low + (high - low) * (rng.permutation(n_scenarios) + rng.random(n_scenarios)) / n_scenarios
        return values

    regime = (np.arange(n_scenarios) + rng.random(n_scenarios)) / n_scenarios
    cumulus = _smooth_step((regime - 0.3) / 0.5)
    sea = 289.0 + 10.5 * regime + uniform(-1.0, 1.0)
    air_theta = sea / exner(np.zeros(n_scenarios)) - uniform(0.3, 1.3)
    mixed = uniform(450.0, 650.0)
    depth = (1.0 - cumulus) * uniform(150.0, 500.0) + cumulus * uniform(900.0, 1250.0)
    lapse = 0.0045 * cumulus
    # the mixed layer is just saturated at its top; under the inversion of cumulus the air is not
    air_water = _saturation(air_theta, mixed)
    drier = np.minimum(uniform(0.72, 0.90) * _saturation(air_theta + lapse * depth, mixed + depth), air_water)
    top_water = (1.0 - cumulus) * air_water + cumulus * drier
    period, phase = _waves(n_scenarios, rng)
    return Scenarios(
        *(sea, air_theta, air_water, mixed, mixed + depth, lapse, top_water),
        inversion_theta=11.5 - 7.5 * regime + uniform(-2.0, 2.0),
        inversion_water=np.minimum(uniform(1.5e-3, 7e-3), top_water - 1.2e-3),
        divergence=1e-6 * (5.0 - 2.8 * regime + uniform(-1.0, 1.0)),
        wind=uniform(5.5, 9.5),
        shear=uniform(0.0, 6e-3),
        radiation=72.0 - 22.0 * regime + uniform(-8.0, 8.0),
        period=period,
        phase=phase,
    )


def _saturation(theta: Array, height: Array) -> Array:
    """Saturation humidity of air of a potential temperature at a height."""
    return saturation_humidity(theta * exner(height), pressure(height))


def _smooth_step(x: Array) -> Array:
    clipped = np.clip(x, 0.0, 1.0)
    values: Array = clipped * clipped * (3.0 - 2.0 * clipped)
    return values


def _waves(n_scenarios: int, rng: np.random.Generator) -> tuple[Array, Array]:
    shape = (2, N_WAVES, n_scenarios)
    period = np.exp(rng.uniform(np.log(SHORTEST_PERIOD), np.log(LONGEST_PERIOD), shape))
    return period, rng.uniform(0.0, 2.0 * np.pi, shape)
