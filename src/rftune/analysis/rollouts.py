"""Trajectories of fitted emulators that are used as next-step maps.

A step of one trajectory is too little work for a call of an emulator, whose checks and copies cost more than its
arithmetic. The mean of a cosine random feature emulator is a sum of waves, and its trajectory one compiled loop; other
models are called once per step, with all trajectories in a batch.
"""

from __future__ import annotations

import numpy as np

from rftune.analysis import dynamics
from rftune.data import Array, Model, as_matrix
from rftune.features import kernels
from rftune.regression.waves import Waves, waves_of


def iterate(model: Model, starts: Array, n_steps: int, limit: float = dynamics.ESCAPED) -> Array:
    """Trajectories of a model's mean, (n_trajectories, n_steps + 1, n_states), see `dynamics.iterate`."""
    waves = waves_of(model)
    if waves is None:
        return dynamics.iterate(model.mean, starts, n_steps, limit)
    return iterate_waves(waves, starts, n_steps, limit)


def iterate_waves(waves: Waves, starts: Array, n_steps: int, limit: float = dynamics.ESCAPED) -> Array:
    """`dynamics.iterate` of a sum of waves; compiled where Numba is there."""
    n_states = len(waves.weights)
    if n_states != len(waves.offset):
        raise ValueError(f"a next-step map has as many outputs as inputs; got {len(waves.offset)} and {n_states}")
    run = kernels.wave_iteration()
    if run is None:
        return dynamics.iterate(waves.mean, starts, n_steps, limit)
    first = as_matrix("starts", starts, n_columns=n_states)
    trajectories = np.full((len(first), n_steps + 1, n_states), np.nan)
    trajectories[:, 0] = first
    arrays = [np.ascontiguousarray(part) for part in (waves.weights, waves.phases, waves.readout, waves.offset)]
    for trajectory in trajectories:
        run(trajectory, *arrays, limit)
    return trajectories
