"""What is written down of settings and artifacts is what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from conftest import CONFIG, ROOT

from rftune.emulators.base import EMULATORS
from rftune.workflow.config import over
from rftune.workflow.documents import documents, settings_reference, targets


@pytest.mark.parametrize(("path", "content"), documents(ROOT).items(), ids=lambda value: getattr(value, "name", ""))
def test_that_what_is_made_from_the_settings_is_up_to_date(path: Path, content: str) -> None:
    assert path.read_text(encoding="utf-8") == content, f"make documents, then commit {path.name}"


def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((ROOT / "config/schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ["config.yaml", "quick.yaml", "full.yaml", "data_draws.yaml"])
def test_that_the_published_schema_accepts_the_presets(name: str) -> None:
    validator().validate(yaml.safe_load((ROOT / "config" / name).read_text(encoding="utf-8")))


def test_that_the_published_schema_accepts_null_for_a_name_of_ones_own() -> None:
    left_out = {
        "data": {"parameters": {"tke_ed_coeff": None}, "truth": {"tke_ed_coeff": None}},
        "emulators": {"gp": None},
    }
    validator().validate(over(CONFIG, {"edmf": left_out}))
    assert list(validator().iter_errors(over(CONFIG, {"edmf": {"repeats": None}})))


@pytest.mark.parametrize(
    "wrong",
    [
        {"sed": 1},
        {"ishigami": {"repeats": 0}},
        {"ishigami": {"emulators": {"lowrank": {"kind": "random_features", "tunning": None}}}},
        {"ishigami": {"emulators": {"lowrank": {"features": {"family": {"name": "lowrank", "loading_sd": 1.0}}}}}},
        {"defaults": {"gp": {"tuning": {"implementation": "slow"}}}},
    ],
)
def test_that_the_published_schema_refuses_what_the_check_refuses(wrong: dict[str, Any]) -> None:
    assert list(validator().iter_errors(over(CONFIG, wrong)))


def test_that_every_setting_has_a_meaning() -> None:
    rows = [line.split(" | ") for line in settings_reference().splitlines() if line.startswith("| `")]
    assert len(rows) > 120
    assert [row[0] for row in rows if not row[3].strip(" |")] == []
    for name in EMULATORS.names():
        assert f"### kind: {name}" in settings_reference()


def test_that_every_artifact_is_a_target_in_the_readme() -> None:
    assert targets() in (ROOT / "README.md").read_text(encoding="utf-8")
