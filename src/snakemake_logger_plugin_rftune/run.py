"""A run under way: what is done, what is at work and what is left, from jobs that begin and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Expected(NamedTuple):
    """A job that will be run: its stage, and the seconds that such a job took when it was measured."""

    jobid: int
    stage: str
    seconds: float


@dataclass
class Stage:
    """Numbers of a stage's jobs."""

    name: str
    total: int = 0
    done: int = 0
    failed: int = 0


# What is known beforehand of the speed of a run counts as much as so many seconds of it.
PRIOR_SECONDS = 60.0
# A job that takes longer than expected is never taken for done.
MOST_DONE = 0.95


@dataclass
class Run:
    """What is known of a run.

    Attributes
    ----------
    stages
        In the order of a run.
    n_cores
        On which jobs run at a time.
    """

    n_cores: int = 1
    stages: dict[str, Stage] = field(default_factory=dict)
    _expected: dict[int, Expected] = field(default_factory=dict)
    _running: dict[int, tuple[str, float]] = field(default_factory=dict)  # name, and when it began
    _ended: float = 0.0  # seconds that were expected of the jobs that have ended
    _start: float = 0.0

    def expect(self, jobs: Iterable[Expected], n_cores: int, now: float) -> None:
        """Begin with all jobs that will be run."""
        self.n_cores, self._start = n_cores, now
        for job in jobs:
            self._expected[job.jobid] = job
            self.stages.setdefault(job.stage, Stage(job.stage)).total += 1

    def begin(self, jobid: int, name: str, now: float) -> None:
        if jobid in self._expected:
            self._running[jobid] = (name, now)

    def end(self, jobid: int, *, failed: bool = False) -> None:
        if jobid not in self._expected or self._running.pop(jobid, None) is None:
            return
        stage = self.stages[self._expected[jobid].stage]
        stage.failed += failed
        stage.done += not failed
        self._ended += self._expected[jobid].seconds

    def running(self, stage: str | None = None) -> list[str]:
        """Names of the jobs at work, of a stage or all; the first has worked longest."""
        return [name for jobid, (name, _) in self._running.items() if stage in (None, self._expected[jobid].stage)]

    @property
    def n_failed(self) -> int:
        return sum(stage.failed for stage in self.stages.values())

    def elapsed(self, now: float) -> float:
        return now - self._start

    def share(self, now: float) -> float:
        """The part of the work that is done."""
        everything = sum(job.seconds for job in self._expected.values())
        return self._done(now) / everything if everything else 1.0

    def left(self, now: float) -> float:
        """Seconds until the end: what is left, at the speed of this run so far."""
        everything, done = sum(job.seconds for job in self._expected.values()), self._done(now)
        return (everything - done) * (self.elapsed(now) + PRIOR_SECONDS / self.n_cores) / (done + PRIOR_SECONDS)

    def _done(self, now: float) -> float:
        """Expected seconds of what has been done, of the jobs at work as much as they have worked."""
        under_way = [
            min(now - began, MOST_DONE * self._expected[jobid].seconds) for jobid, (_, began) in self._running.items()
        ]
        return self._ended + sum(under_way)


def spoken(seconds: float) -> str:
    """A time as one says it: 50 s, 7 min, 1 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
