"""What a job asks for: memory and time on a cluster, threads anywhere."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from rftune.workflow.plan import Plan

# A cluster's job has two Snakemakes around the script, its own and its step's, of so many MB.
SNAKEMAKES_MB = 700


class NoSlurm(Exception):
    """No job can be handed to Slurm from here."""


def check_slurm() -> None:
    """Raise `NoSlurm` where there is no Slurm, or none that answers: Snakemake would wait for it without end."""
    why = "there is no sbatch on the PATH"
    if shutil.which("sbatch") is not None:
        try:
            asked = subprocess.run(["sinfo", "--noheader"], capture_output=True, text=True, check=False, timeout=60)
            why = (asked.stderr.strip() or "sinfo fails").splitlines()[-1] if asked.returncode else ""
        except (OSError, subprocess.TimeoutExpired):
            why = "sinfo does not answer"
    if why:
        raise NoSlurm(
            f"no job can be handed to Slurm from here ({why}): start on a login node of the cluster, or leave "
            f"--workflow-profile workflow/profiles/slurm out to run on this machine"
        )


class Demand:
    """Memory, time and threads of jobs, from what finished ones took (config/resources.yaml)."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.cluster = plan, plan.config.run.cluster
        path = Path(plan.root / "config/resources.yaml")
        self.taken: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.most_of = cache(self._most_of)

    def seconds(self, rule: str, wildcards: Any) -> float:
        """What a job of a rule may take on this machine, repeats and all."""
        first, last = self.plan.repeat_range(wildcards) if hasattr(wildcards, "repeats") else (0, 1)
        return self.measured(rule, wildcards)["seconds"] * (last - first)

    def of(self, rule: str) -> dict[str, Any]:
        """Memory (MB) and time (minutes) of a rule's jobs on a cluster, and their place; a retry gets twice as much."""

        def memory(wildcards: Any, attempt: int) -> int:
            needed = self.cluster.margin * self.measured(rule, wildcards)["mem_mb"] + SNAKEMAKES_MB
            return int(needed * 2 ** (attempt - 1))

        def runtime(wildcards: Any, attempt: int) -> int:
            minutes = self.cluster.margin * self.seconds(rule, wildcards) / 60
            return int((minutes + self.cluster.least_minutes) * 2 ** (attempt - 1))

        placed = {"slurm_account": self.cluster.account, "slurm_partition": self.cluster.partition}
        return {"mem_mb": memory, "runtime": runtime, **{k: v for k, v in placed.items() if v is not None}}

    def measured(self, rule: str, wildcards: Any) -> Mapping[str, float]:
        """What jobs of a rule took in a case with a kind of emulator."""
        place = [wildcards.experiment, wildcards.case] if hasattr(wildcards, "case") else ["any"]
        if hasattr(wildcards, "emulator"):
            place.append(self.plan.emulator(wildcards).kind_name())
        known: Mapping[str, float] | None = self.taken.get(rule, {}).get("/".join(place))
        return known or self.most_of(rule, place[-1])

    def _most_of(self, rule: str, kind: str) -> dict[str, float]:
        """The most that a rule took with a kind of emulator in any case; or with any; or the most of all rules."""
        everything = {name: case for cases in self.taken.values() for name, case in cases.items()}
        cases = self.taken.get(rule) or everything
        like = [case for name, case in cases.items() if name.split("/")[-1] == kind] or cases.values()
        return {quantity: max(case[quantity] for case in like) for quantity in ("mem_mb", "seconds")}

    def threads(self, cores: int | None) -> Any:
        """Threads that a job with an emulator claims: a timed one all cores, so that it runs alone."""

        def claimed(wildcards: Any) -> int:
            run = self.plan.run(wildcards)
            return (cores or 1) if run.timed or run.n_workers is None else run.n_workers

        return claimed

    def workers(self, wildcards: Any, threads: int) -> int:
        """Threads that a tuning really uses, of those that it claims; a resource, because it changes no result."""
        return min(self.plan.run(wildcards).n_workers or threads, threads)
