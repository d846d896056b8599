"""Ensemble Kalman inversion: state in, state out.

The inverse problem is z = G(u) + η, η ~ N(0, Γ). The caller evaluates G at ``state.ensemble`` and hands the outputs to
`step`; this module never sees G. Covariances are normalised by 1/J and the update is the paper's (eq:eki_update). It is
computed in ensemble space: with whitened output anomalies A (J, n_data), A (AᵀA + I/Δt)⁻¹ = (AAᵀ + I/Δt)⁻¹ A, so the
cost is linear in n_data and cubic only in J.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from rftune.data import Array, as_matrix

Mask = NDArray[np.bool_]
Update = Literal["perturbed", "transform"]
StepRule = Literal["adaptive", "constant"]

# The variance of the misfits must not overflow: a larger misfit counts as a failure, its inverse as an exact fit.
_LARGEST_MISFIT = 1e150


class EnsembleCollapse(RuntimeError):
    """No member of the ensemble has a usable output."""


class NoiseModel(Protocol):
    """The noise covariance Γ, known through one of its inverse square roots.

    Nothing else is needed: the perturbations of the data are drawn in whitened coordinates, where they are standard
    normal, so a draw cannot be inconsistent with the root.
    """

    @property
    def n_data(self) -> int: ...

    def whiten(self, residuals: Array) -> Array:
        """Γ^(-1/2) r for each row r, (..., n_data) -> (..., n_data)."""
        ...


@dataclass(frozen=True, eq=False)
class BlockNoise:
    """Block-diagonal Γ.

    Attributes
    ----------
    chol_lower : tuple of (n_block, n_block)
        Lower Cholesky factors of the blocks, in the order of the data.
    """

    chol_lower: tuple[Array, ...]

    @classmethod
    def from_covariances(cls, blocks: Sequence[Any]) -> BlockNoise:
        """Factor covariance blocks, each (n_block, n_block) and positive definite."""
        if len(blocks) == 0:
            raise ValueError("the noise must have at least one covariance block; got none")
        return cls(tuple(_chol_lower(f"noise block {index}", block) for index, block in enumerate(blocks)))

    @property
    def n_data(self) -> int:
        return sum(len(factor) for factor in self.chol_lower)

    def whiten(self, residuals: Array) -> Array:
        """L⁻¹ r for each row r, Γ = L Lᵀ, (..., n_data) -> (..., n_data)."""
        rows = residuals.reshape(-1, self.n_data)
        whitened = np.empty(rows.shape)
        for factor, columns in zip(self.chol_lower, self._columns(), strict=True):
            whitened[:, columns] = solve_triangular(factor, rows[:, columns].T, lower=True, check_finite=False).T
        return whitened.reshape(residuals.shape)

    def sample(self, n: int, rng: Generator) -> Array:
        """Draws from N(0, Γ), (n, n_data)."""
        draws = rng.standard_normal((n, self.n_data))
        for factor, columns in zip(self.chol_lower, self._columns(), strict=True):
            draws[:, columns] = draws[:, columns] @ factor.T
        return draws

    def _columns(self) -> list[slice]:
        ends = np.cumsum([len(factor) for factor in self.chol_lower])
        return [slice(end - len(factor), end) for factor, end in zip(self.chol_lower, ends, strict=True)]


def _chol_lower(name: str, covariance: Any) -> Array:
    """Lower Cholesky factor, or what is wrong with the covariance."""
    matrix = as_matrix(name, covariance)
    n = len(matrix)
    if matrix.shape != (n, n):
        raise ValueError(f"{name} must be a square covariance matrix; got shape {matrix.shape}")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-14 * np.abs(matrix).max()):
        raise ValueError(f"{name} must be symmetric: pass (block + block.T) / 2")
    remedy = "shrink the estimate towards its diagonal (Ledoit-Wolf) or drop redundant data"
    try:
        factor = np.linalg.cholesky(matrix).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} must be positive definite; it is not: {remedy}") from None
    # L_ii² / Γ_ii is the share of a datum's noise that the data before it do not determine, whatever the units.
    if (np.diagonal(factor) ** 2 <= n * np.finfo(np.float64).eps * np.diagonal(matrix)).any():
        raise ValueError(f"{name} must be positive definite; it is singular to rounding: {remedy}")
    factor.flags.writeable = False
    return factor


@dataclass(frozen=True)
class Settings:
    """How the ensemble moves.

    Attributes
    ----------
    update
        "perturbed": every member is moved towards its own perturbed copy of the data (the paper). "transform": mean
        and covariance follow the Kalman equations exactly, without random numbers (symmetric square root).
    step
        "adaptive": data misfit controller, see `adaptive_step`. "constant": always `step_size`.
    step_size
        Δt of the constant step.
    final_time
        No step goes beyond it, and the run is done when it is reached; 1 stops at the posterior. None: never done.
    inflation
        Each iteration adds independent N(0, inflation × prior variance) to each parameter of each member.
    nesterov
        Evaluate at the extrapolated ensemble u_n + (n-1)/(n+2) (u_n - u_{n-1}) (Kovachki & Stuart 2019).
    sampling_error_correction
        Shrink the sample correlations of parameters and data, see `shrunk_correlation`. Only for "perturbed".
    """

    update: Update = "perturbed"
    step: StepRule = "adaptive"
    step_size: float = 1.0
    final_time: float | None = None
    inflation: float = 1e-4
    nesterov: bool = False
    sampling_error_correction: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (("update", get_args(Update)), ("step", get_args(StepRule))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        for name in ("nesterov", "sampling_error_correction"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}")
        if not 0 < _number(self.step_size) < np.inf:
            raise ValueError(f"step_size must be a finite number above 0; got {self.step_size!r}: pass 1.0 if unsure")
        if self.final_time is not None and not 0 < _number(self.final_time) < np.inf:
            raise ValueError(f"final_time must be a finite number above 0, or None for no end; got {self.final_time!r}")
        if not 0 <= _number(self.inflation) < np.inf:
            raise ValueError(f"inflation must be a finite number, 0 (none) or more; got {self.inflation!r}")
        if self.sampling_error_correction and self.update == "transform":
            raise ValueError(
                "sampling_error_correction needs update='perturbed'; got 'transform', whose covariance update has no "
                "square root once the cross-covariance is corrected: change one of the two"
            )


def _number(value: object) -> float:
    """The value, or NaN, which no range contains, when it is no number."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else np.nan


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


@dataclass(frozen=True)
class Info:
    """What a step saw and did. `misfit` and `spread` describe the ensemble that was evaluated, before the update.

    Attributes
    ----------
    step
        Δt; 0 when a single survivor left nothing to estimate a covariance from.
    time
        Time after the step.
    misfit
        ‖Γ^(-1/2)(z - mean_j G(u_j))‖² over the members that did not fail.
    spread
        Of the ensemble, see `spread`.
    n_failed
        Members without a usable output; they have been replaced.
    done
        Whether the final time is reached.
    """

    step: float
    time: float
    misfit: float
    spread: float
    n_failed: int
    done: bool


def init(prior_mean: Any, prior_std: Any, n_members: int, rng: Generator) -> State:
    """Draw the initial ensemble from independent normals, prior_mean and prior_std (n_parameters,)."""
    mean = as_matrix("prior_mean", np.atleast_2d(prior_mean))[0]
    std = _checked_std(prior_std, len(mean))
    if n_members < 2:
        raise ValueError(f"n_members must be at least 2, to have a covariance; got {n_members}")
    ensemble = mean + std * rng.standard_normal((n_members, len(mean)))
    return State(ensemble=ensemble, updated=ensemble)


def misfit(outputs_mean: Array, target: Array, noise: NoiseModel) -> float:
    """‖Γ^(-1/2)(z - outputs_mean)‖², the value of the convergence curves; both arrays (n_data,)."""
    return float(np.sum(noise.whiten(target - outputs_mean) ** 2))


def spread(ensemble: Array, prior_std: Array) -> float:
    """Root mean square over the parameters of the ensemble's standard deviation in units of the prior's."""
    return float(np.sqrt(np.mean((ensemble.std(axis=0) / prior_std) ** 2)))


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


def step(
    state: State, outputs: Any, *, target: Any, noise: NoiseModel, prior_std: Any, settings: Settings, rng: Generator
) -> tuple[State, Info]:
    """Assimilate the outputs of one ensemble: Kalman update, replacement of failures, inflation, extrapolation.

    Members with a non-finite output (or one so large that its misfit overflows) have failed. They have no part in the
    step size and the update, which the survivors determine; their replacements are drawn from the Gaussian with the
    mean and covariance of the updated survivors: a perturbed copy of one survivor would tie the replacement to that
    member and its spread to an arbitrary scale. A single survivor has no covariance: nothing is assimilated (Δt = 0),
    and the others are redrawn around it with the covariance of the incoming ensemble, whose parameters are known. No
    survivor: `EnsembleCollapse`.

    Parameters
    ----------
    state
        Its ensemble (n_members, n_parameters) is what was evaluated.
    outputs : (n_members, n_data)
        G(u_j) in rows; not finite where the evaluation failed.
    target, noise
        z (n_data,) and Γ.
    prior_std : (n_parameters,)
        Scale of inflation and spread.
    """
    outputs, target, prior_std = _checked_inputs(state, outputs, target, noise, prior_std)
    survived, residuals = _survivors(outputs, target, noise)
    potentials = 0.5 * np.sum(residuals**2, axis=1)
    Δt, time, done = _advance(state.time, potentials, noise.n_data, settings)
    updated = state.ensemble.copy()
    n_failed = int(np.count_nonzero(~survived))
    if len(residuals) > 1:
        updated[survived] = _kalman(updated[survived], outputs[survived], residuals, Δt, noise, settings, rng)
        updated[~survived] = _redraw(updated[survived].mean(axis=0), updated[survived], n_failed, rng)
    else:
        updated[~survived] = _redraw(updated[survived][0], state.ensemble, n_failed, rng)
    updated += np.sqrt(settings.inflation) * prior_std * rng.standard_normal(updated.shape)
    distance = misfit(outputs[survived].mean(axis=0), target, noise)
    spread = float(np.sqrt(np.mean((state.ensemble.std(axis=0) / prior_std) ** 2)))
    info = Info(step=Δt, time=time, misfit=distance, spread=spread, n_failed=n_failed, done=done)
    ensemble = _extrapolate(updated, state, survived) if settings.nesterov else updated
    return State(ensemble=ensemble, updated=updated, time=time, iteration=state.iteration + 1), info


def _kalman(
    ensemble: Array, outputs: Array, residuals: Array, Δt: float, noise: NoiseModel, settings: Settings, rng: Generator
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


def _advance(time: float, potentials: Array, n_data: int, settings: Settings) -> tuple[float, float, bool]:
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


def _survivors(outputs: Array, target: Array, noise: NoiseModel) -> tuple[Mask, Array]:
    """Mask of usable members (n_members,) and their whitened residuals (n_survivors, n_data)."""
    survived: Mask = np.asarray(np.isfinite(outputs).all(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = noise.whiten(target - outputs[survived])
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


def _checked_inputs(state: State, outputs: Any, target: Any, noise: NoiseModel, prior_std: Any) -> tuple[Array, ...]:
    """Float64 arrays of outputs, target and prior_std, or which shape is wrong."""
    n_members, n_parameters = state.ensemble.shape
    outputs, target = np.asarray(outputs, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if target.shape != (noise.n_data,) or not np.isfinite(target).all():
        raise ValueError(f"target must be {noise.n_data} finite numbers, as the noise; got shape {target.shape}")
    if outputs.shape != (n_members, noise.n_data):
        raise ValueError(
            f"outputs must be (n_members, n_data) = ({n_members}, {noise.n_data}), one row per member of "
            f"state.ensemble; got shape {outputs.shape}"
        )
    return outputs, target, _checked_std(prior_std, n_parameters)
