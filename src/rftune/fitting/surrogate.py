"""The fitted emulator of all outputs: a scalar model of every component, its noise, and how far it is to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rftune import memory
from rftune.data import Array, Model, Prediction, as_matrix
from rftune.fitting.projection import Projection


@dataclass(frozen=True, eq=False)
class Component:
    """A scalar emulator of one component.

    Attributes
    ----------
    model
        Of one output; a `data.Model`.
    noise_variance
        Of the component's data.
    misfit_variance
        Of errors at left-out runs that the model does not expect, the same everywhere.
    widening
        What standard deviations are multiplied by, so that intervals hold as many left-out runs as they promise.
    """

    model: Model
    noise_variance: float
    misfit_variance: float
    widening: float

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Mean and variance of the function, (n_samples,) each."""
        prediction = self.model.predict(inputs)
        variance = np.maximum(prediction.covariance[:, 0, 0], 0.0) + self.misfit_variance
        return prediction.mean[:, 0], self.widening**2 * variance


@dataclass(frozen=True, eq=False)
class Surrogate:
    """An emulator of all outputs; a `data.Model`.

    Attributes
    ----------
    projection
    components
        One per component.
    n_inputs
    """

    projection: Projection
    components: Sequence[Component]
    n_inputs: int

    def mean(self, inputs: Any) -> Array:
        return self.projection.outputs(self.mean_components(inputs))

    def moments(self, inputs: Any) -> tuple[Array, Array]:
        """Mean and variance of the components, (n_samples, n_components) each, without what they leave out."""
        points = as_matrix("inputs", inputs, self.n_inputs)
        parts = [part.predict(points) for part in self.components]
        return np.column_stack([mean for mean, _ in parts]), np.column_stack([variance for _, variance in parts])

    def predict_std(self, inputs: Any, noise: bool = False) -> tuple[Array, Array]:
        """Mean and standard deviation of the function, or with ``noise`` of data, (n_samples, n_outputs) each."""
        mean, variance = self.moments(inputs)
        added = self.noise_variances if noise else 0.0
        spread = self.projection.variance(variance + added) + self.projection.lost_variance
        return self.projection.outputs(mean), np.sqrt(spread)

    def predict(self, inputs: Any) -> Prediction:
        """Mean and covariance of the function at each point; of many outputs that is large."""
        mean, variance = self.moments(inputs)
        n_outputs = self.projection.n_outputs
        memory.check(
            len(mean) * n_outputs**2, f"{len(mean)} covariances of {n_outputs} outputs", "predict fewer points"
        )
        covariance = self.projection.covariance(variance) + self.projection.lost_covariance()
        return Prediction(self.projection.outputs(mean), covariance)

    def sample(self, inputs: Any, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws of the function, (n_draws, n_samples, n_outputs).

        What the models do not expect and what the components leave out are drawn for every point anew: how they are
        correlated between points is not known.
        """
        draws = self.draw_components(inputs, n_draws, rng)
        misfits = np.array([part.widening * np.sqrt(part.misfit_variance) for part in self.components])
        functions = self.projection.outputs(draws + misfits * rng.standard_normal(draws.shape))
        return functions + self._lost(functions.shape[:2], rng)

    def draw_components(self, inputs: Any, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws of what the models know of the components, (n_draws, n_samples, n_components)."""
        points = as_matrix("inputs", inputs, self.n_inputs)
        draws = []
        for part in self.components:
            mean = part.model.mean(points)[:, 0]
            draws.append(mean + part.widening * (part.model.sample(points, n_draws, rng)[:, :, 0] - mean))
        return np.stack(draws, axis=-1)

    def mean_components(self, inputs: Any) -> Array:
        """(n_samples, n_components)."""
        points = as_matrix("inputs", inputs, self.n_inputs)
        return np.column_stack([part.model.mean(points)[:, 0] for part in self.components])

    @property
    def noise_variances(self) -> Array:
        """Of the components, (n_components,)."""
        return np.array([part.noise_variance for part in self.components])

    @property
    def output_noise_variances(self) -> Array:
        """Of the outputs, as far as the components hold it, (n_outputs,)."""
        return np.asarray(self.projection.variance(self.noise_variances[None])[0])

    @property
    def noise_covariance(self) -> Array:
        """Of the outputs, (n_outputs, n_outputs)."""
        return np.asarray(self.projection.covariance(self.noise_variances[None])[0])

    def _lost(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array | float:
        projection = self.projection
        if not projection.lost_variance.any():
            return 0.0
        directions = projection.lost_directions
        correlated = rng.standard_normal((*shape, len(directions))) @ directions
        alone = np.sqrt(np.maximum(projection.lost_variance - np.sum(directions**2, axis=0), 0.0))
        return np.asarray(correlated + alone * rng.standard_normal((*shape, projection.n_outputs)))
