"""Seconds and bytes of the operations of the paper's T1, against the number of data, of features and of outputs.

GPR is with a nonseparable matrix-valued kernel, K_ij(x, x') = exp(-½‖x/ℓ_i - x'/ℓ_j‖²), a squared exponential of the
N·p points x_n/ℓ_i: the dense Np × Np systems of the paper's table. (The suite's own GP, one per whitened output,
avoids them.) RFR is the suite's, with native vector-valued features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from scipy import linalg

from rftune.data import Array, Dataset
from rftune.experiments.complexity.settings import ComplexitySettings, Sizes
from rftune.features.drawn import Features
from rftune.features.maps.fourier import Fourier
from rftune.regression import covariances
from rftune.regression import weight_space as regression

OPERATIONS = ("space", "assembly", "cholesky", "mean", "covariance")
VARIABLES = {"gpr": ("n_train", "n_outputs"), "rfr": ("n_train", "n_features", "n_outputs")}


@dataclass(frozen=True)
class Measured:
    """The operations of one fitted model, ready to be timed, and the bytes of the arrays that it keeps."""

    operations: Mapping[str, Callable[[], Any]]
    n_bytes: int


def measure(
    settings: ComplexitySettings, rng: np.random.Generator, progress: Callable[[str], None] = lambda _: None
) -> pd.DataFrame:
    """One row per method, variable, size and operation; cost in bytes or seconds (per point where there are points)."""
    rows = []
    for method, variable, sizes in plan(settings):
        progress(f"{method}, {variable} = {getattr(sizes, variable)}")
        model = MODELS[method](settings, sizes, rng)
        costs: dict[str, float] = {"space": model.n_bytes}
        for operation, call in model.operations.items():
            n_calls = settings.n_points if operation in ("mean", "covariance") else 1
            costs[operation] = _seconds(call, settings.repeats) / n_calls
        rows += [
            {"method": method, "variable": variable, "size": getattr(sizes, variable), "operation": name, "cost": cost}
            for name, cost in costs.items()
        ]
    return pd.DataFrame(rows)


def plan(settings: ComplexitySettings) -> Iterator[tuple[str, str, Sizes]]:
    """Method, the variable that varies, and all sizes of every measurement."""
    for method, variables in VARIABLES.items():
        for variable in variables:
            for size in getattr(settings.sizes, variable):
                yield method, variable, settings.base.but(**{variable: size})


def gaussian_process(settings: ComplexitySettings, sizes: Sizes, rng: np.random.Generator) -> Measured:
    """Dense vector-valued GPR."""
    scales = rng.uniform(1.0, 2.0, (sizes.n_outputs, settings.n_inputs))
    ones = np.ones(settings.n_inputs)
    unit = covariances.covariance("squared_exponential", 1.0, ones, ones)

    def of_outputs(inputs: Array) -> Array:
        """The points x/ℓ_i, rows grouped by x."""
        scaled: Array = (inputs[:, None, :] / scales).reshape(-1, settings.n_inputs)
        return scaled

    inputs, points = _normal(rng, sizes.n_train, settings), _normal(rng, settings.n_points, settings)
    known = of_outputs(inputs)

    def assemble() -> Array:
        matrix = unit.matrix(known, known)
        np.einsum("ii->i", matrix)[:] += 1.0
        return matrix

    system = assemble()
    chol_lower = _cholesky(system)
    weights = linalg.cho_solve((chol_lower, True), rng.standard_normal(len(known)))

    def mean() -> Array:
        return (unit.matrix(of_outputs(points), known) @ weights).reshape(len(points), -1)

    def covariance() -> Array:
        new = of_outputs(points)
        root = linalg.solve_triangular(chol_lower, unit.matrix(new, known).T, lower=True, check_finite=False)
        explained = root.T.reshape(len(points), sizes.n_outputs, -1)
        prior = np.stack([unit.matrix(rows, rows) for rows in np.split(new, len(points))])
        posterior: Array = prior - explained @ explained.transpose(0, 2, 1)
        return posterior

    operations = {"assembly": assemble, "cholesky": lambda: _cholesky(system), "mean": mean, "covariance": covariance}
    return Measured(operations, sum(array.nbytes for array in (inputs, scales, chol_lower, weights)))


def random_features(settings: ComplexitySettings, sizes: Sizes, rng: np.random.Generator) -> Measured:
    """The suite's RFR with native vector-valued features."""
    n_columns = sizes.n_outputs * sizes.n_features
    features = Features(
        weights=rng.standard_normal((settings.n_inputs, n_columns)),
        biases=rng.uniform(0.0, 2.0 * np.pi, n_columns),
        amplitude=np.ones(sizes.n_outputs),
        n_features=sizes.n_features,
        outputs="native",
        feature_map=Fourier(),
    )
    data = Dataset(_normal(rng, sizes.n_train, settings), rng.standard_normal((sizes.n_train, sizes.n_outputs)))
    points = _normal(rng, settings.n_points, settings)

    def assemble() -> Array:
        phi = features.evaluate(data.inputs)
        gram: Array = phi.T @ phi
        return gram

    system = assemble() / sizes.n_features + np.eye(sizes.n_features)
    model = regression.fit(features, data, 1.0)
    assert isinstance(model, regression.NativeRegression)
    operations = {
        "assembly": assemble,
        "cholesky": lambda: _cholesky(system),
        "mean": lambda: model.mean(points),
        "covariance": lambda: model.predict(points),
    }
    kept = (features.weights, features.biases, features.amplitude, model.coefficients, model.chol_lower)
    return Measured(operations, sum(array.nbytes for array in kept))


MODELS = {"gpr": gaussian_process, "rfr": random_features}


def _cholesky(matrix: Array) -> Array:
    return np.asarray(linalg.cholesky(matrix, lower=True, check_finite=False))


def _normal(rng: np.random.Generator, n: int, settings: ComplexitySettings) -> Array:
    return rng.standard_normal((n, settings.n_inputs))


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    """Median time of a call, after one that does not count."""
    call()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return median(times)
