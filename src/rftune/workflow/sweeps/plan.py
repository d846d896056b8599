"""From a sweep's file to its points: each is an emulator with settings of its own, run by the stages of any other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rftune.experiments.base import DataSettings, EmulatorEntry, ExperimentSettings, experiments
from rftune.workflow.config import Config, Run, data_problems, emulator_problems, layers, over, parse
from rftune.workflow.messages import among, nearest, sentences, short
from rftune.workflow.plan import Plan
from rftune.workflow.sweeps.settings import SweepRun, Values, combinations, read, refuse, text

# Names the combinations of one set of settings, given as text by setting; the workflow hands in Snakemake's Paramspace.
Namer = Callable[[Sequence[Mapping[str, str]]], Sequence[str]]

DATA = "data."  # a setting that begins with this is one of the data; any other is one of the emulator
# What values and the sweep's name may look like in a path on every file system and executor, and how long it may be.
_PATH_SAFE = re.compile(r"[A-Za-z0-9.+-]{1,80}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,79}")
_LONGEST = 200


@dataclass(frozen=True)
class Point:
    """One combination of settings, on one data set.

    Attributes
    ----------
    experiment, case, emulator
        The wildcards of its paths; case and emulator carry the varied values in their names.
    values
        The varied settings by their short names.
    block
        The emulator, as a config would have it.
    data
        The data set.
    """

    experiment: str
    case: str
    emulator: str
    values: Values
    block: Values
    data: DataSettings

    @property
    def place(self) -> str:
        """How messages name it."""
        return f"{self.experiment}, {self.case}, {self.emulator}"


@dataclass(frozen=True)
class Sweep:
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
    config: Config
    points: Sequence[Point]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def varied(self) -> list[str]:
        """Short names of the varied settings."""
        return list(dict.fromkeys(name for point in self.points for name in point.values))

    @property
    def cases(self) -> dict[str, dict[str, DataSettings]]:
        """The data sets by experiment."""
        found: dict[str, dict[str, DataSettings]] = {}
        for point in self.points:
            found.setdefault(point.experiment, {})[point.case] = point.data
        return found

    @property
    def runs(self) -> list[Run]:
        """The repeats of every point, at the root seed."""
        seed, n_workers = self.config.run.seed, self.config.run.n_workers
        return [
            Run(p.experiment, p.case, seed, p.emulator, p.block["repeats"], False, n_workers, sampled=False)
            for p in self.points
        ]

    def sources(self, plan: Plan) -> list[list[Any]]:
        """What every point varied, and where its results are: fields of `tables.Source`."""
        return [
            [*run.key, dict(point.values), *plan.run_paths("analysis", run), plan.run_paths("times", run)]
            for run, point in zip(self.runs, self.points, strict=True)
        ]

    def paths(self, plan: Plan) -> list[str]:
        """The files behind the table."""
        return [path for run in self.runs for name in ("analysis", "times") for path in plan.run_paths(name, run)]


def make_sweep(config: Config, namer: Namer) -> Sweep:
    """The sweep that a config names, or a `ConfigError` that lists what is wrong with it.

    Parameters
    ----------
    config
        Checked.
    namer
        Gives each combination of settings its name in paths.
    """
    path = Path(str(config.run.sweep))
    sweep = read(path)
    if not _NAME.fullmatch(path.stem):
        expected = "at most 80 letters, digits, '_', '.', '+' and '-', a letter or digit first"
        refuse(path, [f"a sweep's file names a folder: its name must be {expected}; got {short(path.stem)}"])
    refuse(path, [problem for i, run in enumerate(sweep.runs) for problem in _run_problems(i, run, config)])
    varied = [combinations(run, path, config.run.sweep_points) for run in sweep.runs]
    refuse(path, _setting_problems(sweep.runs, varied, config))
    names = _short_names({key for found in varied for values in found for key in values})
    points: list[Point] = []
    problems: list[str] = []
    for run, found in zip(sweep.runs, varied, strict=True):
        points += _points(run, found, names, config, namer, sweep.repeats, problems)
    refuse(path, [*problems, *_clashes(points)])
    swept = _with_points(config, points, path.stem, sweep.repeats_per_job)
    refuse(path, _point_problems(points, swept))
    return Sweep(path, sweep.title, parse(swept), points)


def _run_problems(index: int, run: SweepRun, config: Config) -> Iterator[str]:
    """Whether a run of the sweep starts from an emulator and cases that the config has."""
    place, experiment = f"the sweep.runs.{index}", run.experiment
    known = {name: block for name, block in config.everything.items() if isinstance(block, ExperimentSettings)}
    if experiment not in known:
        yield f"{place}.experiment must be one of {', '.join(known)}; got {short(experiment)}"
        return
    unfit = [] if experiment in config.blocks else data_problems(config, experiment)
    if unfit:  # of an experiment that is not run
        yield from unfit
        return
    if run.emulator not in known[experiment].emulators:
        listed = among(known[experiment].emulators)
        yield f"{place}.emulator: {experiment} has no emulator {short(run.emulator)}; it has {listed}"
    cases = experiments()[experiment].cases(known[experiment])
    for case in run.cases or ():
        if case not in cases:
            yield f"{place}.cases: {experiment} has no case {short(case)}; it has {among(cases)}"


def _setting_problems(runs: Sequence[SweepRun], combinations: Sequence[Sequence[Values]], config: Config) -> list[str]:
    """Settings that do not exist, and values that make no path."""
    problems = []
    for index, (run, found) in enumerate(zip(runs, combinations, strict=True)):
        place, block = f"the sweep.runs.{index}", config.everything[run.experiment]
        known = _paths(config.emulator(run.experiment, run.emulator).plain())
        for settings in experiments()[run.experiment].cases(block).values():
            known |= _paths(settings.plain(), DATA)
        entries = [*run.settings.items(), *(item for values in found for item in values.items())]
        for name, value in {(name, text(value)): (name, value) for name, value in entries}.values():
            if name not in known:
                hint = nearest(name, sorted(known), "known are")
                problems.append(f"{place}: {run.experiment}, {run.emulator} has no setting {short(name)}; {hint}")
            if name not in run.settings and not _PATH_SAFE.fullmatch(text(value)):
                expected = "at most 80 letters, digits, '.', '+' or '-'"
                problems.append(f"{place}: {name} must be {expected}; got {short(value)}")
    return problems


def _paths(settings: Values, prefix: str = "") -> set[str]:
    """Dotted names of all entries that are no blocks, and of the blocks that are a choice, which may be a name."""
    found: set[str] = set()
    for key, value in settings.items():
        is_block = isinstance(value, Mapping)
        found |= _paths(value, f"{prefix}{key}.") if is_block else {f"{prefix}{key}"}
        found |= {f"{prefix}{key}"} if is_block and "name" in value else set()
    return found - {"kind"}


def _short_names(names: set[str]) -> dict[str, str]:
    """The last part of each dotted name; all of it where two settings would share that part."""
    last = [name.rpartition(".")[2] for name in names]
    return {
        name: name.replace(".", "_") if last.count(part) > 1 else part for name, part in zip(names, last, strict=True)
    }


def _points(
    run: SweepRun,
    combinations: Sequence[Values],
    names: Mapping[str, str],
    config: Config,
    namer: Namer,
    repeats: int,
    problems: list[str],
) -> Iterator[Point]:
    """The points of a run; data that cannot be made are added to the problems."""
    block = config.everything[run.experiment]
    own = config.raw[run.experiment]["emulators"][run.emulator]
    plain = EmulatorEntry.model_validate(own).blocks | {"repeats": min(repeats, block.repeats)}
    parts = [_split({**run.settings, **values}) for values in combinations]
    case_names, emulator_names = (
        _named(
            [
                {names[name]: text(v) for name, v in values.items() if name.startswith(DATA) == of_data}
                for values in combinations
            ],
            namer,
        )
        for of_data in (True, False)
    )
    cases = experiments()[run.experiment].cases(block)
    for case in run.cases or cases:
        for i, (own_data, own_settings) in enumerate(parts):
            name, emulator = case + case_names[i], run.emulator + emulator_names[i]
            made = over(cases[case].plain(), _nested(own_data))
            try:
                data = type(cases[case]).model_validate(made)
            except ValidationError as error:
                found = sentences(error, type(cases[case]), made, lambda _: "data")
                problems += [f"{run.experiment}, {name}: {sentence}" for sentence in found]
                continue
            values = {names[key]: value for key, value in combinations[i].items()}
            yield Point(run.experiment, name, emulator, values, over(plain, _nested(own_settings)), data)


def _split(values: Values) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the data, without their prefix, and of the emulator."""
    data = {name.removeprefix(DATA): value for name, value in values.items() if name.startswith(DATA)}
    return data, {name: value for name, value in values.items() if not name.startswith(DATA)}


def _named(combinations: Sequence[Mapping[str, str]], namer: Namer) -> list[str]:
    """What the names of case or emulator end with."""
    return [f"_{name}" for name in namer(combinations)] if combinations[0] else [""] * len(combinations)


def _nested(values: Values) -> dict[str, Any]:
    """Dotted names as nested blocks."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        for part in reversed(name.split(".")):
            value = {part: value}
        nested = over(nested, value)
    return nested


def _clashes(points: Sequence[Point]) -> list[str]:
    """Points that would write the same files."""
    seen: dict[tuple[str, ...], Any] = {}
    problems = []
    for point in points:
        if max(len(point.case), len(point.emulator)) > _LONGEST:
            problems.append(f"{point.place}: folders have names of at most {_LONGEST} characters: vary fewer settings")
        if ("point", point.place) in seen:
            problems.append(f"{point.place}: two points have these settings; drop one")
        seen["point", point.place] = point
        for part, name, content in (("data", point.case, point.data), ("emulator", point.emulator, point.block)):
            if seen.setdefault((point.experiment, part, name), content) != content:
                problems.append(f"{point.place}: two runs fix different settings under one name; make them two sweeps")
    return problems


def _with_points(config: Config, points: Sequence[Point], name: str, repeats_per_job: int) -> dict[str, Any]:
    swept = dict(config.raw)
    for point in points:
        block = config.raw[point.experiment]
        swept[point.experiment] = {**block, "emulators": {}, "repeats_per_job": repeats_per_job}
    for point in points:
        swept[point.experiment]["emulators"][point.emulator] = point.block
    swept["experiments"] = list(dict.fromkeys(point.experiment for point in points))
    return {**swept, "further_seeds": [], "results": f"{config.run.results}/sweeps/{name}"}


def _point_problems(points: Sequence[Point], swept: Values) -> list[str]:
    """What is wrong with the emulator of each point, by itself or for its data."""
    problems: list[str] = []
    for point in points:
        *common, own = layers(swept, point.experiment, point.emulator).items()
        named = {**dict(common), point.place: own[1]}
        try:
            problems += emulator_problems(named, {"": point.data.shape})
        except ValueError as error:
            problems.append(f"{point.experiment}, {point.case}: {error}")
    return problems
