"""The Lorenz 63 chain at tiny sizes, from config to table and figures: noise levels, departures, a failed tuning."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from conftest import CONFIG, Project, small_features

from rftune import storage
from rftune.workflow.config import over

TINY = {
    "experiments": ["lorenz63"],
    "further_seeds": [],
    "results": "results/tiny",
    "lorenz63": {
        "data": {"n_train": 60, "train_time": 5.0, "test_time": 2.0, "long_time": 30.0, "n_starts": 4},
        "truth": {"n_pairs": 3},
        "repeats": 2,
        "repeats_per_job": 2,
        "defaults": {"random_features": small_features(6)},
        "emulators": {
            # a prior at the zero predictor, from which no tuning comes back
            "separable_1_1": {
                "features": {"prior": {"amplitude": [-60.0, 0.1]}},
                "tuning": {"max_restarts": 0},
            },
        },
    },
}
KEPT = ("persistence", "quadratic", "gp", "untuned", "untuned_printed", "nonseparable_4", "separable_1_1")


@pytest.fixture(scope="module")
def finished(make_project: Callable[..., Project]) -> Project:
    config = over(CONFIG, TINY)
    config["lorenz63"]["emulators"] = {name: config["lorenz63"]["emulators"][name] for name in KEPT}
    project = make_project()
    project.write_config(config)
    project.run("--cores", "2")
    return project


@pytest.fixture(scope="module")
def table(finished: Project) -> pd.DataFrame:
    return pd.read_csv(finished.results / "tables/lorenz63_integrators.csv").set_index(["case", "emulator"])


def test_that_all_artifacts_are_made(finished: Project) -> None:
    drawn = {path.name for path in (finished.results / "figures").iterdir()}
    names = ("F4", "F5", "F8", "F9", "F10", "lorenz63_integrators")
    assert drawn == {f"{name}.{suffix}" for name in names for suffix in ("png", "pdf")}


def test_that_the_ranks_are_run_at_the_first_noise_level_only(table: pd.DataFrame) -> None:
    both, first = set(KEPT) - {"separable_1_1"}, set(KEPT)
    assert set(table.loc["noise0.0001"].index) == first | {"truth"}
    assert set(table.loc["noise0.01"].index) == both | {"truth"}


def test_that_baselines_are_what_they_should_be(table: pd.DataFrame) -> None:
    row = table.loc[("noise0.0001", "persistence")]
    assert (row["share_stayed"], row["departures"]) == (0.0, "fixed point")
    # sixty pairs with noise of standard deviation .01 determine the ten coefficients of each output
    assert table.loc[("noise0.0001", "quadratic"), "test_error_mean"] < 0.05


def test_that_a_failed_tuning_is_counted_and_not_averaged(table: pd.DataFrame) -> None:
    row = table.loc[("noise0.0001", "separable_1_1")]
    assert (row["n_retunings"], row["n_failed"]) == (2, 2)
    assert pd.isna(row["test_error_mean"])
    assert pd.isna(row["share_stayed"])


def test_that_trajectories_do_not_depend_on_how_repeats_are_grouped(finished: Project) -> None:
    folder = finished.results / "lorenz63/noise0.01/seed2026/nonseparable_4"
    together = storage.load(folder / "predicted-0000-0001.nc")
    config = over(CONFIG, over(TINY, {"lorenz63": {"repeats_per_job": 1}, "results": "results/alone"}))
    config["lorenz63"]["emulators"] = {name: config["lorenz63"]["emulators"][name] for name in KEPT}
    finished.write_config(config)
    paths = [f"results/alone/lorenz63/noise0.01/seed2026/nonseparable_4/predicted-000{i}-000{i}.nc" for i in range(2)]
    finished.run(*paths, "--cores", "2")
    for i, path in enumerate(paths):
        alone = storage.load(finished.root / path)
        for name in ("mean", "long", "horizon", "left_time"):
            assert together[name].isel(repeat=i).equals(alone[name].isel(repeat=0)), name
