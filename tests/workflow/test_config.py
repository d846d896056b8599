"""What the check of a config says: what was expected, what came, and where."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest
import yaml
from conftest import CONFIG, ROOT, merged, tiny_config

from rftune.emulators import base as emulators
from rftune.workflow import config as rftune_config
from rftune.workflow.config import ConfigError, check, emulator_settings, without_absent

SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text(encoding="utf-8"))


def changed(path: str, value: Any) -> dict[str, Any]:
    """The paper's config with one entry changed."""
    config = deepcopy(CONFIG)
    *parents, last = path.split(".")
    block = config
    for key in parents:
        block = block[key]
    block[last] = value
    return config


def problems(config: dict[str, Any]) -> list[str]:
    """The lines of the message, one per problem."""
    with pytest.raises(ConfigError) as caught:
        check(config, SCHEMA)
    first, *rest = str(caught.value).split("\n")
    assert first == "the config cannot be used:"
    assert all(line.startswith("  - ") for line in rest)
    return [line.removeprefix("  - ") for line in rest]


@pytest.mark.parametrize("name", ["config.yaml", "quick.yaml", "full.yaml", "data_draws.yaml"])
def test_that_the_presets_pass(name: str) -> None:
    preset = yaml.safe_load((ROOT / "config" / name).read_text(encoding="utf-8"))
    check(without_absent(merged(CONFIG, preset)), SCHEMA)


def test_that_the_tests_own_config_passes() -> None:
    check(tiny_config(), SCHEMA)


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
        ("seed", -1, "seed must be at least 0; got -1 (root seed)"),
        ("seed", None, "seed must be of type integer; got None (root seed)"),
        ("seed", True, "seed must be of type integer; got True (root seed)"),
        ("ishigami", None, "ishigami must be of type object; got None"),
        ("ishigami.repeats", 0, "ishigami.repeats must be at least 1; got 0 (number of re-tunings)"),
        ("ishigami.repeats", 3.0, "ishigami.repeats must be of type integer; got 3.0 (number of re-tunings)"),
        ("ishigami.repeats", "3", "ishigami.repeats must be of type integer; got '3' (number of re-tunings)"),
        (
            "ishigami.repeats_per_job",
            0,
            "ishigami.repeats_per_job must be at least 1; got 0 (repeats that share one job)",
        ),
        ("ishigami.data.a", float("nan"), "ishigami.data.a must be finite; got nan"),
        ("ishigami.data.a", float("inf"), "ishigami.data.a must be finite; got inf"),
        (
            "ishigami.data.noise_variance",
            0,
            "ishigami.data.noise_variance must be above 0; got 0 (variance of the training noise)",
        ),
        (
            "ishigami.data.n_train",
            20000,
            "ishigami.data: n_train must be between 1 and the design's 16384 rows; got 20000",
        ),
        (
            "ishigami.emulators.gp.kind",
            "kriging",
            "ishigami.emulators.gp.kind must be one of constant, boosted_trees, rbf_ridge, persistence, "
            "quadratic, gp, random_features; got 'kriging' (sort of emulator)",
        ),
        (
            "ishigami.emulators.gp.rank",
            2,
            "ishigami.emulators.gp: unknown key 'rank'; known keys: kind, time_limit, implementation, max_iterations, "
            "n_restarts, lengthscale_bounds, amplitude_variance_bounds",
        ),
        (
            "ishigami.emulators.gp.lengthscale_bounds",
            [1.0],
            "ishigami.emulators.gp.lengthscale_bounds must be a list of at least 2 entries; got [1.0] ([low, high])",
        ),
        (
            "ishigami.emulators.lowrank.rank",
            4,
            "ishigami.emulators.lowrank: rank must be between 1 and 3, the number of frequency entries "
            "(inputs × outputs); got 4",
        ),
        (
            "ishigami.emulators.lowrank.objective",
            {"precision": "float16"},
            "ishigami.emulators.lowrank.objective.precision must be one of float64, float32; got 'float16' "
            "(of features and Gram matrices)",
        ),
        (
            "ishigami.emulators.lowrank.objective",
            {"validation_fraction": 0.6},
            "ishigami.emulators.lowrank: n_folds must be at least 1 and folds must not overlap: "
            "n_folds × validation_fraction ≤ 1; got 2 × 0.6",
        ),
    ],
)
def test_that_one_wrong_entry_gives_one_sentence(path: str, value: Any, message: str) -> None:
    assert problems(changed(path, value)) == [message]


def test_that_a_rank_is_described_where_it_is_wrong() -> None:
    (problem,) = problems(changed("ishigami.emulators.lowrank.rank", "three"))
    assert problem.startswith(
        "ishigami.emulators.lowrank.rank must be as described; got 'three' (rank of the structure;"
    )


def test_that_a_base_that_is_no_power_of_two_is_found_before_the_data_are_made() -> None:
    (problem,) = problems(changed("ishigami.data.n_base", 100))
    assert problem.startswith("ishigami.data.n_base must be one of 2, 4, 8,")
    assert problem.endswith("got 100 (Saltelli base samples, a power of two)")


def test_that_too_few_samples_are_found_for_every_emulator_with_folds() -> None:
    found = problems(changed("ishigami.data.n_train", 3))
    assert [problem.split(":")[0].rsplit(".", 1)[1] for problem in found] == [
        "untuned",
        "lowrank",
        "diagonal",
        "perturbation",
    ]
    assert all("3 samples are too few for validation folds of 20% of the data" in problem for problem in found)
    check(changed("ishigami.data.n_train", 5), SCHEMA)


@pytest.mark.parametrize("name", ["gp", "untuned", "lowrank"])
def test_that_an_emulator_that_the_figures_draw_is_not_missing(name: str) -> None:
    config = deepcopy(CONFIG)
    del config["ishigami"]["emulators"][name]
    assert problems(config) == [f"ishigami.emulators: missing key '{name}'"]


def test_that_missing_keys_are_named() -> None:
    config = deepcopy(CONFIG)
    del config["ishigami"]["data"]["n_train"], config["ishigami"]["data"]["a"]
    assert set(problems(config)) == {"ishigami.data: missing keys 'a', 'n_train'"}


def test_that_a_key_that_is_no_text_is_named() -> None:
    config = deepcopy(CONFIG)
    config["ishigami"]["emulators"][1] = {"kind": "gp"}
    (problem,) = problems(config)
    assert "ishigami.emulators" in problem
    assert "of type string; got 1" in problem


def test_that_all_problems_are_listed_at_once() -> None:
    config = changed("ishigami.repeats", 0)
    config["sead"] = 3
    config["n_workers"] = "two"
    found = problems(config)
    assert len(found) == 3
    assert all(any(re.search(key, problem) for problem in found) for key in ("sead", "n_workers", "ishigami.repeats"))


def test_that_an_emulators_own_settings_win_over_the_defaults_of_its_kind() -> None:
    config = changed("ishigami.emulators.lowrank.eki", {"inflation": 0.5})
    block = emulator_settings(config, "ishigami", "lowrank")
    defaults = CONFIG["defaults"]["random_features"]
    assert block["eki"] == defaults["eki"] | {"inflation": 0.5}
    assert block["n_members"] == defaults["n_members"]
    assert config["defaults"]["random_features"]["eki"]["inflation"] == 1.0e-4


def test_that_every_setting_of_the_paper_has_a_meaning_in_the_schema() -> None:
    """A key without a description could not be explained to who got it wrong."""

    def undescribed(schema: dict[str, Any], path: str) -> list[str]:
        schema = schema | SCHEMA["$defs"].get(schema.get("$ref", "").removeprefix("#/$defs/"), {})
        if "properties" not in schema:
            return [] if "description" in schema or "const" in schema or path.endswith(".kind") else [path]
        return [found for key, entry in schema["properties"].items() for found in undescribed(entry, f"{path}.{key}")]

    blocks = {"": SCHEMA, **{name: SCHEMA["$defs"][name] for name in ("gp", "random_features")}}
    missing = [path for name, schema in blocks.items() for path in undescribed(schema, name)]
    layers = (".defaults", ".ishigami.defaults", ".sobol_g.defaults", ".lorenz63.defaults", ".edmf.defaults")
    opened = [f"{layer}.{kind}" for layer in layers for kind in ("gp", "random_features")]
    assert missing == opened  # these are described where they are closed, in the emulators' complete blocks


def test_that_runs_are_every_seed_case_and_emulator_that_the_config_asks_for() -> None:
    runs = {(run.case, run.seed, run.emulator): run for run in rftune_config.runs(CONFIG, "sobol_g")}
    assert {case for case, _, name in runs if name == "sparse"} == {"d3", "d6", "d10", "d20"}
    assert {case for case, _, name in runs if name == "m25"} == {"d6"}
    assert {seed for _, seed, name in runs if name == "gp_sklearn"} == {CONFIG["seed"]}
    assert runs["d6", CONFIG["seed"], "lowrank"].repeats == CONFIG["sobol_g"]["repeats"]
    assert runs["d6", CONFIG["seed"], "sparse"].repeats == CONFIG["sobol_g"]["repeats"]
    assert runs["d6", 1, "sparse"].repeats == CONFIG["sobol_g"]["further_repeats"]
    assert runs["d6", CONFIG["seed"], "gp"].timed
    assert not runs["d6", 1, "gp"].timed
    assert runs["d6", CONFIG["seed"], "rf_parallel"].n_workers is None


def test_that_an_emulators_repeats_are_capped_by_its_experiments() -> None:
    runs = rftune_config.runs(changed("lorenz63.repeats", 2), "lorenz63")
    assert {run.repeats for run in runs if run.emulator.startswith("nonseparable")} == {2}
    assert {run.repeats for run in runs if run.emulator == "gp"} == {1}


def test_that_an_emulator_set_to_null_is_left_out() -> None:
    config = rftune_config.without_absent(changed("ishigami.emulators.diagonal", None))
    check(config, SCHEMA)
    assert "diagonal" not in {run.emulator for run in rftune_config.runs(config, "ishigami")}
    needed = rftune_config.without_absent(changed("ishigami.emulators.lowrank", None))
    assert problems(needed) == ["ishigami.emulators: missing key 'lowrank'"]


def test_that_an_unknown_case_of_an_emulator_is_named() -> None:
    (problem,) = problems(changed("sobol_g.emulators.m25.cases", ["six"]))
    assert problem == "sobol_g.emulators.m25.cases: no case six; the cases are d3, d6, d10, d20"


def test_that_a_wrong_default_is_named_once_where_it_stands() -> None:
    (problem,) = problems(changed("defaults.random_features.n_itertions", 3))
    assert problem == "defaults.random_features: unknown key 'n_itertions'; did you mean 'n_iterations'?"


def test_that_an_emulator_of_an_absent_case_is_left_out() -> None:
    config = changed("sobol_g.dimensions", [3])
    check(config, SCHEMA)
    assert "m25" not in {run.emulator for run in rftune_config.runs(config, "sobol_g")}


def test_that_only_the_named_experiments_are_run() -> None:
    assert rftune_config.experiments(changed("experiments", ["sobol_g"])) == ["sobol_g"]
    (problem,) = problems(changed("experiments", ["sobol"]))
    assert problem == "experiments.0 must be one of ishigami, sobol_g, lorenz63, edmf, complexity; got 'sobol'"


def test_that_an_untuned_emulator_does_not_depend_on_the_tunings_settings() -> None:
    before = emulator_settings(CONFIG, "ishigami", "untuned")
    assert emulator_settings(changed("defaults.random_features.n_iterations", 7), "ishigami", "untuned") == before
    other = changed("ishigami.defaults.random_features.n_members", 7)
    assert emulator_settings(other, "ishigami", "untuned") != before


def test_that_emulators_are_built_from_a_checked_config() -> None:
    for name in CONFIG["ishigami"]["emulators"]:
        emulators.from_config(emulator_settings(CONFIG, "ishigami", name)).check(300, 3, 1)
