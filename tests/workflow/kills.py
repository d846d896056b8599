"""A run of all five experiments that is killed at random and started again; what comes out is compared to the byte.

Every outcome of a kill must be mended by the same command, without --unlock and without a look at the files. Used by
`make faults` (run_faults.py) and, with few kills, by test_kills.py.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import test_edmf_chain
import test_lorenz63_chain
import test_sobol_g_chain
from conftest import CONFIG, Project, tiny_config

from rftune.workflow.config import over

# Of each experiment the emulators whose roles its figures show, and no others.
EMULATORS = {
    "ishigami": ("gp", "untuned", "lowrank"),
    "sobol_g": ("gp", "subspace", "sparse"),
    "lorenz63": ("gp", "untuned", "untuned_printed", "nonseparable_4"),
    "edmf": ("gp", "untuned", "nonseparable_1", "separable_5_1", "nonseparable_3"),
}
SIZES = {
    "sobol_g": {"dimensions": [3]},
    "lorenz63": {"noise_variances": [1.0e-4]},
}
# Some stages of every experiment, for when there is little time.
SOME_TARGETS = (
    "results/tiny/ishigami/standard/seed2026/lowrank/analysis.nc",
    "results/tiny/sobol_g/d3/seed2026/sparse/predicted-0000-0001.nc",
    "results/tiny/lorenz63/noise0.0001/seed2026/nonseparable_4/tuned-0000-0001.nc",
    "results/tiny/edmf/surrogate/seed2026/gp/posterior-0000-0000.nc",
    "results/tiny/complexity/measured.csv",
    "results/tiny/figures/F7.png",
)
# What is measured with a clock: results, and the tables and pictures of them; a table's other columns are compared.
MEASURED = re.compile(
    r"tim(ing|es)-.*\.nc|measured\.csv|(T[1346]|sobol_g_accuracy|lorenz63_integrators)\.(png|pdf|csv)"
)
CLOCK = re.compile(r"seconds|_ms$|_mb$|^times_")
VICTIMS = ("snakemake", "group", "job")
# What ends processes: a crash or the kernel, a scheduler, a person at the keyboard.
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
PATIENCE = 300.0  # seconds without a word after which a run hangs: every job at tiny size has ended


def everything_tiny() -> dict[str, Any]:
    """All five experiments at sizes that run in seconds; nothing claims all cores."""
    config: dict[str, Any] = tiny_config({"experiments": [*EMULATORS, "complexity"]})
    for chain in (test_sobol_g_chain, test_lorenz63_chain, test_edmf_chain):
        (name,) = chain.TINY["experiments"]
        config[name] = over(over(CONFIG[name], chain.TINY[name]), SIZES.get(name, {}))
    for name, kept in EMULATORS.items():
        own = config[name]["emulators"]
        config[name]["emulators"] = {emulator: {**own[emulator], "timed": False} for emulator in kept}
    return config


# What is compared


def contents(project: Project) -> dict[str, Any]:
    """What must be the same after any fault, by the path of the result: a hash, or what no clock has measured."""
    found: dict[str, Any] = dict(project.hashes())
    for name in found:
        path = project.results / name
        if path.name in ("verdicts.csv", "claims.csv"):
            found[name] = [line for line in path.read_bytes().splitlines() if b",time," not in line]
        elif MEASURED.fullmatch(path.name):
            found[name] = unmeasured(path)
    return found


def unmeasured(path: Path) -> Any:
    """What a file that holds measured times has besides them; of all but tables that it is there, and no part of it."""
    if path.suffix == ".csv" and path.name not in ("measured.csv", "T1.csv"):
        table = pd.read_csv(path)
        return table.drop(columns=[name for name in table if CLOCK.search(name)]).to_csv()
    begin = {".nc": b"\x89HDF", ".png": b"\x89PNG", ".pdf": b"%PDF"}.get(path.suffix, b"")
    content = path.read_bytes()
    return content.startswith(begin) and len(content) > 100


@dataclass
class Tally:
    """What came of it all."""

    kills: Counter[str] = field(default_factory=Counter)
    starts: int = 0
    rounds: int = 0
    compared: int = 0
    lost: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)

    def compare(self, expected: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        self.rounds += 1
        self.compared += len(expected)
        self.lost += sorted(expected.keys() - found.keys())
        self.differing += sorted(name for name in found if expected.get(name) != found[name])

    def __str__(self) -> str:
        kinds = ", ".join(f"{n} {name}" for name, n in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills ({kinds}), {self.starts} starts, {self.rounds} runs to the end; of "
            f"{self.compared} files compared {len(self.lost)} lost, {len(self.differing)} differing"
        )


# A run that is under way


@dataclass(frozen=True)
class Run:
    """A snakemake in a session of its own, in which everything is that it starts."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    def jobs(self) -> list[int]:
        """The processes of jobs: scripts, and the shells that they are started by."""
        return [pid for pid in self._processes() if pid != self.process.pid]

    def _processes(self) -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                session = int((path / "stat").read_text().rpartition(")")[2].split()[3])
            except OSError:
                continue  # it has ended
            if session == self.process.pid:
                found.append(int(path.name))
        return sorted(found)

    def hit(self, victim: str, number: int, rng: np.random.Generator) -> bool:
        """Send a signal; False where nobody was left to get it."""
        jobs = self.jobs()
        if self.is_over or (victim == "job" and not jobs):
            return False
        try:
            if victim == "group":
                os.killpg(self.process.pid, number)
            else:
                os.kill(int(rng.choice(jobs)) if victim == "job" else self.process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def wait(self) -> int:
        """Its exit code, however long it goes on, as long as it says something."""
        while True:
            said = self.log.stat().st_size
            try:
                return self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                if self.log.stat().st_size == said:
                    raise AssertionError(f"a run hangs:\n{self.printed()}") from None

    def printed(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


@contextmanager
def running(project: Project, arguments: Sequence[str]) -> Iterator[Run]:
    log = project.root / "printed.log"
    command = project.command(*arguments) | {"start_new_session": True}
    with log.open("wb") as stream, subprocess.Popen(**(command | {"stdout": stream})) as process:
        try:
            yield Run(process, log)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)


def undisturbed(project: Project, targets: Sequence[str]) -> tuple[dict[str, Any], float]:
    """What a run leaves that nobody disturbs, and the mean seconds of its jobs, with those that wait for a core."""
    with running(project, ["--cores", "2", *targets]) as run:
        if run.wait():
            raise AssertionError(f"a run that nobody disturbed fails:\n{run.printed()}")
    paths = (project.results / "benchmarks").rglob("*.tsv")
    return contents(project), float(np.mean([pd.read_csv(path, sep="\t")["s"].mean() for path in paths]))


def disturb(run: Run, n_most: int, pace: float, rng: np.random.Generator, tally: Tally) -> int:
    """Kill until the run is over, or so many times; how often something was hit."""
    n_hits = 0
    while n_hits < n_most and not run.is_over:
        victim, number = VICTIMS[rng.integers(len(VICTIMS))], SIGNALS[rng.integers(len(SIGNALS))]
        wait, is_early = rng.uniform(0.0, 2.5 * pace), rng.random() < 0.2
        if not is_early:
            wait_for(lambda: run.is_over or bool(run.jobs()), PATIENCE)
        wait_for(lambda: run.is_over, wait)
        if run.hit(victim, number, rng):
            tally.kills[f"{number.name} to {'the group' if victim == 'group' else victim}"] += 1
            n_hits += 1
            if victim != "job":
                run.wait()  # the end of it, which must come
    return n_hits


def campaign(
    project: Project,
    targets: Sequence[str],
    expected: Mapping[str, Any],
    pace: float,
    n_kills: int,
    rng: np.random.Generator,
    say: Callable[[str], None],
) -> Tally:
    """Kill, start again, compare at every good end, begin afresh, until there were so many kills.

    Parameters
    ----------
    project
        With nothing in its results folder but what is not a run's.
    targets
    expected, pace
        See `undisturbed`.
    n_kills
    rng
        Decides who is hit, how and when; what is hit depends on the machine, too.
    say
        Is told of every run that came to its end.
    """
    foreign, tally = states(project.results), Tally()
    while True:
        n_left = n_kills - tally.kills.total()
        with running(project, ["--cores", "2", *targets]) as run:
            tally.starts += 1
            n_hits = disturb(run, n_left, pace, rng, tally) if n_left else 0
            code = run.wait()
        if code == 0:
            tally.compare(expected, contents_of_run(project, foreign))
            say(str(tally))
            if tally.kills.total() >= n_kills:
                return tally
            clear(project.results, foreign)
        elif n_hits == 0:
            raise AssertionError(f"a run that nobody disturbed fails:\n{run.printed()}")


def contents_of_run(project: Project, foreign: Mapping[str, Any]) -> dict[str, Any]:
    """What the run has left, once it is sure that nothing of anybody else's was touched."""
    now = states(project.results)
    touched = [name for name in foreign if now.get(name) != foreign[name]]
    if touched:
        raise AssertionError(f"a run has touched {touched}")
    left = [name for name in now.keys() - foreign.keys() if Path(name).name.startswith(".")]
    if left:
        raise AssertionError(f"temporary files are left: {left}")
    return {name: content for name, content in contents(project).items() if name not in foreign}


# What is in a results folder and is nobody's result.
FOREIGN = ("notes.txt", "figures/mine.png", "ishigami/standard/seed2026/.draft.nc", "tables/.T2-mine.csv")


def plant(results: Path) -> None:
    """Put files of a user's into a results folder."""
    for name in FOREIGN:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text("mine", encoding="utf-8")


def states(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and date of every file in a folder."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def clear(folder: Path, kept: Mapping[str, Any]) -> None:
    """Remove every file but some."""
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in kept:
            path.unlink()
