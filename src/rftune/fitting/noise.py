"""What is known of the noise: what the user states, and what repeated runs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array
from rftune.fitting.columns import Columns

_FEW_DEGREES = 10  # of freedom, below which repeated runs say little


@dataclass(frozen=True, eq=False)
class Replicates:
    """Runs at the same inputs.

    Attributes
    ----------
    groups : (n_runs,)
        The same number for the same inputs.
    degrees
        Degrees of freedom of their spread: runs less different inputs.
    variances : (n_outputs,)
        Mean squared spread about the groups' means; NaN without degrees of freedom.
    """

    groups: NDArray[np.intp]
    degrees: int
    variances: Array

    @property
    def say_something(self) -> bool:
        return self.degrees >= _FEW_DEGREES


def replicates(inputs: Array, outputs: Array) -> Replicates:
    """Runs at the same inputs, and what their outputs say of the noise."""
    _, groups = np.unique(inputs, axis=0, return_inverse=True)
    groups = np.asarray(groups).ravel()
    return Replicates(groups, len(inputs) - int(groups.max()) - 1, spread_within(groups, outputs))


def spread_within(groups: NDArray[np.intp], values: Array) -> Array:
    """Mean squared spread about the means of groups, (n_columns,); NaN where every group has one member."""
    sizes = np.bincount(groups)
    degrees = len(values) - len(sizes)
    if degrees == 0:
        return np.full(values.shape[1], np.nan)
    means = np.stack([np.bincount(groups, column) / sizes for column in values.T], axis=1)
    return np.asarray(np.sum((values - means[groups]) ** 2, axis=0) / degrees)


def stated(noise: Any, names: Sequence[str]) -> Array | None:
    """Noise as the user states it.

    Returns None where nothing is known, variances (n_outputs,) with NaN for those that are to be learned, or a
    covariance (n_outputs, n_outputs).

    Parameters
    ----------
    noise
        None, a variance for all outputs, one for each (also by name; None for one that is to be learned), or a
        covariance. Zero stands for a deterministic simulator.
    names
        Of the outputs.
    """
    if noise is None:
        return None
    n_outputs = len(names)
    if isinstance(noise, Mapping):
        unknown = [str(name) for name in noise if name not in names]
        if unknown:
            raise ValueError(f"noise names {unknown[0]!r}, which is no output; the outputs are {', '.join(names[:20])}")
        noise = [noise.get(name) for name in names]
    if isinstance(noise, Sequence) and not isinstance(noise, str):
        noise = [np.nan if entry is None else entry for entry in noise]
    expected = f"a variance, {n_outputs} variances or a ({n_outputs}, {n_outputs}) covariance"
    try:
        given = np.asarray(noise, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"noise must be {expected}; got {noise!r}") from None
    given = np.full(n_outputs, given) if given.ndim == 0 else given
    if given.shape not in ((n_outputs,), (n_outputs, n_outputs)):
        raise ValueError(f"noise must be {expected}; got shape {given.shape}")
    if np.isinf(given).any() or (given.ndim == 2 and np.isnan(given).any()):
        raise ValueError("noise variances must be finite: leave noise out where it is to be learned")
    variances = given if given.ndim == 1 else np.diagonal(given)
    if (variances < 0).any():
        raise ValueError(f"noise variances must not be negative; got {np.nanmin(variances):g}: 0 means no noise")
    return None if np.isnan(given).all() else given


def check_deterministic(known: Array | None, found: Replicates, outputs: Columns) -> None:
    """Raise a ValueError where a simulator that is said to be without noise gave two values for the same inputs."""
    if known is None or known.ndim != 1 or found.degrees == 0:
        return
    for output in np.flatnonzero(known == 0.0):
        if found.variances[output] > 0.0:
            raise ValueError(
                f"noise is stated as 0, but runs at the same inputs differ in {outputs.names[output]!r} by a standard "
                f"deviation of {np.sqrt(found.variances[output]):.3g}: leave noise out, and it is learned"
            )
