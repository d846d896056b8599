"""Sweeps: the shipped ones at tiny sizes, what a changed file runs again, and what a wrong file is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import CONFIG, ROOT, TINY, Project, tiny_config
from matplotlib.collections import LineCollection

from rftune.report.text import literal
from rftune.workflow.config import ConfigError, over, read
from rftune.workflow.sweeps.figures import MOST_DOTS, N_BINS, sweep_figure
from rftune.workflow.sweeps.plan import Sweep, make_sweep

SHIPPED = sorted(path.stem for path in (ROOT / "config/sweeps").glob("*.yaml"))
# The paper's emulators at sizes that run in seconds, two points of each run of a sweep.
SMALL: dict[str, Any] = {
    "further_seeds": [],
    "results": TINY["results"],
    "sweep_points": 2,
    "defaults": {"random_features": {"tuning": {"noise_draws": 5, "n_iterations": 2, "fresh_draws": 2}}},
    "ishigami": {"data": {"n_train": 40, "n_base": 64}, "analysis": {"n_bootstrap": 5}, "repeats": 1},
    "sobol_g": {
        "data": {"n_train_per_input": 10, "n_base": 16},
        "analysis": {"n_bootstrap": 5},
        "repeats": 1,
        "defaults": {
            "random_features": {
                "tuning": {"n_features": 15, "optimiser": {"n_members": 6}},
                "prediction": {"n_features": 20},
            }
        },
    },
    "lorenz63": {
        "data": {"n_train": 60, "train_time": 5.0, "test_time": 2.0, "long_time": 30.0, "n_starts": 4},
        "repeats": 1,
        "defaults": {
            "random_features": {
                "tuning": {"n_features": 15, "optimiser": {"n_members": 6}},
                "prediction": {"n_features": 20},
            }
        },
    },
    "edmf": {
        "data": {"n_members": 20, "n_iterations": 3, "n_scenarios": 4, "n_realisations": 4},
        "repeats": 1,
        "emulators": {
            "shared": {
                "tuning": {"n_features": 15, "n_iterations": 2, "optimiser": {"n_members": 6}},
                "prediction": {"n_features": 20},
            }
        },
    },
}
RANKS: dict[str, Any] = {
    "title": "Ranks",
    "repeats": 2,
    "repeats_per_job": 2,
    "runs": [{"experiment": "ishigami", "emulator": "lowrank", "grid": {"features.rank": [1, 2]}}],
}


def names(combinations: Any) -> list[str]:
    return ["_".join(f"{name}~{value}" for name, value in values.items()) for values in combinations]


def planned(sweep: dict[str, Any], folder: Path, config: dict[str, Any] = CONFIG) -> Sweep:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(sweep, sort_keys=False), encoding="utf-8")
    return make_sweep(read(over(config, {"sweep": str(path)})), names)


def with_run(**changes: Any) -> dict[str, Any]:
    """The ranks with other entries in their run; None takes an entry away."""
    run = {**RANKS["runs"][0], **changes}
    return {**RANKS, "runs": [{key: value for key, value in run.items() if value is not None}]}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    made = make_project()
    made.write_config(over(CONFIG, SMALL))
    return made


@pytest.mark.parametrize("name", SHIPPED)
def test_that_a_shipped_sweep_runs_to_its_table_and_picture(project: Project, name: str) -> None:
    project.run("sweep", "--config", f"sweep=config/sweeps/{name}.yaml", "--cores", "2")
    folder = project.results / f"sweeps/{name}"
    for suffix in ("png", "pdf"):
        assert (folder / f"{name}.{suffix}").stat().st_size > 5000
    table = pd.read_parquet(folder / f"{name}.parquet")
    sweep = yaml.safe_load((ROOT / f"config/sweeps/{name}.yaml").read_text(encoding="utf-8"))
    n_sets = [len(run.get("cases", ["all"])) for run in sweep["runs"]]
    assert len(table) == 2 * sum(n_sets)  # two points on every data set, one repeat each
    assert set(table["experiment"]) == {run["experiment"] for run in sweep["runs"]}
    assert (table["failure"] == "").all()
    assert (table[["test_error", "seconds"]] > 0).all(axis=None)
    csv = pd.read_csv(folder / f"{name}.csv")
    assert list(csv) == list(table)
    assert csv["test_error"].to_numpy() == pytest.approx(table["test_error"].to_numpy(), rel=1e-5)


def test_that_the_shipped_sweeps_are_four_and_pass_at_full_size() -> None:
    assert SHIPPED == ["ensemble", "features", "rank", "structure"]
    for name in SHIPPED:
        found = make_sweep(read(over(CONFIG, {"sweep": str(ROOT / f"config/sweeps/{name}.yaml")})), names)
        assert {point.experiment for point in found.points} >= {"ishigami", "sobol_g", "lorenz63"}
        assert len(found.points) >= 12


def test_that_a_clones_kept_sweep_does_not_pass_for_results(make_project: Callable[..., Project]) -> None:
    clone = make_project({})
    folder = clone.results / "sweeps/rank"
    folder.mkdir(parents=True)
    for suffix in ("csv", "parquet", "png", "pdf"):
        (folder / f"rank.{suffix}").write_text("kept", encoding="utf-8")
    sweep = {**RANKS, "title": "A sweep of the name of a kept one"}
    (clone.root / "config/sweeps/rank.yaml").write_text(yaml.safe_dump(sweep), encoding="utf-8")
    planned = {rule for rule, _ in clone.planned("sweep", "--config", "sweep=config/sweeps/rank.yaml")}
    assert {"data", "tune", "sweep_table", "sweep_figure"} <= planned


def test_that_a_value_added_to_a_finished_sweep_runs_only_the_new_jobs(make_project: Callable[..., Project]) -> None:
    project = make_project({})
    path = project.root / "config/sweeps/mine.yaml"
    path.write_text(yaml.safe_dump(RANKS), encoding="utf-8")
    command = ("sweep", "--config", "sweep=config/sweeps/mine.yaml")
    project.run(*command, "--cores", "2")
    before = project.hashes()
    assert project.planned(*command) == set()
    path.write_text(yaml.safe_dump(with_run(grid={"features.rank": [1, 2, 3]})), encoding="utf-8")
    new = "2026 lowrank_rank~3"
    assert project.planned(*command) == {
        ("tune", f"{new} 0000-0001"),
        ("predict", f"{new} 0000-0001"),
        ("analyse", new),
        ("sweep_table", ""),
        ("sweep_figure", ""),
    }
    project.run(*command, "--cores", "2")
    after = project.hashes()
    kept = [name for name in before if name.endswith(".nc")]
    assert len(kept) == 1 + 2 * 5
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    table = pd.read_csv(project.results / "sweeps/mine/mine.csv")
    assert table["rank"].tolist() == [1, 1, 2, 2, 3, 3]
    assert table["repeat"].tolist() == [0, 1] * 3


def test_that_a_sweep_must_be_named(make_project: Callable[..., Project]) -> None:
    done = make_project({}).snakemake("sweep", "--cores", "1")
    assert done.returncode != 0
    assert "no sweep is named: snakemake sweep --config sweep=config/sweeps/rank.yaml" in done.stdout


def test_that_a_wrong_sweep_ends_before_any_work(make_project: Callable[..., Project]) -> None:
    project = make_project({})
    done = project.snakemake("--cores", "1", "--config", "sweep=config/sweeps/nowhere.yaml")
    assert done.returncode != 0
    assert "no sweep can be read at config/sweeps/nowhere.yaml (No such file or directory)" in done.stdout
    assert "Traceback" not in done.stdout
    assert not (project.root / "results").exists()


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        pytest.param(
            {**RANKS, "repeat": 2}, "the sweep: unknown key 'repeat'; did you mean 'repeats'?", id="unknown key"
        ),
        pytest.param({**RANKS, "repeats": 0}, "the sweep.repeats must be at least 1; got 0", id="no repeats"),
        pytest.param({**RANKS, "runs": []}, "the sweep.runs must be a list of at least 1 entries", id="no runs"),
        pytest.param(
            with_run(experiment="ishigam"),
            "the sweep.runs.0.experiment must be one of ishigami, sobol_g, lorenz63",
            id="unknown experiment",
        ),
        pytest.param(
            with_run(emulator="lowrnk"), "ishigami has no emulator 'lowrnk'; it has constant, gp", id="unknown emulator"
        ),
        pytest.param(
            with_run(cases=["d6"]), "ishigami has no case 'd6'; it has standard", id="a case of another experiment"
        ),
        pytest.param(
            with_run(grid={"tuning.n_feature": [1]}),
            "ishigami, lowrank has no setting 'tuning.n_feature'; did you mean 'tuning.n_features'?",
            id="unknown setting",
        ),
        pytest.param(
            with_run(grid={"features.rank": [1, 4]}),
            "ishigami, standard, lowrank_rank~4: rank must be between 1 and 3",
            id="a value that does not fit the data",
        ),
        pytest.param(
            with_run(grid={"tuning.optimiser.n_members": [1]}),
            "lowrank_n_members~1.tuning.optimiser.n_members must be at least 2; got 1 (J, ensemble size)",
            id="a value out of range",
        ),
        pytest.param(
            with_run(grid={"data.noise_variance": [-1.0]}),
            "data.noise_variance must be at least 1e-20; got -1.0 (variance of the training noise)",
            id="data out of range",
        ),
        pytest.param(
            with_run(grid={"features.family": ["../low"]}),
            "features.family must be at most 80 letters, digits,",
            id="a value that makes no path",
        ),
        pytest.param(with_run(grid=None), "the sweep.runs.0: must have either a grid or a table", id="nothing to vary"),
        pytest.param(with_run(table="a.csv"), "must have either a grid or a table", id="grid and table"),
        pytest.param(with_run(grid=None, table="a.csv"), "a.csv cannot be read (No such file", id="no csv"),
        pytest.param({**RANKS, "runs": RANKS["runs"] * 2}, "two points have these settings", id="the same run twice"),
        pytest.param(
            with_run(experiment="complexity"),
            "experiment must be one of ishigami, sobol_g, lorenz63, edmf; got 'complexity'",
            id="an experiment without emulators",
        ),
        pytest.param(
            with_run(
                grid={f"tuning.{name}": list(range(1, 200)) for name in ("n_features", "n_iterations", "n_folds")}
            ),
            "a run of a sweep must have at most 10000 points; got 7880599",
            id="more points than can be planned",
        ),
        pytest.param(
            with_run(grid={"features.rank": ["1" * 90]}),
            "must be at most 80 letters, digits,",
            id="too long for a path",
        ),
        pytest.param({**RANKS, "title": "a\nb"}, "the sweep.title: must be one line", id="a title of two lines"),
        pytest.param({**RANKS, "title": "a" * 121}, "the sweep.title must be text of at most 120", id="a long title"),
        pytest.param(
            with_run(grid={1: [2]}), "the sweep.runs.0.grid must have text for names; got 1", id="number as name"
        ),
        pytest.param(with_run(cases=["standard"] * 2), "cases: 'standard' stands there twice", id="a case twice"),
    ],
)
def test_that_a_wrong_sweep_gets_a_sentence(tmp_path: Path, sweep: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(sweep, tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path / "mine.yaml") in str(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xfe\x00", "no text"),
        (b"title: [1", "no yaml: expected ',' or ']', but got '<stream end>' in line 1"),
        (b"title: 2024-13-13", "no yaml: month must be in 1..12"),
        (b"[" * 5000, "no yaml: maximum recursion depth exceeded"),
        (b"title: &a [*a]", "the sweep: title.0 must not be in itself: write it without anchors (&, *)"),
    ],
)
def test_that_a_file_that_is_no_sweep_is_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        make_sweep(read(over(CONFIG, {"sweep": str(path)})), names)
    assert reason in str(caught.value)


def test_that_a_folder_is_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no sweep can be read at .* \(Is a directory\): name a file"):
        make_sweep(read(over(CONFIG, {"sweep": str(tmp_path)})), names)


@pytest.mark.parametrize("name", ["my sweep", ".hidden", "a$b", "é", "x" * 100])
def test_that_a_sweeps_name_can_name_a_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(RANKS), encoding="utf-8")
    with pytest.raises(ConfigError, match="a sweep's file names a folder: its name must be at most 80 letters"):
        make_sweep(read(over(CONFIG, {"sweep": str(path)})), names)


def test_that_a_sweep_of_an_experiment_that_is_not_run_is_checked_too(tmp_path: Path) -> None:
    """Its block is read, and its data are not looked at before."""
    ranks = {**RANKS["runs"][0], "experiment": "sobol_g", "grid": {"features.max_rank": [1]}}
    alone = over(CONFIG, {"experiments": ["ishigami"]})
    assert len(planned({**RANKS, "runs": [ranks]}, tmp_path, alone).points) == len(CONFIG["sobol_g"]["dimensions"])
    with pytest.raises(ConfigError, match=r"sobol_g\.data: n_train must be between 1 and the design's 8192 rows"):
        planned({**RANKS, "runs": [ranks]}, tmp_path, over(alone, {"sobol_g": {"data": {"n_train_per_input": 10**9}}}))


def test_that_the_first_points_of_a_large_grid_are_planned_at_once(tmp_path: Path) -> None:
    grid = {
        f"tuning.{name}": list(range(2, 200)) for name in ("n_features", "n_iterations", "noise_draws", "fresh_draws")
    }
    found = planned(with_run(grid=grid), tmp_path, over(CONFIG, {"sweep_points": 3}))
    assert [point.values["fresh_draws"] for point in found.points] == [2, 3, 4]


def test_that_a_setting_in_a_block_of_the_data_is_varied(tmp_path: Path) -> None:
    grid = {"data.parameters.entrainment_factor.prior_mean": [0.2, 0.3]}
    found = planned(with_run(experiment="edmf", emulator="shared", grid=grid), tmp_path)
    means = [point.data.plain()["parameters"]["entrainment_factor"]["prior_mean"] for point in found.points]
    assert means == [0.2, 0.3]


def test_that_the_names_of_a_point_fit_a_path(tmp_path: Path) -> None:
    grid = {f"tuning.{name}": ["1" * 70] for name in ("n_features", "n_iterations", "noise_draws")}
    with pytest.raises(ConfigError, match="folders have names of at most 200 characters: vary fewer settings"):
        planned(with_run(grid=grid), tmp_path)


@pytest.mark.parametrize("title", ["from 1 $ to 2 $ \\frac{", "$x^$", "100 %"])
def test_that_a_title_is_drawn_letter_by_letter(title: str) -> None:
    point = {"experiment": "ishigami", "case": "standard", "emulator": "a", "repeat": 0, "failure": ""}
    rows = [{**point, "rank": rank, "test_error": 0.1 * rank, "seconds": 1.0} for rank in (1, 2, 3)]
    figure = sweep_figure(pd.DataFrame(rows), ["rank"], title)
    figure.canvas.draw()
    (heading,) = [text for text in figure.texts if text.get_text() == literal(title)]
    assert heading._preprocess_math(heading.get_text()) == (title, False)
    plt.close(figure)


def swept(settings: dict[str, Any], n_repeats: int = 5) -> pd.DataFrame:
    """A table of points with these settings, their errors drawn."""
    points = pd.DataFrame(settings)
    table = points.loc[np.repeat(points.index, n_repeats)].reset_index(drop=True)
    table["repeat"] = np.tile(np.arange(n_repeats), len(points))
    table[["experiment", "case", "failure"]] = ["ishigami", "standard", ""]
    return table.assign(test_error=np.random.default_rng(1).uniform(0.1, 1.0, len(table)), seconds=1.0)


def test_that_few_points_have_a_circle_and_a_bar_each_and_all_dots() -> None:
    table = swept({"rank": [1, 2, 4]})
    figure = sweep_figure(table, ["rank"], "Ranks")
    dots, circles = figure.axes[0].lines
    assert len(dots.get_xdata()) == 15
    assert list(circles.get_xdata()) == [1, 2, 4]
    assert list(circles.get_ydata()) == pytest.approx(table.groupby("rank")["test_error"].median().tolist())
    (bars,) = [one for one in figure.axes[0].collections if isinstance(one, LineCollection)]
    expected = table.groupby("rank")["test_error"].quantile([0.05, 0.95]).to_numpy().reshape(-1, 2)
    np.testing.assert_allclose([segment[:, 1] for segment in bars.get_segments()], expected)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["1", "2", "4"]
    plt.close(figure)


def test_that_thousands_of_points_fit_a_picture() -> None:
    """Settings that are varied together have a row each, neighbouring values a circle, and dots are an even choice."""
    table = swept({"n_members": np.arange(2, 3002), "family": ["lowrank", "diagonal"] * 1500})
    figure = sweep_figure(table, ["n_members", "family"], "Many")
    assert [axis.get_xlabel() for axis in figure.axes[::2]] == ["n_members", "family"]
    for axis in figure.axes:
        dots, circles = axis.lines
        assert len(dots.get_xdata()) <= MOST_DOTS
        assert len(circles.get_xdata()) <= N_BINS
    medians = table.groupby((np.arange(len(table)) * N_BINS) // len(table))["test_error"].median()
    np.testing.assert_allclose(figure.axes[0].lines[1].get_ydata(), medians)
    assert {round(x) for x in figure.axes[2].lines[0].get_xdata()} == {0, 1}
    assert "dots: some of 15000 repeats; circles: medians of neighbouring values" in figure._supxlabel.get_text()
    plt.close(figure)


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ("features.rank,features.rank\n1,2\n", "has two columns 'features.rank'"),
        ("features.rank\n" + "1\n" * 10_001, "a run of a sweep must have at most 10000 points; got 10001"),
        ("features.rank\n[\n", "features.rank must be at most 80 letters, digits, '.', '+' or '-'; got '['"),
        ("features.rank\n" + "1" * 200_000, "a.csv cannot be read (field larger than field limit"),
        ("", "must have a line of setting names and at least one line of values"),
        ("features.rank\n", "must have a line of setting names and at least one line of values"),
        (
            "features.rank,tuning.optimiser.n_members\n1\n",
            "line 2: 2 values are expected, as many as column names, none of them empty",
        ),
        ("tuning.optimiser.n_members\n10\n", "has no column 'features.rank'; it has tuning.optimiser.n_members"),
    ],
)
def test_that_a_wrong_csv_gets_a_sentence(tmp_path: Path, csv: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(csv, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        planned(with_run(grid=None, table="a.csv", columns=["features.rank"]), tmp_path)
    assert message in str(caught.value)


def test_that_a_csv_is_read_as_a_config_would_be(tmp_path: Path) -> None:
    header = "features.family,features.rank,tuning.optimiser.inflation,data.noise_variance"
    text = f"{header}\nlowrank,2,1e-3,0.1\ndiagonal,null,0,0.1\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    found = planned(with_run(grid=None, table="a.csv"), tmp_path)
    first, second = found.points
    assert first.emulator == "lowrank_family~lowrank_rank~2_inflation~0.001"
    assert (first.case, first.data.noise_variance) == ("standard_noise_variance~0.1", 0.1)
    assert second.values == {"family": "diagonal", "rank": None, "inflation": 0, "noise_variance": 0.1}
    assert second.block["tuning"] == {"optimiser": {"inflation": 0}}
    assert list(found.cases["ishigami"]) == ["standard_noise_variance~0.1"]


def test_that_repeats_are_capped_by_the_experiments_and_points_by_the_config(tmp_path: Path) -> None:
    small = tiny_config({"ishigami": {"repeats": 1}, "sweep_points": 1})
    found = planned(RANKS, tmp_path, small)
    assert [(run.emulator, run.repeats) for run in found.runs] == [("lowrank_rank~1", 1)]
    assert found.config.run.results == "results/tiny/sweeps/mine"


def test_that_nested_settings_and_lists_are_varied_too(tmp_path: Path) -> None:
    grid = {
        "features.prior.log_scale": [[0.0, 0.5]],
        "tuning.optimiser.step": ["constant"],
        "tuning.optimiser.step_size": [0.5],
    }
    (point,) = planned(with_run(grid=grid), tmp_path).points
    assert point.emulator == "lowrank_log_scale~0.0x0.5_step~constant_step_size~0.5"
    assert point.block["tuning"]["optimiser"] == {"step": "constant", "step_size": 0.5}
