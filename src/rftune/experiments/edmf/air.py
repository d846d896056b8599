"""Moist air: its constants, saturation and buoyancy, compiled as parts of the column's `kernel`."""

from __future__ import annotations

from typing import Any

from rftune.experiments.edmf.compilation import compiled

# SI units
GRAVITY, HEAT_CAPACITY, LATENT_HEAT = 9.81, 1004.0, 2.5e6
VAPOUR_RATIO = 0.622  # of the gas constants of dry air and vapour
DRYNESS = 1.0 - VAPOUR_RATIO
VIRTUAL = DRYNESS / VAPOUR_RATIO
HEATING = LATENT_HEAT / HEAT_CAPACITY
BUOYANCY_PER_KELVIN = GRAVITY / 295.0
BOLTON, BOLTON_KELVIN = 17.67 * 243.5, 29.65
# Eighth root of Bolton's vapour pressure (Pa) in powers of T - 280 K: relative error 1e-06 from 235 to 325 K
ROOT = (2.36875172e00, 2.03268523e-02, 6.02223840e-06, -1.22993700e-07, 4.23547638e-10, -7.68479495e-13)


@compiled
def vapour_pressure(temperature: Any) -> Any:
    """Saturation vapour pressure in Pa of a temperature in K, 235 to 325."""
    x = temperature - 280.0
    root = ROOT[5]
    for c in ROOT[4::-1]:
        root = root * x + c
    fourth = (root * root) * (root * root)
    return fourth * fourth


@compiled
def adjust(vapour: Any, theta: Any, water: Any, exner: Any, pressure: Any, spread: Any) -> Any:
    """Saturation adjustment of air whose total water has a triangular distribution of half-width ``spread`` · q_s.

    Returns mean liquid water, saturated fraction, liquid water per excess of total water over saturation, change of
    saturation humidity with θ_l (K⁻¹), and total water over saturation humidity at the liquid temperature.
    ``vapour`` is `vapour_pressure` at that temperature, exner · theta; fractions are kept as numerators.
    """
    kelvin = exner * theta - BOLTON_KELVIN
    dry = pressure - DRYNESS * vapour
    scale = dry * kelvin
    saturation = VAPOUR_RATIO * vapour  # over dry, like the next two
    width, above = spread * saturation, water * dry - saturation
    tail = max(width - abs(above), 0.0)
    widths, tails, scales = width * width, tail * tail, scale * scale
    excess = 6.0 * max(above, 0.0) * widths + tails * tail  # over 6 · widths · dry
    slope = BOLTON * pressure * saturation  # over scales, like the next
    gain = scales + HEATING * slope
    bend = BOLTON * (pressure + DRYNESS * vapour) - 2.0 * scale
    halley = gain * gain * widths + (HEATING * HEATING / 12.0) * slope * bend * excess  # Halley's step from no liquid
    inverse = 1.0 / (halley * scales * widths)
    over_halley, over_widths = widths * scales * inverse, halley * scales * inverse
    half = 0.5 * tails * over_widths
    cover = 1.0 - half if above > 0.0 else half
    liquid = (1.0 / 6.0) * excess * gain * scale * kelvin * over_halley
    humidity = water * dry * saturation * (spread * spread) * over_widths
    return liquid, cover, gain * scales * widths * over_halley, slope * exner * (halley * widths * inverse), humidity


@compiled
def virtual(theta: Any, water: Any, liquid: Any, heating: Any) -> Any:
    """Virtual potential temperature, K; ``heating`` is L/(c_p Π)."""
    return (theta + heating * liquid) * (1.0 + VIRTUAL * water - (1.0 + VIRTUAL) * liquid)
