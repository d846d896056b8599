"""The compiled inner loop: cosine features, and their Gram matrices in one pass over the rows.

Everything writes into buffers of the caller, because fresh memory costs more than the arithmetic that fills it, and
releases the GIL, so members of an ensemble can share a process, one thread and one BLAS thread each. The matrix
products are NumPy's: its ``a.T @ a`` is BLAS syrk without the GIL, while `scipy.linalg.blas` holds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rftune.compilation import compiled
from rftune.data import Array

Floats = NDArray[Any]  # float64 or float32
CosinePass = Callable[[Floats, Floats, Floats], None]

# Rows of features made at a time: their products are formed while they are in cache. The sum over blocks costs a
# (k, k) addition each, so blocks are not smaller.
BLOCK_ROWS = 1024

# cos x = -(-1)ⁿ sin r with r = x - (n + 1/2)π and |r| ≤ π/2. The high part of π has 33 bits and n + 1/2 at most 20 up
# to the limit: their product is exact with or without a fused multiply-add, and the low part carries 53 bits more.
ARGUMENT_LIMIT = 2.0**20
_PI_HIGH = float.fromhex("0x1.921fb544p+1")
_PI_LOW = float.fromhex("0x1.0b4611a626331p-33")
_INVERSE_PI = 1.0 / math.pi
_ROUNDER = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer, in vector registers

# Minimax (sin r - r)/r³ in powers of r²; relative error of sin r on |r| ≤ π/2: 1.2e-16 and 4.8e-9.
_SINE: dict[Any, tuple[Any, ...]] = {
    np.dtype(np.float64): (
        -0.1666666666666626,
        0.00833333333329126,
        -0.00019841269826536892,
        2.7557316777272157e-06,
        -2.505189095789229e-08,
        1.6048413600874667e-10,
        -7.377053971756886e-13,
    ),
    np.dtype(np.float32): tuple(
        np.float32(c)
        for c in (-0.16666660462453092, 0.008333088168848951, -0.0001981111285093957, 2.6089328617288932e-06)
    ),
}


def cosine_numpy(values: Floats, phases: Floats, amplitude: Floats) -> None:
    """Replace values (n, k) by amplitude · cos(values + phases); phases and amplitude (k,) have the values' type."""
    with np.errstate(invalid="ignore"):  # an infinite argument gives NaN here as in the compiled pass
        np.add(values, phases, out=values)
        np.cos(values, out=values)
        np.multiply(values, amplitude, out=values)


def _cosine_rows(values: Any, phases: Any, amplitude: Any, sine: Any) -> None:
    """`cosine_numpy` in the subset of Python that Numba vectorises; ``sine`` holds the polynomial's coefficients.

    Each row is treated alike, so its digits do not depend on how the rows are split.
    """
    n_rows, n_columns = values.shape
    arguments = np.empty(n_columns, values.dtype)
    for i in range(n_rows):
        row = values[i]
        beyond = False
        for j in range(n_columns):
            arguments[j] = row[j] + phases[j]
            beyond |= not (abs(arguments[j]) <= ARGUMENT_LIMIT)
        for j in range(n_columns):
            x = np.float64(arguments[j])
            n = (x * _INVERSE_PI - 0.5) + _ROUNDER - _ROUNDER
            half = n + 0.5
            r = values.dtype.type((x - half * _PI_HIGH) - half * _PI_LOW)
            odd = abs(n - 2.0 * ((n * 0.5 + _ROUNDER) - _ROUNDER))
            square = r * r
            series = sine[-1]
            for c in sine[-2::-1]:
                series = series * square + c
            row[j] = amplitude[j] * (values.dtype.type(2.0 * odd - 1.0) * (r * square * series + r))
        if beyond:  # rare: the C library reduces the argument exactly; NaN and infinity end here too
            for j in range(n_columns):
                if not (abs(arguments[j]) <= ARGUMENT_LIMIT):
                    row[j] = amplitude[j] * values.dtype.type(math.cos(np.float64(arguments[j])))


# Contraction to fused multiply-adds is all that the reduction bears: reassociation would cancel the rounding.
cosine_rows_numba = compiled(
    _cosine_rows,
    [f"void({kind}[:,::1], {kind}[::1], {kind}[::1], UniTuple({kind}, {len(sine)}))" for kind, sine in _SINE.items()],
    fastmath={"contract"},
)


def _cosine_numba(values: Floats, phases: Floats, amplitude: Floats) -> None:
    cosine_rows_numba(values, phases, amplitude, _SINE[values.dtype])


cosine_numba: CosinePass | None = None if cosine_rows_numba is None else _cosine_numba
cosine_pass: CosinePass = cosine_numba or cosine_numpy
_SINE_FLOAT64 = _SINE[np.dtype(np.float64)]


def _iterate_waves(trajectory: Any, weights: Any, phases: Any, readout: Any, offset: Any, limit: Any) -> None:
    """Fill a trajectory (n_steps + 1, p) from its first row by u -> offset + readout · cos(weightsᵀ u + phases).

    It stops where a state is not finite or beyond the limit. ``weights`` and ``readout`` are (p, k). It is here, beside
    the cosine that it calls, because Numba's cache notices changes in a function's own file only.
    """
    n_states, n_waves = weights.shape
    waves = np.empty((1, n_waves))
    ones = np.ones(n_waves)
    row = waves[0]
    state = np.empty(n_states)
    for n in range(1, len(trajectory)):
        row[:] = 0.0
        for i in range(n_states):
            for j in range(n_waves):
                row[j] += trajectory[n - 1, i] * weights[i, j]
        cosine_rows_numba(waves, phases, ones, _SINE_FLOAT64)
        for i in range(n_states):
            total = 0.0
            for j in range(n_waves):
                total += readout[i, j] * row[j]
            state[i] = offset[i] + total
            if not (abs(state[i]) <= limit):
                return
        trajectory[n] = state


@cache
def wave_iteration() -> Any:
    """`_iterate_waves` compiled, when it is first needed; None without Numba."""
    if cosine_rows_numba is None:
        return None
    matrix, vector = "float64[:,::1]", "float64[::1]"
    signature = f"void({matrix}, {matrix}, {vector}, {matrix}, {vector}, float64)"
    # The sums over waves may be reassociated: that is what vectorises them. The cosine keeps its own, stricter rules.
    return compiled(_iterate_waves, [signature], fastmath={"contract", "reassoc"})


def fourier_features(
    inputs: Floats, frequencies: Floats, phases: Floats, amplitude: Floats | float = 1.0, out: Floats | None = None
) -> Floats:
    """Return amplitude · cos(inputs · frequencies + phases), (n, k).

    The cosine of the argument is accurate to 5e-16 in float64 and 1.5e-7 in float32 at any magnitude, by the C library
    where the argument exceeds `ARGUMENT_LIMIT`; NaN and infinite arguments give NaN. The argument itself carries the
    rounding of its type: a float32 argument near 1e6 is known to 0.03 only. A row's digits do not depend on the other
    rows except through the matrix product, for which BLAS chooses its kernel by the shape.

    Parameters
    ----------
    inputs : (n, d)
        Any layout; float32 gives float32, all else float64, unless ``out`` says otherwise.
    frequencies : (d, k)
    phases : (k,)
    amplitude : (k,) or float
    out : (n, k)
        C-contiguous float64 or float32 buffer, returned filled; a fresh array when None.
    """
    shape = (len(inputs), frequencies.shape[1])
    if out is None:
        out = np.empty(shape, np.float32 if inputs.dtype == np.float32 else np.float64)
    elif out.shape != shape or out.dtype not in _SINE or not out.flags.c_contiguous:
        raise ValueError(
            f"out must be a C-contiguous float64 or float32 array of shape {shape}; got {out.dtype}, "
            f"shape {out.shape}, strides {out.strides}: pass np.empty({shape})"
        )
    # NumPy multiplies strided matrices without BLAS; a copy of the inputs is cheap beside the features.
    np.matmul(np.ascontiguousarray(inputs, out.dtype), np.ascontiguousarray(frequencies, out.dtype), out=out)
    columns = np.empty((2, shape[1]), out.dtype)  # a copy: the compiled pass takes only contiguous writeable rows
    columns[0], columns[1] = phases, amplitude
    cosine_pass(out, columns[0], columns[1])
    return out


def gram(features: Floats, out: Floats | None = None) -> Floats:
    """Return featuresᵀ features, (k, k), exactly symmetric, for features (n, k) in any layout."""
    if not (features.flags.c_contiguous or features.flags.f_contiguous):
        features = np.ascontiguousarray(features)  # strided matrices miss BLAS
    result: Floats = np.matmul(features.T, features, out=out)
    return result


@dataclass(frozen=True, eq=False)
class Products:
    """Gram matrix and projected targets of a set of rows; those of disjoint sets add up.

    Attributes
    ----------
    gram : (k, k)
        ΦᵀΦ.
    projected : (k, q)
        ΦᵀY.
    """

    gram: Array
    projected: Array

    def __add__(self, other: Products) -> Products:
        return Products(self.gram + other.gram, self.projected + other.projected)

    def __sub__(self, other: Products) -> Products:
        return Products(self.gram - other.gram, self.projected - other.projected)


def products(
    evaluate: Callable[[Floats, Floats], Floats],
    inputs: Floats,
    targets: Floats,
    buffer: Floats,
    scratch: Floats | None = None,
    out: Array | None = None,
) -> Products:
    """Form ΦᵀΦ and ΦᵀY in float64 while the features are made block by block.

    With validation folds as contiguous segments of rows, one call per segment passes over the data once: all rows are
    the sum of the segments, a training part is that sum less the fold.

    Parameters
    ----------
    evaluate
        ``evaluate(inputs, out)`` fills and returns ``out``, the features of some samples; a sample may have several
        rows (vector-valued features), which lie together.
    inputs : (n, d)
    targets : (n·rows_per_sample, q)
        In the type of the features, float64 or float32.
    buffer : (n_buffer, k)
        Overwritten. With a row for every target it holds all features at the end, else it is reused for each block.
    scratch : (k, k)
        Overwritten; in the type of the features. A fresh array when None.
    out : (k, k)
        Overwritten with the Gram matrix; in float64. A fresh array when None.

    Returns
    -------
    Products
        In float64 also for float32 features, whose blocks are summed in float64; zeros when there are no samples.
    """
    n_samples, n_features = len(inputs), buffer.shape[1]
    rows_per_sample = len(targets) // max(n_samples, 1)
    if rows_per_sample * n_samples != len(targets) or len(buffer) < rows_per_sample:
        raise ValueError(
            f"targets must have the same number of rows for each of the {n_samples} samples, and buffer at least that "
            f"number; got {len(targets)} and {len(buffer)} rows"
        )
    keep = len(buffer) >= len(targets)
    step = max(1, min(BLOCK_ROWS, len(buffer)) // max(rows_per_sample, 1))
    scratch = np.empty((n_features, n_features), buffer.dtype) if scratch is None else scratch
    total = Products(
        np.empty((n_features, n_features)) if out is None else out, np.zeros((n_features, targets.shape[1]))
    )
    if n_samples == 0:
        total.gram[:] = 0.0
    for start in range(0, n_samples, step):
        rows = slice(start * rows_per_sample, min(start + step, n_samples) * rows_per_sample)
        place = rows if keep else slice(0, rows.stop - rows.start)
        features = evaluate(inputs[start : start + step], buffer[place])
        block = gram(features, scratch)
        # A pass over the Gram matrix costs as much as a small block's features: the first is written, not added.
        if start == 0:
            np.copyto(total.gram, block)
        else:
            np.add(total.gram, block, out=total.gram)
        np.add(total.projected, features.T @ targets[rows], out=total.projected)
    return total
