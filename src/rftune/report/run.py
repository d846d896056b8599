"""Times of a run's jobs, from Snakemake's benchmark files, and the machine that ran them."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rftune import provenance
from rftune.workflow.stages import STAGES


@dataclass(frozen=True)
class Job:
    """A finished job.

    Attributes
    ----------
    owner
        Its experiment, or the artifact that it made.
    stage
        One of `STAGES`.
    seconds
        By the wall clock.
    ended
        Time stamp of its benchmark file.
    """

    owner: str
    stage: str
    seconds: float
    ended: float


def jobs(benchmarks: str | Path, owners: Collection[str], seeds: Collection[int]) -> list[Job]:
    """The jobs of a run that left a benchmark file, of these experiments, artifacts and root seeds alone.

    Parameters
    ----------
    benchmarks
        The folder; its files are <experiment>/<case>/seed<seed>/.../<stage>-<repeats>.tsv, <experiment>/<stage>.tsv,
        and for artifacts <artifact>.tsv or <artifact>_csv.tsv.
    owners
    seeds
    """
    found = []
    for path in sorted(Path(benchmarks).rglob("*.tsv")):
        parts = path.relative_to(benchmarks).with_suffix("").parts
        owner, stage = _place(parts)
        of_other_seed = [part for part in parts if part.startswith("seed") and part[4:] not in map(str, seeds)]
        if owner in owners and stage in STAGES and not of_other_seed:
            found.append(Job(owner, stage, _seconds(path), path.stat().st_mtime))
    return found


def _place(parts: Sequence[str]) -> tuple[str, str]:
    """Owner and stage of a benchmark file."""
    name = parts[-1]
    if len(parts) > 1:
        return parts[0], name.partition("-")[0]
    return (name.removesuffix("_csv"), "table") if name.endswith("_csv") else (name, "figure")


def _seconds(path: Path) -> float:
    with path.open(encoding="utf-8") as stream:
        return sum(float(row["s"]) for row in csv.DictReader(stream, delimiter="\t"))


def elapsed(done: Sequence[Job]) -> float:
    """Seconds from the start of the first job to the end of the last, pauses between them included."""
    return max(job.ended for job in done) - min(job.ended - job.seconds for job in done) if done else 0.0


def machine() -> dict[str, str]:
    """What the run was made on, without the name of the machine."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version for name, version in provenance.versions().items() if name != "RFTUNE_NUMBA"},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else "unknown"
