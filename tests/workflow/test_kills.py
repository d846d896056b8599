"""A few random kills of a run of all experiments; `make faults` has a hundred."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import kills
import numpy as np
import pandas as pd
import pytest
from conftest import Project

N_KILLS = 6


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_that_killed_runs_come_back_with_the_same_bytes(
    make_project: Callable[..., Project], capfd: pytest.CaptureFixture[str]
) -> None:
    undisturbed, disturbed = (make_project({}) for _ in range(2))
    for project in (undisturbed, disturbed):
        project.write_config(kills.everything_tiny())
    expected, pace = kills.undisturbed(undisturbed, kills.SOME_TARGETS)
    kills.plant(disturbed.results)
    rng = np.random.default_rng(17)
    tally = kills.campaign(disturbed, kills.SOME_TARGETS, expected, pace, N_KILLS, rng, say=lambda _: None)
    with capfd.disabled():
        print(f"\nfaults: {tally}", file=sys.stderr, flush=True)
    assert (tally.lost, tally.differing) == ([], [])
    assert tally.kills.total() == N_KILLS
    assert tally.compared == tally.rounds * len(expected) > 0
    assert disturbed.planned(*kills.SOME_TARGETS) == set()


def test_that_a_lost_or_a_changed_result_is_found() -> None:
    tally = kills.Tally()
    tally.compare({"data.nc": "a", "T2.csv": "b", "F1.png": "c"}, {"data.nc": "a", "T2.csv": "x", "mine.csv": "y"})
    assert (tally.lost, tally.differing) == (["F1.png"], ["T2.csv", "mine.csv"])


def test_that_of_measured_times_all_but_the_clock_is_compared(tmp_path: Path) -> None:
    table = pd.DataFrame({"emulator": ["gp"], "seconds_mean": [1.0], "peak_memory_mb": [2.0], "error": [0.5]})
    table.to_csv(tmp_path / "T3.csv")
    first = kills.unmeasured(tmp_path / "T3.csv")
    table.assign(seconds_mean=3.0, peak_memory_mb=4.0).to_csv(tmp_path / "T3.csv")
    assert kills.unmeasured(tmp_path / "T3.csv") == first
    table.assign(error=0.6).to_csv(tmp_path / "T3.csv")
    assert kills.unmeasured(tmp_path / "T3.csv") != first
    (tmp_path / "times-0000-0000.nc").write_bytes(b"half")
    assert kills.unmeasured(tmp_path / "times-0000-0000.nc") is False
