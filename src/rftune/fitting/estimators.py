"""Two kinds of emulators as estimators of scikit-learn, for pipelines, cross-validation and searches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rftune.data import Array
from rftune.features.family import FAMILIES
from rftune.fitting import columns, training
from rftune.fitting.contenders import Contender
from rftune.fitting.emulator import FittedEmulator, made
from rftune.fitting.gaussian_processes import ExactGP
from rftune.fitting.joint import joint_covariance
from rftune.fitting.random_features import TunedFeatures, suited
from rftune.fitting.threads import one_thread

_LARGEST_SEED = 2**31


class _Estimator(MultiOutputMixin, RegressorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What both have: an emulator of every output, each with its noise."""

    noise: Any
    random_state: Any

    @abstractmethod
    def _contender(self) -> Contender:
        """The emulator of one output, as the parameters say."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X (n_samples, n_features) and outputs y, (n_samples,) or (n_samples, n_targets)."""
        inputs, outputs = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
        )
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(inputs.shape[1])])
        self._inputs = columns.read("inputs", pd.DataFrame(inputs, columns=list(names)))
        self._outputs = columns.read("outputs", np.asarray(outputs, dtype=np.float64))
        contender = self._contender()
        seed = int(check_random_state(self.random_state).randint(_LARGEST_SEED))
        with one_thread():
            self.trained_ = training.train(
                self._inputs,
                self._outputs,
                self.noise,
                lambda *_: [contender],
                np.inf,
                None,
                seed,
                lambda *_: None,
                check=False,
            )
        self.noise_variance_ = self._in_form(self.trained_.surrogate.output_noise_variances[None])[0]
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Mean of the function, and how sure it is.

        Parameters
        ----------
        X : (n_samples, n_features)
        return_std
            Return standard deviations of the function too, in the shape of the mean.
        return_cov
            Return covariances between the points too, (n_samples, n_samples), of several outputs with a last axis.
        """
        points = self._points(X)
        if return_std and return_cov:
            raise ValueError("at most one of return_std and return_cov can be returned: leave one out")
        surrogate = self.trained_.surrogate
        with one_thread():
            if return_std:
                mean, std = surrogate.predict_std(points)
                return self._in_form(mean), self._in_form(std)
            mean = surrogate.mean(points)
            if not return_cov:
                return self._in_form(mean)
            return self._in_form(mean), self._in_form(joint_covariance(surrogate, points))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> NDArray[np.float64]:
        """Functions that the emulator holds possible, drawn at X.

        (n_points, n_samples), of several outputs (n_points, n_targets, n_samples).
        """
        points = self._points(X)
        rng = np.random.default_rng(int(check_random_state(random_state).randint(_LARGEST_SEED)))
        with one_thread():
            draws = self.trained_.surrogate.sample(points, n_samples, rng)
        return np.moveaxis(self._in_form(draws), 0, -1)

    def emulator(self) -> FittedEmulator:
        """The same with names, validation, sensitivity indices and a file."""
        check_is_fitted(self)
        settings = {name: repr(value) for name, value in self.get_params().items()}
        return made(self.trained_, self._inputs, self._outputs, {"estimator": type(self).__name__, **settings})

    def save(self, path: str | Path) -> None:
        """Write it to one netCDF file, which `rftune.load` reads."""
        self.emulator().save(path)

    def _points(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _in_form(self, values: Array) -> Any:
        """The last axis, of outputs, is left out where a vector was learned."""
        return values[..., 0] if self._outputs.form.kind == "vector" else values


class GaussianProcessEmulator(_Estimator):
    """An exact Gaussian process for every output, with the hyperparameters of the largest likelihood.

    Parameters
    ----------
    kernel
        "anova", a sum of processes over all subsets of inputs, or "ard", one over all inputs.
    smoothness
        "squared_exponential" for smooth functions, "matern52" or "matern32" for rough ones.
    noise
        Variance of the outputs' noise, one for each, or a covariance; 0 for none; None to learn it.
    n_tune
        Samples from which hyperparameters are found; None for all. The fit is to all in any case.
    n_restarts
        Random starts of the search beside the first.
    random_state
        Draws the samples and the starts.

    Attributes
    ----------
    trained_
        The emulator and its predictions of left-out samples.
    noise_variance_
        Stated or learned, by output.
    """

    def __init__(
        self,
        kernel: str = "anova",
        smoothness: str = "squared_exponential",
        noise: Any = None,
        n_tune: int | None = 1500,
        n_restarts: int = 0,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.smoothness = smoothness
        self.noise = noise
        self.n_tune = n_tune
        self.n_restarts = n_restarts
        self.random_state = random_state

    def _contender(self) -> Contender:
        _check("kernel", self.kernel, ("anova", "ard"))
        _check("smoothness", self.smoothness, ("squared_exponential", "matern52", "matern32"))
        kernel, smoothness = self.kernel, self.smoothness
        return ExactGP("gp", "a Gaussian process", kernel, smoothness, self.n_tune, self.n_restarts)  # type: ignore[arg-type]


class RandomFeatureRegressor(_Estimator):
    """Random features for every output, whose distribution is tuned by ensemble Kalman inversion.

    Parameters
    ----------
    family
        Of the features' distribution: "sparse", "diagonal", "lowrank", "subspace" or "perturbation".
    rank
        Of its matrices, in the families that have one; None for the number of inputs, at most 3.
    n_features
        For prediction.
    pool
        Features that are drawn, of which the ``n_features`` strongest are kept; None to draw no more than these.
    n_tuning_features
        Of every evaluation while tuning.
    n_members, n_iterations
        Size of the ensemble, and its number of steps.
    noise
        Variance of the outputs' noise, one for each, or a covariance; 0 for none; None to learn it, by the likelihood
        of a Gaussian process.
    random_state
        Draws everything that is random.

    Attributes
    ----------
    trained_
        The emulator and its predictions of left-out samples.
    noise_variance_
        Stated or learned, by output.
    """

    def __init__(
        self,
        family: str = "sparse",
        rank: int | None = None,
        n_features: int = 500,
        pool: int | None = 2000,
        n_tuning_features: int = 150,
        n_members: int = 40,
        n_iterations: int = 15,
        noise: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.family = family
        self.rank = rank
        self.n_features = n_features
        self.pool = pool
        self.n_tuning_features = n_tuning_features
        self.n_members = n_members
        self.n_iterations = n_iterations
        self.noise = noise
        self.random_state = random_state

    def _contender(self) -> Contender:
        _check("family", self.family, FAMILIES.names())
        return TunedFeatures(
            "features",
            "random features",
            suited(self.family, self.rank),
            self.n_features,
            self.pool,
            self.n_tuning_features,
            self.n_members,
            self.n_iterations,
        )


def _check(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")
