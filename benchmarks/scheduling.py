"""What Snakemake takes for a sweep, apart from the work: a dry run of many points, and the scheduling of some."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml
from timing import Row

ROOT = Path(__file__).resolve().parents[1]
N_CORES = 2
REPEATS = 5  # a chunk: they share a job
ALONE = ("data", "check", "sweep_table", "sweep_figure")  # jobs before or after all others: the second core is idle
# Sizes at which a job is little but its start.
SMALL: dict[str, Any] = {
    "ishigami": {
        "data": {"n_train": 40, "n_base": 64},
        "analysis": {"n_bootstrap": 2},
        "emulators": {"lowrank": {"tuning": {"noise_draws": 2, "n_iterations": 1}, "prediction": {"n_features": 10}}},
    }
}


def dry_run(n_points: int, target: float = 20.0) -> list[Row]:
    """Wall time of `snakemake --dry-run` for a sweep that was never run."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = _snakemake(Path(folder), n_points, "--dry-run", "--quiet")
    return [
        {
            "points": float(n_points),
            "jobs": float(3 * n_points + 5),
            "dry run s": seconds,
            "ms/point": 1e3 * seconds / n_points,
            "target": f"< {target:g} s: {'met' if seconds < target else 'MISSED'}",
        }
    ]


def scheduling(n_points: int, target: float = 0.3) -> list[Row]:
    """A sweep that is run: wall time less planning and less what its jobs took on two cores, per point.

    Planning is the dry run of the same sweep. What jobs took, their Python's start included, is in their benchmark
    files; Snakemake counts from the start of a job's process to its end. Jobs before and after all others run alone and
    take all of their time; the idle second core beside them is counted in a column of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        planning = _snakemake(Path(folder), n_points, "--dry-run", "--quiet")
        wall = _snakemake(Path(folder), n_points)
        jobs = {path: _seconds(path) for path in Path(folder).rglob("*.tsv")}
    alone = sum(seconds for path, seconds in jobs.items() if path.stem in ALONE)
    overhead = (wall - planning - alone - (sum(jobs.values()) - alone) / N_CORES) / n_points
    return [
        {
            "points": float(n_points),
            "repeats": float(n_points * REPEATS),
            "wall s": wall,
            "planning s": planning,
            "a job s": sum(jobs.values()) / len(jobs),
            "overhead s/point": overhead,
            "idle core s/point": alone / N_CORES / n_points,
            "target": f"< {target:g} s: {'met' if overhead < target else 'MISSED'}",
        }
    ]


def _snakemake(folder: Path, n_points: int, *arguments: str) -> float:
    """Seconds of a sweep over ``n_points`` ensemble sizes."""
    sweep = {
        "title": "benchmark",
        "repeats": REPEATS,
        "repeats_per_job": REPEATS,
        "runs": [
            {
                "experiment": "ishigami",
                "emulator": "lowrank",
                "grid": {"tuning.optimiser.n_members": list(range(2, n_points + 2))},
            }
        ],
    }
    (folder / "sweep.yaml").write_text(yaml.safe_dump(sweep), encoding="utf-8")
    config = SMALL | {"results": str(folder / "results"), "sweep": str(folder / "sweep.yaml")}
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", str(N_CORES), "--configfile", str(folder / "config.yaml")]
    start = perf_counter()
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return perf_counter() - start


def _seconds(path: Path) -> float:
    with path.open(newline="", encoding="utf-8") as stream:
        return sum(float(row["s"]) for row in csv.DictReader(stream, delimiter="\t"))
