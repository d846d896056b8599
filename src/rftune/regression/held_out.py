"""Regressions on the training parts of validation folds, compiled: what each predicts at the rows that it has not seen.

The same as `weight_space.solve_native` and `solve_shared`, fold by fold and without Python's lock. Of a symmetric
matrix only the upper triangle is looked at, which LAPACK, seeing the transpose, calls the lower one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rftune import lapack
from rftune.compilation import compiled
from rftune.lapack import LOWER, PLAIN, RIGHT, TRANSPOSED, gemm, gemv, ormtr, potrf, potrs, sytrd

# Room that LAPACK's routines for tridiagonal form ask for: so many numbers per row, and some more.
_ROOM_PER_ROW, _MORE_ROOM = 32, 65 * 64


def _held_out_native(grams: Any, projected: Any, folds: Any, with_norms: bool, out: Any) -> bool:
    """Fill ``out`` fold by fold with posterior means, and where wanted ‖β‖/√M and √logdet(G + I).

    Parameters
    ----------
    grams : (n_folds, M, M)
        ΦᵀΦ/M of every training part, upper triangles; overwritten.
    projected : (n_folds, M, 1)
        ΦᵀY; overwritten with β.
    folds : (n_folds, n_rows, M)
        Features at the held-out rows, float64 or float32.
    with_norms
        Whether the two numbers follow the means of each fold.
    out : (n_folds · (n_rows + 2 or 0),)

    Returns
    -------
    bool
        False, with nothing useful in ``out``, where a matrix is not positive definite to rounding or not finite.
    """
    n_folds, n_rows, m = folds.shape
    info = np.zeros(1, np.int32)
    readout, means = np.empty(m, folds.dtype), np.empty(n_rows, folds.dtype)
    place = 0
    for fold in range(n_folds):
        system, coefficients = grams[fold], projected[fold].reshape(m)
        for i in range(m):
            system[i, i] += 1.0
        potrf(LOWER, m, system, m, info)
        if info[0] != 0:
            return False
        potrs(LOWER, m, 1, system, m, coefficients, m, info)
        square, logdet = 0.0, 0.0
        for i in range(m):
            square += coefficients[i] * coefficients[i]
            logdet += 2.0 * math.log(system[i, i])
            readout[i] = coefficients[i] / m
        if not math.isfinite(square):  # LAPACK lets NaN pass
            return False
        gemv(TRANSPOSED, m, n_rows, 1.0, folds[fold], m, readout, 1, 0.0, means, 1)
        place = store(means, square, logdet, m, with_norms, place, out)
    return True


def _held_out_shared(grams: Any, projected: Any, amplitude: Any, folds: Any, with_norms: bool, out: Any) -> bool:
    """As `_held_out_native` for scalar features shared by p outputs of amplitudes ς_o; squares and logdets add up.

    With G = Q T Qᵀ, T tridiagonal, ς_o G + I = Q (ς_o T + I) Qᵀ is solved for every output in time linear in M, so
    that one reduction serves them all. It takes a fifth of the arithmetic of all eigenvectors.

    Parameters
    ----------
    grams : (n_folds, M, M)
        ΦᵀΦ/M at unit amplitude, upper triangles; overwritten.
    projected : (n_folds, M, p)
        ΦᵀY; overwritten.
    amplitude : (p,)
    folds : (n_folds, n_rows, M)
    with_norms
    out : (n_folds · (n_rows · p + 2 or 0),)
    """
    n_folds, n_rows, m = folds.shape
    p = len(amplitude)
    info = np.zeros(1, np.int32)
    diagonal, beside, scales = np.empty(m), np.empty(m), np.empty(m)
    room = np.empty(_ROOM_PER_ROW * max(m, p) + _MORE_ROOM)
    readout, means = np.empty((m, p), folds.dtype), np.empty((n_rows, p), folds.dtype)
    place = 0
    for fold in range(n_folds):
        system, solution = grams[fold], projected[fold]
        sytrd(LOWER, m, system, m, diagonal, beside, scales, room, len(room), info)
        ormtr(RIGHT, LOWER, PLAIN, p, m, system, m, scales, solution, p, room, len(room), info)  # Qᵀ ΦᵀY
        logdet = solve_tridiagonal(diagonal, beside, amplitude, solution)
        if not math.isfinite(logdet):
            return False
        ormtr(RIGHT, LOWER, TRANSPOSED, p, m, system, m, scales, solution, p, room, len(room), info)
        square = 0.0
        for i in range(m):
            for o in range(p):
                square += solution[i, o] * solution[i, o]
                readout[i, o] = solution[i, o] * math.sqrt(amplitude[o]) / m
        if not math.isfinite(square):
            return False
        gemm(PLAIN, PLAIN, p, n_rows, m, 1.0, readout, p, folds[fold], m, 0.0, means, p)
        place = store(means, square, logdet, m, with_norms, place, out)
    return True


def _solve_tridiagonal(diagonal: Any, beside: Any, amplitude: Any, right: Any) -> float:
    """Solve (ς_o T + I) x_o = √ς_o right_o in place, right (M, p); return the sum of log determinants.

    NaN where a matrix is not positive definite: then rounding has made an eigenvalue of T negative.
    """
    m, p = right.shape
    pivots, factors = np.empty((m, p)), np.empty((m, p))
    logdet = 0.0
    for i in range(m):
        for o in range(p):
            pivot, value = 1.0 + amplitude[o] * diagonal[i], math.sqrt(amplitude[o]) * right[i, o]
            if i > 0:
                off = amplitude[o] * beside[i - 1]
                factors[i, o] = off / pivots[i - 1, o]
                pivot -= factors[i, o] * off
                value -= factors[i, o] * right[i - 1, o]
            pivots[i, o] = pivot
            right[i, o] = value
            logdet += math.log(pivot) if pivot > 0.0 else math.nan
    for i in range(m - 1, -1, -1):
        for o in range(p):
            right[i, o] /= pivots[i, o]
            if i < m - 1:
                right[i, o] -= factors[i + 1, o] * right[i + 1, o]
    return logdet


def _store(means: Any, square: float, logdet: float, m: int, with_norms: bool, place: int, out: Any) -> int:
    """Write the rows of a fold from ``place`` on; return where the next fold's begin."""
    flat = means.reshape(means.size)
    for i in range(len(flat)):
        out[place + i] = flat[i]
    place += len(flat)
    if with_norms:
        out[place] = math.sqrt(square / m)
        out[place + 1] = math.sqrt(max(logdet, 0.0))
        place += 2
    return place


# Helpers become part of their caller, as in `features.kernels`; divisions need no test for zero.
solve_tridiagonal, store = (
    compiled(helper, error_model="numpy", forceinline=True) for helper in (_solve_tridiagonal, _store)
)
held_out_native: Any = compiled(_held_out_native, error_model="numpy") if lapack.AVAILABLE else None
held_out_shared: Any = compiled(_held_out_shared, error_model="numpy") if lapack.AVAILABLE else None
