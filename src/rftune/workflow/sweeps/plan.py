"""From a sweep's file to its points: each is an emulator with settings of its own, run by the stages of any other."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from rftune.experiments import EXPERIMENTS
from rftune.workflow.config import (
    SCHEDULING,
    Config,
    ConfigError,
    Run,
    cases,
    complete_settings,
    data_module,
    emulator_problems,
    merged,
    not_finite,
    violations,
)

# Names the combinations of one set of settings, given as text by setting; the workflow hands in Snakemake's Paramspace.
Namer = Callable[[Sequence[Mapping[str, str]]], Sequence[str]]

DATA = "data."  # a setting that begins with this is one of the data; any other is one of the emulator
_PATH_SAFE = re.compile(r"[A-Za-z0-9.+-]+")  # what a value may look like in a path on every file system and executor


@dataclass(frozen=True)
class Point:
    """One combination of settings, on one data set.

    Attributes
    ----------
    experiment, case, emulator
        The wildcards of its paths; case and emulator carry the varied values in their names.
    base
        The emulator of the config whose settings are varied.
    values
        The varied settings by their short names.
    block
        The emulator, as a config would have it.
    data
        Complete data settings.
    """

    experiment: str
    case: str
    emulator: str
    base: str
    values: Mapping[str, Any]
    block: Mapping[str, Any]
    data: Mapping[str, Any]

    @property
    def place(self) -> str:
        """How messages name it."""
        return f"{self.experiment}, {self.case}, {self.emulator}"


@dataclass(frozen=True)
class Plan:
    """A sweep as the stages see it.

    Attributes
    ----------
    path
        Of its file, whose stem is its name.
    title
    config
        The config with the points for emulators and a results folder of the sweep's own.
    points
    """

    path: Path
    title: str
    config: dict[str, Any]
    points: Sequence[Point]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def cases(self) -> dict[str, dict[str, Mapping[str, Any]]]:
        """Data settings of every case, by experiment."""
        found: dict[str, dict[str, Mapping[str, Any]]] = {}
        for point in self.points:
            found.setdefault(point.experiment, {})[point.case] = point.data
        return found

    @property
    def runs(self) -> list[Run]:
        """The repeats of every point, at the root seed."""
        seed, n_workers = self.config["seed"], self.config["n_workers"]
        return [
            Run(p.experiment, p.case, seed, p.emulator, p.block["repeats"], False, n_workers, sampled=False)
            for p in self.points
        ]


def make_plan(path: str | Path, config: Config, schema: Config, config_schema: Config, namer: Namer) -> Plan:
    """The plan of a sweep's file, or a `ConfigError` that lists what is wrong with it; `check_points` looks further.

    Parameters
    ----------
    path
        Of the sweep's file, whose stem names the sweep.
    config
        Checked.
    schema, config_schema
        Of sweeps and of configs.
    namer
        Gives each combination of settings its name in paths.
    """
    path = Path(path)
    sweep = _read(path)
    problems = violations(sweep, schema, ("the sweep",)) + not_finite(sweep, ("the sweep",))
    if not problems:
        problems = [problem for i, run in enumerate(sweep["runs"]) for problem in _run_problems(i, run, config)]
    _raise(path, problems)
    combinations = [_combinations(run, path) for run in sweep["runs"]]
    if config["sweep_points"] is not None:
        combinations = [found[: config["sweep_points"]] for found in combinations]
    _raise(path, _setting_problems(sweep["runs"], combinations, config, config_schema))
    short = _short_names({key for found in combinations for values in found for key in values})
    points = [
        point
        for run, found in zip(sweep["runs"], combinations, strict=True)
        for point in _points(run, found, short, config, namer, sweep["repeats"])
    ]
    _raise(path, _clashes(points))
    return Plan(path, sweep["title"], _with_points(config, points, path.stem, sweep["repeats_per_job"]), points)


def check_points(plan: Plan, config_schema: Config) -> None:
    """Raise a `ConfigError` that lists the points whose data or emulator cannot be made."""
    _raise(plan.path, _point_problems(plan, config_schema))


def text(value: Any) -> str:
    """A value as paths, tables and axes show it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "x".join(map(text, value)) if isinstance(value, list) else str(value)


def _raise(path: Path, problems: Sequence[str]) -> None:
    if problems:
        lines = "\n".join(f"  - {problem}" for problem in dict.fromkeys(problems))
        raise ConfigError(f"the sweep {path} cannot be used:\n{lines}")


def _read(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"no sweep can be read at {path} ({error.strerror}): name a file of config/sweeps") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"the sweep {path} is no yaml: {error}") from None


def _run_problems(index: int, run: Config, config: Config) -> Iterator[str]:
    """Whether a run of the sweep starts from an emulator and cases that the config has."""
    place, experiment = f"the sweep.runs.{index}", run["experiment"]
    if experiment not in EXPERIMENTS:
        yield f"{place}.experiment must be one of {', '.join(EXPERIMENTS)}; got {experiment!r}"
        return
    known = config[experiment]["emulators"]
    if run["emulator"] not in known:
        yield f"{place}.emulator: {experiment} has no emulator {run['emulator']!r}; it has {', '.join(known)}"
    for case in run.get("cases", []):
        if case not in cases(config, experiment):
            yield f"{place}.cases: {experiment} has no case {case!r}; it has {', '.join(cases(config, experiment))}"
    if ("grid" in run) == ("table" in run):
        yield f"{place} must have either a grid or a table (csv of combinations) of settings to vary"


def _combinations(run: Config, path: Path) -> list[dict[str, Any]]:
    """The varied settings of every point of a run, by their full names."""
    if "grid" in run:
        return [dict(zip(run["grid"], values, strict=True)) for values in product(*run["grid"].values())]
    table = path.parent / run["table"]
    try:
        with table.open(newline="", encoding="utf-8") as stream:
            header, *rows = [row for row in csv.reader(stream) if row] or [[]]
    except OSError as error:
        raise ConfigError(f"the sweep {path}: {table} cannot be read ({error.strerror})") from None
    named = run.get("columns", header)
    problems = [f"{table} has no column {name!r}; it has {', '.join(header)}" for name in named if name not in header]
    problems += [
        f"{table}, line {line}: {len(header)} values are expected, as many as column names, none of them empty "
        f"(write null for none); got {', '.join(row)!r}"
        for line, row in enumerate(rows, start=2)
        if len(row) != len(header) or "" in row
    ]
    if not rows:
        problems.append(f"{table} must have a line of setting names and at least one line of values")
    _raise(path, problems)
    found = [dict(zip(header, map(_cell, row), strict=True)) for row in rows]
    return [{name: row[name] for name in named} for row in found]


def _cell(cell: str) -> Any:
    """A cell of a csv, read as a config would read it; 1e-3 is a number, too."""
    value = yaml.safe_load(cell)
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _setting_problems(
    runs: Sequence[Config], combinations: Sequence[Sequence[Config]], config: Config, schema: Config
) -> list[str]:
    """Settings that do not exist, values of the data that are out of range, values that make no path."""
    problems = []
    for index, (run, found) in enumerate(zip(runs, combinations, strict=True)):
        place, experiment = f"the sweep.runs.{index}", run["experiment"]
        own = _paths(complete_settings(config, experiment, run["emulator"]))
        data = set.union(*(_paths(settings, DATA) for settings in cases(config, experiment).values()))
        ranges = schema["properties"][experiment]["properties"]["data"].get("properties", {})
        entries = [*run.get("settings", {}).items(), *(item for values in found for item in values.items())]
        for name, value in {(name, text(value)): (name, value) for name, value in entries}.values():
            if name not in own | data:
                near = get_close_matches(name, own | data, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(own | data))}"
                problems.append(f"{place}: {experiment}, {run['emulator']} has no setting {name!r}; {hint}")
            elif name.startswith(DATA):
                definition = {**ranges.get(name.removeprefix(DATA), {}), "$defs": schema["$defs"]}
                problems += violations(value, definition, (f"{place}: {name}",))
            if name not in run.get("settings", {}) and not _PATH_SAFE.fullmatch(text(value)):
                problems.append(f"{place}: {name} must be letters, digits, '.', '+' or '-'; got {value!r}")
    return problems


def _paths(settings: Config, prefix: str = "") -> set[str]:
    """Dotted names of all entries that are no blocks."""
    found: set[str] = set()
    for key, value in settings.items():
        found |= _paths(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}"}
    return found - {"kind"}


def _short_names(names: set[str]) -> dict[str, str]:
    """The last part of each dotted name; all of it where two settings would share that part."""
    last = [name.rpartition(".")[2] for name in names]
    return {
        name: name.replace(".", "_") if last.count(part) > 1 else part for name, part in zip(names, last, strict=True)
    }


def _points(
    run: Config, combinations: Sequence[Config], short: Mapping[str, str], config: Config, namer: Namer, repeats: int
) -> Iterator[Point]:
    experiment, base = run["experiment"], run["emulator"]
    block = config[experiment]
    plain = {key: value for key, value in block["emulators"][base].items() if key not in SCHEDULING}
    plain["repeats"] = min(repeats, block["repeats"])
    parts = [_split({**run.get("settings", {}), **values}) for values in combinations]
    case_names, emulator_names = (
        _named(
            [
                {short[name]: text(v) for name, v in values.items() if name.startswith(DATA) == of_data}
                for values in combinations
            ],
            namer,
        )
        for of_data in (True, False)
    )
    for case in run.get("cases", cases(config, experiment)):
        data = cases(config, experiment)[case]
        for i, (own_data, own) in enumerate(parts):
            yield Point(
                experiment,
                case + case_names[i],
                base + emulator_names[i],
                base,
                {short[name]: value for name, value in combinations[i].items()},
                merged(plain, _nested(own)),
                {**data, **own_data},
            )


def _split(values: Config) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the data, without their prefix, and of the emulator."""
    data = {name.removeprefix(DATA): value for name, value in values.items() if name.startswith(DATA)}
    return data, {name: value for name, value in values.items() if not name.startswith(DATA)}


def _named(combinations: Sequence[Mapping[str, str]], namer: Namer) -> list[str]:
    """What the names of case or emulator end with."""
    return [f"_{name}" for name in namer(combinations)] if combinations[0] else [""] * len(combinations)


def _nested(values: Config) -> dict[str, Any]:
    """Dotted names as nested blocks."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        for part in reversed(name.split(".")):
            value = {part: value}
        nested = merged(nested, value)
    return nested


def _clashes(points: Sequence[Point]) -> list[str]:
    """Points that would write the same files."""
    seen: dict[tuple[str, ...], Any] = {}
    problems = []
    for point in points:
        if ("point", point.place) in seen:
            problems.append(f"{point.place}: two points have these settings; drop one")
        seen["point", point.place] = point
        for part, name, content in (("data", point.case, point.data), ("emulator", point.emulator, point.block)):
            if seen.setdefault((point.experiment, part, name), content) != content:
                problems.append(f"{point.place}: two runs fix different settings under one name; make them two sweeps")
    return problems


def _with_points(config: Config, points: Sequence[Point], name: str, repeats_per_job: int) -> dict[str, Any]:
    swept = dict(config)
    for point in points:
        block = config[point.experiment]
        swept[point.experiment] = {**block, "emulators": {}, "repeats_per_job": repeats_per_job}
    for point in points:
        swept[point.experiment]["emulators"][point.emulator] = point.block
    swept["experiments"] = list(dict.fromkeys(point.experiment for point in points))
    return {**swept, "further_seeds": [], "results": f"{config['results']}/sweeps/{name}"}


def _point_problems(plan: Plan, schema: Config) -> list[str]:
    """What is wrong with the data or the emulator of each point."""
    problems: list[str] = []
    for point in plan.points:
        module = data_module(point.experiment)
        try:
            shape = module.shape(module.Settings(**point.data))
        except ValueError as error:
            problems.append(f"{point.experiment}, {point.case}: {error}")
            continue
        settings = complete_settings(plan.config, point.experiment, point.emulator)
        problems += emulator_problems(settings, schema, point.place, {"": shape})
    return problems
