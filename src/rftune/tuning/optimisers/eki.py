"""Ensemble Kalman inversion.

Covariances are normalised by 1/J and the update is the paper's (eq:eki_update). It is computed in ensemble space: with
whitened output anomalies A (J, n_data), A (AᵀA + I/Δt)⁻¹ = (AAᵀ + I/Δt)⁻¹ A, so the cost is linear in n_data and cubic
only in J.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import model_validator

from rftune import memory
from rftune.data import Array, as_matrix
from rftune.settings import Field
from rftune.tuning.noise import NoiseModel
from rftune.tuning.optimiser import EnsembleCollapse, Info, Optimiser, Problem

Mask = NDArray[np.bool_]

# The variance of the misfits must not overflow: a larger misfit counts as a failure, its inverse as an exact fit.
_LARGEST_MISFIT = 1e150


@dataclass(frozen=True, eq=False)
class State:
    """The ensemble between two steps.

    Attributes
    ----------
    ensemble : (n_members, n_parameters)
        What the caller evaluates next.
    updated : (n_members, n_parameters)
        The ensemble after the last update, before Nesterov's extrapolation; equal to `ensemble` without it.
    time
        Sum of the steps Δt so far.
    iteration
        Number of steps so far.
    """

    ensemble: Array
    updated: Array
    time: float = 0.0
    iteration: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "ensemble", as_matrix("ensemble", self.ensemble))
        object.__setattr__(self, "updated", as_matrix("updated", self.updated, n_columns=self.ensemble.shape[1]))
        if len(self.ensemble) < 2 or len(self.updated) != len(self.ensemble):
            raise ValueError(
                f"ensemble and updated must hold the same number of members, at least 2; "
                f"got {len(self.ensemble)} and {len(self.updated)}"
            )

    @property
    def estimate(self) -> Array:
        """Mean of the updated ensemble, (n_parameters,): the answer of the inversion so far."""
        return np.asarray(self.updated.mean(axis=0))


class EnsembleKalmanInversion(Optimiser[State]):
    """An ensemble of parameter vectors that moves towards the data by its own covariances."""

    n_members: int = Field(30, ge=2, description="J, ensemble size")
    update: Literal["perturbed", "transform"] = Field(
        "perturbed",
        description="perturbed: every member is moved towards its own perturbed copy of the data (the paper); "
        "transform: mean and covariance follow the Kalman equations exactly, without random numbers",
    )
    step: Literal["adaptive", "constant"] = Field("adaptive", description="data misfit controller, or step_size")
    step_size: float = Field(1.0, gt=0, le=1e12, description="Δt of the constant step")
    final_time: float | None = Field(
        None, gt=0, le=1e12, description="time at which the inversion ends, 1 for the posterior; null for no end"
    )
    inflation: float = Field(
        1e-4, ge=0, le=1e6, description="noise added to every parameter, in prior variances per iteration"
    )
    nesterov: bool = Field(
        False, description="evaluate at the extrapolated ensemble u_n + (n-1)/(n+2) (u_n - u_{n-1}) (Kovachki & Stuart)"
    )
    sampling_error_correction: bool = Field(
        False, description="shrink the sample correlations of parameters and data; only for perturbed updates"
    )

    @model_validator(mode="after")
    def _check_correction(self) -> Self:
        if self.sampling_error_correction and self.update == "transform":
            raise ValueError(
                "sampling_error_correction needs update perturbed; got transform, whose covariance update has no "
                "square root once the cross-covariance is corrected: change one of the two"
            )
        return self

    def check(self, n_data: int) -> None:
        """Outputs and Gram matrix of the ensemble."""
        remedy = "lower tuning.optimiser.n_members"
        memory.check(self.n_members * (self.n_members + n_data), f"an ensemble of {self.n_members} members", remedy)

    def start(self, problem: Problem, rng: Generator) -> State:
        """Draw the initial ensemble from the prior."""
        return init(problem.prior_mean, problem.prior_std, self.n_members, rng)

    def ask(self, state: State) -> Array:
        return state.ensemble

    def estimate(self, state: State) -> Array:
        """Mean of the updated ensemble."""
        return state.estimate

    def tell(self, state: State, outputs: Array, problem: Problem, rng: Generator) -> tuple[State, Info]:
        """Assimilate the outputs of one ensemble: Kalman update, replacement of failures, inflation, extrapolation.

        Members with a non-finite output (or one so large that its misfit overflows) have failed. They have no part in
        the step size and the update, which the survivors determine; their replacements are drawn from the Gaussian
        with the mean and covariance of the updated survivors: a perturbed copy of one survivor would tie the
        replacement to that member and its spread to an arbitrary scale. A single survivor has no covariance: nothing is
        assimilated (Δt = 0), and the others are redrawn around it with the covariance of the incoming ensemble, whose
        parameters are known. No survivor: `EnsembleCollapse`.
        """
        outputs, prior_std = _checked_inputs(state, outputs, problem)
        survived, residuals = _survivors(outputs, problem)
        potentials = 0.5 * np.sum(residuals**2, axis=1)
        Δt, time, done = _advance(state.time, potentials, problem.noise.n_data, self)
        updated = state.ensemble.copy()
        n_failed = int(np.count_nonzero(~survived))
        if len(residuals) > 1:
            updated[survived] = _kalman(updated[survived], outputs[survived], residuals, Δt, problem.noise, self, rng)
            updated[~survived] = _redraw(updated[survived].mean(axis=0), updated[survived], n_failed, rng)
        else:
            updated[~survived] = _redraw(updated[survived][0], state.ensemble, n_failed, rng)
        updated += np.sqrt(self.inflation) * prior_std * rng.standard_normal(updated.shape)
        info = Info(
            misfit=problem.misfit(outputs[survived].mean(axis=0)),
            spread=problem.spread(state.ensemble),
            n_failed=n_failed,
            step=Δt,
            done=done,
        )
        ensemble = _extrapolate(updated, state, survived) if self.nesterov else updated
        return State(ensemble=ensemble, updated=updated, time=time, iteration=state.iteration + 1), info


def init(prior_mean: Any, prior_std: Any, n_members: int, rng: Generator) -> State:
    """Draw the initial ensemble from independent normals, prior_mean and prior_std (n_parameters,)."""
    mean = as_matrix("prior_mean", np.atleast_2d(prior_mean))[0]
    std = _checked_std(prior_std, len(mean))
    if n_members < 2:
        raise ValueError(f"n_members must be at least 2, to have a covariance; got {n_members}")
    ensemble = mean + std * rng.standard_normal((n_members, len(mean)))
    return State(ensemble=ensemble, updated=ensemble)


def adaptive_step(potentials: Array, n_data: int) -> float:
    """Δt of the data misfit controller (Iglesias & Yang 2021), before it is clipped at the final time.

    Δt = max(n_data / (2 mean Φ), √(n_data / (2 var Φ))): the largest step for which the tempered posterior before and
    after differ by about what the noise of n_data data explains.

    Parameters
    ----------
    potentials : (n_members,)
        Φ_j = ½‖Γ^(-1/2)(z - G(u_j))‖², at least two of them.
    n_data
        Number of data.
    """
    mean, std = float(potentials.mean()), float(potentials.std(ddof=1))
    steps = []
    if mean > 1 / _LARGEST_MISFIT:
        steps.append(n_data / (2 * mean))
    if std > 1 / _LARGEST_MISFIT:  # equal misfits say nothing about the step
        steps.append(np.sqrt(n_data / 2) / std)
    return float(max(steps, default=1.0))  # all members fit exactly: they stay where they are for any step


def shrunk_correlation(correlation: Array, n_members: int) -> Array:
    """Multiply sample correlations r by r²/(r² + (1-r²)²/(J-1)), elementwise.

    This is the linear shrinkage of least mean squared error, E[r]²/(E[r]² + var r), with the large-sample variance of a
    correlation and the sample's r for the unknown one.
    """
    squared = correlation**2
    return np.asarray(correlation * squared / (squared + (1 - squared) ** 2 / (n_members - 1)))


def _kalman(
    ensemble: Array,
    outputs: Array,
    residuals: Array,
    Δt: float,
    noise: NoiseModel,
    settings: EnsembleKalmanInversion,
    rng: Generator,
) -> Array:
    """Update members (J, n_parameters) from outputs and whitened residuals Γ^(-1/2)(z - G(u_j)), both (J, n_data)."""
    root_j = np.sqrt(len(ensemble))
    u_anomalies = (ensemble - ensemble.mean(axis=0)) / root_j
    g_anomalies = (residuals.mean(axis=0) - residuals) / root_j
    eigenvalues, vectors = np.linalg.eigh(g_anomalies @ g_anomalies.T)
    # Directions in which the outputs do not vary carry only rounding errors, which a large Δt would amplify.
    varies = eigenvalues > len(ensemble) * np.finfo(np.float64).eps * eigenvalues[-1]
    eigenvalues, vectors = eigenvalues[varies], vectors[:, varies]
    inverse = (vectors / (eigenvalues + 1 / Δt)) @ vectors.T  # of AAᵀ + I/Δt, where the outputs vary
    if settings.update == "transform":
        # The anomalies are multiplied by (I + Δt AAᵀ)^(-1/2), which is the identity where the outputs do not vary.
        contraction = (vectors * (1 / np.sqrt(1 + Δt * eigenvalues) - 1)) @ vectors.T
        weights = residuals.mean(axis=0) @ g_anomalies.T @ inverse + root_j * contraction
        return np.asarray(ensemble + weights @ u_anomalies)
    innovations = residuals + rng.standard_normal(residuals.shape) / np.sqrt(Δt)
    weights = innovations @ g_anomalies.T @ inverse
    if not settings.sampling_error_correction:
        return np.asarray(ensemble + weights @ u_anomalies)
    # A corrected cross-covariance leaves the span of the outputs, so (AᵀA + I/Δt)⁻¹ is needed whole: Woodbury.
    cross = noise.whiten(_corrected_cross_covariance(ensemble, outputs))
    return np.asarray(ensemble + Δt * (innovations @ cross.T - weights @ (g_anomalies @ cross.T)))


def _corrected_cross_covariance(ensemble: Array, outputs: Array) -> Array:
    """Cross-covariance with shrunk correlations, (n_parameters, n_data).

    It is taken in the coordinates of the data: whitened ones would make the result depend on the choice of Γ^(1/2).
    """
    scale = np.outer(ensemble.std(axis=0), outputs.std(axis=0))
    covariance = (ensemble - ensemble.mean(axis=0)).T @ (outputs - outputs.mean(axis=0)) / len(ensemble)
    correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    return scale * shrunk_correlation(correlation, len(ensemble))


def _advance(
    time: float, potentials: Array, n_data: int, settings: EnsembleKalmanInversion
) -> tuple[float, float, bool]:
    """Step size, time after the step, and whether that is the final time."""
    if settings.final_time is not None and time >= settings.final_time:
        raise ValueError(f"the run reached its final_time {settings.final_time}: stop when info.done is true")
    if len(potentials) == 1:
        return 0.0, time, False
    Δt = settings.step_size if settings.step == "constant" else adaptive_step(potentials, n_data)
    if settings.final_time is not None:
        remaining = settings.final_time - time
        # A step that ends within rounding of the final time ends there: ten steps of 0.1 make 1.
        if remaining <= Δt * (1 + 1e-9):
            return remaining, settings.final_time, True
    return Δt, time + Δt, False


def _survivors(outputs: Array, problem: Problem) -> tuple[Mask, Array]:
    """Mask of usable members (n_members,) and their whitened residuals (n_survivors, n_data)."""
    survived: Mask = np.asarray(np.isfinite(outputs).all(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = problem.noise.whiten(problem.target - outputs[survived])
        usable = np.sum(residuals**2, axis=1) < _LARGEST_MISFIT
    survived[survived] = usable
    if not survived.any():
        raise EnsembleCollapse(
            f"all {len(outputs)} members failed: none has finite outputs of usable size; check the forward map at "
            f"the ensemble's parameters, narrow the prior, or add members"
        )
    return survived, residuals[usable]


def _redraw(mean: Array, source: Array, n: int, rng: Generator) -> Array:
    """Draws (n, n_parameters) from the Gaussian with this mean and the (1/J) covariance of the rows of `source`.

    Random combinations of the anomalies have that covariance without it being formed or factored.
    """
    anomalies = (source - source.mean(axis=0)) / np.sqrt(len(source))
    return np.asarray(mean + rng.standard_normal((n, len(source))) @ anomalies)


def _extrapolate(updated: Array, state: State, survived: Mask) -> Array:
    """Nesterov's ensemble; a replaced member jumped, which is no momentum."""
    n = state.iteration + 1
    velocity = np.where(survived[:, None], updated - state.updated, 0.0)
    return updated + (n - 1) / (n + 2) * velocity


def _checked_std(prior_std: Any, n_parameters: int) -> Array:
    std = np.array(prior_std, dtype=np.float64)
    if std.shape != (n_parameters,) or not np.isfinite(std).all() or not (std > 0).all():
        raise ValueError(f"prior_std must be {n_parameters} finite positive numbers; got {prior_std!r}")
    return std


def _checked_inputs(state: State, outputs: Any, problem: Problem) -> tuple[Array, Array]:
    """Float64 arrays of outputs and the prior's standard deviations, or which shape is wrong."""
    (n_members, n_parameters), n_data = state.ensemble.shape, problem.noise.n_data
    outputs, target = np.asarray(outputs, dtype=np.float64), np.asarray(problem.target, dtype=np.float64)
    if target.shape != (n_data,) or not np.isfinite(target).all():
        raise ValueError(f"target must be {n_data} finite numbers, as the noise; got shape {target.shape}")
    if outputs.shape != (n_members, n_data):
        raise ValueError(
            f"outputs must be (n_members, n_data) = ({n_members}, {n_data}), one row per member of "
            f"state.ensemble; got shape {outputs.shape}"
        )
    return outputs, _checked_std(problem.prior_std, n_parameters)
