"""Cosine features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array
from rftune.features import kernels
from rftune.features.feature_map import FeatureMap


class Fourier(FeatureMap):
    """√ς cos(x·Ξ + B) with B uniform on [0, 2π]: limits to the kernel ς/2 · E cos((x - x')·Ξ)."""

    is_cosine: ClassVar[bool] = True

    def draw_biases(self, size: int, rng: np.random.Generator) -> Array:
        return rng.uniform(0.0, 2.0 * np.pi, size)

    def evaluate(
        self, inputs: NDArray[Any], weights: Array, biases: Array, scales: Array, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        return kernels.fourier_features(inputs, weights, biases, scales, out)
