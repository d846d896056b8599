"""Killed runs come back with the same bytes; a folder that cannot be used is told so, and nothing in it is touched."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
from conftest import Project, states
from disks import on_own_disk

from rftune import storage
from rftune.workflow import folders

SEED = "ishigami/standard/seed2026"
LOWRANK = f"{SEED}/lowrank"
ANALYSIS = f"results/tiny/{LOWRANK}/analysis.nc"
ALL_AT_ONCE: dict[str, Any] = {"ishigami": {"repeats_per_job": 3, "data": {"n_base": 2048}}}


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
    project = make_project(ALL_AT_ONCE)
    project.run("data_ishigami", "--cores", "1")
    return project


@pytest.fixture(scope="module")
def expected(make_project: Callable[..., Project]) -> dict[str, str]:
    """What an undisturbed run of one emulator leaves, but for measured times."""
    project = make_project(ALL_AT_ONCE)
    project.run(ANALYSIS, "--cores", "1")
    return untimed(project)


def untimed(project: Project) -> dict[str, str]:
    return {name: content for name, content in project.hashes().items() if "tim" not in Path(name).name}


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


# Disks, folders and clocks


def test_that_a_run_on_a_disk_that_is_full_goes_on_when_there_is_room(
    make_project: Callable[..., Project], expected: dict[str, str]
) -> None:
    """A disk with room for the data and for half of what is predicted there."""
    project = make_project(ALL_AT_ONCE)
    script = """
        mkdir -p results/tiny && mount -t tmpfs -o size=800k none results/tiny || exit
        "$@" && exit 1
        echo "left: $(find results/tiny -name '.*' -type f | wc -l) temporary files"
        mount -o remount,size=100m results/tiny || exit
        "$@" && cp -a results/tiny kept
    """
    printed = on_own_disk(project, script, "--cores", "1", ANALYSIS)
    assert (
        "predicted-0000-0002.nc could not be written (No space left on device): make room and start the same command"
        in printed
    )
    assert "left: 0 temporary files" in printed
    assert "Traceback" not in printed
    shutil.rmtree(project.results)
    (project.root / "kept").rename(project.results)
    assert untimed(project) == expected


def test_that_a_disk_that_cannot_be_written_to_is_called_that(finished: Project) -> None:
    before = states(finished.root)
    script = 'mount --bind results results && mount -o remount,bind,ro results || exit; ! "$@"'
    printed = on_own_disk(finished, script, "--cores", "1", ANALYSIS)
    assert "the results folder results/tiny cannot be written to (Read-only file system): mend its permi" in printed
    assert "Traceback" not in printed
    assert states(finished.root) == before


def test_that_a_results_folder_that_vanishes_in_a_run_is_made_again(
    make_project: Callable[..., Project], expected: dict[str, str]
) -> None:
    project = make_project(ALL_AT_ONCE)
    command = project.command("--cores", "1", ANALYSIS)
    with subprocess.Popen(**command) as process:
        deadline = time.monotonic() + 300
        while not (project.results / SEED / "data.checked").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        project.results.rename(project.root / "gone")
        printed = process.stdout.read().decode()
    assert process.returncode != 0, printed
    assert "Traceback" not in printed
    project.run("--cores", "1", ANALYSIS)
    assert untimed(project) == expected


def test_that_results_of_a_time_to_come_are_named_before_any_work(finished: Project) -> None:
    """As after a clock was put back: Snakemake would do the work, and then call it out of date."""
    data = finished.results / SEED / "data.nc"
    made = data.stat().st_mtime
    os.utime(data, (made, time.time() + 3600))
    before = states(finished.root)
    printed = refused(finished, ANALYSIS)
    assert f"results/tiny/{SEED}/data.nc is dated " in printed
    assert "so that whatever is made from it would be out of date at once: mend the clock, wait, or name" in printed
    assert states(finished.root) == before
    os.utime(data, (made, made))


def test_that_a_clock_that_jumps_back_in_a_run_loses_nothing(
    make_project: Callable[..., Project], expected: dict[str, str]
) -> None:
    """By so little that clocks of a cluster may differ as much."""
    project = make_project(ALL_AT_ONCE)
    project.run("data_ishigami", "--cores", "1")
    data = project.results / SEED / "data.nc"
    os.utime(data, (time.time(), time.time() + 50))
    done = project.snakemake("--cores", "1", ANALYSIS)
    assert "Traceback" not in done.stdout
    assert done.returncode == 0 or "has older modification time" in done.stdout
    os.utime(data)
    project.run("--cores", "1", ANALYSIS)
    assert untimed(project) == expected
    assert project.planned(ANALYSIS) == set()


def test_that_of_two_runs_in_a_folder_behind_a_link_one_is_told_of_the_other(
    make_project: Callable[..., Project], tmp_path: Path, expected: dict[str, str]
) -> None:
    """Begun at once, one by way of the link and one in the folder itself."""
    project = make_project(ALL_AT_ONCE)
    project.results.parent.mkdir()
    project.results.symlink_to(tmp_path / "far")
    (tmp_path / "far").mkdir()
    for name in ("thesis.nc", "far/notes.txt", "far/tables/mine.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine", encoding="utf-8")
    before = {name: state for name, state in states(tmp_path).items() if state[0] is not None}
    commands = [
        project.command("--cores", "1", ANALYSIS),
        project.command("--cores", "1", f"{tmp_path}/far/{LOWRANK}/analysis.nc", "--config", f"results={tmp_path}/far"),
    ]
    runs = [subprocess.Popen(**command) for command in commands]
    printed = [run.communicate(timeout=900)[0].decode() for run in runs]
    told = [text for text in printed if "another run (process " in text and "wait for it, stop it, or name" in text]
    assert sorted(run.returncode for run in runs) == [0, 1], printed
    assert len(told) == 1
    assert "Traceback" not in "".join(printed)
    assert expected.items() <= untimed(project).items()
    assert project.results.is_symlink()
    assert before.items() <= states(tmp_path).items()
