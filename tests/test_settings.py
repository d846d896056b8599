"""Settings and the kinds among which they choose: what may be said, what is said of what may not, and that it lasts."""

from __future__ import annotations

import json
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from rftune.emulators.base import EMULATORS
from rftune.features.family import FAMILIES
from rftune.features.feature_map import MAPS
from rftune.features.settings import FeatureSettings
from rftune.settings import Choice, Registry, Settings
from rftune.tuning.loop import TuningSettings
from rftune.tuning.optimiser import OPTIMISERS

REGISTRIES: tuple[Registry[Any], ...] = (FAMILIES, MAPS, OPTIMISERS, EMULATORS)
KINDS = [pytest.param(registry, name, id=name) for registry in REGISTRIES for name in registry.names()]

each_registry = pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.package)
each_kind = pytest.mark.parametrize(("registry", "name"), KINDS)

# Blocks that are far from the defaults.
BLOCKS: list[dict[str, Any]] = [
    {"kind": "random_features", "features": {"rank_candidates": [[1, 1], [2, 1], 3], "outputs": "shared"}},
    {
        "kind": "random_features",
        "features": {
            "family": {"name": "sparse", "active_inputs": 3, "mask": "per_output"},
            "separable": True,
            "draw": {"tail": "student", "degrees_of_freedom": 5.0},
            "prior": {"amplitude": [0.5, 2], "log_scale": [-1.0, 1.0]},
        },
        "tuning": None,
        "prediction": {"n_features": 7, "pool": 9},
    },
    {
        "kind": "random_features",
        "features": {"family": {"name": "perturbation", "log_strength": [0.0, 0.5]}, "rank": [2, 1]},
        "tuning": {"optimiser": {"name": "eki", "n_members": 7, "final_time": 1.0}, "plateau_patience": 3},
    },
    {"kind": "gp", "tuning": {"lengthscale_bounds": [0.1, 10], "time_limit": 60.0}},
]


@each_registry
def test_that_every_file_holds_one_kind_of_its_name(registry: Registry[Any]) -> None:
    files = Path(str(import_module(registry.package).__file__)).parent.glob("*.py")
    names = sorted(file.stem for file in files if file.stem != "__init__")
    assert names == registry.names()
    for name in names:
        entries = vars(import_module(f"{registry.package}.{name}")).values()
        classes = {entry for entry in entries if isinstance(entry, type) and issubclass(entry, Choice)}
        own = [entry for entry in classes if entry.__module__ == registry.module(name) and not isabstract(entry)]
        assert own == [registry[name]]
        assert registry[name].kind_name() == name
        assert issubclass(registry[name], registry.base)


@each_kind
def test_that_a_kind_is_read_from_its_name_its_block_or_itself(registry: Registry[Any], name: str) -> None:
    kind = registry.read(name)
    assert type(kind) is registry[name]
    assert registry.read({registry.base.label: name}) == kind
    assert registry.read(kind) is kind


@each_kind
def test_that_what_is_read_can_be_written_and_read_again(registry: Registry[Any], name: str) -> None:
    plain = registry.read(name).plain()
    assert plain[registry.base.label] == name
    assert registry.read(json.loads(json.dumps(plain))) == registry.read(plain) == registry.read(name)


@pytest.mark.parametrize("block", BLOCKS)
def test_that_blocks_can_be_written_and_read_again(block: dict[str, Any]) -> None:
    kind = EMULATORS.read(block)
    again = EMULATORS.read(json.loads(json.dumps(kind.plain())))
    assert again == kind
    assert hash(again) == hash(kind)
    assert again.plain() == kind.plain()
    assert kind != EMULATORS.read(block["kind"])


@each_registry
def test_that_an_unknown_kind_is_told_the_known_ones(registry: Registry[Any]) -> None:
    label, known = registry.base.label, ", ".join(registry.names())
    for value in ("oracle", {label: "oracle"}):
        with pytest.raises(ValueError, match=f"{label} must be one of {known}; got 'oracle'"):
            registry.read(value)
    for value in (3, None, {label: 3}, ["oracle"]):
        with pytest.raises(ValueError, match=f"must be a name, or a block whose {label} is one of {known}; got"):
            registry.read(value)


def test_that_a_block_without_a_name_is_of_the_default_kind_where_there_is_one() -> None:
    for registry in (FAMILIES, MAPS, OPTIMISERS):
        assert registry.read({}) == registry.default() == registry.read(registry.default_name)
    assert OPTIMISERS.read({"n_members": 7}) == OPTIMISERS.read({"name": "eki", "n_members": 7})
    with pytest.raises(ValueError, match=r"must be a name, or a block whose kind is one of .*; got \{'tuning': None\}"):
        EMULATORS.read({"tuning": None})


@pytest.mark.parametrize(
    ("features", "tuning", "place"),
    [
        ({"family": {"name": "lowrank", "loading_std": -1.0}}, None, ("features", "family", "loading_std")),
        ({"family": {"name": "lowrank", "mask": "shared"}}, None, ("features", "family", "mask")),
        ({"family": "cauchy"}, None, ("features", "family")),
        ({"prior": {"amplitude": [0.0, 0.0]}}, None, ("features", "prior", "amplitude", 1)),
        ({"structure": "lowrank"}, None, ("features", "structure")),
        ({}, {"optimiser": {"name": "eki", "n_members": 1}}, ("tuning", "optimiser", "n_members")),
        ({}, {"optimiser": {"update": "transform", "sampling_error_correction": True}}, ("tuning", "optimiser")),
        ({}, {"optimiser": 3}, ("tuning", "optimiser")),
        ({}, {"n_iterations": 2.5}, ("tuning", "n_iterations")),
        ({}, {"n_folds": 6}, ("tuning",)),
    ],
)
def test_that_an_error_carries_the_place_of_its_field(features: Any, tuning: Any, place: tuple[str | int, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        EMULATORS.read({"kind": "random_features", "features": features, "tuning": tuning})
    assert [error["loc"] for error in caught.value.errors()] == [place]


def test_that_settings_are_changed_in_a_copy_that_is_checked_again() -> None:
    settings = FeatureSettings(rank=2)
    changed = settings.but(rank=[3, 1], outputs="shared")
    assert (changed.rank, changed.outputs) == ((3, 1), "shared")
    assert (settings.rank, settings.outputs) == (2, "native")
    assert changed.but(rank=2, outputs="native") == settings
    with pytest.raises(ValidationError, match=r"(?m)^outputs"):
        settings.but(outputs="none")
    with pytest.raises(ValidationError, match=r"(?m)^structure"):
        settings.but(structure="sparse")
    with pytest.raises(ValidationError, match="frozen"):
        settings.rank = 3  # type: ignore[misc]


@pytest.mark.parametrize("value", [True, "3", 3.0, np.nan, None, [3]])
def test_that_a_number_is_nothing_else(value: Any) -> None:
    with pytest.raises(ValidationError, match=r"(?m)^n_features"):
        TuningSettings(n_features=value)


@pytest.mark.parametrize("value", [True, "0.1", np.nan, np.inf, None, [0.1]])
def test_that_a_real_number_is_finite_and_nothing_else(value: Any) -> None:
    with pytest.raises(ValidationError, match=r"(?m)^validation_fraction"):
        TuningSettings(validation_fraction=value)


def test_that_the_choices_are_found_at_any_depth() -> None:
    found = [kind.kind_name() for kind in EMULATORS.read("random_features").kinds()]
    assert sorted(found) == ["eki", "fourier", "lowrank"]


@each_registry
def test_that_the_schema_knows_what_can_be_read(registry: Registry[Any]) -> None:
    schema = TypeAdapter(Annotated[registry.base, registry]).json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    for name in registry.names():
        assert validator.is_valid(name)
        assert validator.is_valid(registry.read(name).plain())
        assert not validator.is_valid({registry.base.label: name, "unheard_of": 1})
    assert not validator.is_valid("oracle")
    assert validator.is_valid({}) == bool(registry.default_name)
    if registry is EMULATORS:
        assert all(validator.is_valid(block) for block in BLOCKS)


@each_kind
def test_that_every_setting_says_what_it_is(registry: Registry[Any], name: str) -> None:
    assert registry[name].__doc__
    assert list(_undescribed(registry.read(name))) == []


def _undescribed(settings: Settings) -> list[str]:
    """Fields without a description, at any depth."""
    found = []
    for name, field in type(settings).model_fields.items():
        found += [] if field.description else [name]
        value = getattr(settings, name)
        found += _undescribed(value) if isinstance(value, Settings) else []
    return found
