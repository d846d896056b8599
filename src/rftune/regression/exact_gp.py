"""Exact Gaussian process: ARD squared-exponential kernel, known noise, one process per whitened output; its tuning.

Data are those of `scaling.Scaling`: standardised inputs, outputs centred and whitened so that the noise covariance is
the identity (the paper's decorrelation by the SVD of Σ). The prior of output l has zero mean and covariance
``v_l exp(-½ Σ_k (x_k - x'_k)² / ℓ_lk²)``; a tuning maximises the log marginal likelihood over v and ℓ.
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
from scipy.linalg import blas, lapack
from scipy.optimize import Bounds, OptimizeResult, minimize

from rftune.data import Array, Dataset, as_matrix
from rftune.settings import Field, Settings

Objective = Callable[[Array], tuple[float, Array]]

_PANEL = 64  # rows per panel of an N x N pass: a panel stays in cache between its elementwise operations
_RESTART_STD = 1.0  # spread of restarts about the first start, in log parameters
_INDEFINITE = (
    "the kernel matrix plus unit noise must be positive definite, and in float64 it is not: the amplitude variance is "
    "too large beside the noise, so lower its upper bound or state more noise"
)


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
class Hyperparameters:
    """What a tuning finds, all that is needed to refit.

    Attributes
    ----------
    amplitude_variances : (n_outputs,)
        Prior variance of each whitened output.
    lengthscales : (n_outputs, n_inputs)
        In standard deviations of the inputs.
    """

    amplitude_variances: Array
    lengthscales: Array

    def __post_init__(self) -> None:
        lengthscales = as_matrix("lengthscales", self.lengthscales)
        variances = as_matrix("amplitude_variances", np.atleast_2d(self.amplitude_variances), len(lengthscales))[0]
        if not (lengthscales > 0).all() or not (variances > 0).all():
            raise ValueError("lengthscales and amplitude_variances must be positive: pass them, not their logarithms")
        object.__setattr__(self, "lengthscales", lengthscales)
        object.__setattr__(self, "amplitude_variances", variances)

    def per_output(self) -> list[tuple[float, Array]]:
        """Amplitude variance and lengthscales of each output."""
        return list(zip(self.amplitude_variances.tolist(), self.lengthscales, strict=True))


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


def kernel(inputs: Array, others: Array, amplitude_variance: float, lengthscales: Array) -> Array:
    """Prior covariances between two sets of points, (n_samples, n_others), C-ordered."""
    left, _ = exponent_factors(inputs / lengthscales)
    _, right = exponent_factors(others / lengthscales)
    return exponentiate(left @ right.T, amplitude_variance)


def exponent_factors(scaled: Array) -> tuple[Array, Array]:
    """Return P and Q, both (n_samples, n_inputs + 2), with (P Qᵀ)_ij = -½‖x_i - x_j‖²: one GEMM per kernel."""
    half_norms, ones = -0.5 * np.einsum("ij,ij->i", scaled, scaled), np.ones(len(scaled))
    return np.column_stack([scaled, half_norms, ones]), np.column_stack([scaled, ones, half_norms])


def exponentiate(exponents: Array, amplitude_variance: float) -> Array:
    """Kernel values in place of their exponents, of which rounding makes some slightly positive."""
    np.minimum(exponents, 0.0, out=exponents)
    np.exp(exponents, out=exponents)
    exponents *= amplitude_variance
    return exponents


class MarginalLikelihood:
    """Log marginal likelihood of scalar outputs at fixed inputs, and its gradient in log parameters.

    Two N x N buffers serve every evaluation, because page faults on fresh ones cost as much as the passes over them;
    only one triangle is ever formed. Not for use from two threads at once.
    """

    def __init__(self, inputs: Array) -> None:
        self._inputs = as_matrix("inputs", inputs)
        n_samples = len(self._inputs)
        # C-ordered upper triangles, whose transposes LAPACK takes in place as Fortran-ordered lower triangles
        self._kernel = np.zeros((n_samples, n_samples))
        self._factor = np.zeros((n_samples, n_samples))
        self._panel = np.empty((min(_PANEL, n_samples), n_samples))

    def __call__(self, output: Array, log_parameters: Array) -> tuple[float, Array]:
        """Return log p(y) and its gradient (1 + n_inputs,), or raise LinAlgError for an indefinite kernel matrix.

        Parameters
        ----------
        output : (n_samples,)
            Centred, with unit noise variance.
        log_parameters : (1 + n_inputs,)
            Log amplitude variance, log lengthscales.
        """
        parameters = np.exp(log_parameters)
        scaled = self._inputs / parameters[1:]
        self._form(scaled, float(parameters[0]))
        chol_lower = cholesky_in_place(self._factor)
        weights, _ = lapack.dpotrs(chol_lower, output, lower=1)
        log_determinant = 2.0 * np.log(np.diagonal(chol_lower)).sum()
        value = -0.5 * (output @ weights + log_determinant + len(output) * np.log(2.0 * np.pi))
        return float(value), self._gradient(scaled, weights, chol_lower)

    def _form(self, scaled: Array, amplitude_variance: float) -> None:
        """Fill the upper triangles: the kernel, and in the factor's place the kernel plus unit noise."""
        left, right = exponent_factors(scaled)
        for rows, columns in _triangle_panels(len(scaled)):
            panel = np.matmul(left[rows], right[columns].T, out=self._kernel[rows, columns])
            self._factor[rows, columns] = exponentiate(panel, amplitude_variance)
        np.einsum("ii->i", self._kernel)[:] = amplitude_variance
        np.einsum("ii->i", self._factor)[:] = amplitude_variance + 1.0

    def _gradient(self, scaled: Array, weights: Array, chol_lower: Array) -> Array:
        """Gradient ½ tr(W ∂K) with W = (ααᵀ - (K+I)⁻¹), α the weights; consumes both buffers.

        With A = W ∘ K, ∂/∂log v is ½ Σ_ij A_ij, and ∂/∂log ℓ_k is ½ Σ_ij A_ij (s_ik - s_jk)², s = x/ℓ, which is
        Σ_i s_ik² (A1)_i - s_kᵀ A s_k: one product A [s, 1] for all lengthscales.
        """
        _, info = lapack.dpotri(chol_lower, lower=1, overwrite_c=1)
        if info != 0:
            raise np.linalg.LinAlgError(f"the inverse from the Cholesky factor failed (LAPACK dpotri: {info})")
        for rows, columns in _triangle_panels(len(scaled)):
            panel = self._panel[: rows.stop - rows.start, columns]
            np.multiply.outer(weights[rows], weights[columns], out=panel)
            panel -= self._factor[rows, columns]
            self._kernel[rows, columns] *= panel
        extended = np.asfortranarray(np.column_stack([scaled, np.ones(len(scaled))]))
        product = blas.dsymm(1.0, self._kernel.T, extended, lower=1)
        row_sums = product[:, -1]
        of_lengthscales = row_sums @ scaled**2 - np.einsum("ik,ik->k", scaled, product[:, :-1])
        return np.concatenate([[0.5 * row_sums.sum()], of_lengthscales])


def _triangle_panels(n_samples: int) -> list[tuple[slice, slice]]:
    """Panels of rows that cover the upper triangle."""
    starts = range(0, n_samples, _PANEL)
    return [(slice(start, min(start + _PANEL, n_samples)), slice(start, n_samples)) for start in starts]


def cholesky_in_place(upper: Array) -> Array:
    """Factor a C-ordered upper triangle; return L, Fortran-ordered in the same memory, upper part undefined."""
    chol_lower, info = lapack.dpotrf(upper.T, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError(_INDEFINITE)
    return np.asarray(chol_lower)


def tune(data: Dataset, settings: SearchSettings, rng: np.random.Generator) -> Tuned:
    """Maximise the log marginal likelihood of each output over its hyperparameters.

    The data are in scaled coordinates (`scaling.Scaling.scale`); ``rng`` draws the restarts, if any.
    """
    low, high = np.log([settings.amplitude_variance_bounds] + [settings.lengthscale_bounds] * data.n_inputs).T
    objectives = _fast_objectives if settings.implementation == "fast" else _sklearn_objectives
    columns = np.ascontiguousarray(data.outputs.T)
    optima, counts = [], []
    for column, likelihood in zip(columns, objectives(data.inputs, columns), strict=True):
        starts = np.clip(_starts(column, data.n_inputs, settings.n_restarts, rng), low, high)
        climbs = [_climb(likelihood, start, Bounds(low, high), settings) for start in starts]
        optima.append(min(climbs, key=lambda climb: float(climb.fun)))
        counts.append(sum(climb.nfev for climb in climbs))
    parameters = np.exp([optimum.x for optimum in optima])
    values = np.array([-optimum.fun for optimum in optima])
    return Tuned(
        hyperparameters=Hyperparameters(parameters[:, 0], parameters[:, 1:]),
        log_marginal_likelihood=values,
        n_evaluations=np.array(counts, dtype=np.int64),
        converged=np.array([optimum.success for optimum in optima], dtype=np.bool_),
        noise_only=values - _noise_log_likelihoods(columns) < 1.0,
        messages=tuple(str(optimum.message) for optimum in optima),
    )


def _fast_objectives(inputs: Array, columns: Array) -> Iterator[Objective]:
    likelihood = MarginalLikelihood(inputs)
    return (partial(likelihood, column) for column in columns)


def _sklearn_objectives(inputs: Array, columns: Array) -> Iterator[Objective]:
    """What GaussianProcessRegressor.fit maximises, without its warnings at bounds."""
    # Imported here: it takes longer than many a job, and few jobs need it.
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    for column in columns:
        prior = ConstantKernel() * RBF(np.ones(inputs.shape[1]))
        regressor = GaussianProcessRegressor(prior, alpha=1.0, optimizer=None).fit(inputs, column)
        yield partial(regressor.log_marginal_likelihood, eval_gradient=True, clone_kernel=False)


def _starts(output: Array, n_inputs: int, n_restarts: int, rng: np.random.Generator) -> Array:
    """Log parameters to start from: the output's variance with lengthscales √d/2, and draws about them."""
    # from longer lengthscales the climb on a rough function overshoots onto the plateau where the kernel is white noise
    first = np.full(n_inputs + 1, np.log(np.sqrt(n_inputs) / 2))
    first[0] = np.log(max(float(np.var(output)), np.finfo(np.float64).tiny))
    return np.vstack([first, first + _RESTART_STD * rng.standard_normal((n_restarts, n_inputs + 1))])


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
            raise np.linalg.LinAlgError(_INDEFINITE)
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


def _noise_log_likelihoods(columns: Array) -> Array:
    """Log likelihood of each output as independent Gaussian noise of its best variance, at least the known one."""
    mean_squares = np.mean(columns**2, axis=1)
    variances = np.maximum(mean_squares, 1.0)
    likelihoods: Array = -0.5 * columns.shape[1] * (np.log(2.0 * np.pi * variances) + mean_squares / variances)
    return likelihoods
