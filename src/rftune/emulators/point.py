"""Point predictors that a user would try instead, from the constant to boosted trees.

They have no posterior. Their covariance is that of their residuals on the training data, the same at every point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rftune.data import Array, Dataset, Prediction, as_matrix
from rftune.scaling import Scaling


@dataclass(frozen=True, eq=False)
class PointModel:
    """A fitted point predictor in physical coordinates; a `scaling.Model`.

    Attributes
    ----------
    function
        (n_samples, n_inputs) -> (n_samples, n_outputs).
    covariance : (n_outputs, n_outputs)
    n_inputs
    """

    function: Callable[[Array], Array]
    covariance: Array
    n_inputs: int

    @classmethod
    def of(cls, function: Callable[[Array], Array], data: Dataset) -> PointModel:
        """Take the covariance from the residuals on the training data."""
        residuals = data.outputs - function(data.inputs)
        return cls(function, np.atleast_2d(np.cov(residuals.T)), data.n_inputs)

    def mean(self, inputs: Any) -> Array:
        return self.function(as_matrix("inputs", inputs, self.n_inputs))

    def predict(self, inputs: Any) -> Prediction:
        mean = self.mean(inputs)
        return Prediction(mean, np.tile(self.covariance, (len(mean), 1, 1)))

    def sample(self, inputs: Any, n_draws: int, rng: np.random.Generator) -> Array:
        mean = self.mean(inputs)
        return mean + rng.multivariate_normal(np.zeros(mean.shape[1]), self.covariance, (n_draws, len(mean)))


def constant(data: Dataset, rng: np.random.Generator) -> PointModel:
    """The mean of the training outputs: what any emulator must beat."""
    level = data.outputs.mean(axis=0)
    return PointModel.of(lambda inputs: np.tile(level, (len(inputs), 1)), data)


def boosted_trees(data: Dataset, rng: np.random.Generator) -> PointModel:
    """scikit-learn's HistGradientBoostingRegressor at its defaults, one per output."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    seeds = rng.integers(2**31, size=data.n_outputs)
    trees = [
        HistGradientBoostingRegressor(random_state=int(seed)).fit(data.inputs, output)
        for seed, output in zip(seeds, data.outputs.T, strict=True)
    ]
    return PointModel.of(lambda inputs: np.column_stack([tree.predict(inputs) for tree in trees]), data)


def rbf_ridge(data: Dataset, rng: np.random.Generator) -> PointModel:
    """scikit-learn's RBFSampler (1000 features, gamma="scale") and RidgeCV on standardised inputs and outputs."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline

    scaling = Scaling.of(data, data.outputs.var(axis=0) + np.finfo(np.float64).tiny)
    scaled = scaling.scale(data)
    sampler = RBFSampler(gamma="scale", n_components=1000, random_state=int(rng.integers(2**31)))
    pipeline = make_pipeline(sampler, RidgeCV(alphas=np.logspace(-6, 3, 19))).fit(scaled.inputs, scaled.outputs)

    def function(inputs: Array) -> Array:
        predicted = pipeline.predict(scaling.scale_inputs(inputs))
        return scaling.unscale_outputs(predicted.reshape(len(inputs), data.n_outputs))

    return PointModel.of(function, data)


def check_sizes_of_persistence(n_inputs: int, n_outputs: int) -> None:
    if n_inputs != n_outputs:
        raise ValueError(f"persistence needs as many outputs as inputs; got {n_outputs} and {n_inputs}")


def persistence(data: Dataset, rng: np.random.Generator) -> PointModel:
    """The input itself: of a next-step map, no change."""
    check_sizes_of_persistence(data.n_inputs, data.n_outputs)
    return PointModel.of(lambda inputs: np.array(inputs), data)


def quadratic(data: Dataset, rng: np.random.Generator) -> PointModel:
    """Least squares on all monomials of degree two or less in standardised inputs."""
    scaling = Scaling.of(data, 1.0)
    left, right = np.triu_indices(data.n_inputs)

    def monomials(inputs: Array) -> Array:
        x = scaling.scale_inputs(inputs)
        return np.column_stack([np.ones(len(x)), x, x[:, left] * x[:, right]])

    coefficients = np.linalg.lstsq(monomials(data.inputs), data.outputs, rcond=None)[0]
    return PointModel.of(lambda inputs: np.asarray(monomials(inputs) @ coefficients), data)


def unknown(n_inputs: int, n_outputs: int) -> PointModel:
    """What stands for an emulator whose tuning failed: NaN everywhere."""
    return PointModel(
        lambda inputs: np.full((len(inputs), n_outputs), np.nan), np.full((n_outputs, n_outputs), np.nan), n_inputs
    )


BASELINES: dict[str, Callable[[Dataset, np.random.Generator], PointModel]] = {
    "constant": constant,
    "boosted_trees": boosted_trees,
    "rbf_ridge": rbf_ridge,
    "persistence": persistence,
    "quadratic": quadratic,
}
