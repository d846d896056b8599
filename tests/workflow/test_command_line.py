"""What `snakemake` says where it is asked for something that there is not, and of what has changed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project

SLURM = ("--workflow-profile", "workflow/profiles/slurm")


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    return make_project({})


def said(project: Project, *arguments: str, path: str | None = None) -> str:
    """What a run that ends at once, without a traceback and without results, prints last."""
    command = project.command(*arguments)
    if path is not None:
        command["env"]["PATH"] = path
    done = subprocess.run(**command, check=False, timeout=60)
    printed = str(done.stdout.decode())
    assert done.returncode == 1, printed
    assert "Traceback" not in printed
    assert not (project.root / "results").exists()
    return printed


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the programs that Snakemake itself needs, for a PATH without those of this machine."""
    for name in ("bash", "sh", "which"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    return tmp_path


def test_that_a_run_on_slurm_without_slurm_ends_at_once(project: Project, programs: Path) -> None:
    """Snakemake would wait for ever, and not even be terminated."""
    printed = said(project, *SLURM, "data_ishigami", path=str(programs))
    assert "no job can be handed to Slurm from here (there is no sbatch on the PATH): start on a login node" in printed
    assert "trying to guess" not in printed


def test_that_a_slurm_that_does_not_answer_is_told_in_its_own_words(project: Project, programs: Path) -> None:
    for name in ("sbatch", "sinfo", "sacct", "squeue"):
        (programs / name).write_text("#!/bin/sh\necho 'fatal: no controller' >&2\nexit 1\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    printed = said(project, *SLURM, "data_ishigami", path=str(programs))
    assert "no job can be handed to Slurm from here (fatal: no controller): start on a login node" in printed


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("F77", "there is no target F77; did you mean 'F7'?"),
        ("tune_ishigmai", "there is no target tune_ishigmai; did you mean 'tune_ishigami'?"),
        ("xyz", "there is no target xyz; there are F1, F7, T2, T2_csv, all, analyse_ishigami,"),
    ],
)
def test_that_an_unknown_target_is_told_of_the_nearest(project: Project, target: str, sentence: str) -> None:
    last = said(project, "--dry-run", target).splitlines()[-1]
    assert last.startswith(sentence)
    assert last.endswith("(snakemake --list describes them)")


def test_that_an_unnamed_sweep_is_one_sentence(project: Project) -> None:
    last = said(project, "--dry-run", "sweep").splitlines()[-1]
    assert last == "no sweep is named: snakemake sweep --config sweep=config/sweeps/rank.yaml"


def test_that_a_file_without_a_suffix_is_no_target(project: Project) -> None:
    """It may hold the data of the cloud experiment."""
    known = {"experiments": ["edmf"], "edmf": {"source": "Diagnostics"}}
    with project.changed_config(known):
        printed = said(project, "--dry-run", "data_edmf")
    assert "there is no target Diagnostics" not in printed


def test_that_a_broken_config_is_one_sentence(project: Project) -> None:
    with project.edited("config/config.yaml", lambda text: text + "\nseed: [1, 2\n"):
        printed = said(project, "--dry-run")
    assert "no config can be read at" in printed
    assert "config.yaml (no yaml: expected ',' or ']'" in printed


def test_that_every_rule_is_described(project: Project) -> None:
    listed = project.run("--list").splitlines()[1:]
    bare = [line for line in listed if not line.endswith(")")]
    assert len(listed) > 20
    assert not bare
    assert "F1 (Slices of the Ishigami function)" in listed


def test_that_the_reason_for_a_rerun_names_the_setting(make_project: Callable[..., Project]) -> None:
    project = make_project({})
    project.run("tune_ishigami", "--cores", "2")
    with project.changed_config({"ishigami": {"emulators": {"lowrank": {"tuning": {"noise_draws": 6}}}}}):
        printed = project.run("--dry-run", "tune_ishigami")
    reasons = [line for line in printed.splitlines() if "Params have changed" in line]
    assert len(reasons) == 2
    for reason in reasons:
        before, now = reason.split("before: ")[1].split(" now: ")
        assert before.replace("noise_draws=5", "noise_draws=6") == now.rstrip()
        assert "settings.tuning: " in now
        assert len(reason) < 350
