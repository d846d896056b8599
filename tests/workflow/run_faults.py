"""Faults at random, more than the tests have time for: `make faults`, or with ARGS='--kills 20 --seed 2'.

All five experiments run at tiny sizes, with every figure, table and the page, while Snakemake, its jobs and the whole
group of processes are killed at random and started again; every result is compared with those of an undisturbed run.
Then configs, sweeps and data files are changed at random: each must be a plan or a sentence.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kills
import numpy as np
from conftest import ROOT, Project

MUTATED = {
    "configs": ("tests/workflow/test_mutated_configs.py", "mutated_config_is or mutated_sweep_is"),
    "files": ("tests/experiments/test_edmf_archive.py", "any_file"),
}


def killed(folder: Path, n_kills: int, seed: int) -> bool:
    """Whether a run that is killed so many times comes back with what an undisturbed one makes."""
    start = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - start:6.0f} s  {text}", flush=True)

    undisturbed, disturbed = (Project(folder / name) for name in ("undisturbed", "disturbed"))
    for project in (undisturbed, disturbed):
        project.write_config(kills.everything_tiny())
    expected, pace = kills.undisturbed(undisturbed, ())
    say(f"undisturbed: {len(expected)} results of all five experiments, by jobs of {pace:.1f} s")
    kills.plant(disturbed.results)
    tally = kills.campaign(disturbed, (), expected, pace, n_kills, np.random.default_rng(seed), say)
    for what, names in (("lost", tally.lost), ("differing", tally.differing)):
        print(*(f"  {what}: {name}" for name in names), sep="\n", end="\n" if names else "")
    return not tally.lost and not tally.differing


def mutated(what: str, n_examples: int, seed: int) -> bool:
    """Whether so many changed configs and sweeps, or data files, are each a plan or a sentence."""
    path, chosen = MUTATED[what]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", path, "-k", chosen, f"--hypothesis-seed={seed}"],
        cwd=ROOT,
        env=os.environ | {"RFTUNE_EXAMPLES": str(n_examples)},
        check=False,
    )
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--configs", type=int, default=1000, help="changed configs, and as many sweeps")
    parser.add_argument("--files", type=int, default=300, help="changed data files")
    parser.add_argument("--seed", type=int, default=1, help="of who is killed and what is changed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rftune-faults-") as folder:
        held = [killed(Path(folder), options.kills, options.seed)] if options.kills else []
    held += [mutated(what, n, options.seed) for what in MUTATED if (n := getattr(options, what))]
    print("passed" if all(held) else "failed: see above", flush=True)
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
