"""Correlations κ of a function's values at two points on a line, by their distance in lengthscales."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rftune.data import Array

CorrelationName = Literal["squared_exponential", "matern32", "matern52"]


@dataclass(frozen=True)
class Correlation:
    """κ(u) = (1 + p₁u + p₂u²) exp(-q₁u - q₂u²) for u ≥ 0.

    Attributes
    ----------
    polynomial
        p₁ and p₂.
    exponent
        q₁ and q₂.
    """

    polynomial: tuple[float, float]
    exponent: tuple[float, float]

    @property
    def coefficients(self) -> Array:
        """p₁, p₂, q₁, q₂, and s of -u κ'(u) = (s₁u + s₂u² + s₃u³ + s₄u⁴) exp(-q₁u - q₂u²), (8,).

        -u κ'(u) is the slope of κ by the logarithm of the lengthscale.
        """
        (p1, p2), (q1, q2) = self.polynomial, self.exponent
        slope = (q1 - p1, q1 * p1 + 2.0 * (q2 - p2), q1 * p2 + 2.0 * q2 * p1, 2.0 * q2 * p2)
        return np.array([p1, p2, q1, q2, *slope])

    def __call__(self, distances: Array) -> Array:
        (p1, p2), (q1, q2) = self.polynomial, self.exponent
        values: Array = (1.0 + (p1 + p2 * distances) * distances) * np.exp(-(q1 + q2 * distances) * distances)
        return values


CORRELATIONS: dict[CorrelationName, Correlation] = {
    "squared_exponential": Correlation((0.0, 0.0), (0.0, 0.5)),
    "matern32": Correlation((math.sqrt(3.0), 0.0), (math.sqrt(3.0), 0.0)),
    "matern52": Correlation((math.sqrt(5.0), 5.0 / 3.0), (math.sqrt(5.0), 0.0)),
}
