"""The config, checked as a whole before any work: against the schema, then against the sizes of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from math import isfinite
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from rftune import emulators
from rftune.experiments import EXPERIMENTS

Config = Mapping[str, Any]

# json schema calls 3.0 an integer; a count of repeats is not.
_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


class ConfigError(ValueError):
    """The config cannot be run; the message lists every problem found."""


def check(config: Config, schema: Config) -> None:
    """Raise a `ConfigError` that names each wrong entry, what was expected there and what came."""
    problems = _violations(config, schema, ()) + _not_finite(config, ())
    if not problems:
        for experiment in EXPERIMENTS:
            problems += _experiment_problems(config, schema, experiment)
    if problems:
        raise ConfigError("the config cannot be used:\n" + "\n".join(f"  - {problem}" for problem in problems))


def emulator_block(config: Config, experiment: str, emulator: str) -> dict[str, Any]:
    """Complete settings of an emulator: the defaults of its kind, then its own."""
    block = config[experiment]["emulators"][emulator]
    return _merged(config[experiment]["defaults"][block["kind"]], block)


def data_settings(config: Config, experiment: str) -> Any:
    """The experiment's frozen data settings."""
    settings: Any = import_module(f"rftune.experiments.{experiment}.data").Settings(**config[experiment]["data"])
    return settings


def _merged(base: Config, override: Config) -> dict[str, Any]:
    merged = dict(base)
    for key, value in override.items():
        both_nested = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both_nested else value
    return merged


def _experiment_problems(config: Config, schema: Config, experiment: str) -> list[str]:
    data_module = import_module(f"rftune.experiments.{experiment}.data")
    try:
        shape = data_module.shape(data_settings(config, experiment))
    except ValueError as error:
        return [f"{experiment}.data: {error}"]
    problems = []
    for name in config[experiment]["emulators"]:
        block = emulator_block(config, experiment, name)
        path = (experiment, "emulators", name)
        definition = {"$ref": f"#/$defs/{block['kind']}", "$defs": schema["$defs"]}
        violations = _violations(block, definition, path)
        problems += violations
        if not violations:
            try:
                emulators.from_config(block).check(*shape)
            except ValueError as error:
                problems.append(f"{'.'.join(path)}: {error}")
    return problems


def _not_finite(value: Any, path: tuple[str, ...]) -> list[str]:
    """Entries that yaml reads as numbers and a range check lets pass: .nan and .inf."""
    if isinstance(value, Mapping):
        return [problem for key, entry in value.items() for problem in _not_finite(entry, (*path, str(key)))]
    if isinstance(value, list):
        return [problem for key, entry in enumerate(value) for problem in _not_finite(entry, (*path, str(key)))]
    if isinstance(value, float) and not isfinite(value):
        return [f"{'.'.join(path)} must be finite; got {value}"]
    return []


def _violations(instance: Any, schema: Config, prefix: tuple[str, ...]) -> list[str]:
    errors = sorted(_Validator(schema).iter_errors(instance), key=lambda error: list(map(str, error.path)))
    return [_sentence(error, prefix) for error in errors]


def _sentence(error: ValidationError, prefix: tuple[str, ...]) -> str:
    """What was expected, what came, what to do, for one violation."""
    place = ".".join([*prefix, *map(str, error.absolute_path)]) or "the config"
    value: Any = error.instance
    limit: Any = error.validator_value
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if error.validator == "additionalProperties" and isinstance(value, Mapping):
        known = list(schema.get("properties", {}))
        unknown = [key for key in value if key not in known]
        near = get_close_matches(str(unknown[0]), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        return f"{place}: unknown key{'s' if len(unknown) > 1 else ''} {', '.join(map(repr, unknown))}; {hint}"
    if error.validator == "required":
        missing = [key for key in limit if key not in value]
        return f"{place}: missing key{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
    expectations: dict[str, Callable[[], str]] = {
        "type": lambda: f"of type {' or '.join(limit) if isinstance(limit, list) else limit}",
        "enum": lambda: f"one of {', '.join(map(str, limit))}",
        "minimum": lambda: f"at least {limit}",
        "maximum": lambda: f"at most {limit}",
        "exclusiveMinimum": lambda: f"above {limit}",
        "exclusiveMaximum": lambda: f"below {limit}",
        "minItems": lambda: f"a list of {limit} entries",
        "maxItems": lambda: f"a list of {limit} entries",
        "anyOf": lambda: "as described",
    }
    expected = expectations.get(str(error.validator), lambda: f"valid ({error.message})")()
    meaning = schema.get("description")
    return f"{place} must be {expected}; got {value!r}" + (f" ({meaning})" if meaning else "")
