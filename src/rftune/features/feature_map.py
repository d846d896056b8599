"""Feature maps φ(x; θ): the hidden layer of the random network. To add a map: a file in ``maps``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array
from rftune.settings import Choice, Registry


class FeatureMap(Choice, ABC):
    """Elementwise hidden layer: √ς · activation(x·Ξ + B)."""

    is_cosine: ClassVar[bool] = False  # the mean is then a sum of plane waves (`regression.waves`)

    @abstractmethod
    def draw_biases(self, size: int, rng: np.random.Generator) -> Array:
        """Biases B, (size,)."""

    @abstractmethod
    def evaluate(
        self, inputs: NDArray[Any], weights: Array, biases: Array, scales: Array, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Features (n_samples, n_columns) at inputs (n_samples, n_inputs), in the inputs' precision.

        Parameters
        ----------
        inputs : (n_samples, n_inputs)
        weights : (n_inputs, n_columns)
        biases, scales : (n_columns,)
        out
            Buffer for the result.
        """


MAPS: Registry[FeatureMap] = Registry("rftune.features.maps", FeatureMap, default="fourier")
