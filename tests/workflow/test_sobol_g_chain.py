"""The Sobol-G chain at tiny sizes, from config to tables and figures: cases, timed emulators, a time limit."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from conftest import CONFIG, Project, small_features

from rftune.workflow.config import over

TINY = {
    "experiments": ["sobol_g"],
    "further_seeds": [],
    "results": "results/tiny",
    "sobol_g": {
        "dimensions": [6],
        "data": {"n_train_per_input": 8, "n_base": 16},
        "analysis": {"n_bootstrap": 4},
        "truth": {"n_bootstrap": 4},
        "repeats": 2,
        "repeats_per_job": 2,
        "defaults": {"random_features": small_features(6)},
        "emulators": {
            "sparse": {"tuning": {"n_iterations": 2}, "prediction": {"pool": 40}},
            "sparse_unpruned": {"tuning": {"n_iterations": 2}},
            "gp_sklearn": {"tuning": {"time_limit": 1.0e-9}},
            # a prior at the zero predictor, from which no tuning comes back
            "m25": {
                "repeats": 1,
                "features": {"prior": {"amplitude": [-40.0, 0.1]}},
                "tuning": {"n_features": 5, "max_restarts": 1},
            },
        },
    },
}
KEPT = ("boosted_trees", "gp", "gp_sklearn", "subspace", "sparse", "sparse_unpruned", "rf_serial", "rf_parallel", "m25")


@pytest.fixture(scope="module")
def finished(make_project: Callable[..., Project]) -> Project:
    config = over(CONFIG, TINY)
    config["sobol_g"]["emulators"] = {name: config["sobol_g"]["emulators"][name] for name in KEPT}
    project = make_project()
    project.write_config(config)
    project.run("--cores", "2")
    return project


def test_that_all_artifacts_are_made(finished: Project) -> None:
    drawn = {path.name for path in (finished.results / "figures").iterdir()}
    names = ("F2", "F3", "T3", "T4", "sobol_g_accuracy", "sparse_inclusion")
    assert drawn == {f"{name}.{suffix}" for name in names for suffix in ("png", "pdf")}
    tables = {path.name for path in (finished.results / "tables").iterdir()}
    assert tables == {"T3.csv", "T4.csv", "sobol_g_accuracy.csv"}


def test_that_a_tuning_stopped_by_its_time_limit_is_said_to_be(finished: Project) -> None:
    times = pd.read_csv(finished.results / "tables/T3.csv").set_index("emulator")
    assert not times.loc["gp_sklearn", "finished"]
    assert times.drop("gp_sklearn")["finished"].all()
    accuracy = pd.read_csv(finished.results / "tables/sobol_g_accuracy.csv").set_index("emulator")
    assert accuracy.loc["gp_sklearn", "n_failed"] == 1
    assert pd.isna(accuracy.loc["gp_sklearn", "relative_rmse_mean"])


def test_that_a_tuning_caught_at_the_zero_predictor_is_counted_and_not_averaged(finished: Project) -> None:
    features = pd.read_csv(finished.results / "tables/T4.csv").set_index("emulator")
    assert features.loc["m25", "n_failed"] == 2  # the restart failed too
    assert pd.isna(features.loc["m25", "test_error"])
    assert pd.notna(features.loc["gp", "test_error"])


def test_that_nothing_is_left_to_do(finished: Project) -> None:
    assert finished.planned() == set()
