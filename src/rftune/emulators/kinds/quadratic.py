"""Least squares on all monomials of degree two or less in standardised inputs."""

from __future__ import annotations

import numpy as np

from rftune.data import Array, Dataset
from rftune.emulators.point import PointEmulator, Predictor
from rftune.scaling import Scaling


class Quadratic(PointEmulator):
    """Least squares on all monomials of degree two or less in standardised inputs."""

    def predictor(self, data: Dataset, rng: np.random.Generator) -> Predictor:
        scaling = Scaling.of(data, 1.0)
        left, right = np.triu_indices(data.n_inputs)

        def monomials(inputs: Array) -> Array:
            x = scaling.scale_inputs(inputs)
            return np.column_stack([np.ones(len(x)), x, x[:, left] * x[:, right]])

        coefficients = np.linalg.lstsq(monomials(data.inputs), data.outputs, rcond=None)[0]
        return lambda inputs: np.asarray(monomials(inputs) @ coefficients)
