"""Tuning: ensemble Kalman inversion on the objective, from prior to tuned hyperparameters and their history."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np

from rftune.data import Array, Dataset
from rftune.features.settings import FeatureSettings
from rftune.progress import Progress
from rftune.settings import Field
from rftune.tuning.noise import BlockNoise
from rftune.tuning.objective import Objective, ObjectiveSettings
from rftune.tuning.optimiser import OPTIMISERS, EnsembleCollapse, Info, Optimiser, Problem
from rftune.tuning.workers import EnsembleMap, Workers, worker_pool


class TuningSettings(ObjectiveSettings):
    """How the hyperparameters are searched. By default as in the paper: no early stop, the mean of the final ensemble.

    The smallest objective that was seen while tuning is optimistic, so ``best`` judges the estimates again.
    """

    optimiser: Annotated[Optimiser[Any], OPTIMISERS] = Field(
        default_factory=OPTIMISERS.default, description="search for the hyperparameters"
    )
    n_iterations: int = Field(20, ge=1, le=100_000, description="how often the optimiser is asked and told")
    result: Literal["final", "best"] = Field(
        "final", description="the last estimate, or the one with the smallest objective on fresh draws"
    )
    fresh_draws: int = Field(8, ge=1, le=100_000, description="draws that judge the outcome")
    plateau_patience: int | None = Field(
        None, ge=1, description="iterations without progress after which the search stops; null for never"
    )
    plateau_tolerance: float = Field(0.01, ge=0, lt=1, description="relative fall of the objective that is progress")
    max_restarts: int = Field(
        2, ge=0, le=1000, description="restarts, from a fresh draw, of a tuning that ends at the zero predictor"
    )
    trap_threshold: float = Field(
        0.01, ge=0, lt=1, description="share of the data's mean square below which a predictor is called zero"
    )

    def check(self, n_samples: int, n_outputs: int) -> None:
        super().check(n_samples, n_outputs)
        self.optimiser.check(self.n_data(n_samples, n_outputs))


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
class Found:
    """What a tuning found.

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
    features: FeatureSettings,
    settings: TuningSettings,
    rng: np.random.Generator,
    n_workers: int = 1,
    progress: Progress | None = None,
) -> Found:
    """Tune the feature distribution on scaled data; restart from a fresh draw when caught at the zero predictor.

    Parameters
    ----------
    data
        Scaled by `scaling.Scaling`.
    features
        Whose distribution is tuned.
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
        parameters, history, share, failure = _attempt(data, features, settings, rng, n_workers, progress)
        if not failure or n_restarts == settings.max_restarts:
            return Found(parameters, history, share, n_restarts, failure, perf_counter() - start)
        n_restarts += 1


def _attempt(
    data: Dataset,
    features: FeatureSettings,
    settings: TuningSettings,
    rng: np.random.Generator,
    n_workers: int,
    progress: Progress | None,
) -> tuple[Array, History, float, str]:
    """One tuning from a fresh draw of folds and ensemble: parameters, history, signal share and why it failed."""
    problem_rng, run_rng, check_rng = rng.spawn(3)
    objective = Objective(data, features, settings, problem_rng)
    with worker_pool(objective, n_workers) as evaluate:
        problem = Problem(
            target=objective.target,
            noise=BlockNoise.from_covariances(objective.noise_covariances(problem_rng, evaluate)),
            prior_mean=objective.structure.prior_mean,
            prior_std=objective.structure.prior_std,
        )
        history, failure = _run(problem, settings, run_rng, evaluate, progress)
        parameters = _chosen(history, problem, settings, check_rng, evaluate)
        share = _signal_share(objective, parameters, settings.fresh_draws, check_rng, evaluate)
    return parameters, history, share, failure or _trap(share, parameters, settings)


def _run(
    problem: Problem,
    settings: TuningSettings,
    rng: np.random.Generator,
    evaluate: EnsembleMap,
    progress: Progress | None,
) -> tuple[History, str]:
    """One attempt: iterate until the last iteration, the optimiser's end or a plateau."""
    optimiser = settings.optimiser
    state = optimiser.start(problem, rng)
    means, infos, seconds = [optimiser.estimate(state)], list[Info](), []
    failure = ""
    for iteration in range(settings.n_iterations):
        start = perf_counter()
        try:
            state, info = optimiser.tell(state, evaluate(optimiser.ask(state), rng), problem, rng)
        except EnsembleCollapse as error:
            failure = str(error)
            break
        means.append(optimiser.estimate(state))
        infos.append(info)
        seconds.append(perf_counter() - start)
        if progress is not None:
            progress(iteration + 1, info.misfit / infos[0].misfit, info.n_failed)
        if info.done or _on_plateau([info.misfit for info in infos], settings):
            break
    ensemble = optimiser.ask(state)
    final = evaluate(ensemble, rng)
    finite = np.isfinite(final).all(axis=1)
    last = problem.misfit(final[finite].mean(axis=0)) if finite.any() else np.nan
    history = History(
        misfit=np.array([*(info.misfit for info in infos), last]),
        spread=np.array([*(info.spread for info in infos), problem.spread(ensemble)]),
        step=np.array([info.step for info in infos]),
        n_failed=np.array([info.n_failed for info in infos], dtype=np.float64),
        seconds=np.array(seconds),
        means=np.stack(means),
    )
    return history, failure


def _on_plateau(misfits: list[float], settings: TuningSettings) -> bool:
    patience = settings.plateau_patience
    if patience is None or len(misfits) <= patience:
        return False
    before = min(misfits[:-patience])
    return min(misfits[-patience:]) > (1.0 - settings.plateau_tolerance) * before


def _chosen(
    history: History, problem: Problem, settings: TuningSettings, rng: np.random.Generator, workers: Workers
) -> Array:
    """The ensemble mean that is the result; candidates are compared on the same fresh draws."""
    if settings.result == "final":
        return np.asarray(history.means[-1])
    seeds = rng.integers(2**63, size=settings.fresh_draws)
    points = np.repeat(history.means, len(seeds), axis=0)
    draws = workers.each(points, (np.random.default_rng(seed) for _ in history.means for seed in seeds))
    losses = [problem.misfit(draw) if np.isfinite(draw).all() else np.inf for draw in draws]
    return np.asarray(history.means[int(np.argmin(np.reshape(losses, (-1, len(seeds))).mean(axis=1)))])


def _signal_share(
    objective: Objective, parameters: Array, n_draws: int, rng: np.random.Generator, evaluate: EnsembleMap
) -> float:
    """Mean square of the validation mean over fresh draws, as a share of the validation outputs' mean square."""
    power = float(np.mean(objective.validation_part(objective.target) ** 2))
    draws = evaluate(np.tile(parameters, (n_draws, 1)), rng)
    predicted = float(np.mean(objective.validation_part(draws) ** 2))
    return predicted / power if power > 0 else 1.0


def _trap(share: float, parameters: Array, settings: TuningSettings) -> str:
    if not np.isfinite(parameters).all() or not np.isfinite(share):
        return "the tuned hyperparameters give no finite prediction"
    if share < settings.trap_threshold:
        return f"ended at the zero predictor: its mean square is {share:.1e} of the data's"
    return ""
