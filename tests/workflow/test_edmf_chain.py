"""The cloud chain at tiny sizes, from config to tables and figures: calibrate, emulate, sample; and from a file."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Sequence
from html import unescape
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import CONFIG, ROOT, Project, small_features

import edmf_file
from rftune import storage
from rftune.workflow.config import over

TINY: dict[str, Any] = {
    "experiments": ["edmf"],
    "further_seeds": [],
    "results": "results/tiny",
    "edmf": {
        "data": {"n_members": 20, "n_iterations": 3, "n_scenarios": 4, "n_realisations": 4},
        "sampling": {"n_steps": 1200, "min_burn_in": 400, "max_burn_in": 800, "block": 400},
        "repeats": 1,
        "defaults": {"random_features": small_features(8)},
        "emulators": {
            "shared": {"tuning": {"n_iterations": 2, "optimiser": {"n_members": 8}}},
            "nonseparable_3": {"tuning": {"optimiser": {"n_members": 8}}},
            "nonseparable_chosen": {
                "features": {"rank_candidates": [1, 2]},
                "tuning": {"n_iterations": 2, "optimiser": {"n_members": 8}},
                "sampled": True,
            },
            # a prior at the zero predictor, from which no tuning comes back
            "separable_5_1": {
                "features": {"rank": [2, 1], "prior": {"amplitude": [-60.0, 0.1]}},
                "tuning": {"max_restarts": 0},
                "repeats": 1,
            },
        },
    },
}
ARTIFACTS = ("F6", "F11", "F12", "T5", "T6")


def tiny(overrides: dict[str, Any] | None = None, left_out: Sequence[str] = ("separable_chosen",)) -> dict[str, Any]:
    """The paper's config at sizes that run in seconds; nothing is timed, so that two jobs run at once."""
    config = over(over(CONFIG, TINY), overrides or {})
    emulators = {name: block for name, block in config["edmf"]["emulators"].items() if name not in left_out}
    config["edmf"]["emulators"] = {name: {**block, "timed": False} for name, block in emulators.items()}
    return config


@pytest.fixture(scope="module")
def finished(make_project: Callable[..., Project]) -> Project:
    project = make_project()
    project.write_config(tiny())
    project.run("--cores", "2")
    return project


@pytest.fixture(scope="module")
def table(finished: Project) -> pd.DataFrame:
    return pd.read_csv(finished.results / "tables/T6.csv").set_index("emulator")


def test_that_all_artifacts_are_made(finished: Project) -> None:
    drawn = {path.name for path in (finished.results / "figures").iterdir()}
    assert {f"{name}.{suffix}" for name in ARTIFACTS for suffix in ("png", "pdf")} <= drawn
    assert (finished.results / "tables/T5.csv").is_file()


def test_that_every_posterior_is_measured_against_the_simulators(table: pd.DataFrame) -> None:
    sampled = ["prior", "gp", "untuned", "nonseparable_1", "nonseparable_chosen", "shared"]
    assert (table.loc[sampled, "posterior_distance_mean"] > 0).all()
    assert table.loc["simulator", "posterior_distance_mean"] == 0
    assert table.loc[["constant", "nonseparable_3"], "posterior_distance_mean"].isna().all()
    assert (table.loc[sampled[1:], "likelihood_ms"] > 0).all()


def test_that_short_chains_are_said_not_to_have_converged(table: pd.DataFrame, finished: Project) -> None:
    assert table.loc["gp", "n_converged"] == 0
    stored = storage.load(finished.results / "edmf/surrogate/seed2026/gp/posterior-0000-0000.nc")
    assert "bulk ESS below 1000" in stored["not_converged_because"].sel(likelihood="ours").item()


def test_that_a_failed_emulator_has_no_posterior_and_is_counted(table: pd.DataFrame) -> None:
    assert table.loc["separable_5_1", "n_failed"] == 1
    assert pd.isna(table.loc["separable_5_1", "posterior_distance_mean"])


def test_that_no_checkpoint_is_left_and_nothing_to_do(finished: Project) -> None:
    assert not list(finished.results.rglob("*.part"))
    assert finished.planned() == set()


def test_that_a_checkpoint_cut_off_in_writing_changes_no_digit(finished: Project) -> None:
    folder = finished.results / "edmf/surrogate/seed2026/gp"
    path = folder / "posterior-0000-0000.nc"
    undisturbed = path.read_bytes()
    (folder / "posterior-0000-0000.nc.0.part").write_bytes(b"cut off in the middle of writing")
    finished.run(str(path.relative_to(finished.root)), "--force", "--cores", "1")
    assert path.read_bytes() == undisturbed


@pytest.mark.skipif("RFTUNE_EDMF_DATA" not in os.environ, reason="RFTUNE_EDMF_DATA does not name the public data file")
def test_that_the_public_data_go_the_same_road(make_project: Callable[..., Project]) -> None:
    project = make_project()
    source = {"edmf": {"source": os.environ["RFTUNE_EDMF_DATA"]}}
    project.write_config(tiny(source, left_out=("separable_chosen", "nonseparable_chosen", "shared")))
    project.run("F6", "T6", "--cores", "2")
    table = pd.read_csv(project.results / "tables/T6.csv").set_index("emulator")
    assert table.loc["constant", "test_error_mean"] == pytest.approx(11.35, abs=0.005)
    assert table["posterior_distance_mean"].isna().all()  # there is no simulator to compare with
    assert table.loc["gp", "test_error_mean"] < 10.0
    assert (project.results / "figures/F6.png").is_file()


# The config that docs/edmf.md shows, word by word.
EXAMPLE = textwrap.dedent(
    re.search(
        r"## A file of your own\n.*?\n((?: {4}[^\n]*\n)+)", (ROOT / "docs/edmf.md").read_text("utf-8"), re.DOTALL
    )[1]
)


@pytest.fixture(scope="module")
def of_ones_own(make_project: Callable[..., Project]) -> Project:
    """A run of the example on a file of two parameters and three outputs, with two emulators, in tiny."""
    project = make_project()
    absent = dict.fromkeys(set(CONFIG["edmf"]["emulators"]) - {"gp", "nonseparable_1"})
    sizes = {key: TINY["edmf"][key] for key in ("sampling", "repeats", "defaults")} | {"emulators": absent}
    for name, text in {"mine": EXAMPLE, "tiny": yaml.safe_dump({"edmf": sizes})}.items():
        (project.root / f"{name}.yaml").write_text(text, encoding="utf-8")
    source = project.root / yaml.safe_load(EXAMPLE)["edmf"]["source"]
    source.parent.mkdir(parents=True)
    edmf_file.write(source, names=("mixing", "drag"), n_members=12)
    project.run("--configfile", "mine.yaml", "tiny.yaml", "--cores", "2")
    return project


def test_that_a_file_of_ones_own_ends_in_tables_and_figures(of_ones_own: Project) -> None:
    results = of_ones_own.root / "results/mine"
    assert {path.name for path in (results / "figures").iterdir()} == {
        f"{name}.{suffix}" for name in ("F6", "T5", "T6") for suffix in ("png", "pdf")
    }
    parameters = pd.read_csv(results / "tables/T5.csv").set_index("parameter")
    assert list(parameters.index) == ["drag", "mixing"]
    assert list(parameters["upper"]) == [1.0, 2.0]
    assert {"posterior_gp", "posterior_nonseparable_1"} <= set(parameters)
    emulators = pd.read_csv(results / "tables/T6.csv").set_index("emulator")
    assert list(emulators.index) == ["prior", "gp", "nonseparable_1"]
    assert emulators.loc[["gp", "nonseparable_1"], "test_error_mean"].gt(0).all()
    assert emulators["posterior_distance_mean"].isna().all()


def test_that_its_page_says_what_cannot_be_compared(of_ones_own: Project) -> None:
    page = unescape((of_ones_own.root / "results/mine/report.html").read_text(encoding="utf-8"))
    sections = dict(re.findall(r'<section id="(\w+)"(.*?)</section>', page, re.DOTALL))
    missing = {name: re.findall(r"Not part of this run: (.*?)\.</p>", text) for name, text in sections.items()}
    assert missing["F11"] == ["no emulator has the role rf_convergence"]
    assert missing["F12"] == ["no emulator has the role rf_untuned or rf_separable_5_1"]
    assert missing["edmf_truth_posterior"][0].startswith("a file has no simulator")
    assert missing["F1"] == ["its config leaves it out"]
    assert [name for name in ("F6", "T5", "T6") if missing[name] or "data:image/png" not in sections[name]] == []
    verdicts = pd.read_csv(of_ones_own.root / "results/mine/verdicts.csv", keep_default_na=False)
    unjudged = verdicts.set_index(["id", "quantity"])["rule"]
    assert unjudged["T6", "all numbers, separable RF"] == "not compared: no emulator has the role rf_separable_5_1"
    claimed = pd.read_csv(of_ones_own.root / "results/mine/claims.csv", keep_default_na=False)
    assert any(claimed.loc[claimed["artifact"] == "F6", "ours"].str.startswith("there is no simulator"))
    assert set(verdicts["id"]) == {"F6", "T6"}


def test_that_emulators_that_do_not_fit_a_file_are_told_what_to_do(of_ones_own: Project) -> None:
    separable = {"separable_5_1": CONFIG["edmf"]["emulators"]["separable_5_1"]}
    (of_ones_own.root / "more.yaml").write_text(yaml.safe_dump({"edmf": {"emulators": separable}}), encoding="utf-8")
    done = of_ones_own.snakemake("--dry-run", "--configfile", "mine.yaml", "more.yaml")
    assert done.returncode != 0
    assert (
        "edmf.emulators.separable_5_1: rank must be between 1 and 2, the number of inputs; got 5: lower it, or set the "
        "emulator to null, which leaves it out"
    ) in done.stdout
