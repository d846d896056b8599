"""The config, checked as a whole before any work: against the schema, then against the sizes of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from importlib import import_module
from itertools import product
from math import isfinite
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from rftune.emulators import base as emulators
from rftune.experiments import EXPERIMENTS

Config = Mapping[str, Any]

# Keys of an emulator that say how often, where and with how many threads it runs; its fits do not see them.
SCHEDULING = ("repeats", "cases", "root_seed_only", "timed", "n_workers", "sampled")

# json schema calls 3.0 an integer; a count of repeats is not.
_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


class ConfigError(ValueError):
    """The config cannot be run; the message lists every problem found."""


def without_absent(config: Config) -> dict[str, Any]:
    """The config without the emulators that an override has set to null: that is how a preset leaves one out."""
    kept = dict(config)
    for experiment in EXPERIMENTS:
        block = config.get(experiment)
        if isinstance(block, Mapping) and isinstance(block.get("emulators"), Mapping):
            emulators_left = {name: value for name, value in block["emulators"].items() if value is not None}
            kept[experiment] = {**block, "emulators": emulators_left}
    return kept


def check(config: Config, schema: Config) -> None:
    """Raise a `ConfigError` that names each wrong entry, what was expected there and what came."""
    problems = violations(config, schema, ()) + not_finite(config, ())
    if not problems:
        problems = _layer_problems(config, schema)
    if not problems:
        for experiment in experiments(config):
            problems += _experiment_problems(config, schema, experiment)
    if problems:
        raise ConfigError("the config cannot be used:\n" + "\n".join(f"  - {problem}" for problem in problems))


@dataclass(frozen=True)
class Run:
    """All repeats of one emulator on one data set.

    Attributes
    ----------
    experiment, case, seed, emulator
        The wildcards of its paths.
    repeats
    timed
        Whether its tuning claims all cores, so that its time can be compared.
    n_workers
        Threads of its tuning; None for all that the job claims.
    sampled
        Whether a posterior is sampled with it, in experiments that infer parameters.
    """

    experiment: str
    case: str
    seed: int
    emulator: str
    repeats: int
    timed: bool
    n_workers: int | None
    sampled: bool


def experiments(config: Config) -> list[str]:
    """The experiments that are to be run, in the order of the paper."""
    return [experiment for experiment in EXPERIMENTS if experiment in config["experiments"]]


def seeds(config: Config) -> list[int]:
    """The root seed and the further ones, each once."""
    return list(dict.fromkeys([config["seed"], *config["further_seeds"]]))


def cases(config: Config, experiment: str) -> dict[str, dict[str, Any]]:
    """Data settings of every case of an experiment."""
    found: dict[str, dict[str, Any]] = data_module(experiment).cases(config[experiment])
    return found


def runs(config: Config, experiment: str) -> list[Run]:
    """Everything that the config asks of an experiment, by seed, case and emulator."""
    block = config[experiment]
    found = []
    for seed, case, name in product(seeds(config), cases(config, experiment), block["emulators"]):
        plan = {key: value for key, value in block["emulators"][name].items() if key in SCHEDULING}
        is_root = seed == config["seed"]
        if case not in plan.get("cases", [case]) or (plan.get("root_seed_only", False) and not is_root):
            continue
        repeats = min(plan.get("repeats", block["repeats"]), block["repeats"])
        found.append(
            Run(
                experiment,
                case,
                seed,
                name,
                repeats if is_root else min(repeats, block.get("further_repeats", repeats)),
                timed=plan.get("timed", False) and is_root,
                n_workers=None if plan.get("n_workers") == "all" else plan.get("n_workers", config["n_workers"]),
                sampled="sampling" in block and plan.get("sampled", True),
            )
        )
    return found


def emulator_settings(config: Config, experiment: str, emulator: str) -> dict[str, Any]:
    """What the results of an emulator depend on: defaults of its kind, the experiment's, then its own settings."""
    return emulators.read_settings(complete_settings(config, experiment, emulator))


def complete_settings(config: Config, experiment: str, emulator: str) -> dict[str, Any]:
    """Every setting of an emulator, read or not: defaults of its kind, the experiment's, then its own."""
    block = config[experiment]["emulators"][emulator]
    layers = [config["defaults"].get(block["kind"], {}), config[experiment]["defaults"].get(block["kind"], {}), block]
    return _without_scheduling(reduce(merged, layers, {}))


def _without_scheduling(block: Config) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in SCHEDULING}


def data_module(experiment: str) -> Any:
    """The module of an experiment that knows its data settings and cases."""
    return import_module(f"rftune.experiments.{experiment}.data")


def merged(base: Config, override: Config) -> dict[str, Any]:
    """The base with the override's entries in it, nested blocks entry by entry."""
    result = dict(base)
    for key, value in override.items():
        both_nested = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if both_nested else value
    return result


def _layer_problems(config: Config, schema: Config) -> list[str]:
    """What is wrong in defaults and emulators, named where it stands; what is missing shows when they are merged."""
    layers = {f"defaults.{kind}": (kind, block) for kind, block in config["defaults"].items()}
    for experiment in experiments(config):
        defaults, own = config[experiment]["defaults"], config[experiment]["emulators"]
        layers |= {f"{experiment}.defaults.{kind}": (kind, block) for kind, block in defaults.items()}
        layers |= {f"{experiment}.emulators.{name}": (block["kind"], block) for name, block in own.items()}
    optional = _without_required(schema["$defs"])
    return [
        violation
        for place, (kind, block) in layers.items()
        for violation in violations(
            _without_scheduling(block), {"$ref": f"#/$defs/{kind}", "$defs": optional}, (place,)
        )
    ]


def _without_required(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    return {key: _without_required(value) for key, value in schema.items() if key != "required"}


def _experiment_problems(config: Config, schema: Config, experiment: str) -> list[str]:
    module = data_module(experiment)
    problems, shapes = [], {}
    try:
        known = cases(config, experiment)
    except ValueError as error:
        return [f"{experiment}: {error}"]
    for case, settings in known.items():
        try:
            shapes[case] = module.shape(module.Settings(**settings))
        except ValueError as error:
            problems.append(f"{experiment}.data{_named(case, config, experiment)}: {error}")
    for name, block in config[experiment]["emulators"].items():
        own = [case for case in block.get("cases", shapes) if case in shapes]
        unknown = [case for case in block.get("cases", []) if not module.is_case(case)]
        place = f"{experiment}.emulators.{name}"
        if unknown:
            problems.append(f"{place}.cases: no case {', '.join(unknown)}; the cases are {', '.join(known)}")
        settings = complete_settings(config, experiment, name)
        named = {_named(case, config, experiment): shapes[case] for case in own}
        problems += emulator_problems(settings, schema, place, named)
    return problems


def emulator_problems(
    settings: Config, schema: Config, place: str, shapes: Mapping[str, tuple[int, int, int]]
) -> list[str]:
    """What is wrong with the complete settings of an emulator, by themselves or for data of one of the shapes."""
    definition = {"$ref": f"#/$defs/{settings['kind']}", "$defs": schema["$defs"]}
    found = violations(settings, definition, (place,))
    if found:
        return found
    for case, shape in shapes.items():
        try:
            emulators.from_config(settings).check(*shape)
        except ValueError as error:
            return [f"{place}{case}: {error}"]
    return []


def _named(case: str, config: Config, experiment: str) -> str:
    """The case as a message names it, where there are several."""
    return f" ({case})" if len(cases(config, experiment)) > 1 else ""


def not_finite(value: Any, path: tuple[str, ...]) -> list[str]:
    """A sentence for every one of the entries that yaml reads as numbers and a range check lets pass: .nan and .inf."""
    if isinstance(value, Mapping):
        return [problem for key, entry in value.items() for problem in not_finite(entry, (*path, str(key)))]
    if isinstance(value, list):
        return [problem for key, entry in enumerate(value) for problem in not_finite(entry, (*path, str(key)))]
    if isinstance(value, float) and not isfinite(value):
        return [f"{'.'.join(path)} must be finite; got {value}"]
    return []


def violations(instance: Any, schema: Config, prefix: tuple[str, ...]) -> list[str]:
    """A sentence for every entry that the schema does not allow."""
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
        "minItems": lambda: f"a list of at least {limit} entries",
        "maxItems": lambda: f"a list of at most {limit} entries",
        "anyOf": lambda: "as described",
    }
    expected = expectations.get(str(error.validator), lambda: f"valid ({error.message})")()
    meaning = schema.get("description")
    return f"{place} must be {expected}; got {value!r}" + (f" ({meaning})" if meaning else "")
