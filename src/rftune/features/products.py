"""Gram matrices and projected targets of random features, in one pass over the rows; for any feature map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rftune.data import Array
from rftune.features.kernels import Floats

# Rows of features made at a time: their products are formed while they are in cache. The sum over blocks costs a
# (k, k) addition each, so blocks are not smaller.
BLOCK_ROWS = 1024


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
