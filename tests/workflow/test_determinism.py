"""Folder, chunks of repeats, cores and interruptions change no byte; lint and the presets' dry runs are clean."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import CONFIG, ROOT, Project

from rftune.workflow import config as rftune_config
from rftune.workflow.config import over

SEED_FOLDER = "ishigami/standard/seed2026"
TUNED = f"{SEED_FOLDER}/lowrank/tuned-0000-0002.nc"
# Found by the jobs' Python because it lies on PYTHONPATH: a job that is about to put a tuned file in its place cuts the
# file in half, as if it were in the middle of writing it, tells its pid and waits to be killed.
HANG = """
import os, pathlib, time

replace = pathlib.Path.replace

def hang(self, target):
    if pathlib.Path(target).name.startswith("tuned-") and (flag := os.environ.get("HANG_FLAG")):
        os.truncate(self, self.stat().st_size // 2)
        pathlib.Path(flag + ".part").write_text(str(os.getpid()))
        replace(pathlib.Path(flag + ".part"), flag)
        time.sleep(300)
    return replace(self, target)

pathlib.Path.replace = hang
"""


@pytest.fixture(scope="module")
def one_by_one(make_project: Callable[..., Project]) -> Project:
    """A whole run, one repeat per job, on one core."""
    project = make_project({"experiments": ["ishigami", "complexity"], "ishigami": {"repeats_per_job": 1}})
    project.run("--cores", "1")
    return project


@pytest.fixture(scope="module")
def all_at_once(make_project: Callable[..., Project]) -> Project:
    """A whole run in another folder, all repeats in one job, with two workers on two cores."""
    overrides = {"experiments": ["ishigami", "complexity"], "n_workers": 2, "ishigami": {"repeats_per_job": 3}}
    project = make_project(overrides)
    project.run("--cores", "2")
    return project


@pytest.fixture(scope="module")
def killed(make_project: Callable[..., Project], tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose tuning was killed in the middle of a write, snakemake and job alike."""
    project = make_project({"n_workers": 2, "ishigami": {"repeats_per_job": 3}})
    (project.root / "src/sitecustomize.py").write_text(HANG, encoding="utf-8")
    flag = tmp_path_factory.mktemp("flag") / "pid"
    command = project.command("--cores", "1", f"results/tiny/{TUNED}")
    command["env"]["HANG_FLAG"] = str(flag)
    command |= {"stdout": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(**command) as process:
        deadline = time.monotonic() + 120
        while not flag.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert flag.exists(), "the tuning ended, or never came to put its file in place"
    job = int(flag.read_text(encoding="utf-8"))
    if Path(f"/proc/{job}").exists():
        os.kill(job, signal.SIGKILL)
    return project


def test_that_chunks_folder_and_cores_change_no_byte(one_by_one: Project, all_at_once: Project) -> None:
    first, second = one_by_one.hashes(), all_at_once.hashes()
    varies = ("tim", "measured", "T1", "verdicts", "claims")  # what is measured with a clock
    shared = {name for name in first.keys() & second.keys() if not Path(name).name.startswith(varies)}
    assert {Path(name).name for name in shared} == {
        "data.nc",
        "truth.nc",
        "tuned-0000-0000.nc",  # of gp and untuned, which have one repeat
        "predicted-0000-0000.nc",
        "analysis.nc",
        "T2.csv",
        *(f"{name}.{kind}" for name in ("F1", "F7", "T2") for kind in ("png", "pdf")),
    }
    assert f"{SEED_FOLDER}/lowrank/tuned-0002-0002.nc" in first
    assert TUNED in second
    assert [name for name in sorted(shared) if first[name] != second[name]] == []


@pytest.mark.parametrize(("name", "kind"), [("verdicts", b",time,"), ("claims", b",time")])
def test_that_verdicts_and_claims_are_the_same_bytes_but_for_those_on_times(
    one_by_one: Project, all_at_once: Project, name: str, kind: bytes
) -> None:
    lines = [(run.results / f"{name}.csv").read_bytes().splitlines() for run in (one_by_one, all_at_once)]
    first, second = ([line for line in own if kind not in line] for own in lines)
    assert first == second
    assert any(b"T2," in line for line in first)
    assert len(first) < len(lines[0]), "no line is about a time"


def test_that_a_killed_job_leaves_no_partial_file_and_is_redone_to_the_byte(
    killed: Project, all_at_once: Project
) -> None:
    """On one core here, on two there."""
    assert (killed.results / SEED_FOLDER / "data.nc").exists()
    assert not (killed.results / TUNED).exists()
    output = killed.run("--cores", "1", f"results/tiny/{TUNED}")
    assert "rule tune:" in output
    assert "rule data:" not in output
    assert killed.hashes()[TUNED] == all_at_once.hashes()[TUNED]


def test_that_lint_finds_nothing(make_project: Callable[..., Project]) -> None:
    assert "Congratulations" in make_project().run("--lint")


@pytest.mark.parametrize("preset", [None, "config/quick.yaml"])
def test_that_the_presets_plan_the_whole_chain_and_write_nothing(
    make_project: Callable[..., Project], preset: str | None
) -> None:
    project = make_project()
    overrides = yaml.safe_load((ROOT / preset).read_text()) if preset else {}
    config = rftune_config.read(over(CONFIG, overrides))
    counts = Counter(rule for rule, _ in project.planned(*(("--configfile", preset) if preset else ())))
    runs = list(config.runs())
    n_jobs, n_chains = (
        sum(math.ceil(run.repeats / config.blocks[run.experiment].repeats_per_job) for run in some)
        for some in (runs, [run for run in runs if run.sampled])
    )
    n_data = len({(run.experiment, run.case, run.seed) for run in runs})
    tables = ("T2", "T3", "T4", "T5", "T6", "ishigami_choices", "sobol_g_accuracy", "lorenz63_integrators")
    figures = (*(f"F{number}" for number in range(1, 13)), "sparse_inclusion", "edmf_truth_posterior")
    drawn = (*figures, "T1", "T1_csv", "measure", *tables, *(f"{table}_csv" for table in tables))
    assert counts == {
        "data": n_data,
        "check_data": n_data,
        "analyse_truth": n_data,
        "tune": n_jobs,
        "predict": n_jobs,
        "sample": n_chains,
        "sample_truth": len({(run.case, run.seed) for run in runs if run.experiment == "edmf"}),
        "analyse": len(runs),
        **dict.fromkeys((*drawn, "verdicts", "report"), 1),
    }
    assert not (project.root / "results").exists()


def test_that_what_is_timed_can_be_run_before_the_rest(make_project: Callable[..., Project]) -> None:
    overrides = yaml.safe_load((ROOT / "config/quick.yaml").read_text())
    config = rftune_config.read(over(CONFIG, overrides))
    planned = make_project().planned("timed", "--configfile", "config/quick.yaml")
    runs = [run for run in config.runs() if run.timed]
    timed = {f"{run.experiment} {run.case} {run.seed} {run.emulator}" for run in runs}
    for stage in ("tune", "predict"):
        assert {wildcards.rpartition(" ")[0] for rule, wildcards in planned if rule == stage} == timed
    assert {rule for rule, _ in planned} == {"data", "check_data", "tune", "predict", "measure"}
