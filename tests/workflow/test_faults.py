"""Killed runs come back with the same bytes; a folder that cannot be used is told so, and nothing in it is touched."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
from conftest import Project

from rftune import storage
from rftune.workflow import folders

LOWRANK = "ishigami/standard/seed2026/lowrank"
ANALYSIS = f"results/tiny/{LOWRANK}/analysis.nc"
# Tunings that last long enough to be hit in the middle.
SLOW: dict[str, Any] = {
    "ishigami": {
        "repeats_per_job": 1,
        "emulators": {"lowrank": {"tuning": {"n_iterations": 200, "optimiser": {"n_members": 60}}}},
    }
}


@pytest.fixture
def tell(capfd: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Say something in the test's output even where the test passes."""

    def say(text: str) -> None:
        with capfd.disabled():
            print(f"\n{text}", file=sys.stderr, flush=True)

    return say


@pytest.fixture(scope="module")
def finished(make_project: Callable[..., Project]) -> Project:
    """A small finished run, for tests that must not change it."""
    project = make_project({"ishigami": {"data": {"n_base": 2048}}})
    project.run("data_ishigami", "--cores", "1")
    return project


def tuning_job(project: Project, snakemake: int) -> int | None:
    """The process of a tuning that is under way, once no tuning of an earlier run is alive."""
    logs = (project.results / "logs" / LOWRANK).glob("tune-*.log")
    if not any("iteration 3:" in (text := log.read_text(encoding="utf-8")) and "done" not in text for log in logs):
        return None
    jobs = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().decode(errors="replace")
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
        if str(project.root) in command and ".tune.py" in command and command.startswith(sys.executable):
            jobs.append((int(path.name), parent))
    return jobs[0][0] if len(jobs) == 1 and jobs[0][1] == snakemake else None


def disturbed(project: Project, victim: str) -> str:
    """Start the run, kill -9 the snakemake or its worker in the middle of a tuning, and return what was printed."""
    command = project.command("--cores", "1", ANALYSIS) | {"start_new_session": True}
    with subprocess.Popen(**command) as process:
        deadline = time.monotonic() + 600
        while (job := tuning_job(project, process.pid)) is None:
            assert process.poll() is None, process.stdout.read().decode()
            assert time.monotonic() < deadline, "no tuning began"
            time.sleep(0.02)
        os.kill(process.pid if victim == "snakemake" else job, signal.SIGKILL)
        # a worker outlives its snakemake and holds the pipe: its end is not waited for
        printed = b"" if victim == "snakemake" else process.stdout.read()
        process.wait(timeout=600)
    assert process.returncode != 0
    return printed.decode()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")
def test_that_killed_runs_come_back_with_the_same_bytes(
    make_project: Callable[..., Project], tell: Callable[[str], None]
) -> None:
    undisturbed, project = make_project(SLOW), make_project(SLOW)
    undisturbed.run("--cores", "2", ANALYSIS)
    victims = ("snakemake", "worker", "snakemake")
    printed = [disturbed(project, victim) for victim in victims]
    assert "Error in rule tune" in printed[1]
    project.run("--cores", "1", ANALYSIS)  # the same command, without --unlock
    expected, found = undisturbed.hashes(), project.hashes()
    assert found.keys() == expected.keys()
    compared = [name for name in expected if "tim" not in Path(name).name]
    lost = [name for name in compared if found[name] != expected[name]]
    tell(f"faults: {len(victims)} kills ({', '.join(victims)}), {len(lost)} of {len(compared)} results lost or changed")
    assert not lost
    assert project.planned(ANALYSIS) == set()


def refused(project: Project, *arguments: str, **limits: Any) -> str:
    """Run snakemake, which fails with a message and no traceback, and return what it printed."""
    done = subprocess.run(**project.command("--cores", "1", *arguments), **limits, check=False, timeout=900)
    printed = str(done.stdout.decode())
    assert done.returncode != 0, printed
    assert "Traceback" not in printed
    return printed


def test_that_a_full_disk_is_named_and_nothing_is_lost(finished: Project, tell: Callable[[str], None]) -> None:
    """No file may grow beyond 100 kB: what a write meets on a full disk, for a process of any user."""
    before = finished.hashes()

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))

    target = f"results/tiny/{LOWRANK.replace('lowrank', 'gp')}/predicted-0000-0000.nc"
    printed = refused(finished, target, preexec_fn=no_room)
    assert (
        "predicted-0000-0000.nc could not be written (File too large): make room and start the same command" in printed
    )
    assert before.items() <= finished.hashes().items()
    assert not list(finished.results.rglob(".*-*.nc")), "temporary files are left"
    finished.run("--cores", "1", target)
    assert before.items() <= finished.hashes().items()
    tell(f"faults: a full disk, 0 of {len(before)} results lost; the same command finished the rest")


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("config/config.yaml/results", "cannot be made: config/config.yaml is no folder"),
        ("/sys/rftune", "cannot be written to ("),  # not even by root
    ],
)
def test_that_an_unwritable_folder_is_named_before_any_work(finished: Project, folder: str, reason: str) -> None:
    printed = refused(finished, "data_ishigami", "--config", f"results={folder}")
    assert f"the results folder {folder} {reason}" in printed
    assert "name another one (results: ... in a config file, or --config results=...)" in printed
    assert "rule data:" not in printed


def test_that_results_of_another_format_are_neither_replaced_nor_mixed(make_project: Callable[..., Project]) -> None:
    project = make_project({})
    project.run("data_ishigami", "--cores", "1")
    with h5py.File(project.results / "ishigami/standard/seed2026/data.nc", "r+") as stored:
        stored.attrs["format_version"] = storage.FORMAT_VERSION - 1
    before = project.hashes()
    printed = refused(project, ANALYSIS)
    assert "holds results of format 0 (ishigami/standard/seed2026/data.nc), and this rftune writes format 1" in printed
    assert project.hashes() == before


def test_that_a_second_run_in_a_folder_is_told_of_the_first(finished: Project) -> None:
    with folders.claim(finished.results, finished.results / "logs/run.lock"):
        printed = refused(finished, "data_ishigami", "--forceall")
        assert f"another run (process {os.getpid()} on " in printed
        assert "writes to results/tiny: wait for it, stop it, or name another folder" in printed
    finished.run("data_ishigami", "--cores", "1")


def states(folder: Path) -> dict[str, tuple[bytes | None, int]]:
    """Content and date of everything in a folder, links not followed; Snakemake's own records left out."""
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.lstat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if ".snakemake" not in path.parts
    }


@pytest.mark.parametrize("results", ["results/tiny", "."])
@pytest.mark.parametrize("look", ["--dry-run", "--lint", "--list"])
def test_that_a_look_changes_no_byte_and_no_date_anywhere(
    make_project: Callable[..., Project], tmp_path: Path, results: str, look: str
) -> None:
    """Neither of a kept run's files, nor of foreign ones beside them or behind a link, nor of the project itself."""
    project = make_project({})
    foreign = tmp_path / "thesis.txt"
    foreign.write_text("mine", encoding="utf-8")
    for name in ("results/tiny/tables/T2.csv", "results/tiny/figures/F1.png", "results/tiny/my_notes.txt"):
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).write_text("kept", encoding="utf-8")
    (project.results / "elsewhere").symlink_to(tmp_path)
    before, date = states(project.root), foreign.stat().st_mtime_ns
    project.run(look, "--config", f"results={results}")
    assert states(project.root) == before
    assert foreign.stat().st_mtime_ns == date
