"""The compiled inner loops of a product over inputs of one-dimensional kernels: its matrix, the sums of its gradient.

Each factor is 1 - π + π κ(u) with κ(u) = (1 + p₁u + p₂u²) exp(-q₁u - q₂u²), u the distance in lengthscales. No
loop keeps anything of size N x N x d: the gradient forms the factors again, which is cheaper than reading them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rftune.compilation import compiled
from rftune.data import Array

# exp x = 2ⁿ exp r with n the integer next to x/ln 2 and |r| ≤ ln 2/2. The high part of ln 2 has 33 bits and n at most
# 10: their product is exact. Taylor's series of (exp r - 1 - r)/r² to r¹⁰ is then exact to rounding.
_LOWEST = -708.0  # its exponential is next to the smallest normal number
_INVERSE_LN2 = 1.0 / math.log(2.0)
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_SERIES = tuple(1.0 / math.factorial(k) for k in range(12, 1, -1))

# The product of factors that are not below it stays away from 0/0; a kernel value there is zero beside any noise.
_SMALLEST = 1e-300


def _exp_of_negative(x: Any) -> Any:
    """Exponential of a number that is not positive, in the subset of Python that Numba vectorises; to 3e-16."""
    x = max(x, _LOWEST)
    n = math.floor(x * _INVERSE_LN2 + 0.5)
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    series = _SERIES[0]
    for c in _SERIES[1:]:
        series = series * r + c
    power: Any = np.int64((np.int64(n) + 1023) << 52)
    return (1.0 + (r + r * r * series)) * power.view(np.float64)


# Reassociation would merge the two parts of ln 2; the sums below may be reassociated, which is what vectorises them. It
# becomes part of its callers: of several copies, whose products are fused differently, the process that compiles could
# run another than those that load.
_exp_numba = compiled(_exp_of_negative, fastmath={"contract"}, forceinline=True)


def _fill_rows(
    left: Any, right: Any, inclusion: Any, coefficients: Any, amplitude: Any, is_triangular: Any, out: Any
) -> None:
    p1, p2, q1, q2 = coefficients[0], coefficients[1], coefficients[2], coefficients[3]
    for i in range(len(left)):
        first = i if is_triangular else 0
        row = out[i, first:]
        row[:] = amplitude
        for k in range(len(right)):
            x, share, others = left[i, k], inclusion[k], right[k, first:]
            for j in range(len(row)):
                u = abs(x - others[j])
                row[j] *= (1.0 - share) + share * (1.0 + (p1 + p2 * u) * u) * _exp_numba(-(q1 + q2 * u) * u)


def _sum_slopes(left: Any, right: Any, inclusion: Any, coefficients: Any, weighted: Any, out: Any) -> None:
    p1, p2, q1, q2 = coefficients[0], coefficients[1], coefficients[2], coefficients[3]
    s1, s2, s3, s4 = coefficients[4], coefficients[5], coefficients[6], coefficients[7]
    for i in range(len(left)):
        weights = weighted[i, i + 1 :]
        for k in range(len(right)):
            x, share, others = left[i, k], inclusion[k], right[k, i + 1 :]
            of_lengthscale, of_inclusion = 0.0, 0.0
            for j in range(len(weights)):
                u = abs(x - others[j])
                exponential = _exp_numba(-(q1 + q2 * u) * u)
                correlation = (1.0 + (p1 + p2 * u) * u) * exponential
                ratio = weights[j] / max((1.0 - share) + share * correlation, _SMALLEST)
                of_lengthscale += ratio * (((s4 * u + s3) * u + s2) * u + s1) * u * exponential
                of_inclusion += ratio * (correlation - 1.0)
            out[0, k] += 2.0 * share * of_lengthscale
            out[1, k] += 2.0 * of_inclusion


_fill_numba = None if _exp_numba is None else compiled(_fill_rows, fastmath={"contract"})
_slopes_numba = None if _exp_numba is None else compiled(_sum_slopes, fastmath={"contract", "reassoc"})


def fill(left: Array, right: Array, inclusion: Array, coefficients: Array, amplitude: float, out: Array) -> None:
    """Fill ``out`` (n, m) with the kernel between two sets of points.

    Parameters
    ----------
    left : (n, d)
        In lengthscales.
    right : (d, m)
        The same of the others, transposed.
    inclusion : (d,)
        π.
    coefficients : (8,)
        Of `correlations.Correlation.coefficients`.
    amplitude
        Factor of all.
    """
    (_fill_numba or fill_numpy)(left, right, inclusion, coefficients, amplitude, False, out)


def fill_upper(left: Array, right: Array, inclusion: Array, coefficients: Array, amplitude: float, out: Array) -> None:
    """As `fill`, of a set of points with itself: the upper triangle and the diagonal alone."""
    (_fill_numba or fill_numpy)(left, right, inclusion, coefficients, amplitude, True, out)


def slopes(left: Array, right: Array, inclusion: Array, coefficients: Array, weighted: Array) -> Array:
    """Sums over all pairs of points of weights times the slopes of the kernel's logarithm, (2, d).

    In the first row slopes by the logarithm of each lengthscale, in the second by each π.
    The symmetric weights are given by their upper triangle; the diagonal does not count.
    """
    out = np.zeros((2, len(right)))
    (_slopes_numba or slopes_numpy)(left, right, inclusion, coefficients, weighted, out)
    return out


def fill_numpy(
    left: Array, right: Array, inclusion: Array, coefficients: Array, amplitude: float, is_triangular: bool, out: Array
) -> None:
    """`fill` and `fill_upper` without Numba."""
    p1, p2, q1, q2 = coefficients[:4]
    for i, point in enumerate(left):
        first = i if is_triangular else 0
        u = np.abs(point[:, None] - right[:, first:])
        correlation = (1.0 + (p1 + p2 * u) * u) * np.exp(-(q1 + q2 * u) * u)
        out[i, first:] = amplitude * np.prod((1.0 - inclusion)[:, None] + inclusion[:, None] * correlation, axis=0)


def slopes_numpy(left: Array, right: Array, inclusion: Array, coefficients: Array, weighted: Array, out: Array) -> None:
    """`slopes` without Numba, added to ``out``."""
    p1, p2, q1, q2, s1, s2, s3, s4 = coefficients
    shares = inclusion[:, None]
    for i, point in enumerate(left):
        u = np.abs(point[:, None] - right[:, i + 1 :])
        exponential = np.exp(-(q1 + q2 * u) * u)
        correlation = (1.0 + (p1 + p2 * u) * u) * exponential
        ratio = weighted[i, i + 1 :] / np.maximum((1.0 - shares) + shares * correlation, _SMALLEST)
        out[0] += 2.0 * inclusion * (ratio * (((s4 * u + s3) * u + s2) * u + s1) * u * exponential).sum(axis=1)
        out[1] += 2.0 * (ratio * (correlation - 1.0)).sum(axis=1)
