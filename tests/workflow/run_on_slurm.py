"""The workflow on a real Slurm: `make slurm-test`, or with ARGS=--if-possible to pass where Slurm cannot be had.

Ishigami with the quick preset and a small sweep run locally and through the slurm profile, and every result is compared
byte for byte. Then faults: a job is cancelled and a node is killed under its job, and the results are compared again.
The plugin asks for the state of its jobs ever more rarely, so most of the time is waiting: runs that can go on side by
side do.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from conftest import CONFIG, ROOT, Project, tiny_config
from slurm_cluster import Cluster, Unavailable, install

from rftune.workflow.config import over

# As the profile says, but for a cluster without accounting and for people who wait.
SLURM = (
    *("--workflow-profile", "workflow/profiles/slurm", "--latency-wait", "15"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"),
)
SWEEP = {
    "title": "Rank and noise",
    "repeats": 2,
    "repeats_per_job": 2,
    "runs": [
        {
            "experiment": "ishigami",
            "emulator": "lowrank",
            "grid": {"features.rank": [1, 3], "data.noise_variance": [0.01, 0.1]},
        }
    ],
}
TARGETS: dict[str, tuple[str, ...]] = {
    "ishigami": (),
    "sweep": ("sweep", "--config", "sweep=config/sweeps/slurm.yaml"),
}
MEASURED = ["seconds", "fit_seconds", "peak_memory_mb"]
# One submission per chunk of repeats, each long enough to be hit.
FAULTS: dict[str, Any] = {
    "ishigami": {
        "repeats": 3,
        "repeats_per_job": 1,
        "emulators": {"lowrank": {"tuning": {"n_features": 100, "n_iterations": 200, "optimiser": {"n_members": 60}}}},
    }
}
LOWRANK = "ishigami/standard/seed2026/lowrank"
TUNED = [f"results/tiny/{LOWRANK}/tuned-000{repeat}-000{repeat}.nc" for repeat in range(3)]


def quick_ishigami() -> dict[str, Any]:
    """The quick preset of Ishigami, in the folder where tests look."""
    preset = yaml.safe_load((ROOT / "config/quick.yaml").read_text(encoding="utf-8"))
    return over(over(CONFIG, preset), {"experiments": ["ishigami"], "results": "results/tiny"})


def project(folder: Path, config: dict[str, Any]) -> Project:
    made = Project(folder)
    made.write_config(config)
    (folder / "config/sweeps/slurm.yaml").write_text(yaml.safe_dump(SWEEP))
    return made


def compare(local: Project, remote: Project) -> int:
    """The number of files, all with the same bytes, but for those that hold measured times; an error if any differ."""
    found = [one.hashes() for one in (local, remote)]
    if found[0].keys() != found[1].keys():
        raise AssertionError(f"only one has {sorted(found[0].keys() ^ found[1].keys())}")
    # pictures and tables of a sweep show times; their other columns are compared below
    same = [name for name in found[0] if "tim" not in Path(name).name and Path(name).stem != "slurm"]
    differing = [name for name in same if found[0][name] != found[1][name]]
    if differing:
        raise AssertionError(f"the cluster changed {differing}")
    tables = [one.results / "sweeps/slurm/slurm.parquet" for one in (local, remote)]
    if tables[0].exists():
        frames = [pd.read_parquet(path).drop(columns=MEASURED) for path in tables]
        pd.testing.assert_frame_equal(*frames, check_exact=True)
    return len(same)


def step(title: str, start: float) -> None:
    print(f"{time.monotonic() - start:6.0f} s  {title}", flush=True)


@contextmanager
def on_slurm(project: Project, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Snakemake through the slurm profile while the block runs, and its log; a good end is waited for."""
    log = project.root / "slurm.log"
    command = project.command(*arguments, *SLURM)
    with log.open("wb") as stream, subprocess.Popen(**(command | {"stdout": stream})) as process:
        try:
            yield process, log
            process.wait(timeout=600)
        finally:
            if process.poll() is None:
                process.kill()
    if process.returncode:
        raise AssertionError(f"the run on Slurm failed:\n{log.read_text()}")


def run_everything(folder: Path, start: float) -> None:
    """The whole of Ishigami and a sweep, here and there."""
    configs = {"ishigami": quick_ishigami(), "sweep": tiny_config()}
    whole, sweep = (
        [project(folder / f"{name}-{place}", configs[name]) for place in ("local", "slurm")] for name in TARGETS
    )
    with (
        on_slurm(whole[1], *TARGETS["ishigami"]) as (_, whole_log),
        on_slurm(sweep[1], *TARGETS["sweep"]) as (_, sweep_log),
    ):
        whole[0].run(*TARGETS["ishigami"], "--cores", "2")
        sweep[0].run(*TARGETS["sweep"], "--cores", "2")
        step("local: Ishigami and a sweep of 4 points", start)
    printed = [log.read_text() for log in (whole_log, sweep_log)]
    submitted = sum(text.count("has been submitted with SLURM jobid") for text in printed)
    jobs = sum(text.count("\nrule ") + text.count("\n    rule ") for text in printed)
    n_same = compare(*whole) + compare(*sweep)
    step(
        f"Slurm: the same in {submitted} submissions ({jobs} jobs); {n_same} of {n_same} results equal to the byte",
        start,
    )


def run_with_faults(folder: Path, cluster: Cluster, start: float) -> None:
    """A cancelled job and a killed node in one run."""
    local, remote = (project(folder / f"faults-{place}", tiny_config(FAULTS)) for place in ("local", "slurm"))
    remote.run("data_ishigami", "--cores", "2")  # here: it is tunings that are disturbed
    with on_slurm(remote, *TUNED, "--group-components", "chunk=1") as (process, log):

        def tuning() -> list[str]:
            """Logs of tunings that are under way."""
            texts = [path.read_text() for path in (remote.results / "logs" / LOWRANK).glob("tune-*.log")]
            return [text for text in texts if "iteration 3:" in text and "done" not in text]

        def hit(disturb: Callable[[str, str], object]) -> None:
            """Disturb a running job while all tunings are under way, so that any job is in the middle of one."""
            cluster.wait_until(lambda: len(tuning()) == len(TUNED) or process.poll() is not None, 300)
            if process.poll() is not None:
                raise AssertionError(f"the run ended before it was disturbed:\n{log.read_text()}")
            disturb(*list(cluster.running().items())[-1])

        hit(lambda job, node: cluster.command("scancel", job))
        step("scancel: a job in the middle of its tuning", start)
        cluster.wait_until(lambda: len(cluster.running()) < len(TUNED), 30)
        hit(lambda job, node: cluster.kill_node(node, job))
        step("kill -9: a slurmd with its job", start)
        local.run(*TUNED, "--cores", "2")
        step("local: the same tunings, undisturbed", start)
    n_same = compare(local, remote)
    retries = log.read_text().count("Trying to restart job")
    step(f"2 kills, {retries} retries, nothing lost: {n_same} of {n_same} results equal to the byte", start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--if-possible", action="store_true", help="pass where Slurm cannot be installed or started")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of what stops the daemons
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rftune-slurm-") as folder:
        try:
            install()
            cluster = Cluster(Path(folder) / "daemons").__enter__()
        except Unavailable as reason:
            print(f"slurm-test: not run. {reason}")
            return 0 if options.if_possible else 1
        try:
            step(f"a controller and {len(cluster.nodes)} nodes are up", start)
            run_everything(Path(folder), start)
            run_with_faults(Path(folder), cluster, start)
        finally:
            cluster.stop()
    step("passed; the daemons are stopped", start)
    return 0


if __name__ == "__main__":
    sys.exit(main())
