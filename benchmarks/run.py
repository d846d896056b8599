"""Speed and scaling on this machine: `make bench`, or `make bench ARGS=--quick` to see that it runs.

Every comparison is within this run, with one BLAS thread per worker, and what is compared gives the same results.
Tables go to the terminal and, as numbers, to results/bench/bench.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
import plain
import problems
import scheduling
from problems import ISHIGAMI, LARGE, MIDDLE, TINY, Size
from threadpoolctl import threadpool_limits
from timing import Row, best_seconds, show, verdict

from rftune.analysis import dynamics, rollouts
from rftune.features import kernels
from rftune.features.distribution import Prior
from rftune.features.settings import FeatureSettings
from rftune.regression import exact_gp, weight_space
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Scaling
from rftune.settings import Normal
from rftune.tuning import loop, objective
from rftune.tuning.noise import BlockNoise
from rftune.tuning.optimiser import Problem
from rftune.tuning.optimisers.eki import EnsembleKalmanInversion
from rftune.tuning.workers import worker_pool

OUT = Path(__file__).resolve().parents[1] / "results" / "bench" / "bench.json"
JOB_IMPORTS = (
    "numpy",
    "rftune.storage",
    "rftune.emulators.kinds.random_features",
    "rftune.emulators.kinds.gp",
    "rftune.analysis.sensitivity",
)


def evaluation(sizes: Sequence[Size], n_rounds: int) -> list[Row]:
    """Objective.evaluate and its plain twins on the same draws, in milliseconds."""
    rows: list[Row] = []
    for size in sizes:
        double, single = problems.objective(size), problems.objective(size, "float32")
        parameters = double.structure.prior_mean
        calls = {
            "plain": partial(plain.evaluate, double, parameters),
            "careful": partial(plain.evaluate_carefully, double, parameters),
            "float64": partial(double.evaluate, parameters, workspace=objective.Workspace(double)),
            "float32": partial(single.evaluate, parameters, workspace=objective.Workspace(single)),
        }
        outputs = {name: call(rng=np.random.default_rng(3)) for name, call in calls.items()}
        for name in ("careful", "float64"):
            np.testing.assert_allclose(outputs[name], outputs["plain"], rtol=1e-8, atol=1e-8 * np.ptp(outputs["plain"]))
        rng = np.random.default_rng(4)
        seconds = best_seconds({name: partial(call, rng=rng) for name, call in calls.items()}, n_rounds)
        ratio = seconds["plain"] / seconds["float64"]
        rows.append(
            {
                "size": str(size),
                **{f"{name} ms": 1e3 * value for name, value in seconds.items()},
                "plain/float64": ratio,
                "careful/float64": seconds["careful"] / seconds["float64"],
                "plain/float32": seconds["plain"] / seconds["float32"],
                "target": verdict(ratio, 2.5) if size == LARGE else "",
            }
        )
    return rows


def workers(sizes: Sequence[Size], n_members: int, n_rounds: int) -> list[Row]:
    """An ensemble on one and on two workers, and what two threads of nothing but DGEMM gain beside it."""
    rows: list[Row] = []
    for size in sizes:
        problem = problems.objective(size)
        ensemble = problems.ensemble(problem, n_members)
        with worker_pool(problem, 1) as one, worker_pool(problem, 2) as two:
            calls: dict[str, Callable[[], Any]] = {
                "one": lambda: one(ensemble, np.random.default_rng(5)),  # noqa: B023
                "two": lambda: two(ensemble, np.random.default_rng(5)),  # noqa: B023
                "gemm one": partial(_products_on_threads, 1),
                "gemm two": partial(_products_on_threads, 2),
            }
            np.testing.assert_array_equal(calls["one"](), calls["two"]())
            seconds = best_seconds(calls, n_rounds)
        ratio, ceiling = seconds["one"] / seconds["two"], seconds["gemm one"] / seconds["gemm two"]
        judged = verdict(ratio, 1.7) if ceiling > 1.8 else "second core busy"
        rows.append(
            {
                "size": str(size),
                "1 worker ms/member": 1e3 * seconds["one"] / n_members,
                "2 workers ms/member": 1e3 * seconds["two"] / n_members,
                "speed-up": ratio,
                "DGEMM's speed-up": ceiling,
                "target": judged if size == LARGE else "",
            }
        )
    return rows


def _products_on_threads(n_threads: int) -> None:
    matrices = [np.ones((400, 400)) for _ in range(n_threads)]

    def multiply(matrix: Any) -> None:
        out = np.empty_like(matrix)
        for _ in range(16 // n_threads):
            np.matmul(matrix, matrix, out=out)

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(multiply, matrices))


def gemm_limit(sizes: Sequence[Size], n_rounds: int, n_square: int) -> list[Row]:
    """Time of an evaluation's matrix products and factors at this core's GEMM speed, over the measured time."""
    rows: list[Row] = []
    for size in sizes:
        for precision in ("float64", "float32"):
            problem = problems.objective(size, precision)
            calls: dict[str, Callable[[], Any]] = {}
            for kind in ("float64", precision):
                square = np.ones((n_square, n_square), kind)
                calls[kind] = partial(np.matmul, square, square, out=np.empty_like(square))
            calls["evaluate"] = partial(
                problem.evaluate, problem.structure.prior_mean, np.random.default_rng(6), objective.Workspace(problem)
            )
            seconds = best_seconds(calls, n_rounds)
            speed = {kind: 2 * n_square**3 / seconds[kind] for kind in ("float64", precision)}
            products, solves = _least_flops(problem)
            limit = products / speed[precision] + solves / speed["float64"]
            rows.append(
                {
                    "size": str(size),
                    "precision": precision,
                    "GEMM GFLOP/s": speed[precision] / 1e9,
                    "MFLOP": (products + solves) / 1e6,
                    "limit ms": 1e3 * limit,
                    "measured ms": 1e3 * seconds["evaluate"],
                    "share": limit / seconds["evaluate"],
                }
            )
    return rows


def _least_flops(problem: objective.Objective) -> tuple[float, float]:
    """Operations in the features' precision (x·Ξ, symmetric ΦᵀΦ, ΦᵀY, means) and of the float64 factors and solves."""
    n, d = problem.data.inputs.shape
    m, n_folds, n_validation = problem.settings.n_features, len(problem.folds), problem.folds[-1].stop
    return 2 * n * d * m + n * m * (m + 1) + 2 * n * m + 2 * n_validation * m, n_folds * (m**3 / 3 + 2 * m**2)


def gaussian_process(n_samples: int, n_inputs: int) -> list[Row]:
    """One tuning with each likelihood: the same optimiser from the same start to the same optimum."""
    data = problems.sobol_g(n_samples, n_inputs)
    tune = {
        name: partial(exact_gp.tune, settings=exact_gp.SearchSettings(implementation=name))
        for name in ("fast", "sklearn")
    }
    tuned, seconds = {}, {}
    for name in tune:
        tune[name](problems.sobol_g(20, 2), rng=np.random.default_rng(7))  # imports and first calls
        start = perf_counter()
        tuned[name] = tune[name](data, rng=np.random.default_rng(7))
        seconds[name] = perf_counter() - start
    values = [float(outcome.log_marginal_likelihood[0]) for outcome in tuned.values()]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)
    ratio = seconds["sklearn"] / seconds["fast"]
    return [
        {
            "likelihood": name,
            "tuning s": seconds[name],
            "evaluations": int(outcome.n_evaluations[0]),
            "ms/evaluation": 1e3 * seconds[name] / int(outcome.n_evaluations[0]),
            "log p(y)": f"{value:.6f}",
            "speed-up": f"{ratio:.3g}" if name == "fast" else "",
            "target": verdict(ratio, 2.0) if name == "fast" else "",
        }
        for (name, outcome), value in zip(tuned.items(), values, strict=True)
    ]


def eki_update(n_members: int, n_fold: int, n_parameters: int, n_rounds: int) -> list[Row]:
    """One step in ensemble space and the formula with its (n_data, n_data) matrix, with the same perturbations."""
    rng = np.random.default_rng(8)
    factors = [rng.standard_normal((n_fold, n_fold)) for _ in range(2)]
    blocks = [factor @ factor.T / n_fold + np.eye(n_fold) for factor in factors]
    covariance = np.block([[blocks[0], np.zeros((n_fold, n_fold))], [np.zeros((n_fold, n_fold)), blocks[1]]])
    noise, step = BlockNoise.from_covariances(blocks), 0.5
    optimiser = EnsembleKalmanInversion(n_members=n_members, step="constant", step_size=step, inflation=0.0)
    problem = Problem(np.zeros(2 * n_fold), noise, np.zeros(n_parameters), np.ones(n_parameters))
    state = optimiser.start(problem, rng)
    outputs = np.tanh(state.ensemble @ rng.standard_normal((n_parameters, 2 * n_fold)))
    problem = replace(problem, target=outputs[0])
    # the perturbations that the step draws, in the coordinates of the data
    perturbations = np.random.default_rng(9).standard_normal(outputs.shape) / np.sqrt(step)
    for factor, columns in zip(noise.chol_lower, (slice(0, n_fold), slice(n_fold, None)), strict=True):
        perturbations[:, columns] = perturbations[:, columns] @ factor.T
    calls: dict[str, Callable[[], Any]] = {
        "textbook": lambda: plain.eki_update(state.ensemble, outputs, outputs[0], covariance, step, perturbations),
        "ensemble space": lambda: optimiser.tell(state, outputs, problem, np.random.default_rng(9))[0].ensemble,
    }
    np.testing.assert_allclose(calls["ensemble space"](), calls["textbook"](), atol=1e-8)
    seconds = best_seconds(calls, n_rounds)
    return [
        {
            "J, n_data": f"{n_members}, {2 * n_fold}",
            **{f"{name} ms": 1e3 * value for name, value in seconds.items()},
            "speed-up": seconds["textbook"] / seconds["ensemble space"],
        }
    ]


def tuning_shares(size: Size, n_members: int, n_iterations: int) -> list[Row]:
    """Where one tuning on one worker spends its time; Γ's evaluations count as evaluations."""
    data = problems.ishigami(size.n_samples)
    settings = _tuning(size.n_features, n_members, n_iterations)
    tune = partial(loop.tune, data, problems.features(size), settings)
    tune(np.random.default_rng(10))  # imports and first calls
    with (
        _stopwatch(objective.Objective, "evaluate") as evaluate,
        _stopwatch(objective.Objective, "noise_covariances") as noise,
        _stopwatch(EnsembleKalmanInversion, "tell") as update,
    ):
        tuned = tune(np.random.default_rng(10))
    in_noise = sum(evaluate[: settings.noise_draws])  # they come first; no restart at this seed
    parts = {
        f"{len(evaluate)} evaluations": sum(evaluate),
        f"{len(update)} EKI steps": sum(update),
        "Γ by Ledoit-Wolf": sum(noise) - in_noise,
    }
    parts["all else"] = tuned.seconds - sum(parts.values())
    parts["total"] = tuned.seconds
    return [{"part": name, "ms": 1e3 * value, "share": value / tuned.seconds} for name, value in parts.items()]


def _tuning(n_features: int, n_members: int, n_iterations: int) -> loop.TuningSettings:
    optimiser = EnsembleKalmanInversion(n_members=n_members)
    return loop.TuningSettings(n_features=n_features, n_iterations=n_iterations, optimiser=optimiser)


@contextmanager
def _stopwatch(owner: Any, name: str) -> Iterator[list[float]]:
    """Seconds of each call of a function, which is looked up on ``owner`` when it is called."""
    original, seconds = getattr(owner, name), list[float]()

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            seconds.append(perf_counter() - start)

    with patch.object(owner, name, timed):
        yield seconds


def integrator(n_samples: int, n_members: int, n_features: int, n_predict: int, n_steps: int) -> list[Row]:
    """One tuning of a Lorenz 63 integrator, and its trajectory compiled and by repeated calls of the emulator."""
    data = problems.lorenz63(n_samples)
    scaling = Scaling.of(data, 1e-4)
    scaled = scaling.scale(data)
    prior = Prior(amplitude=Normal(0.0, 2.0), log_scale=Normal(-1.0, 1.5))
    features = FeatureSettings(family="lowrank", rank=4, prior=prior)
    tuned = loop.tune(scaled, features, _tuning(n_features, n_members, 20), np.random.default_rng(11))
    structure, variance = features.structure(3, 3), scaled.outputs.var(axis=0)
    drawn = features.sample(structure, tuned.parameters, n_predict, variance, np.random.default_rng(12))
    model = ScaledModel(scaling, weight_space.fit(drawn, scaled, 1.0))
    start = data.inputs[:1]
    np.testing.assert_allclose(rollouts.iterate(model, start, 20), dynamics.iterate(model.mean, start, 20), rtol=1e-8)
    calls: dict[str, Callable[[], Any]] = {
        "compiled": lambda: rollouts.iterate(model, start, n_steps),
        "repeated calls": lambda: dynamics.iterate(model.mean, start, n_steps // 20),
    }
    seconds = best_seconds(calls, 1)
    seconds["repeated calls"] *= 20
    seconds = {"one tuning": tuned.seconds, **seconds}
    return [
        {
            "what": name if name == "one tuning" else f"{n_steps} steps, {name}",
            "s": value,
            "tuning's share": value / tuned.seconds,
            "target": verdict(tuned.seconds / value, 1.0) if name == "compiled" else "",
        }
        for name, value in seconds.items()
    ]


def imports(modules: Sequence[str], n_rounds: int) -> list[Row]:
    """Fresh interpreters that import one module, less one that imports nothing."""

    def start(statement: str) -> None:
        subprocess.run([sys.executable, "-c", statement], check=True)

    calls = {module: partial(start, f"import {module}") for module in modules}
    seconds = best_seconds({"": partial(start, ""), **calls}, n_rounds, n_in_a_row=1)
    return [{"module": module, "ms": 1e3 * (seconds[module] - seconds[""])} for module in modules]


def sections(quick: bool) -> Iterator[tuple[str, str, list[Row]]]:
    """Title, explanation and rows of each table, one after the other as they are measured."""
    sizes = [TINY] if quick else [ISHIGAMI, MIDDLE, LARGE]
    rounds = 1 if quick else 10
    yield (
        "1. Evaluation of the objective against plain NumPy",
        "plain: np.cos, a Gram per training part, np.linalg; careful: full Gram less the fold's, SciPy's Cholesky.",
        evaluation(sizes, rounds),
    )
    yield (
        "2. One and two workers",
        "Threads over the members of an ensemble, same digits; two threads of bare DGEMM show what the machine gives.",
        workers(sizes, 2 if quick else 16, rounds),
    )
    yield (
        "3. Share of the GEMM-bound limit",
        "limit: least operations of one evaluation (Gram as syrk) at the speed of a square product on one core.",
        gemm_limit(sizes, rounds, 64 if quick else 1024),
    )
    yield (
        "4. Gaussian process: one tuning with the fast and with scikit-learn's likelihood",
        "Sobol G function, same optimiser and start, same optimum; once each.",
        gaussian_process(*((40, 2) if quick else (1500, 6))),
    )
    yield (
        "5. One EKI update",
        "Ensemble space against the textbook formula, which solves with the (n_data, n_data) matrix; same ensemble.",
        eki_update(*((5, 6, 3, 1) if quick else (200, 1002, 221, 3))),
    )
    yield (
        "6. Where one tuning of Ishigami goes",
        "One worker, J members for 20 iterations and once more for the final misfit.",
        tuning_shares(*((TINY, 4, 2) if quick else (ISHIGAMI, 30, 20))),
    )
    yield (
        "7. A learned integrator of Lorenz 63",
        "A trajectory must not take longer than the tuning; repeated calls are timed over a twentieth of the steps.",
        integrator(*((40, 4, 10, 20, 100) if quick else (500, 42, 200, 600, 100_000))),
    )
    yield (
        "8. Imports",
        "What a job pays before it starts, in a fresh interpreter.",
        imports(JOB_IMPORTS[:2] if quick else JOB_IMPORTS, 1 if quick else 3),
    )
    yield (
        "9. Planning a sweep",
        "A dry run from nothing: the file checked point by point, and Snakemake's graph of its jobs.",
        scheduling.dry_run(3 if quick else 1000),
    )
    yield (
        "10. Scheduling a sweep",
        "Wall time on two cores less planning and less what the jobs took; five repeats of a point share its jobs.",
        scheduling.scheduling(1 if quick else 24),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: seconds, to see that everything runs")
    parser.add_argument("--out", type=Path, default=OUT, help="where the numbers go (default: %(default)s)")
    options = parser.parse_args()
    compiled = "Numba" if kernels.cosine_numba is not None else "NumPy (no Numba)"
    print(f"{os.cpu_count()} cores, NumPy {np.__version__}, cosine by {compiled}; best times over interleaved rounds")
    tables = {}
    with threadpool_limits(1):
        for title, explanation, rows in sections(options.quick):
            show(title, explanation, rows)
            tables[title] = rows
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(tables, indent=2) + "\n", encoding="utf-8")
    print(f"\nThe numbers are in {options.out}")


if __name__ == "__main__":
    main()
