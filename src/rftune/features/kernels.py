"""The compiled inner loop: cosine features, and the products of all validation folds in one pass over the rows.

Everything writes into buffers of the caller, because fresh memory costs more than the arithmetic that fills it, and
works without Python's lock, so members of an ensemble can share a process, one thread and one BLAS thread each.
Everything that calls the compiled cosine stands in this file, because Numba's cache looks for changes only here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rftune import lapack
from rftune.compilation import compiled, known_by_type
from rftune.lapack import LOWER, PLAIN, TRANSPOSED, gemm, gemv, syrk

Floats = NDArray[Any]  # float64 or float32
CosinePass = Callable[[Floats, Floats, Floats], None]

# cos x = -(-1)ⁿ sin r with r = x - (n + 1/2)π and |r| ≤ π/2, where π is a sum of parts. All but the last have so few
# bits that their products with n + 1/2 are exact, with or without a fused multiply-add: in float64 33 bits, and 20 of
# n + 1/2 at most, up to the limit; in float32 two parts of 11 bits each, and 13 of n + 1/2.
# Adding and subtracting the rounder rounds to an integer, in vector registers.
ARGUMENT_LIMIT = {np.dtype(np.float64): 2.0**20, np.dtype(np.float32): 2.0**13}
_PI = {
    np.dtype(np.float64): ("0x1.921fb544p+1", "0x1.0b4611a626331p-33"),
    np.dtype(np.float32): ("0x1.92p+1", "0x1.fb4p-11", "0x1.4442d2p-23"),
}
_ROUNDER = {np.dtype(np.float64): 1.5 * 2.0**52, np.dtype(np.float32): 1.5 * 2.0**23}

# Minimax (sin r - r)/r³ in powers of r²; relative error of sin r on |r| ≤ π/2: 1.2e-16 and 4.8e-9.
_SINE: dict[np.dtype[Any], tuple[float, ...]] = {
    np.dtype(np.float64): (
        -0.1666666666666626,
        0.00833333333329126,
        -0.00019841269826536892,
        2.7557316777272157e-06,
        -2.505189095789229e-08,
        1.6048413600874667e-10,
        -7.377053971756886e-13,
    ),
    np.dtype(np.float32): (-0.16666660462453092, 0.008333088168848951, -0.0001981111285093957, 2.6089328617288932e-06),
}
# In the type of the values, because a literal number would widen float32: the limit, 1/π, the rounder, 1/2, 1 and 2;
# the parts of π; the polynomial.
_CONSTANTS = {
    dtype: (
        tuple(map(dtype.type, (ARGUMENT_LIMIT[dtype], 1.0 / math.pi, _ROUNDER[dtype], 0.5, 1.0, 2.0))),
        tuple(dtype.type(float.fromhex(part)) for part in _PI[dtype]),
        tuple(map(dtype.type, _SINE[dtype])),
    )
    for dtype in _SINE
}


def cosine_numpy(values: Floats, phases: Floats, amplitude: Floats) -> None:
    """Replace values (n, k) by amplitude · cos(values + phases); phases and amplitude (k,) have the values' type."""
    with np.errstate(invalid="ignore"):  # an infinite argument gives NaN here as in the compiled pass
        np.add(values, phases, out=values)
        np.cos(values, out=values)
        np.multiply(values, amplitude, out=values)


def _constants(values: Floats) -> Any:
    """The numbers of the cosine in the type of the values."""
    return _CONSTANTS[values.dtype]


known_by_type(_constants, _CONSTANTS)


def _cosine_rows(values: Any, phases: Any, amplitude: Any) -> None:
    """`cosine_numpy` in the subset of Python that Numba vectorises.

    Each row is treated alike, so its digits do not depend on how the rows are split.
    """
    n_rows, n_columns = values.shape
    (limit, inverse_pi, rounder, half, one, two), parts_of_pi, sine = _constants(values)
    arguments = np.empty(n_columns, values.dtype)
    for i in range(n_rows):
        row = values[i]
        beyond = False
        for j in range(n_columns):
            beyond |= not (abs(row[j] + phases[j]) <= limit)
        if beyond:
            for j in range(n_columns):
                arguments[j] = row[j] + phases[j]
        for j in range(n_columns):
            x = row[j] + phases[j]
            n = (x * inverse_pi - half) + rounder - rounder
            turn = n + half
            r = x
            for part in parts_of_pi:
                r = r - turn * part
            odd = abs(n - two * ((n * half + rounder) - rounder))
            square = r * r
            series = sine[-1]
            for c in sine[-2::-1]:
                series = series * square + c
            row[j] = amplitude[j] * ((two * odd - one) * (r * square * series + r))
        if beyond:  # rare: the C library reduces the argument exactly; NaN and infinity end here too
            for j in range(n_columns):
                if not (abs(arguments[j]) <= limit):
                    row[j] = amplitude[j] * values.dtype.type(math.cos(np.float64(arguments[j])))


# Contraction to fused multiply-adds is all that the reduction bears: reassociation would cancel the rounding.
cosine_numba: Any = compiled(
    _cosine_rows, [f"void({kind}[:,::1], {kind}[::1], {kind}[::1])" for kind in _SINE], fastmath={"contract"}
)
cosine_pass: CosinePass = cosine_numba or cosine_numpy


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
        cosine_numba(waves, phases, ones)
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
    if cosine_numba is None:
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


def _make_block(inputs: Any, columns: Any, phi: Any) -> None:
    """Fill phi (n·n_blocks, k) with features at inputs (n, d); ``columns`` hold frequencies, phases and amplitudes."""
    n_samples, n_inputs = inputs.shape
    width = columns.shape[1]
    gemm(PLAIN, PLAIN, width, n_samples, n_inputs, 1.0, columns, width, inputs, n_inputs, 0.0, phi, width)
    cosine_inlined(phi.reshape(n_samples, width), columns[n_inputs], columns[n_inputs + 1])


def _multiply_block(phi: Any, targets: Any, gram: Any, projected: Any) -> None:
    """ΦᵀΦ, its upper triangle, and ΦᵀY of a block of rows."""
    n_rows, k = phi.shape
    q = targets.shape[1]
    syrk(LOWER, PLAIN, k, n_rows, 1.0, phi, k, 0.0, gram, k)
    if q == 1:
        gemv(PLAIN, k, n_rows, 1.0, phi, k, targets, 1, 0.0, projected, 1)
    else:
        gemm(PLAIN, TRANSPOSED, q, k, n_rows, 1.0, targets, q, phi, k, 0.0, projected, q)


def _add_block(block_gram: Any, block_projected: Any, gram: Any, projected: Any) -> None:
    """Add the products of a block of rows to those of a training part."""
    k, q = projected.shape
    share = 1.0 / k
    for i in range(k):
        for j in range(i, k):
            gram[i, j] += share * block_gram[i, j]
        for j in range(q):
            projected[i, j] += block_projected[i, j]


def _fold_products(
    inputs: Any,
    targets: Any,
    weights: Any,
    phases: Any,
    amplitude: Any,
    folds: Any,
    block: Any,
    columns: Any,
    block_gram: Any,
    block_projected: Any,
    grams: Any,
    projected: Any,
) -> None:
    """Cosine features at the rows of every validation fold, and the products of every fold's training part.

    The samples of the f folds come first. What all training parts share, the samples of no fold, is made once; then
    every fold is added to the training parts of the others.

    Parameters
    ----------
    inputs : (n_samples, d)
        In the type of the features, like the targets.
    targets : (n_samples·n_blocks, q)
    weights : (d, n_blocks·k)
        With the phases (n_blocks·k,) as in `drawn.Features`.
    amplitude : (n_blocks,)
    folds : (f, fold_rows, k)
        Filled with the folds' features.
    block, columns, block_gram, block_projected : (n_rows, k), (d + 2, n_blocks·k), (k, k), (k, q)
        Overwritten; in the type of the features.
    grams : (f, k, k)
        Overwritten; in float64. The upper triangles become those of ΦᵀΦ/k, the lower ones mean nothing.
    projected : (f, k, q)
        Overwritten with ΦᵀY; in float64.
    """
    n_folds, fold_rows, k = folds.shape
    n_samples, n_inputs = inputs.shape
    n_blocks = len(amplitude)
    for i in range(n_inputs):
        columns[i] = weights[i]
    columns[n_inputs] = phases
    for i in range(n_blocks):
        columns[n_inputs + 1, i * k : (i + 1) * k] = math.sqrt(amplitude[i])
    grams[0] = 0.0
    projected[0] = 0.0
    fold_samples, step = fold_rows // n_blocks, len(block) // n_blocks
    for fold in range(-1, n_folds):  # -1: the samples of no fold
        first = (n_folds if fold < 0 else fold) * fold_samples
        last = n_samples if fold < 0 else first + fold_samples
        for start in range(first, last, step):
            stop = min(start + step, last)
            place = (start - first) * n_blocks
            rows = block if fold < 0 else folds[fold, place:]
            rows = rows[: (stop - start) * n_blocks]
            make_block(inputs[start:stop], columns, rows)
            if fold < 0 or n_folds > 1:  # a single fold's own products belong to nobody
                multiply_block(rows, targets[start * n_blocks : stop * n_blocks], block_gram, block_projected)
            for part in range(n_folds):
                if part == 0 if fold < 0 else part != fold:
                    add_block(block_gram, block_projected, grams[part], projected[part])
        if fold < 0:
            for part in range(1, n_folds):
                grams[part] = grams[0]
                projected[part] = projected[0]


# Helpers become part of their caller: of several copies of a function, whose products may be fused differently, the
# process that compiles could run another than those that load.
cosine_inlined, make_block, multiply_block, add_block = (
    compiled(helper, fastmath={"contract"}, forceinline=True)
    for helper in (_cosine_rows, _make_block, _multiply_block, _add_block)
)
fold_products: Any = compiled(_fold_products, fastmath={"contract"}) if lapack.AVAILABLE else None
