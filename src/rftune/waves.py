"""Sums of plane waves: what the mean of a cosine random feature emulator is, iterated as a next-step map.

A step of one trajectory is too little work for a call of the emulator, whose checks and copies cost more than its
arithmetic; here the whole trajectory is one compiled loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rftune import dynamics, kernels
from rftune.data import Array, as_matrix

_cosine_rows = kernels.cosine_rows_numba
_SINE = kernels.SINE_FLOAT64


@dataclass(frozen=True, eq=False)
class Waves:
    """u -> offset + readout · cos(weightsᵀ u + phases).

    Attributes
    ----------
    weights : (n_inputs, n_waves)
    phases : (n_waves,)
    readout : (n_outputs, n_waves)
    offset : (n_outputs,)
    """

    weights: Array
    phases: Array
    readout: Array
    offset: Array

    def mean(self, inputs: Array) -> Array:
        """Values at many points, (n_samples, n_outputs)."""
        return self.offset + kernels.fourier_features(inputs, self.weights, self.phases) @ self.readout.T

    def iterate(self, starts: Array, n_steps: int, limit: float = dynamics.ESCAPED) -> Array:
        """`dynamics.iterate` of this map, (n_trajectories, n_steps + 1, n_states); compiled where Numba is there."""
        if len(self.weights) != len(self.offset):
            raise ValueError(
                f"a next-step map has as many outputs as inputs; got {len(self.offset)}, {len(self.weights)}"
            )
        run = _compiled()
        if run is None:
            return dynamics.iterate(self.mean, starts, n_steps, limit)
        first = as_matrix("starts", starts, n_columns=len(self.weights))
        trajectories = np.full((len(first), n_steps + 1, first.shape[1]), np.nan)
        trajectories[:, 0] = first
        arrays = [np.ascontiguousarray(part) for part in (self.weights, self.phases, self.readout, self.offset)]
        for trajectory in trajectories:
            run(trajectory, *arrays, limit)
        return trajectories


class HasMean(Protocol):
    """Anything with a mean at many points, such as `scaling.Model`."""

    def mean(self, inputs: Array) -> Array: ...


@runtime_checkable
class HasWaves(Protocol):
    """A model whose mean may be a sum of waves."""

    def waves(self) -> Waves | None:
        """The mean as waves; None where it is not a sum of them."""
        ...


def waves_of(model: Any) -> Waves | None:
    """The mean of a model as waves, where it is a sum of them."""
    return model.waves() if isinstance(model, HasWaves) else None


def iterate(model: HasMean, starts: Array, n_steps: int) -> Array:
    """Trajectories of a model's mean as next-step map, see `dynamics.iterate`; compiled for a sum of waves."""
    waves = waves_of(model)
    return dynamics.iterate(model.mean, starts, n_steps) if waves is None else waves.iterate(starts, n_steps)


@cache
def _compiled() -> Any:
    if _cosine_rows is None:
        return None
    matrix, vector = "float64[:,::1]", "float64[::1]"
    signature = f"void({matrix}, {matrix}, {vector}, {matrix}, {vector}, float64)"
    # The sums over waves may be reassociated: that is what vectorises them. The cosine keeps its own, stricter rules.
    return kernels.compiled(_iterate, [signature], {"contract", "reassoc"})


def _iterate(trajectory: Any, weights: Any, phases: Any, readout: Any, offset: Any, limit: Any) -> None:
    """Fill a trajectory (n_steps + 1, n_states) from its first row; stop where a state is beyond the limit or NaN."""
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
        _cosine_rows(waves, phases, ones, _SINE)
        for i in range(n_states):
            total = 0.0
            for j in range(n_waves):
                total += readout[i, j] * row[j]
            state[i] = offset[i] + total
            if not (abs(state[i]) <= limit):
                return
        trajectory[n] = state
