"""Which of many features to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array
from rftune.regression.weight_space import solve_dual, solve_native

SelectionName = Literal["strongest", "pursuit"]


def strongest(whitened: Array, outputs: Array, n_kept: int) -> NDArray[np.intp]:
    """Indices of features, ascending, with the largest coefficients, times the features' size, in a fit of all.

    Arguments are those of `pursuit`.
    """
    n_rows, n_features = whitened.shape
    features = np.sqrt(n_features) * whitened
    if n_rows < n_features:
        coefficients = solve_dual(features, outputs)
    else:
        coefficients, _ = solve_native(features.T @ features, features.T @ outputs)
    contributions = np.abs(coefficients) * np.sqrt(np.einsum("ij,ij->j", whitened, whitened))
    return np.sort(np.argsort(-contributions, kind="stable")[:n_kept])


def pursuit(whitened: Array, outputs: Array, n_kept: int) -> NDArray[np.intp]:
    """Indices of features, ascending, chosen greedily by what each takes off the penalised squared error.

    The error of a set of features, min |y - Φw|² + |w|², falls by (c_m)²/s_m when m is added, c_m what is left of Φᵀy
    and s_m of the diagonal of ΦᵀΦ + I after those that are in: a Cholesky factorisation with this choice of pivots. It
    is orthogonal matching pursuit with a penalty.

    Parameters
    ----------
    whitened : (n_rows, n_features)
        Φ with coefficients of unit prior variance and noise of unit variance.
    outputs : (n_rows,)
    n_kept
    """
    gram = whitened.T @ whitened
    left, diagonal = whitened.T @ outputs, np.diagonal(gram) + 1.0
    factor = np.empty((n_kept, len(gram)))
    chosen: list[int] = []
    for step in range(n_kept):
        gains = left**2 / diagonal
        gains[chosen] = -1.0
        best = int(np.argmax(gains))
        chosen.append(best)
        row = gram[best] - factor[:step, best] @ factor[:step]
        row[best] += 1.0
        row /= np.sqrt(row[best])
        factor[step] = row
        left -= left[best] / row[best] * row
        diagonal = np.maximum(diagonal - row**2, 1.0)  # never below that of the penalty, but for rounding
    return np.sort(np.array(chosen, dtype=np.intp))


SELECTIONS: dict[SelectionName, Callable[[Array, Array, int], NDArray[np.intp]]] = {
    "strongest": strongest,
    "pursuit": pursuit,
}
