"""Sums of plane waves: what the mean of a cosine random feature emulator is, in any coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rftune.data import Array


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
        return np.asarray(self.offset + np.cos(inputs @ self.weights + self.phases) @ self.readout.T)


@runtime_checkable
class HasWaves(Protocol):
    """A model whose mean may be a sum of waves."""

    def waves(self) -> Waves | None:
        """The mean as waves; None where it is not a sum of them."""
        ...


def waves_of(model: Any) -> Waves | None:
    """The mean of a model as waves, where it is a sum of them."""
    return model.waves() if isinstance(model, HasWaves) else None
