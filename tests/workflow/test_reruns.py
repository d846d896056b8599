"""One tiny run from nothing; then what would run again after a change, and what bad input does to the results."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import Job, Project, tiny_config

from rftune import storage

SEED = "2026"
ARTIFACTS = {"F1", "F7", "T2_csv", "T2", "verdicts", "report"}
# Chunks of each emulator's repeats.
CHUNKS = {"gp": ["0000-0000"], "untuned": ["0000-0000"], "lowrank": ["0000-0001", "0002-0002"]}


def drawn(*names: str) -> set[Job]:
    """Jobs that make figures and tables."""
    return {(name, "") for name in names}


def data(seed: str = SEED) -> set[Job]:
    return {("data", seed), ("check_data", seed), ("analyse_truth", seed)}


def stages(*rules: str, emulators: tuple[str, ...] = tuple(CHUNKS), seed: str = SEED) -> set[Job]:
    """Jobs of the stages of some emulators."""
    jobs = set()
    for emulator in emulators:
        for rule in rules:
            for chunk in [None] if rule == "analyse" else CHUNKS[emulator]:
                jobs.add((rule, " ".join(filter(None, [seed, emulator, chunk]))))
    return jobs


def random_features(**settings: Any) -> dict[str, Any]:
    return {"ishigami": {"defaults": {"random_features": settings}}}


def emulator(name: str, **settings: Any) -> dict[str, Any]:
    return {"ishigami": {"emulators": {name: settings}}}


def replaced(old: str, new: str) -> Callable[[str], str]:
    def edit(source: str) -> str:
        assert source.count(old) == 1, f"{source.count(old)} places have {old!r}"
        return source.replace(old, new)

    return edit


@pytest.fixture(scope="module")
def printed() -> list[str]:
    """What the first run printed."""
    return []


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project], printed: list[str]) -> Project:
    """A project after its first whole run."""
    made = make_project({})
    assert made.planned() == data() | stages("tune", "predict", "analyse") | drawn(*ARTIFACTS)
    assert not (made.root / "results").exists(), "the dry run wrote results"
    printed.append(made.run("--cores", "2"))
    return made


def test_that_a_clones_kept_tables_and_figures_do_not_pass_for_results(make_project: Callable[..., Project]) -> None:
    clone = make_project({})
    for name in ("tables/T2.csv", "figures/T2.png", "figures/T2.pdf", "figures/F1.png", "figures/F1.pdf"):
        path = clone.results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept", encoding="utf-8")
    planned = {rule for rule, _ in clone.planned("F1", "T2")}
    assert {"data", "tune", "predict", "analyse", "F1", "T2_csv", "T2"} <= planned
    assert (clone.results / "tables/T2.csv").read_text(encoding="utf-8") == "kept"


@pytest.fixture
def results(project: Project) -> dict[str, str]:
    """The results before a test, to which they are compared after it."""
    return project.hashes()


def test_that_the_run_makes_every_artifact(project: Project) -> None:
    names = [f"figures/{name}.{kind}" for name in ("F1", "F7", "T2") for kind in ("png", "pdf")]
    for name in [*names, "tables/T2.csv"]:
        assert (project.results / name).stat().st_size > 1000, name


def test_that_every_job_leaves_a_log_and_a_benchmark(project: Project) -> None:
    jobs = data() | stages("tune", "predict", "analyse") | drawn(*ARTIFACTS)
    logs = {path.relative_to(project.results / "logs").with_suffix("") for path in project.results.rglob("*.log")}
    measured = {
        path.relative_to(project.results / "benchmarks").with_suffix("") for path in project.results.rglob("*.tsv")
    }
    assert logs == measured
    assert len(logs) == len(jobs)
    for path in project.results.rglob("*.log"):
        assert path.read_text(encoding="utf-8").endswith("INFO done\n"), path


def test_that_no_progress_bar_is_drawn_where_nobody_watches(project: Project, printed: list[str]) -> None:
    logs = [path.read_bytes().decode() for path in project.results.rglob("*.log")]
    for text in [*logs, *printed]:
        assert "\r" not in text
        assert "it/s" not in text
    log = project.results / f"logs/ishigami/standard/seed{SEED}/lowrank/tune-0000-0001.log"
    assert "repeat 1 iteration 2: objective" in log.read_text(encoding="utf-8")


def test_that_every_result_says_where_it_comes_from(project: Project) -> None:
    paths = list(project.results.rglob("*.nc"))
    assert len(paths) == 2 + 4 * 4 + 3  # data and truth; tuned, timing, predicted and times in chunks; analysis
    for path in paths:
        result = storage.load(path)
        assert result.attrs["seed"] == int(SEED)
        assert "numpy" in result.attrs["versions"]
        assert result.attrs["git_commit"]
    tuned = storage.load(project.results / f"ishigami/standard/seed{SEED}/lowrank/tuned-0000-0001.nc")
    assert storage.settings_of(tuned)["tuning"]["n_iterations"] == 2
    assert tuned["repeat"].values.tolist() == [0, 1]


def test_that_modification_times_of_code_do_not_matter(project: Project) -> None:
    later = time.time() + 60
    for path in [project.root / "Snakefile", *project.root.glob("workflow/**/*"), *project.root.glob("src/**/*.py")]:
        if path.is_file():
            os.utime(path, (later, later))
    assert project.planned() == set()


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        pytest.param(
            random_features(prediction={"n_features": 21}),
            stages("predict", "analyse", emulators=("untuned", "lowrank"))
            | drawn("F1", "T2_csv", "T2", "verdicts", "report"),
            id="features for prediction rerun the prediction and not the tuning",
        ),
        pytest.param(
            emulator("lowrank", tuning={"n_iterations": 3}),
            stages("tune", "predict", "analyse", emulators=("lowrank",)) | drawn(*ARTIFACTS),
            id="iterations of one emulator rerun that emulator",
        ),
        pytest.param(
            {"seed": 7},
            data("7") | stages("tune", "predict", "analyse", seed="7") | drawn(*ARTIFACTS),
            id="another seed runs its own chain and nothing of the old one",
        ),
        pytest.param(
            {"ishigami": {"repeats": 5}},
            {(rule, f"{SEED} lowrank {chunk}") for rule in ("tune", "predict") for chunk in ("0002-0003", "0004-0004")}
            | stages("analyse", emulators=("lowrank",))
            | drawn("F7", "T2_csv", "T2", "verdicts", "report"),
            id="more repeats run the chunks that are new",
        ),
        pytest.param(
            {"ishigami": {"analysis": {"n_bootstrap": 11}, "truth": {"n_bootstrap": 11}}},
            {("analyse_truth", SEED)} | stages("analyse") | drawn("T2_csv", "T2", "verdicts", "report"),
            id="resamples of the intervals rerun the analyses alone",
        ),
        pytest.param({"n_workers": 2}, set(), id="workers change no result"),
    ],
)
def test_that_a_changed_setting_reruns_what_depends_on_it(
    project: Project, overrides: dict[str, Any], expected: set[Job]
) -> None:
    with project.changed_config(overrides):
        assert project.planned() == expected


@pytest.mark.parametrize(
    ("name", "edit", "expected"),
    [
        pytest.param(
            "src/rftune/tuning/loop.py",
            replaced("share < settings.trap_threshold", "2 * share < settings.trap_threshold"),
            stages("tune", "predict", "analyse", emulators=("untuned", "lowrank")) | drawn(*ARTIFACTS),
            id="tuning code reruns the random features, not the data and not the Gaussian process",
        ),
        pytest.param(
            "src/rftune/regression/covariances.py",
            replaced("PANEL = 64", "PANEL = 65"),
            stages("tune", "predict", "analyse", emulators=("gp",)) | drawn("F1", "T2_csv", "T2", "verdicts", "report"),
            id="code of the Gaussian process reruns it alone",
        ),
        pytest.param(
            "src/rftune/__init__.py", replaced('"0.1.0"', '"0.1.1"'), set(), id="a new version reruns nothing"
        ),
        pytest.param(
            "src/rftune/experiments/ishigami/figures.py",
            replaced("figsize=(7.2, 8.6)", "figsize=(7.2, 8.7)"),
            drawn("F1", "F7", "T2", "report"),
            id="drawing code redraws",
        ),
        pytest.param(
            "src/rftune/analysis/dynamics.py",
            replaced("ESCAPED = 1000.0", "ESCAPED = 999.0"),
            set(),
            id="dynamics have no part in Ishigami",
        ),
        pytest.param(
            "src/rftune/analysis/sensitivity.py",
            replaced("CONFIDENCE_LEVEL = 0.95", "CONFIDENCE_LEVEL = 0.9"),
            data() | stages("tune", "predict", "analyse") | drawn(*ARTIFACTS),
            id="sensitivity code reruns the data and what follows",
        ),
        pytest.param(
            "workflow/scripts/check_data.py",
            replaced(" samples, ", " rows, "),
            {("check_data", SEED)},
            id="a new check of old data retunes nothing",
        ),
        pytest.param(
            "environment.yml", lambda source: "# A comment.\n" + source, set(), id="environment.yml is no code"
        ),
        pytest.param(
            "src/rftune/tuning/loop.py",
            lambda source: "# A comment.\n" + source.replace('"""Tuning: ', '"""Other words for tuning: '),
            set(),
            id="comments and docstrings rerun nothing",
        ),
    ],
)
def test_that_changed_code_reruns_what_depends_on_it(
    project: Project, name: str, edit: Callable[[str], str], expected: set[Job]
) -> None:
    with project.edited(name, edit):
        assert project.planned() == expected


def test_that_a_stage_or_a_file_can_be_asked_for_by_name(project: Project) -> None:
    tuned = f"{tiny_config()['results']}/ishigami/standard/seed{SEED}/gp/tuned-0000-0000.nc"
    with project.changed_config(random_features(prediction={"n_features": 21}, tuning={"n_iterations": 3})):
        assert project.planned("tune_ishigami") == stages("tune", emulators=("lowrank",))
        assert project.planned("F7") == stages("tune", emulators=("lowrank",)) | drawn("F7")
        assert project.planned("--forcerun", tuned, "--", tuned) == stages("tune", emulators=("gp",))


def misspelt(config: dict[str, Any]) -> None:
    config["ishigami"]["data"]["n_trian"] = config["ishigami"]["data"].pop("n_train")


def setter(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(config: dict[str, Any]) -> None:
        for key in path[:-1]:
            config = config[key]
        config[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            misspelt, ["ishigami.data: unknown key 'n_trian'; did you mean 'n_train'?"], id="unknown key, near miss"
        ),
        pytest.param(
            setter("ishigami", "data", "n_train", value="many"),
            ["ishigami.data.n_train must be of type integer; got 'many' (number of training points, drawn"],
            id="wrong type",
        ),
        pytest.param(
            setter("ishigami", "repeats", value=0),
            ["ishigami.repeats must be at least 1; got 0 (re-tunings on the same data; no emulator has more)"],
            id="no repeats",
        ),
        pytest.param(
            setter("ishigami", "data", "noise_variance", value=float("nan")),
            ["ishigami.data.noise_variance must be finite; got nan"],
            id="NaN in the config",
        ),
        pytest.param(
            setter("ishigami", "data", "n_train", value=3),
            ["3 samples are too few for validation folds of 20% of the data: provide at least 5 samples"],
            id="fewer samples than a fold needs",
        ),
        pytest.param(
            setter("ishigami", "defaults", "random_features", "features", "rank", value=4),
            ["rank must be between 1 and 3, the number of frequency entries (inputs × outputs); got 4"],
            id="rank above d·p",
        ),
        pytest.param(
            setter("ishigami", "emulators", "gp", "kind", value="kriging"),
            [
                "ishigami.emulators.gp.kind must be one of boosted_trees, constant, gp, persistence, quadratic, "
                "random_features, rbf_ridge; got 'kriging'"
            ],
            id="unknown kind of emulator",
        ),
        pytest.param(
            setter("ishigami", "defaults", "random_features", "tuning", "precision", value="float16"),
            ["tuning.precision must be one of float64, float32; got 'float16'"],
            id="unknown precision",
        ),
    ],
)
def test_that_a_bad_config_ends_with_one_message_and_touches_nothing(
    project: Project, results: dict[str, str], change: Callable[[dict[str, Any]], None], expected: list[str]
) -> None:
    config = tiny_config()
    change(config)
    with project.edited("config/config.yaml", lambda _: yaml.safe_dump(config)):
        done = project.snakemake("--cores", "2")
    assert done.returncode != 0
    for text in expected:
        assert text in done.stdout
    assert done.stdout.count("the config cannot be used") == 1
    assert "Traceback" not in done.stdout
    assert "Select jobs to execute" not in done.stdout
    assert project.hashes() == results


def test_that_nan_in_the_data_ends_before_the_tuning_and_touches_nothing(project: Project) -> None:
    path = project.results / f"ishigami/standard/seed{SEED}/data.nc"
    good = path.read_bytes()
    marks = {mark: mark.read_bytes() for mark in project.results.rglob("*.checked")}
    bad = storage.load(path)
    bad["train_outputs"][2, 0] = np.nan
    storage.save(bad, path, settings={}, seed=int(SEED))
    before = project.hashes()
    try:
        done = project.snakemake("--cores", "2")
        assert done.returncode != 0
        expected = "data.nc: outputs must be finite; 1 of 40 values are not, the first is nan at row 2, column 0"
        assert done.stdout.count(expected) == 1
        assert "Traceback" not in done.stdout
        assert "rule check_data:" in done.stdout
        assert "rule tune:" not in done.stdout
        assert project.hashes() == before
    finally:
        path.write_bytes(good)
        for mark, content in marks.items():
            mark.write_bytes(content)
