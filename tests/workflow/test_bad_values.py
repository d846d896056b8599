"""Values that no config should have: too large, twice, of no sense, or no text that can be shown; a line for each."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
import yaml
from conftest import CONFIG
from test_config import changed, problems

from rftune import memory
from rftune.workflow.config import ConfigError, load, over, read

RF = "ishigami.emulators.lowrank"
PRIOR = "ishigami.defaults.random_features.features.prior.log_scale"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("ishigami.data.noise_variance", 1e300, "ishigami.data.noise_variance must be at most 1e+20; got 1e+300"),
        ("lorenz63.noise_variances", [1e-320], "lorenz63.noise_variances.0 must be at least 1e-20; got 1e-320"),
        ("ishigami.data.a", 1e300, "ishigami.data.a must be at most 1e+06; got 1e+300"),
        ("ishigami.data.a", 10**400, "ishigami.data.a must be at most 1.8e308 in size, as float64 is; got 1000"),
        ("seed", 10**400, "seed must be at most 9.22337e+18; got 1000"),
        ("ishigami.analysis.n_bootstrap", 2**63, "ishigami.analysis.n_bootstrap must be at most 100000; got 922337"),
        ("lorenz63.data.time_step", 1e-300, "lorenz63.data.time_step must be at least 1e-06; got 1e-300"),
        ("lorenz63.data.start", [1e300, 0, 0], "lorenz63.data.start.0 must be at most 1e+06; got 1e+300"),
        ("lorenz63.data.long_time", 1e6, "lorenz63.data: long_time must be at most 10000000 time steps; got 1e+06"),
        (f"{RF}.tuning.validation_fraction", 5e-324, f"{RF}.tuning.validation_fraction must be at least 1e-06; got"),
        (f"{RF}.features.draw.degrees_of_freedom", 1e-300, "degrees_of_freedom must be at least 0.1; got 1e-300"),
        ("n_workers", 10**9, "n_workers must be at most 1024; got 1000000000"),
        ("cluster.margin", 1e300, "cluster.margin must be at most 1000; got 1e+300"),
        ("edmf.sampling.n_steps", 10**18, "edmf.sampling.n_steps must be at most 1e+08; got 1000000000000000000"),
        ("complexity.sizes.n_train", [3, 2], "complexity.sizes.n_train: sizes must increase; got 3, 2"),
    ],
)
def test_that_a_number_beyond_sense_is_refused(path: str, value: Any, message: str) -> None:
    (problem,) = problems(changed(path, value))
    assert message in problem
    assert len(problem) <= 600


@pytest.mark.parametrize("value", [[0, 1e30], [0, 10**30], [0, 10**400]])
def test_that_a_prior_beyond_float64_is_refused_once_where_it_stands(value: Any) -> None:
    (problem,) = problems(changed(PRIOR, value))
    assert problem.startswith(f"{PRIOR}.1 must be at most 1")


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("experiments", ["ishigami", "ishigami"], "experiments: 'ishigami'"),
        ("further_seeds", [1, 2, 1], "further_seeds: 1"),
        ("sobol_g.dimensions", [3, 6, 3], "sobol_g.dimensions: 3"),
        ("lorenz63.noise_variances", [0.1, 0.1], "lorenz63.noise_variances: 0.1"),
        ("sobol_g.emulators.m25.cases", ["d6", "d6"], "sobol_g.emulators.m25.cases: 'd6'"),
        (f"{RF}.features.rank_candidates", [1, 1], f"{RF}.features.rank_candidates: 1"),
    ],
)
def test_that_what_stands_in_a_list_twice_is_named(path: str, value: Any, named: str) -> None:
    assert problems(changed(path, value)) == [f"{named} stands there twice: once is enough"]


def test_that_a_further_seed_may_be_the_root_seed() -> None:
    """So that --config seed=1 needs no second change."""
    assert read(changed("further_seeds", [CONFIG["seed"], 1])).seeds == [CONFIG["seed"], 1]


def test_that_noise_variances_that_name_one_case_are_told_once() -> None:
    (problem,) = problems(changed("lorenz63.noise_variances", [0.1, 0.10000001]))
    assert problem == "lorenz63: noise_variances must differ in their first six digits; got [0.1, 0.10000001]"


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (f"{RF}.tuning.n_features", 10**9, "tuning with 1000000000 features would take 1e10 GB of memory"),
        (f"{RF}.tuning.optimiser.n_members", 10**9, "an ensemble of 1000000000 members would take 1e9 GB of memory"),
        (f"{RF}.prediction.n_features", 10**9, "prediction with 1000000000 features would take 1e9 GB of memory"),
        (f"{RF}.prediction.pool", 10**12, "prediction with 1000000000000 features would take 1e6 GB of memory"),
        (
            "complexity.base.n_train",
            10**9,
            "a model of 1000000000 data, 4 outputs and 2800 features would take 1e11 GB",
        ),
    ],
)
def test_that_what_fits_into_no_memory_is_refused_before_any_work(path: str, value: Any, what: str) -> None:
    (problem,) = problems(changed(path, value))
    assert what in problem
    assert "4 times this machine's, are accepted: lower " in problem


def test_that_an_exact_gp_of_too_many_samples_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty inputs: N = 5000, two matrices of 200 MB, or 22 with the gradient of scikit-learn."""
    large = over(CONFIG, {"sobol_g": {"emulators": {"gp_sklearn": {"cases": None}}}})
    read(large)
    monkeypatch.setattr(memory, "available", lambda: 2**30)
    found = [problem for problem in problems(large) if "Gaussian" in problem]
    assert [problem.split(":")[0] for problem in found] == ["sobol_g.emulators.gp_sklearn (d20)"]
    assert "a Gaussian process of 5000 samples would take 4 GB of memory, and at most 4 GB" in found[0]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (f"{RF}.features", {1: 2}, f"{RF}.features must have text for names; got 1"),
        ("defaults", {1: {}}, "defaults must have text for names; got 1"),
        ("defaults", {"nokind": {"a": 1}}, "defaults must be among boosted_trees, "),
        ("ishigami.emulators", {"a\nb": {"kind": "gp"}}, "ishigami.emulators: names are at most 60 small letters"),
        (
            "ishigami.emulators.gp.cases",
            ["a\nb"],
            "ishigami.emulators.gp.cases: no case 'a\\nb'; the cases are standard",
        ),
        ("lorenz63.emulators.gp.cases", ["noisenan"], "lorenz63.emulators.gp.cases: no case noisenan; the cases are"),
        ("experiments", [1], "experiments.0 must be of type string; got 1"),
        ("x" * 5000, 1, "the config: unknown key 'xxx"),
        ("ishigami.emulators.gp.label", "a\nb", "label: must be one line without control characters; got 'a\\nb'"),
        ("ishigami.emulators.gp.label", "x" * 61, "label must be text of at most 60 characters; got 'xxx"),
        ("ishigami.emulators", {}, None),
    ],
)
def test_that_odd_names_and_texts_get_one_short_line_each(path: str, value: Any, message: str | None) -> None:
    if message is None:
        config = deepcopy(CONFIG)
        config["ishigami"]["emulators"] = value
        message = "ishigami.emulators must be a block of at least 1 entries; got {}"
    else:
        config = changed(path, value)
    found = problems(config)
    assert any(problem.startswith(message) or message in problem for problem in found)
    assert all(len(problem) <= 600 and problem.isprintable() for problem in found)


@pytest.mark.parametrize("raw", [None, [], 3, "text"])
def test_that_a_config_is_a_block(raw: Any) -> None:
    assert problems(raw) == [f"the config must be a block of settings; got {raw!r}"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("experiments: &a [*a]", "experiments.0"),
        ("mine: &a {b: [1, *a]}", "mine.b.1"),
        (
            "ishigami: {emulators: {lowrank: {tuning: &a {optimiser: *a}}}}",
            "ishigami.emulators.lowrank.tuning.optimiser",
        ),
    ],
)
def test_that_a_block_in_itself_is_named(text: str, place: str) -> None:
    """As anchors can have it."""
    (problem,) = problems(over(CONFIG, yaml.safe_load(text)))
    assert problem.startswith(place)
    assert problem.endswith(" must not be in itself: write it without anchors (&, *)")


def test_that_what_anchors_make_too_large_or_deep_is_refused() -> None:
    many: Any = 1
    for _ in range(7):
        many = [many] * 10
    deep: Any = 1
    for _ in range(2000):
        deep = [deep]
    for value in (many, deep):
        (problem,) = problems(over(CONFIG, {"experiments": value}))
        assert "must hold less than a million entries, at most 50 deep: leave some out" in problem


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"seed: [1", "no yaml: expected ',' or ']', but got '<stream end>' in line 1"),
        (b"\xff\xfe\x00", "no text"),
        (b"seed: 2024-13-13", "no yaml: month must be in 1..12"),
        (b"[" * 5000, "no yaml: maximum recursion depth exceeded"),
        (b"just text", "must hold a block of settings; got 'just text'"),
        (b"", "must hold a block of settings; got None"),
    ],
)
def test_that_a_file_that_is_no_config_is_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "config.yaml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "config.yaml")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("label", ["5 $ to 6 $ \\frac{", "$x^$", "100 %", "a\\$b"])
def test_that_a_label_is_drawn_letter_by_letter(label: str) -> None:
    shown = read(changed("ishigami.emulators.gp.label", label)).listed["ishigami"]["gp"].label
    figure = plt.figure()
    try:
        drawn = figure.text(0.5, 0.5, shown)
        figure.canvas.draw()
        assert drawn._preprocess_math(shown) == (label, False)
    finally:
        plt.close(figure)
