"""`rftune.fit` at its defaults beside scikit-learn's Gaussian process, on functions whose truth is known.

    python benchmarks/own_data.py --functions ishigami --sizes 100 400 --out own_data.jsonl
    python benchmarks/own_data.py --summary --out own_data.jsonl

Every case is appended to the file as it is done, and what is there is not done again, so that a run can be stopped and
goes on in parts. Both emulators of a case run one after the other in one process, on one thread of linear algebra.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits
from timing import show

import rftune
from rftune.data import Array
from rftune.experiments.ishigami.data import BOUNDS, ishigami

OUT = Path(__file__).parents[1] / "build" / "own_data.jsonl"
N_TEST = 2000
LEVEL, HALF_WIDTH = 0.9, 1.6448536269514722
SIZES, NOISES, SEEDS = (100, 400, 1500), (0.0, 0.01, 0.1), (0, 1, 2)
TIMES = np.array([0.5, 1.0, 2.0, 3.0, 5.0])  # at which the oscillator is looked at


def friedman(x: Array) -> Array:
    """Friedman's first function of ten inputs, of which five matter."""
    return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def borehole(x: Array) -> Array:
    """Flow of water through a borehole, eight inputs."""
    low = np.array([0.05, 100.0, 63070.0, 990.0, 63.1, 700.0, 1120.0, 9855.0])
    high = np.array([0.15, 50000.0, 115600.0, 1110.0, 116.0, 820.0, 1680.0, 12045.0])
    rw, r, tu, hu, tl, hl, length, kw = (low + x * (high - low)).T
    log = np.log(r / rw)
    return 2 * np.pi * tu * (hu - hl) / (log * (1 + 2 * length * tu / (log * rw**2 * kw) + tu / tl))


def sobol_g(x: Array) -> Array:
    """Sobol's function of six inputs with kinks, a_i = (i - 1)/2."""
    a = np.arange(6) / 2
    return np.prod((np.abs(4 * x - 2) + a) / (1 + a), axis=1)


def oscillator(x: Array) -> Array:
    """Where a damped oscillator is at five times, from its stiffness, damping, mass and first velocity."""
    stiffness, damping, mass, velocity = (np.array([1, 0.05, 0.5, -1]) + x * np.array([3, 0.45, 1, 2])).T[:, :, None]
    decay = damping / (2 * mass)
    frequency = np.sqrt(stiffness / mass - decay**2)
    swing = np.cos(frequency * TIMES) + (velocity + decay) / frequency * np.sin(frequency * TIMES)
    return np.exp(-decay * TIMES) * swing


FUNCTIONS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "friedman": (friedman, 10),
    "borehole": (borehole, 8),
    "ishigami": (lambda x: ishigami(BOUNDS[:, 0] + x * np.ptp(BOUNDS, axis=1), a=7.0, b=0.1), 3),
    "sobol_g": (sobol_g, 6),
    "oscillator": (oscillator, 4),
}


@dataclass(frozen=True)
class Case:
    """Some runs of a function, with noise in standard deviations of each output."""

    function: str
    n_runs: int
    noise: float
    seed: int


@dataclass(frozen=True, eq=False)
class Data:
    """What a case learns from and is tested on; outputs have a column each and unit spread."""

    inputs: Array
    outputs: Array
    points: Array
    truth: Array
    new: Array


def data_of(case: Case) -> Data:
    """Uniform inputs, on [0, 1] in every direction."""
    function, n_inputs = FUNCTIONS[case.function]
    rng = np.random.default_rng(
        [case.seed, case.n_runs, round(1000 * case.noise), list(FUNCTIONS).index(case.function)]
    )

    def values(x: Array) -> Array:
        return function(x).reshape(len(x), -1)

    inputs, points = rng.uniform(size=(case.n_runs, n_inputs)), rng.uniform(size=(N_TEST, n_inputs))
    spread = values(np.random.default_rng(0).uniform(size=(20_000, n_inputs))).std(axis=0)
    clean, truth = values(inputs) / spread, values(points) / spread
    noise = [case.noise * rng.standard_normal(outputs.shape) for outputs in (clean, truth)]
    return Data(inputs, clean + noise[0], points, truth, truth + noise[1])


def ours(data: Data) -> dict[str, Any]:
    """`rftune.fit` with nothing set."""
    emulator = rftune.fit(data.inputs, data.outputs, progress=False)
    mean, std = emulator.predict(data.points, return_std=True, noise=True)
    found = {"noise_variances": (emulator.noise_std**2).tolist(), "chosen": list(emulator.card["chosen"].values())}
    return {**scored(data, mean, std), **found}


def theirs(data: Data) -> dict[str, Any]:
    """scikit-learn's Gaussian process with a lengthscale for every input, unknown noise and three restarts."""
    kernel = ConstantKernel() * RBF(np.ones(data.inputs.shape[1])) + WhiteKernel()
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=3, normalize_y=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hyperparameters at their bounds
        process.fit(data.inputs, data.outputs)
        mean, std = process.predict(data.points, return_std=True)
    shape = data.truth.shape
    found = {"noise_variances": (process.kernel_.k2.noise_level * data.outputs.var(axis=0)).tolist()}
    return {**scored(data, mean.reshape(shape), std.reshape(shape)), **found}


def scored(data: Data, mean: Array, std: Array) -> dict[str, float]:
    """Error of the function in its spreads, and share of new data inside their intervals, over all outputs."""
    return {
        "error": float(np.sqrt(np.mean((mean - data.truth) ** 2))),
        "coverage": float(np.mean(np.abs(data.new - mean) <= HALF_WIDTH * std)),
    }


def timed(fit: Callable[[Data], dict[str, Any]], data: Data) -> dict[str, Any]:
    start, busy = perf_counter(), process_time()
    result = fit(data)
    return {**result, "seconds": perf_counter() - start, "processor_seconds": process_time() - busy}


def run(cases: Iterator[Case], out: Path, *, alone: bool) -> None:
    """Do what is not in the file yet; ``alone`` leaves scikit-learn out."""
    out.parent.mkdir(parents=True, exist_ok=True)
    done = {(Case(**row["case"]), who) for row in rows_of(out) for who in ("ours", "theirs") if who in row}
    for case in cases:
        wanted = {"ours": ours} if alone else {"ours": ours, "theirs": theirs}
        if all((case, who) in done for who in wanted):
            continue
        data = data_of(case)
        with threadpool_limits(1):
            row = {"case": asdict(case), **{who: timed(fit, data) for who, fit in wanted.items()}}
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(case, {who: (round(row[who]["error"], 4), round(row[who]["coverage"], 3)) for who in wanted}, flush=True)


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []


def summary(out: Path) -> None:
    """What the issue asks for, over the cases in the file; of a case that was done again the last counts."""
    latest = {Case(**row["case"]): row for row in rows_of(out)}
    table = pd.DataFrame([flat(case, row) for case, row in latest.items()])
    by = ["function", "n_runs", "noise"]
    shown = table.groupby(by, sort=False).agg(
        error=("error", "mean"),
        ratio=("ratio", lambda ratios: float(np.exp(np.log(ratios).mean()))),
        largest=("ratio", "max"),
        coverage=("coverage", "mean"),
        theirs=("their_coverage", "mean"),
        seconds=("seconds", "mean"),
        their_seconds=("their_seconds", "mean"),
    )
    show("Means over seeds", "error in spreads; ratio to scikit-learn's", shown.reset_index().to_dict("records"))
    compared, theirs_covered = table["ratio"].dropna(), table["their_coverage"].dropna().between(0.85, 0.95)
    judged = [share for shares in table["noise_shares"] for share in shares]
    print(f"\n{len(table)} cases, {len(compared)} of them with scikit-learn's")
    if len(compared):
        mean = np.exp(np.log(compared).mean())
        print(f"error over scikit-learn's: geometric mean {mean:.3f}, largest {compared.max():.3f}")
        print(f"cases above 1.25: {int((compared > 1.25).sum())}; above 1: {int((compared > 1).sum())}")
        print(f"its coverage of new data in 0.85..0.95: {theirs_covered.mean():.3f} of cases")
    print(f"coverage of new data in 0.85..0.95: {table['coverage'].between(0.85, 0.95).mean():.3f} of cases")
    if judged:
        within = np.mean([abs(share - 1.0) <= 0.2 for share in judged])
        print(f"noise variance within 20 %, where the error is below the noise: {within:.3f} of {len(judged)} outputs")
    print(f"processor seconds: {table['busy'].sum():.0f}, scikit-learn's {table['their_busy'].sum():.0f}")


def flat(case: Case, row: dict[str, Any]) -> dict[str, Any]:
    """A row of the table."""
    own, other = row["ours"], row.get("theirs", {})
    nan = float("nan")
    shares = [variance / case.noise**2 for variance in own["noise_variances"]] if case.noise else []
    return {
        **asdict(case),
        "error": own["error"],
        "ratio": own["error"] / other["error"] if other else nan,
        "coverage": own["coverage"],
        "their_coverage": other.get("coverage", nan),
        "seconds": own["seconds"],
        "their_seconds": other.get("seconds", nan),
        "busy": own["processor_seconds"],
        "their_busy": other.get("processor_seconds", nan),
        "noise_shares": shares if own["error"] < case.noise else [],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--noises", nargs="+", type=float, default=NOISES, help="in standard deviations of the output")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--alone", action="store_true", help="without scikit-learn's Gaussian process")
    parser.add_argument("--summary", action="store_true", help="look at what is in the file, and do nothing")
    parser.add_argument("--out", type=Path, default=OUT, help="where the numbers go (default: %(default)s)")
    options = parser.parse_args()
    if not options.summary:
        cases = product(options.functions, options.sizes, options.noises, options.seeds)
        run((Case(*case) for case in cases), options.out, alone=options.alone)
    summary(options.out)


if __name__ == "__main__":
    main()
