"""What the check of a config says: what was expected, what came, and where."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import CONFIG, ROOT, tiny_config

import edmf_file
from rftune.workflow import config as rftune_config
from rftune.workflow.config import Config, ConfigError, over, read, without_absent
from rftune.workflow.plan import Plan
from rftune.workflow.reporting import exhibits, paper_settings


def changed(path: str, value: Any) -> dict[str, Any]:
    """The paper's config with one entry changed; blocks that lack it get it."""
    *parents, last = path.split(".")
    change: Any = {last: value}
    for key in reversed(parents):
        change = {key: change}
    return over(deepcopy(CONFIG), change)


def problems(config: dict[str, Any]) -> list[str]:
    """The lines of the message, one per problem."""
    with pytest.raises(ConfigError) as caught:
        read(config)
    first, *rest = str(caught.value).split("\n")
    assert first == "the config cannot be used:"
    assert all(line.startswith("  - ") for line in rest)
    return [line.removeprefix("  - ") for line in rest]


@pytest.mark.parametrize("name", ["config.yaml", "quick.yaml", "full.yaml", "data_draws.yaml"])
def test_that_the_presets_pass(name: str) -> None:
    preset = yaml.safe_load((ROOT / "config" / name).read_text(encoding="utf-8"))
    read(over(CONFIG, preset))


def test_that_the_tests_own_config_passes() -> None:
    read(tiny_config())


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("sed", 1, "the config: unknown key 'sed'; did you mean 'seed'?"),
        (
            "hue",
            1,
            "the config: unknown key 'hue'; known keys: experiments, seed, further_seeds, results, n_workers, "
            "sweep, sweep_points, cluster, defaults, ishigami, sobol_g, lorenz63, edmf, complexity",
        ),
        ("ishigami.repeat", 1, "ishigami: unknown key 'repeat'; did you mean 'repeats'?"),
        (
            "seed",
            -1,
            "seed must be at least 0; got -1 (root of all randomness; every job derives its generator from it)",
        ),
        (
            "seed",
            None,
            "seed must be of type integer; got None (root of all randomness; every job derives its generator from it)",
        ),
        (
            "seed",
            True,
            "seed must be of type integer; got True (root of all randomness; every job derives its generator from it)",
        ),
        ("ishigami", None, "ishigami must be a block of settings; got None"),
        (
            "ishigami.repeats",
            0,
            "ishigami.repeats must be at least 1; got 0 (re-tunings on the same data; no emulator has more)",
        ),
        (
            "ishigami.repeats",
            3.0,
            "ishigami.repeats must be of type integer; got 3.0 (re-tunings on the same data; no emulator has more)",
        ),
        (
            "ishigami.repeats",
            "3",
            "ishigami.repeats must be of type integer; got '3' (re-tunings on the same data; no emulator has more)",
        ),
        (
            "ishigami.repeats_per_job",
            0,
            "ishigami.repeats_per_job must be at least 1; got 0 (repeats that share one job; changes no result)",
        ),
        ("ishigami.data.a", float("nan"), "ishigami.data.a must be finite; got nan (coefficient of sin² x₂)"),
        ("ishigami.data.a", float("inf"), "ishigami.data.a must be finite; got inf (coefficient of sin² x₂)"),
        (
            "ishigami.data.noise_variance",
            0,
            "ishigami.data.noise_variance must be at least 1e-20; got 0 (variance of the training noise)",
        ),
        (
            "ishigami.data.n_train",
            20000,
            "ishigami.data: n_train must be between 1 and the design's 16384 rows; got 20000",
        ),
        (
            "ishigami.emulators.gp.kind",
            "kriging",
            "ishigami.emulators.gp.kind must be one of boosted_trees, constant, gp, persistence, quadratic, "
            "random_features, rbf_ridge; got 'kriging' (kind of emulator)",
        ),
        (
            "ishigami.emulators.gp.rank",
            2,
            "ishigami.emulators.gp: unknown key 'rank'; known keys: inputs, intervals, kernel, correlation, noise, "
            "tuning, prediction",
        ),
        (
            "ishigami.emulators.gp.tuning.lengthscale_bounds",
            [1.0],
            "ishigami.emulators.gp.tuning.lengthscale_bounds must be a list of more entries; got [1.0]",
        ),
        (
            "ishigami.emulators.lowrank.features.rank",
            4,
            "ishigami.emulators.lowrank: rank must be between 1 and 3, the number of frequency entries "
            "(inputs × outputs); got 4: lower it, or set the emulator to null, which leaves it out",
        ),
        (
            "ishigami.emulators.lowrank.tuning.precision",
            "float16",
            "ishigami.emulators.lowrank.tuning.precision must be one of float64, float32; got 'float16' "
            "(of features and Gram matrices; the solves are in float64)",
        ),
        (
            "ishigami.emulators.lowrank.tuning.validation_fraction",
            0.6,
            "ishigami.emulators.lowrank.tuning: folds must not overlap: n_folds × validation_fraction ≤ 1; got 2 × 0.6",
        ),
    ],
)
def test_that_one_wrong_entry_gives_one_sentence(path: str, value: Any, message: str) -> None:
    assert problems(changed(path, value)) == [message]


def test_that_a_rank_is_described_where_it_is_wrong() -> None:
    (problem,) = problems(changed("ishigami.emulators.lowrank.features.rank", "three"))
    assert problem.startswith(
        "ishigami.emulators.lowrank.features.rank must be as described; got 'three' (rank of the structure;"
    )


def test_that_a_base_that_is_no_power_of_two_is_found_before_the_data_are_made() -> None:
    (problem,) = problems(changed("ishigami.data.n_base", 100))
    assert problem.startswith("ishigami.data.n_base must be one of 2, 4, 8,")
    assert problem.endswith("got 100 (Saltelli base samples, a power of two; (2d + 2) rows each)")


def test_that_too_few_samples_are_found_for_every_emulator_with_folds() -> None:
    found = problems(changed("ishigami.data.n_train", 3))
    emulators = CONFIG["ishigami"]["emulators"]
    tuned = [name for name, entry in emulators.items() if "tuning" not in entry or entry["tuning"] is not None]
    features = [name for name in tuned if emulators[name]["kind"] == "random_features"]
    assert [problem.split(":")[0].rsplit(".", 1)[1] for problem in found] == features
    assert all("3 samples are too few for validation folds of 20% of the data" in problem for problem in found)
    read(changed("ishigami.data.n_train", 5))


@pytest.mark.parametrize("role", ["gp", "rf_untuned", "rf"])
def test_that_an_emulator_that_the_figures_show_is_not_missing(role: str) -> None:
    config = deepcopy(CONFIG)
    name = next(name for name, entry in config["ishigami"]["emulators"].items() if entry.get("role") == role)
    del config["ishigami"]["emulators"][name]
    assert f"ishigami.emulators: F1 shows an emulator of role {role}, and none has it: give it to one" in problems(
        config
    )


def test_that_a_role_is_played_by_one_emulator() -> None:
    assert problems(changed("ishigami.emulators.diagonal.role", "rf")) == [
        "ishigami.emulators: 2 emulators have the role rf: give it to one"
    ]


def test_that_missing_keys_are_named() -> None:
    config = deepcopy(CONFIG)
    del config["ishigami"]["data"]["n_train"], config["ishigami"]["data"]["a"]
    assert set(problems(config)) == {"ishigami.data: missing keys 'a', 'n_train'"}


def test_that_a_key_that_is_no_text_is_named() -> None:
    config = deepcopy(CONFIG)
    config["ishigami"]["emulators"][1] = {"kind": "gp"}
    (problem,) = problems(config)
    assert "ishigami.emulators" in problem
    assert "must have text for names; got 1" in problem


def test_that_all_problems_are_listed_at_once() -> None:
    config = changed("ishigami.repeats", 0)
    config["sead"] = 3
    config["n_workers"] = "two"
    found = problems(config)
    assert len(found) == 3
    assert all(any(re.search(key, problem) for problem in found) for key in ("sead", "n_workers", "ishigami.repeats"))


def test_that_an_emulators_own_settings_win_over_the_defaults_of_its_kind() -> None:
    config = read(changed("ishigami.emulators.lowrank.tuning", {"optimiser": {"inflation": 0.5}}))
    own, other = (config.emulators["ishigami"][name].plain()["tuning"] for name in ("lowrank", "diagonal"))
    assert own["optimiser"] == other["optimiser"] | {"inflation": 0.5}
    assert own["optimiser"]["n_members"] == 30


def test_that_a_block_of_another_name_replaces_the_defaults() -> None:
    base = {"family": {"name": "lowrank", "loading_std": 0.2}, "rank": 3}
    assert over(base, {"family": {"loading_std": 0.3}})["family"] == {"name": "lowrank", "loading_std": 0.3}
    assert over(base, {"family": {"name": "sparse"}})["family"] == {"name": "sparse"}
    assert over(base, {"family": "sparse"})["family"] == "sparse"
    assert base == {"family": {"name": "lowrank", "loading_std": 0.2}, "rank": 3}


def runs(config: Config, experiment: str) -> list[rftune_config.Run]:
    return [run for run in config.runs() if run.experiment == experiment]


def test_that_runs_are_every_seed_case_and_emulator_that_the_config_asks_for() -> None:
    found = {(run.case, run.seed, run.emulator): run for run in runs(read(CONFIG), "sobol_g")}
    assert {case for case, _, name in found if name == "sparse"} == {"d3", "d6", "d10", "d20"}
    assert {case for case, _, name in found if name == "m25"} == {"d6"}
    assert {seed for _, seed, name in found if name == "gp_sklearn"} == {CONFIG["seed"]}
    assert found["d6", CONFIG["seed"], "lowrank"].repeats == CONFIG["sobol_g"]["repeats"]
    assert found["d6", CONFIG["seed"], "sparse"].repeats == CONFIG["sobol_g"]["repeats"]
    assert found["d6", 1, "sparse"].repeats == CONFIG["sobol_g"]["further_repeats"]
    assert found["d6", CONFIG["seed"], "gp"].timed
    assert not found["d6", 1, "gp"].timed
    assert found["d6", CONFIG["seed"], "rf_parallel"].n_workers is None


def test_that_an_emulators_repeats_are_capped_by_its_experiments() -> None:
    found = runs(read(changed("lorenz63.repeats", 2)), "lorenz63")
    assert {run.repeats for run in found if run.emulator.startswith("nonseparable")} == {2}
    assert {run.repeats for run in found if run.emulator == "gp"} == {1}


def test_that_an_emulator_set_to_null_is_left_out() -> None:
    config = read(changed("ishigami.emulators.diagonal", None))
    assert "diagonal" not in {run.emulator for run in runs(config, "ishigami")}
    assert "ishigami.emulators: F1 shows an emulator of role rf, and none has it: give it to one" in problems(
        changed("ishigami.emulators.subspace", None)
    )


PARAMETER = {"bounds": [0.0, 1.0], "prior_mean": 0.5}


def with_a_file(path: Path, **changes: Any) -> dict[str, Any]:
    """The paper's config with a file of the parameters a and b and the emulators that fit it."""
    names = CONFIG["edmf"]["data"]["parameters"]
    emulators = dict.fromkeys(("separable_5_1", "separable_chosen"))
    data = {"parameters": {**dict.fromkeys(names), "a": PARAMETER, "b": PARAMETER}, "truth": dict.fromkeys(names)}
    edmf = over({"source": str(path), "data": data, "emulators": emulators}, changes)
    return over(deepcopy(CONFIG), {"experiments": ["edmf"], "edmf": edmf})


def test_that_parameters_set_to_null_are_left_out(tmp_path: Path) -> None:
    edmf_file.write(tmp_path / "runs.nc", n_members=12)
    config = read(with_a_file(tmp_path / "runs.nc"))
    (data,) = config.cases["edmf"].values()
    assert list(data.parameters) == ["a", "b"]
    assert data.truth == {}
    assert data.shape == (23, 2, 3)
    (problem,) = problems(with_a_file(tmp_path / "runs.nc", source=None))
    assert "got a, b: other parameters need a source" in problem


def test_that_null_is_left_out_of_blocks_of_names_alone() -> None:
    raw = {"edmf": {"source": None, "data": {"truth": {"a": None, "b": 1.0}, "n_members": None}}, "seed": None}
    kept = {"edmf": {"source": None, "data": {"truth": {"b": 1.0}, "n_members": None}}, "seed": None}
    assert without_absent(raw) == kept


def test_that_a_file_needs_no_emulator_in_a_role(tmp_path: Path) -> None:
    edmf_file.write(tmp_path / "runs.nc", n_members=12)
    absent = dict.fromkeys(set(CONFIG["edmf"]["emulators"]) - {"gp"})
    plan = Plan(read(with_a_file(tmp_path / "runs.nc", emulators=absent)), ROOT)
    plan.check()
    assert list(plan.artifacts) == ["T5", "T6"]
    assert paper_settings(plan) == []
    why = {entry["id"]: entry["absent"] for entry in exhibits(plan, [])}
    assert why["F6"] == "no emulator has the role rf_nonseparable_1"
    assert why["F1"] == "its config leaves it out"
    assert why["T6"] == ""


def test_that_a_setting_which_an_emulator_in_a_role_lacks_is_none(tmp_path: Path) -> None:
    edmf_file.write(tmp_path / "runs.nc", n_members=12)
    untuned = {"nonseparable_1": {"tuning": None}}
    config = read(with_a_file(tmp_path / "runs.nc", emulators=untuned))
    assert config.setting("edmf@rf_nonseparable_1.tuning.n_features") is None
    assert config.setting("edmf@rf_nonseparable_1.features.rank") == 1


def test_that_more_parameters_than_walkers_are_found_before_any_work(tmp_path: Path) -> None:
    names = tuple(f"p{i}" for i in range(11))
    edmf_file.write(tmp_path / "runs.nc", names=names, n_members=15)
    data = {"parameters": {**dict.fromkeys("ab"), **dict.fromkeys(names, PARAMETER)}}
    (problem,) = problems(with_a_file(tmp_path / "runs.nc", data=data))
    said = "sampling.n_walkers must be at least 12 for 11 parameters and the move metropolis; got 10"
    assert problem == f"edmf: {said}"
    read(with_a_file(tmp_path / "runs.nc", data=data, sampling={"n_walkers": 12}))


def test_that_a_source_in_the_wrong_block_is_no_simulation() -> None:
    (problem,) = problems(changed("edmf.data.source", "runs.nc"))
    assert problem == "edmf: source must stand beside data, not in it; got 'runs.nc' there: move it"


def test_that_a_rank_that_does_not_fit_a_file_says_what_to_do(tmp_path: Path) -> None:
    edmf_file.write(tmp_path / "runs.nc", n_members=12)
    separable = {"separable_5_1": CONFIG["edmf"]["emulators"]["separable_5_1"]}
    assert problems(with_a_file(tmp_path / "runs.nc", emulators=separable)) == [
        "edmf.emulators.separable_5_1: rank must be between 1 and 2, the number of inputs; got 5: lower it, or set the "
        "emulator to null, which leaves it out"
    ]


def test_that_an_unknown_case_of_an_emulator_is_named() -> None:
    (problem,) = problems(changed("sobol_g.emulators.m25.cases", ["six"]))
    assert problem == "sobol_g.emulators.m25.cases: no case six; the cases are d3, d6, d10, d20"


def test_that_a_wrong_default_is_named_once_where_it_stands() -> None:
    (problem,) = problems(changed("defaults.random_features.tuning.n_itertions", 3))
    assert problem == "defaults.random_features.tuning: unknown key 'n_itertions'; did you mean 'n_iterations'?"


def test_that_an_emulator_of_an_absent_case_is_left_out() -> None:
    config = read(changed("sobol_g.dimensions", [3]))
    assert "m25" not in {run.emulator for run in runs(config, "sobol_g")}


def test_that_only_the_named_experiments_are_run() -> None:
    assert list(read(changed("experiments", ["sobol_g"])).blocks) == ["sobol_g"]
    (problem,) = problems(changed("experiments", ["sobol"]))
    assert problem == "experiments must be among ishigami, sobol_g, lorenz63, edmf, complexity; got 'sobol'"


def test_that_a_stage_is_handed_the_blocks_that_it_reads() -> None:
    emulators = read(CONFIG).emulators["ishigami"]
    assert set(emulators["lowrank"].read_by("tune")) == {"kind", "inputs", "features", "tuning"}
    assert set(emulators["lowrank"].read_by("fit")) == {"kind", "inputs", "intervals", "features", "prediction"}
    assert emulators["untuned"].read_by("tune")["tuning"] is None


def test_that_a_number_which_yaml_reads_as_text_is_explained() -> None:
    (problem,) = problems(changed("ishigami.data.noise_variance", "1e-1"))
    assert "yaml reads this as text: write it with a point, such as 1.0e-1" in problem


def test_that_null_on_the_command_line_is_null() -> None:
    assert rftune_config.from_command_line({"sweep_points": "null", "seed": 3}) == {"sweep_points": None, "seed": 3}
