"""Draws of random features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array
from rftune.features.distribution import Structure
from rftune.features.feature_map import FeatureMap

Outputs = Literal["native", "shared"]


@dataclass(frozen=True, eq=False)
class Features:
    """One draw of M features.

    Native features are vector-valued, one value per output. Shared features are scalar and serve every output with
    coefficients of its own; ς then has one entry per output.

    Attributes
    ----------
    weights : (n_inputs, n_blocks·n_features)
        Frequencies; n_blocks is n_outputs for native and 1 for shared features, blocks side by side.
    biases : (n_blocks·n_features,)
    amplitude : (n_outputs,)
        ς of each output.
    n_features
        M.
    outputs
        "native" or "shared".
    feature_map
    """

    weights: Array
    biases: Array
    amplitude: Array
    n_features: int
    outputs: Outputs
    feature_map: FeatureMap

    @property
    def n_outputs(self) -> int:
        return len(self.amplitude)

    @property
    def n_blocks(self) -> int:
        return self.n_outputs if self.outputs == "native" else 1

    @cached_property
    def _scales(self) -> Array:
        """√ς of each column of the weights; shared features are of unit amplitude."""
        unit = np.sqrt(self.amplitude) if self.outputs == "native" else np.ones(1)
        return np.repeat(unit, self.n_features)

    def subset(self, kept: NDArray[np.intp]) -> Features:
        """Some of the features, ``kept`` (n_kept,), as a draw of their own with the same amplitude."""
        columns = (kept + self.n_features * np.arange(self.n_blocks)[:, None]).ravel()
        return replace(
            self,
            weights=np.ascontiguousarray(self.weights[:, columns]),
            biases=self.biases[columns],
            n_features=len(kept),
        )

    def evaluate(self, inputs: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Φ(x): native (n_samples·n_outputs, n_features), rows grouped by sample; shared (n_samples, n_features).

        Native features carry their amplitude √ς; shared ones have unit amplitude, which enters per output later.
        """
        buffer = None if out is None else out.reshape(len(inputs), -1)
        values = self.feature_map.evaluate(inputs, self.weights, self.biases, self._scales, buffer)
        return values.reshape(len(inputs) * self.n_blocks, self.n_features)


def draw(
    structure: Structure,
    parameters: Array,
    n_features: int,
    output_variance: Array,
    rng: np.random.Generator,
    outputs: Outputs,
    feature_map: FeatureMap,
) -> Features:
    """Draw features from the distribution that the parameters describe.

    Parameters
    ----------
    structure
        With one output for shared features, with all of them for native ones.
    parameters : (structure.n_parameters,)
        Unconstrained.
    n_features
        M, or M' for prediction: the tuned distribution can be redrawn with any number.
    output_variance : (n_outputs,)
        Variance of the scaled training outputs; sets the unit of ς = 2·var(y)·exp(a). Native features have one
        amplitude for all outputs and take the mean.
    """
    values = structure.constrain(parameters)
    frequencies = structure.draw(values, n_features, rng)
    n_outputs = len(output_variance)
    expected = n_outputs if outputs == "native" else 1
    if structure.n_outputs != expected:
        raise ValueError(
            f"{outputs} features for {n_outputs} outputs need a structure with {expected}; got {structure.n_outputs}"
        )
    unit = np.full(n_outputs, output_variance.mean()) if outputs == "native" else output_variance
    return Features(
        weights=np.ascontiguousarray(frequencies.transpose(2, 1, 0).reshape(structure.n_inputs, -1)),
        biases=feature_map.draw_biases(expected * n_features, rng),
        amplitude=2.0 * unit * values["amplitude"],
        n_features=n_features,
        outputs=outputs,
        feature_map=feature_map,
    )
