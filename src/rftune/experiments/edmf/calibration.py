"""Calibration by ensemble Kalman inversion: where the training points of the emulators come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array
from rftune.tuning.noise import BlockNoise
from rftune.tuning.optimiser import Optimiser, Problem


@dataclass(frozen=True, eq=False)
class Iterates:
    """Every run of the simulator, in order; failed runs have no finite output.

    Attributes
    ----------
    inputs : (n_iterations, n_members, n_parameters)
        Unconstrained.
    outputs : (n_iterations, n_members, n_outputs)
    """

    inputs: Array
    outputs: Array

    def __post_init__(self) -> None:
        if self.inputs.shape[:2] != self.outputs.shape[:2]:
            raise ValueError(
                f"inputs and outputs must be of the same runs; got {self.inputs.shape[:2]} and "
                f"{self.outputs.shape[:2]} iterations and members"
            )

    @property
    def succeeded(self) -> NDArray[np.bool_]:
        """Runs with finite outputs, (n_iterations, n_members)."""
        return np.asarray(np.isfinite(self.outputs).all(axis=2))

    def runs(self) -> tuple[Array, Array, NDArray[np.intp]]:
        """Inputs, outputs and iteration of the runs that did not fail, (n_runs, ...)."""
        iteration, member = np.nonzero(self.succeeded)
        return self.inputs[iteration, member], self.outputs[iteration, member], iteration

    @property
    def n_failed(self) -> int:
        return int(np.count_nonzero(~self.succeeded))


def calibrate(
    simulate: Callable[[Array], Array],
    observation: Array,
    noise_covariance: Array,
    prior_mean: Array,
    optimiser: Optimiser[Any],
    n_iterations: int,
    rng: np.random.Generator,
) -> Iterates:
    """Run the simulator on ``n_iterations`` ensembles, each moved by the optimiser from the one before.

    Parameters
    ----------
    simulate
        (n_members, n_parameters), unconstrained -> (n_members, n_outputs).
    observation : (n_outputs,)
    noise_covariance : (n_outputs, n_outputs)
    prior_mean : (n_parameters,)
        Of the unconstrained parameters, whose prior has unit variances.
    """
    noise = BlockNoise.from_covariances([noise_covariance])
    problem = Problem(observation, noise, prior_mean, np.ones(len(prior_mean)))
    state = optimiser.start(problem, rng)
    inputs, outputs = [], []
    for iteration in range(n_iterations):
        inputs.append(optimiser.ask(state))
        outputs.append(simulate(inputs[-1]))
        if iteration < n_iterations - 1:
            state, _ = optimiser.tell(state, outputs[-1], problem, rng)
    return Iterates(np.stack(inputs), np.stack(outputs))
