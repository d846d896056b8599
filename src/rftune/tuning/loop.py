"""Tuning: ensemble Kalman inversion on the objective, from prior to tuned hyperparameters and their history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import perf_counter
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from rftune.data import Array, Dataset
from rftune.features.distribution import Structure
from rftune.tuning.objective import Objective, Workspace
from rftune.tuning.objective import Settings as ObjectiveSettings
from rftune.tuning.optimisers import eki

EnsembleMap = Callable[[Array, np.random.Generator], Array]
Progress = Callable[[int, float, int], None]


@dataclass(frozen=True)
class Settings:
    """How the hyperparameters are searched. By default as in the paper: no early stop, the mean of the final ensemble.

    Attributes
    ----------
    objective
    n_members
        J, the ensemble size.
    n_iterations
    eki
        Update, step size, inflation.
    result
        "final" takes the mean of the final ensemble; "best" the ensemble mean, among all iterations, with the
        smallest objective on fresh draws (the smallest value seen during tuning is optimistic).
    fresh_draws
        Number of common fresh draws for "best" and for the check of the outcome.
    plateau_patience
        Stop when the objective has not fallen by ``plateau_tolerance`` (relative) for so many iterations; None never.
    plateau_tolerance
    max_restarts
        How often a tuning that ended at the zero predictor starts again from a fresh draw.
    trap_threshold
        A tuned predictor whose mean square is below this share of the data's is called the zero predictor.
    """

    objective: ObjectiveSettings
    n_members: int
    n_iterations: int = 20
    eki: eki.Settings = field(default_factory=eki.Settings)
    result: Literal["final", "best"] = "final"
    fresh_draws: int = 8
    plateau_patience: int | None = None
    plateau_tolerance: float = 0.01
    max_restarts: int = 2
    trap_threshold: float = 0.01

    def __post_init__(self) -> None:
        for name, least in (("n_members", 2), ("n_iterations", 1), ("fresh_draws", 1), ("max_restarts", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}; got {getattr(self, name)}")
        if self.plateau_patience is not None and self.plateau_patience < 1:
            raise ValueError(f"plateau_patience must be at least 1 or null; got {self.plateau_patience}")


@dataclass(frozen=True, eq=False)
class History:
    """What happened at each iteration; entry 0 is the initial ensemble.

    Attributes
    ----------
    misfit : (n_iterations + 1,)
        ‖Γ^(-1/2)(z - mean_j G(u_j))‖².
    spread : (n_iterations + 1,)
        Root mean square over parameters of the ensemble's standard deviation in units of the prior's.
    step, n_failed : (n_iterations,)
        Step size Δt and number of members without a finite output.
    seconds : (n_iterations,)
        Wall time.
    means : (n_iterations + 1, n_parameters)
        Ensemble means, unconstrained.
    """

    misfit: Array
    spread: Array
    step: Array
    n_failed: Array
    seconds: Array
    means: Array


@dataclass(frozen=True, eq=False)
class Tuned:
    """Outcome of a tuning.

    Attributes
    ----------
    parameters : (n_parameters,)
        Unconstrained.
    history
        Of the last attempt.
    signal_share
        Mean square of the tuned validation mean, over fresh draws, as a share of the validation outputs'.
    n_restarts
        Attempts before the last one that ended at the zero predictor.
    failure
        Empty, or why the tuning failed.
    seconds
        Wall time of all attempts.
    """

    parameters: Array
    history: History
    signal_share: float
    n_restarts: int
    failure: str
    seconds: float


def tune(
    data: Dataset,
    structure: Structure,
    settings: Settings,
    rng: np.random.Generator,
    n_workers: int = 1,
    progress: Progress | None = None,
) -> Tuned:
    """Tune the feature distribution on scaled data; restart from a fresh draw when caught at the zero predictor.

    Parameters
    ----------
    data
        Scaled by `scaling.Scaling`.
    structure
    settings
    rng
    n_workers
        Threads over ensemble members; changes no digit.
    progress
        Called with the iteration, its normalised misfit and its number of failed members.
    """
    start = perf_counter()
    n_restarts = 0
    while True:
        parameters, history, share, failure = _attempt(data, structure, settings, rng, n_workers, progress)
        if not failure or n_restarts == settings.max_restarts:
            return Tuned(parameters, history, share, n_restarts, failure, perf_counter() - start)
        n_restarts += 1


def initial_mean(structure: Structure, n_members: int, rng: np.random.Generator) -> Array:
    """Mean of an initial ensemble: the hyperparameters of the untuned emulator."""
    return eki.init(structure.prior_mean, structure.prior_std, n_members, rng).estimate


@contextmanager
def worker_pool(objective: Objective, n_workers: int) -> Iterator[EnsembleMap]:
    """Evaluate ensembles on threads, one BLAS thread and one workspace each.

    Every member has a generator of its own, spawned in order, so the number of workers changes no digit.
    """
    workspaces: SimpleQueue[Workspace] = SimpleQueue()
    for _ in range(n_workers):
        workspaces.put(Workspace(objective))

    def evaluate_member(parameters: Array, rng: np.random.Generator) -> Array:
        workspace = workspaces.get()
        try:
            return objective.evaluate(parameters, rng, workspace)
        finally:
            workspaces.put(workspace)

    with threadpool_limits(1), ThreadPoolExecutor(n_workers) as pool:
        over_members: Callable[..., Iterator[Array]] = map if n_workers == 1 else pool.map  # no thread for one worker

        def evaluate(ensemble: Array, rng: np.random.Generator) -> Array:
            return np.stack(list(over_members(evaluate_member, ensemble, rng.spawn(len(ensemble)))))

        yield evaluate


def _attempt(
    data: Dataset,
    structure: Structure,
    settings: Settings,
    rng: np.random.Generator,
    n_workers: int,
    progress: Progress | None,
) -> tuple[Array, History, float, str]:
    """One tuning from a fresh draw of folds and ensemble: parameters, history, signal share and why it failed."""
    problem_rng, run_rng, check_rng = rng.spawn(3)
    objective = Objective(data, structure, settings.objective, problem_rng)
    with worker_pool(objective, n_workers) as evaluate:
        noise = eki.BlockNoise.from_covariances(objective.noise_covariances(problem_rng))
        history, failure = _run(objective, noise, settings, run_rng, evaluate, progress)
        parameters = _chosen(history, objective, noise, settings, check_rng)
        share = _signal_share(objective, parameters, settings.fresh_draws, check_rng)
    return parameters, history, share, failure or _trap(share, parameters, settings)


def _run(
    objective: Objective,
    noise: eki.NoiseModel,
    settings: Settings,
    rng: np.random.Generator,
    evaluate: EnsembleMap,
    progress: Progress | None,
) -> tuple[History, str]:
    """One attempt: iterate until the last iteration, the final time or a plateau."""
    structure = objective.structure
    state = eki.init(structure.prior_mean, structure.prior_std, settings.n_members, rng)
    means, infos, seconds = [state.estimate], [], []
    misfits: list[float] = []
    failure = ""
    for iteration in range(settings.n_iterations):
        start = perf_counter()
        outputs = evaluate(state.ensemble, rng)
        try:
            state, info = eki.step(
                state,
                outputs,
                target=objective.target,
                noise=noise,
                prior_std=structure.prior_std,
                settings=settings.eki,
                rng=rng,
            )
        except eki.EnsembleCollapse as error:
            failure = str(error)
            break
        means.append(state.estimate)
        infos.append(info)
        misfits.append(info.misfit)
        seconds.append(perf_counter() - start)
        if progress is not None:
            progress(iteration + 1, misfits[-1] / misfits[0], info.n_failed)
        if info.done or _on_plateau(misfits, settings):
            break
    final = evaluate(state.ensemble, rng)
    finite = np.isfinite(final).all(axis=1)
    last = eki.misfit(final[finite].mean(axis=0), objective.target, noise) if finite.any() else np.nan
    return (
        History(
            misfit=np.array([*misfits, last]),
            spread=np.array([*(info.spread for info in infos), eki.spread(state.ensemble, structure.prior_std)]),
            step=np.array([info.step for info in infos]),
            n_failed=np.array([info.n_failed for info in infos], dtype=np.float64),
            seconds=np.array(seconds),
            means=np.stack(means),
        ),
        failure,
    )


def _on_plateau(misfits: list[float], settings: Settings) -> bool:
    patience = settings.plateau_patience
    if patience is None or len(misfits) <= patience:
        return False
    before = min(misfits[:-patience])
    return min(misfits[-patience:]) > (1.0 - settings.plateau_tolerance) * before


def _chosen(
    history: History, objective: Objective, noise: eki.NoiseModel, settings: Settings, rng: np.random.Generator
) -> Array:
    """The ensemble mean that is the result; candidates are compared on the same fresh draws."""
    if settings.result == "final":
        return np.asarray(history.means[-1])
    seeds = rng.integers(2**63, size=settings.fresh_draws)
    workspace = Workspace(objective)

    def loss(parameters: Array) -> float:
        draws = (objective.evaluate(parameters, np.random.default_rng(seed), workspace) for seed in seeds)
        losses = [eki.misfit(draw, objective.target, noise) if np.isfinite(draw).all() else np.inf for draw in draws]
        return float(np.mean(losses))

    return np.asarray(history.means[int(np.argmin([loss(mean) for mean in history.means]))])


def _signal_share(objective: Objective, parameters: Array, n_draws: int, rng: np.random.Generator) -> float:
    """Mean square of the validation mean over fresh draws, as a share of the validation outputs' mean square."""
    power = float(np.mean(objective.validation_part(objective.target) ** 2))
    workspace = Workspace(objective)
    draws = [objective.evaluate(parameters, stream, workspace) for stream in rng.spawn(n_draws)]
    predicted = float(np.mean(objective.validation_part(np.stack(draws)) ** 2))
    return predicted / power if power > 0 else 1.0


def _trap(share: float, parameters: Array, settings: Settings) -> str:
    if not np.isfinite(parameters).all() or not np.isfinite(share):
        return "the tuned hyperparameters give no finite prediction"
    if share < settings.trap_threshold:
        return f"ended at the zero predictor: its mean square is {share:.1e} of the data's"
    return ""
