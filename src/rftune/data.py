"""Data sets, predictions and what a fitted model offers: frozen, validated, samples are rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What a tuning says of itself, stored with its hyperparameters and carried along with its predictions.
OUTCOME = ("failure", "n_restarts", "n_failed_members", "objective_ratio")


def as_matrix(name: str, values: Any, n_columns: int | None = None) -> Array:
    """Return ``values`` as a read-only float64 matrix, samples in rows, or say what is wrong with it.

    Parameters
    ----------
    name
        What the values are, for the error message.
    values : (n_samples, n_columns) array_like
    n_columns
        Expected number of columns; any number when None.
    """
    matrix = np.array(values, dtype=np.float64, order="C")
    expected = f"(n_samples, {'n_columns' if n_columns is None else n_columns})"
    if matrix.ndim != 2:
        hint = "reshape it"
        if matrix.ndim == 1:
            hint = "pass x[None, :] for one sample, x[:, None] for one column"
            if name == "outputs":
                hint = "pass y[:, None] for one output, y[None, :] for one sample"
        raise ValueError(f"{name} must be {expected}; got shape {matrix.shape}: {hint}")
    if n_columns is not None and matrix.shape[1] != n_columns:
        raise ValueError(f"{name} must be {expected}; got shape {matrix.shape}")
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise ValueError(f"{name} must hold at least one sample and one column; got shape {matrix.shape}")
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{name} must be finite; {np.count_nonzero(~finite)} of {matrix.size} values are not, the first is "
            f"{matrix[row, column]} at row {row}, column {column}: remove or repair these samples"
        )
    matrix.flags.writeable = False
    return matrix


@dataclass(frozen=True, eq=False)
class Dataset:
    """Pairs (x_n, y_n).

    Attributes
    ----------
    inputs : (n_samples, n_inputs)
    outputs : (n_samples, n_outputs)
    """

    inputs: Array
    outputs: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", as_matrix("inputs", self.inputs))
        object.__setattr__(self, "outputs", as_matrix("outputs", self.outputs))
        if len(self.inputs) != len(self.outputs):
            raise ValueError(
                f"inputs and outputs must have one row per sample; got {len(self.inputs)} and {len(self.outputs)} rows"
            )

    @property
    def n_samples(self) -> int:
        return len(self.inputs)

    @property
    def n_inputs(self) -> int:
        return int(self.inputs.shape[1])

    @property
    def n_outputs(self) -> int:
        return int(self.outputs.shape[1])


@dataclass(frozen=True, eq=False)
class Prediction:
    """Posterior mean and covariance of the noise-free function at each point.

    Attributes
    ----------
    mean : (n_samples, n_outputs)
    covariance : (n_samples, n_outputs, n_outputs)
    """

    mean: Array
    covariance: Array

    @property
    def std(self) -> Array:
        """Pointwise posterior standard deviations, (n_samples, n_outputs)."""
        variance: Array = np.diagonal(self.covariance, axis1=1, axis2=2)
        return np.sqrt(np.maximum(variance, 0.0))


class Model(Protocol):
    """A fitted emulator: a Gaussian process posterior over functions (n_inputs -> n_outputs)."""

    def mean(self, inputs: Array) -> Array:
        """Posterior mean, (n_samples, n_outputs)."""
        ...

    def predict(self, inputs: Array) -> Prediction:
        """Posterior mean and pointwise covariance."""
        ...

    def sample(self, inputs: Array, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws of the posterior function at the inputs, (n_draws, n_samples, n_outputs)."""
        ...
