"""Integrals over an interval of correlations (`correlations`), in closed form: with a uniform input, means of κ.

Distances, points and the ends of the interval are in lengthscales. Points may lie outside the interval.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.special import erf, gammainc

from rftune.data import Array
from rftune.regression.correlations import Correlation

Block = Callable[[slice, slice], Array]  # gives some rows and columns of a matrix

_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(math.pi / 2.0)


class UniformMeans(ABC):
    """Means of a correlation over a point t that is uniform between ``low`` and ``high``."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self.length = low, high, high - low

    def once(self, points: Array) -> Array:
        """Means of κ(|t - x|) at points x, any shape."""
        means: Array = (self._integral(self.high - points) + self._integral(points - self.low)) / self.length
        return means

    @property
    @abstractmethod
    def twice(self) -> float:
        """Mean of κ(|t - t'|) over both points."""

    @abstractmethod
    def products(self, points: Array) -> Block:
        """Blocks of the matrix of means of κ(|t - x_i|) κ(|t - x_j|), for points (n,)."""

    @abstractmethod
    def _integral(self, distances: Array) -> Array:
        """∫₀ᵘ κ, odd in u."""


class Gaussian(UniformMeans):
    """Of κ(u) = exp(-u²/2)."""

    @property
    def twice(self) -> float:
        length = self.length
        area = _ROOT_HALF_PI * length * math.erf(length * _ROOT_HALF) + math.expm1(-0.5 * length**2)
        return 2.0 * area / length**2

    def products(self, points: Array) -> Block:
        """The product is exp(-(x - x')²/4) exp(-(t - m)²) with m in the middle."""

        def block(rows: slice, columns: slice) -> Array:
            left, right = points[rows, None], points[columns]
            middles = 0.5 * (left + right)
            areas = 0.5 * math.sqrt(math.pi) * (erf(self.high - middles) + erf(middles - self.low))
            means: Array = np.exp(-0.25 * (left - right) ** 2) * areas / self.length
            return means

        return block

    def _integral(self, distances: Array) -> Array:
        areas: Array = _ROOT_HALF_PI * erf(distances * _ROOT_HALF)
        return areas


class PolynomialExponential(UniformMeans):
    """Of κ(u) = p(u) exp(-ru) with p(u) = 1 + p₁u + p₂u².

    For x ≤ x' at a distance δ, κ(|t - x|) κ(|t - x'|) is exp(-rδ) times p(w) p(δ - w) between them, w = t - x, and
    exp(-rδ) times p(w) p(δ + w) exp(-2rw) at a distance w beyond either; p(δ ± w) = p(δ) ± p'(δ) w + p₂w².
    """

    def __init__(self, correlation: Correlation, low: float, high: float) -> None:
        super().__init__(low, high)
        self._p1, self._p2 = correlation.polynomial
        self._rate = correlation.exponent[0]

    @property
    def twice(self) -> float:
        """∬ κ = 2 ∫ (L - u) κ(u) du."""
        moments = _moments(np.array(self.length), self._rate, 4)
        areas = self.length * moments[:3] - moments[1:]
        return float(2.0 * areas @ [1.0, self._p1, self._p2] / self.length**2)

    def products(self, points: Array) -> Block:
        above = self._beyond(self.high - points) - self._beyond(self.low - points)
        below = self._beyond(points - self.low) - self._beyond(points - self.high)

        def block(rows: slice, columns: slice) -> Array:
            left, right = points[rows, None], points[columns]
            in_order = left <= right
            distances = np.abs(left - right)
            value = 1.0 + (self._p1 + self._p2 * distances) * distances
            slope = self._p1 + 2.0 * self._p2 * distances
            first = np.minimum(left, right)
            total = self._between(value, slope, np.clip(self.high - first, 0.0, distances))
            total -= self._between(value, slope, np.clip(self.low - first, 0.0, distances))
            for factor, up, down in zip((value, slope, self._p2), above, below, strict=True):
                total += factor * np.where(in_order, up[columns] + down[rows, None], up[rows, None] + down[columns])
            total *= np.exp(-self._rate * distances) / self.length
            return total

        return block

    def _between(self, value: Array, slope: Array, end: Array) -> Array:
        """∫ p(w) (p(δ) - p'(δ) w + p₂w²) dw from 0 to the end, for values p(δ) and slopes p'(δ)."""
        p1, p2 = self._p1, self._p2
        total = (p1 * p2 - p2 * slope) / 4.0 + p2**2 / 5.0 * end
        total = (p2 * value - p1 * slope + p2) / 3.0 + total * end
        total = (p1 * value - slope) / 2.0 + total * end
        return (value + total * end) * end

    def _beyond(self, widths: Array) -> Array:
        """∫ wᵏ p(w) exp(-2rw) dw from 0 to the width for k = 0, 1, 2, (3, n); zeros where the width is negative."""
        moments = _moments(np.maximum(widths, 0.0), 2.0 * self._rate, 5)
        return moments[:3] + self._p1 * moments[1:4] + self._p2 * moments[2:]

    def _integral(self, distances: Array) -> Array:
        moments = _moments(np.abs(distances), self._rate, 3)
        areas: Array = np.copysign(moments[0] + self._p1 * moments[1] + self._p2 * moments[2], distances)
        return areas


def uniform_means(correlation: Correlation, low: float, high: float) -> UniformMeans:
    """The means of a correlation between two points."""
    if correlation.polynomial == (0.0, 0.0) and correlation.exponent == (0.0, 0.5):
        return Gaussian(low, high)
    if correlation.exponent[1] == 0.0:
        return PolynomialExponential(correlation, low, high)
    raise ValueError(f"there are means of polynomials times exp(-ru), and of exp(-u²/2); got {correlation}")


def _moments(ends: Array, rate: float, n_moments: int) -> Array:
    """∫ wⁿ exp(-rw) dw from 0 to each end, for n = 0, 1, ..., (n_moments, ...)."""
    return np.stack([gammainc(n + 1, rate * ends) * (math.factorial(n) / rate ** (n + 1)) for n in range(n_moments)])
