"""Copies of the project whose config and library code the tests may change, and how snakemake is run in them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from rftune.workflow.config import over

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
TINY = yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text(encoding="utf-8"))
# A job of a dry run: the line that names its rule, then indented lines, one of which may hold its wildcards.
# Jobs that a cluster gets in one submission are indented.
JOB = re.compile(r"^( *)(?:local)?rule (\w+):\n((?:\1    .*\n)*)", re.MULTILINE)
WILDCARDS = re.compile(r"^ *wildcards: (.*)$", re.MULTILINE)

Job = tuple[str, str]


def tiny_config(overrides: dict[str, Any] | None = None) -> dict[str, Any]:
    """The paper's config at sizes that run in seconds, Ishigami alone."""
    config = over(CONFIG, TINY)
    emulators = config["ishigami"]["emulators"]
    config["ishigami"] = {
        **config["ishigami"],
        "emulators": {name: emulators[name] for name in TINY["ishigami"]["emulators"]},
    }
    return over(config, overrides or {})


def small_features(n_members: int) -> dict[str, Any]:
    """Settings of random features that are tuned in no time."""
    return {
        "features": {"untuned_draws": n_members},
        "tuning": {"n_features": 15, "n_iterations": 2, "noise_draws": 5, "optimiser": {"n_members": n_members}},
        "prediction": {"n_features": 20},
    }


class Project:
    """A copy of the project; its config is the paper's until `write_config`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("workflow", "config", "src"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("*.egg-info"))
        for name in ("Snakefile", "environment.yml"):
            shutil.copy2(ROOT / name, root / name)
        (root / "profiles").symlink_to("workflow/profiles")

    @property
    def results(self) -> Path:
        return self.root / TINY["results"]

    def write_config(self, config: dict[str, Any]) -> None:
        (self.root / "config/config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")

    @contextmanager
    def changed_config(self, overrides: dict[str, Any]) -> Iterator[None]:
        """A config that differs from the tiny one, for a while."""
        with self.edited("config/config.yaml", lambda _: yaml.safe_dump(tiny_config(overrides))):
            yield

    @contextmanager
    def edited(self, name: str, edit: Callable[[str], str]) -> Iterator[None]:
        """A file with other content, for a while."""
        path = self.root / name
        before = path.read_text(encoding="utf-8")
        after = edit(before)
        assert after != before, f"the edit of {name} changes nothing"
        path.write_text(after, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(before, encoding="utf-8")

    def command(self, *arguments: str) -> dict[str, Any]:
        """Arguments for subprocess that start snakemake here, with this copy's library."""
        environment = os.environ | {
            "PYTHONPATH": str(self.root / "src"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        # Edits within a second of each other would be hidden by compiled files, which are judged by whole seconds.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        return {
            "args": [sys.executable, "-m", "snakemake", *arguments],
            "cwd": self.root,
            "env": environment,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
        }

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(**self.command(*arguments), check=False, timeout=900)
        # Decoded here, because text=True would hide carriage returns.
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode())

    def run(self, *arguments: str) -> str:
        """Run snakemake to a good end and return what it printed."""
        done = self.snakemake(*arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def planned(self, *arguments: str) -> set[Job]:
        """The jobs that snakemake would run now: rule, and wildcards; of Ishigami without experiment and case."""
        output = self.run("--dry-run", *arguments)
        jobs = set()
        for _, rule, body in JOB.findall(output):
            wildcards = WILDCARDS.search(body)
            pairs = [pair.split("=") for pair in wildcards[1].split(", ")] if wildcards else []
            jobs.add((rule, " ".join(value for _, value in pairs if value not in ("ishigami", "standard"))))
        counted = re.search(r"^total +(\d+)$", output, re.MULTILINE)
        assert len(jobs) == (int(counted[1]) if counted else 0), output
        stages = r"(data|tune|predict|analyse)_(ishigami|sobol_g|lorenz63)"
        collecting = re.compile(rf"default|all|begin|sweep|timed|{stages}")
        return {job for job in jobs if not collecting.fullmatch(job[0])}

    def hashes(self) -> dict[str, str]:
        """Content of every result file, by its path.

        Logs, benchmarks and marks of checks are not results, nor is the page with its record, which show their times.
        """
        return {
            str(path.relative_to(self.results)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.results.rglob("*"))
            if path.is_file()
            and path.suffix != ".checked"
            and path.name not in ("report.html", "reference.json")
            and not {"logs", "benchmarks"} & {*path.relative_to(self.results).parts}  # a sweep's folder has its own
        }


def states(folder: Path) -> dict[str, tuple[bytes | None, int]]:
    """Content and date of everything in a folder, links not followed; Snakemake's own records left out."""
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.lstat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if ".snakemake" not in path.parts
    }


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Project]:
    """Make a fresh copy of the project; with overrides, at tiny sizes."""

    def make(overrides: dict[str, Any] | None = None) -> Project:
        project = Project(tmp_path_factory.mktemp("project"))
        if overrides is not None:
            project.write_config(tiny_config(overrides))
        return project

    return make
