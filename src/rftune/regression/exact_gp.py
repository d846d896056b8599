"""Exact Gaussian processes: one per whitened output, tuned by maximum likelihood.

Data are those of `scaling.Scaling`: standardised inputs, outputs centred and whitened so that the noise covariance is
the identity (the paper's decorrelation by the SVD of Σ). The prior of each output has zero mean and a covariance of
`covariances`; a tuning maximises the log marginal likelihood over its parameters, and over the noise variance where
that is to be learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator
from scipy.optimize import Bounds, OptimizeResult, minimize

from rftune.data import Array, Dataset
from rftune.regression.covariances import Hyperparameters
from rftune.regression.marginal_likelihood import INDEFINITE, MarginalLikelihood, Prior
from rftune.settings import Field, Settings

Objective = Callable[[Array], tuple[float, Array]]

_RESTART_STD = 1.0  # spread of restarts about the first start, in unconstrained parameters
_INCLUSION_LOGITS = (-9.0, 9.0)  # bounds of the logit of π: from 1.2e-4 to as near to one

TIME_LIMIT = "time limit"


PositiveNumber = Annotated[float, Field(ge=1e-20, le=1e20)]


class SearchSettings(Settings):
    """How hyperparameters are found."""

    implementation: Literal["fast", "sklearn"] = Field(
        "fast", description="this suite's likelihood with analytic gradient, or scikit-learn's with the same optimiser"
    )
    max_iterations: int = Field(1000, ge=1, le=1_000_000, description="L-BFGS-B iterations per start")
    n_restarts: int = Field(0, ge=0, le=10_000, description="random starts beside the first")
    lengthscale_bounds: tuple[PositiveNumber, PositiveNumber] = Field(
        (1e-2, 1e3), description="[low, high] in standard deviations of the input"
    )
    amplitude_variance_bounds: tuple[PositiveNumber, PositiveNumber] = Field(
        (1e-4, 1e11),
        description="[low, high] in noise variances; above 1e11 float64 loses the unit noise beside the kernel",
    )
    n_tune: int | None = Field(
        None,
        ge=2,
        description="training points, drawn at random, from which hyperparameters are found; null for all; the fit is "
        "to all in any case",
    )
    time_limit: float | None = Field(
        None, gt=0, le=1e9, description="seconds after which each climb is stopped and counts as failed; null for none"
    )

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        for name in ("lengthscale_bounds", "amplitude_variance_bounds"):
            low, high = getattr(self, name)
            if not low < high:
                raise ValueError(f"{name} must be [low, high] with low < high; got [{low}, {high}]")
        return self


@dataclass(frozen=True, eq=False)
class Tuned:
    """Hyperparameters and how they were found.

    Attributes
    ----------
    log_marginal_likelihood : (n_outputs,)
    n_evaluations : (n_outputs,)
        Evaluations of likelihood and gradient over all starts.
    converged : (n_outputs,)
        Whether the optimiser met its tolerance; False with the message ABNORMAL where rounding of the likelihood, large
        for a smooth output of little noise, ended the line search first.
    noise_only : (n_outputs,)
        Whether the optimum explains the output no better than independent noise does (by less than one nat): a
        constant output, or a tuning that fell onto the plateau of vanishing lengthscales.
    messages
        The optimiser's own words, one per output.
    """

    hyperparameters: Hyperparameters
    log_marginal_likelihood: Array
    n_evaluations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    noise_only: NDArray[np.bool_]
    messages: tuple[str, ...]


def tune(data: Dataset, settings: SearchSettings, rng: np.random.Generator, prior: Prior | None = None) -> Tuned:
    """Maximise the log marginal likelihood of each output over its hyperparameters.

    The data are in scaled coordinates (`scaling.Scaling.scale`); ``rng`` draws the points that are looked at and the
    restarts, if any.
    """
    prior, data = prior or Prior(), _subset(data, settings.n_tune, rng)
    bounds = _bounds(prior, settings, data.n_inputs)
    objectives = _fast_objectives if settings.implementation == "fast" else _sklearn_objectives
    columns = np.ascontiguousarray(data.outputs.T)
    optima, counts = [], []
    for column, likelihood in zip(columns, objectives(data.inputs, columns, prior), strict=True):
        starts = np.clip(_starts(prior, column, data.n_inputs, settings.n_restarts, rng), bounds.lb, bounds.ub)
        climbs = [_climb(likelihood, start, bounds, settings) for start in starts]
        optima.append(min(climbs, key=lambda climb: float(climb.fun)))
        counts.append(sum(climb.nfev for climb in climbs))
    values = np.array([-optimum.fun for optimum in optima])
    return Tuned(
        hyperparameters=_hyperparameters(prior, data.inputs, columns, [optimum.x for optimum in optima]),
        log_marginal_likelihood=values,
        n_evaluations=np.array(counts, dtype=np.int64),
        converged=np.array([optimum.success for optimum in optima], dtype=np.bool_),
        noise_only=values - _noise_log_likelihoods(columns, prior) < 1.0,
        messages=tuple(str(optimum.message) for optimum in optima),
    )


def _subset(data: Dataset, n_tune: int | None, rng: np.random.Generator) -> Dataset:
    """All of the data, or so many random samples."""
    if n_tune is None or n_tune >= data.n_samples:
        return data
    rows = np.sort(rng.choice(data.n_samples, n_tune, replace=False))
    return Dataset(data.inputs[rows], data.outputs[rows])


def _bounds(prior: Prior, settings: SearchSettings, n_inputs: int) -> Bounds:
    """Of the unconstrained parameters."""
    logs = np.log([settings.amplitude_variance_bounds] + [settings.lengthscale_bounds] * n_inputs)
    logits = [_INCLUSION_LOGITS] * (prior.n_parameters(n_inputs) - len(logs))
    low, high = np.vstack([logs, np.reshape(logits, (-1, 2))]).T
    return Bounds(low, high)


def _hyperparameters(prior: Prior, inputs: Array, columns: Array, optima: list[Array]) -> Hyperparameters:
    """The hyperparameters of every output at its optimum."""
    covariances = [prior.covariance(optimum) for optimum in optima]
    noises = np.ones(len(columns))
    if prior.noise == "learned":
        likelihood = MarginalLikelihood(inputs, prior)
        noises = np.array([likelihood.noise_variance(*pair) for pair in zip(columns, optima, strict=True)])
    return Hyperparameters(
        amplitude_variances=noises * [of_output.amplitude_variance for of_output in covariances],
        lengthscales=np.array([of_output.lengthscales for of_output in covariances]),
        inclusion=np.array([of_output.inclusion for of_output in covariances]),
        noise_variances=noises,
        correlation=prior.correlation,
    )


def _fast_objectives(inputs: Array, columns: Array, prior: Prior) -> Iterator[Objective]:
    likelihood = MarginalLikelihood(inputs, prior)
    return (partial(likelihood, column) for column in columns)


def _sklearn_objectives(inputs: Array, columns: Array, prior: Prior) -> Iterator[Objective]:
    """What GaussianProcessRegressor.fit maximises, without its warnings at bounds."""
    # Imported here: it takes longer than many a job, and few jobs need it.
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    if prior != Prior():
        raise ValueError(f"implementation sklearn has the kernel of {Prior()} alone; got {prior}: use fast")
    for column in columns:
        kernel = ConstantKernel() * RBF(np.ones(inputs.shape[1]))
        regressor = GaussianProcessRegressor(kernel, alpha=1.0, optimizer=None).fit(inputs, column)
        yield partial(regressor.log_marginal_likelihood, eval_gradient=True, clone_kernel=False)


def _starts(prior: Prior, output: Array, n_inputs: int, n_restarts: int, rng: np.random.Generator) -> Array:
    """Unconstrained parameters to start from, and draws about them.

    The first start has the output's variance, lengthscales √d/2 and, if there are any, inclusion probabilities of ½.
    """
    # from longer lengthscales the climb on a rough function overshoots onto the plateau where the kernel is white noise
    first = np.zeros(prior.n_parameters(n_inputs))
    first[: 1 + n_inputs] = np.log(np.sqrt(n_inputs) / 2)
    first[0] = np.log(max(float(np.var(output)), np.finfo(np.float64).tiny))
    return np.vstack([first, first + _RESTART_STD * rng.standard_normal((n_restarts, len(first)))])


def _climb(objective: Objective, start: Array, bounds: Bounds, settings: SearchSettings) -> OptimizeResult:
    """Minimise the negative objective by L-BFGS-B, stepping back from where the kernel matrix cannot be factored."""
    worst: float | None = None

    def negative(log_parameters: Array) -> tuple[float, Array]:
        nonlocal worst
        with suppress(np.linalg.LinAlgError):
            value, gradient = objective(log_parameters)
            if np.isfinite(value):
                worst = -value if worst is None else max(worst, -value)
                return -value, -gradient
        if worst is None:  # the start itself, from which there is no way back
            raise np.linalg.LinAlgError(INDEFINITE)
        # infinity would break the line search's interpolation; flat beyond the worst seen, it steps back
        return worst + abs(worst) + 1.0, np.zeros_like(log_parameters)

    end = perf_counter() + (settings.time_limit or np.inf)

    def watch(intermediate_result: OptimizeResult) -> None:
        if perf_counter() > end:
            raise StopIteration

    climb: OptimizeResult = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": settings.max_iterations},
        callback=watch,
    )
    if perf_counter() > end and not climb.success:
        climb["message"] = f"{TIME_LIMIT} of {settings.time_limit:g} s reached"
    return climb


def _noise_log_likelihoods(columns: Array, prior: Prior) -> Array:
    """Log likelihood of each output as independent Gaussian noise of its best variance, at least the known one."""
    mean_squares = np.mean(columns**2, axis=1)
    least = 1.0 if prior.noise == "known" else np.finfo(np.float64).tiny
    variances = np.maximum(mean_squares, least)
    likelihoods: Array = -0.5 * columns.shape[1] * (np.log(2.0 * np.pi * variances) + mean_squares / variances)
    return likelihoods
