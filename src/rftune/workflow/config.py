"""The config: read as a whole before any work, all that is wrong with it listed at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, get_origin

import yaml
from pydantic import ValidationError

from rftune.emulators.base import EMULATORS, Emulator
from rftune.emulators.listed import Listed
from rftune.experiments.base import NAME, DataSettings, EmulatorEntry, Experiment, ExperimentSettings, experiments
from rftune.paths import PlannedPath
from rftune.report.text import literal
from rftune.settings import Different, Field, Settings
from rftune.workflow.messages import UNREADABLE, among, one_line, sentences, short, spelled, why_unreadable, without_end


class ConfigError(ValueError):
    """The config cannot be run; the message lists every problem found."""

    @classmethod
    def of(cls, what: str, problems: Sequence[str]) -> ConfigError:
        lines = "\n".join(f"  - {problem}" for problem in dict.fromkeys(map(one_line, problems)))
        return cls(f"{what} cannot be used:\n{lines}")


class ClusterSettings(Settings):
    """What a job asks of a cluster (docs/clusters.md); a retry asks for twice as much."""

    account: str | None = Field(None, description="Slurm account that pays; null for your default one")
    partition: str | None = Field(None, description="Slurm partition that runs; null for the default one")
    margin: float = Field(
        2.0, ge=1, le=1000, description="times the memory and time that config/resources.yaml holds for a rule and case"
    )
    least_minutes: int = Field(2, ge=1, le=1_000_000, description="minutes on top of that")


class RunSettings(Settings):
    """What is run, and where its results go."""

    experiments: Annotated[tuple[str, ...], Different] = Field(min_length=1, description="the experiments that are run")
    seed: int = Field(ge=0, le=2**63 - 1, description="root of all randomness; every job derives its generator from it")
    further_seeds: Annotated[tuple[Annotated[int, Field(ge=0, le=2**63 - 1)], ...], Different] = Field(
        (), description="further root seeds, with which the whole chain is repeated and reported beside the first"
    )
    results: PlannedPath = Field(
        min_length=1, description="folder of everything that a run writes; ~ is your home folder"
    )
    n_workers: int = Field(
        1, ge=1, le=1024, description="threads inside one tuning job; Snakemake runs as many jobs as there are cores"
    )
    sweep: PlannedPath | None = Field(
        None, description="file of a sweep, which is run instead of figures and tables; ~ is your home folder"
    )
    sweep_points: int | None = Field(None, ge=1, description="the first so many points of each run of a sweep")
    cluster: ClusterSettings = Field(ClusterSettings(), description="what a job asks of a cluster")
    defaults: dict[str, dict[str, Any]] = Field(
        {}, description="settings of every emulator by kind; an experiment and an emulator override them"
    )


# Settings that change no result, at any depth of a config.
SCHEDULING = ("results", "n_workers", "repeats_per_job", "cluster", "sweep", "label")


# What tables call the rows that are no emulators.
RESERVED = ("truth", "analytic", "empirical", "prior", "simulator")


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

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.experiment, self.case, self.seed, self.emulator


@dataclass(frozen=True)
class Config:
    """A config that has been read; `read` makes it.

    Attributes
    ----------
    raw
        As it was handed in, without the emulators and parameters that are set to null.
    run
    blocks
        Of the experiments that are run, in the order of the paper.
    everything
        Of all experiments that the config has settings for.
    """

    raw: Mapping[str, Any]
    run: RunSettings
    blocks: Mapping[str, Any]
    everything: Mapping[str, Any]

    @property
    def seeds(self) -> list[int]:
        """The root seed and the further ones, each once."""
        return list(dict.fromkeys([self.run.seed, *self.run.further_seeds]))

    @cached_property
    def cases(self) -> dict[str, dict[str, DataSettings]]:
        """The data sets of every experiment."""
        return {name: dict(experiments()[name].cases(block)) for name, block in self.blocks.items()}

    @cached_property
    def emulators(self) -> dict[str, dict[str, Emulator]]:
        """The emulators of every experiment that compares some, complete."""
        return {
            name: {emulator: self.emulator(name, emulator) for emulator in block.emulators}
            for name, block in self.blocks.items()
            if isinstance(block, ExperimentSettings)
        }

    @cached_property
    def listed(self) -> dict[str, dict[str, Listed]]:
        """What figures and tables know of the emulators of every experiment."""
        complete = self.emulators
        return {
            name: {
                emulator: Listed(
                    emulator, literal(entry.label or emulator), entry.role or "", complete[name][emulator].plain()
                )
                for emulator, entry in block.emulators.items()
            }
            for name, block in self.blocks.items()
            if isinstance(block, ExperimentSettings)
        }

    def emulator(self, experiment: str, emulator: str) -> Emulator:
        """An emulator, complete."""
        return EMULATORS.read(_merged(layers(self.raw, experiment, emulator)))

    def runs(self) -> Iterator[Run]:
        """Everything that the config asks for, by experiment, seed, case and emulator."""
        for name, block in self.blocks.items():
            if isinstance(block, ExperimentSettings):
                for seed, case, emulator in product(self.seeds, self.cases[name], block.emulators):
                    entry, is_root = block.emulators[emulator], seed == self.run.seed
                    if case in (entry.cases or (case,)) and (is_root or not entry.root_seed_only):
                        yield self._run(name, block, case, seed, emulator)

    def _run(self, experiment: str, block: ExperimentSettings, case: str, seed: int, emulator: str) -> Run:
        entry, is_root = block.emulators[emulator], seed == self.run.seed
        repeats = min(entry.repeats or block.repeats, block.repeats)
        return Run(
            experiment,
            case,
            seed,
            emulator,
            repeats if is_root else min(repeats, block.further_repeats or repeats),
            timed=entry.timed and is_root,
            n_workers=None if entry.n_workers == "all" else entry.n_workers or self.run.n_workers,
            sampled=experiments()[experiment].module("sampling") is not None and entry.sampled,
        )

    def setting(self, place: str) -> Any:
        """An entry by its dotted path; after @ the role of an emulator, complete. None where there is none."""
        experiment, at, own = place.partition("@")
        value: Any = self.raw
        keys = place.split(".")
        if at:
            role, *keys = own.split(".")
            value = next(entry.settings for entry in self.listed[experiment].values() if entry.role == role)
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def over(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the override's entries in it, nested blocks entry by entry; a block of another name replaces it."""
    result = dict(base)
    for key, value in override.items():
        kept = result.get(key)
        nested = isinstance(value, Mapping) and isinstance(kept, Mapping) and _same_name(kept, value)
        result[key] = over(kept, value) if nested and kept is not None else value
    return result


def _same_name(kept: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    return "name" not in value or value["name"] == kept.get("name")


def load(path: Path) -> dict[str, Any]:
    """A yaml file of settings."""
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UNREADABLE as error:
        raise ConfigError(f"no config can be read at {path} ({why_unreadable(error)}): mend the file") from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path} must hold a block of settings; got {short(loaded)}")
    return loaded


def from_command_line(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as Snakemake hands them in: of ``--config key=null`` it makes the text null."""
    return {key: None if value == "null" else value for key, value in raw.items()}


def read(raw: Mapping[str, Any]) -> Config:
    """The config, or a `ConfigError` that names each wrong entry, what was expected there and what came."""
    if endless := without_end(raw):
        raise ConfigError.of("the config", [endless])
    config = parse(raw)
    problems = _unknown_kinds("defaults", config.run.defaults)
    for name, block in config.blocks.items():
        if isinstance(block, ExperimentSettings):
            problems += data_problems(config, name) or _role_problems(experiments()[name], block)
    if problems:
        raise ConfigError.of("the config", problems)
    return config


def parse(raw: Mapping[str, Any]) -> Config:
    """The blocks of a config, each by itself; whether they fit each other is not looked at."""
    if not isinstance(raw, Mapping):
        raise ConfigError.of("the config", [f"the config must be a block of settings; got {short(raw)}"])
    present, known = without_absent(raw), experiments()
    shared = {key: value for key, value in present.items() if key not in known}
    run, problems = _checked(RunSettings, shared, "", known)
    blocks = {}
    for name in (name for name in known if name in present):
        blocks[name], found = _checked(known[name].Settings, present[name], name)
        problems += found
    if run is not None:
        problems += [_unknown("experiments", name, known) for name in run.experiments if name not in known]
        absent = [name for name in run.experiments if name in known and name not in present]
        problems += [f"experiments: there is no block of settings of {name}" for name in absent]
    if problems:
        raise ConfigError.of("the config", problems)
    return Config(present, run, {name: blocks[name] for name in blocks if name in run.experiments}, blocks)


def without_absent(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The config without what an override has set to null in a block of names of one's own, such as an emulator."""
    known = experiments()
    return {key: _named_alone(value, known[key].Settings) if key in known else value for key, value in raw.items()}


def _named_alone(block: Any, model: type[Settings]) -> Any:
    """A block whose mappings from names, its fields of the type dict, have no entry that is null, at any depth."""
    if not isinstance(block, Mapping):
        return block
    kept = dict(block)
    for key, field in model.model_fields.items():
        entries, kind = block.get(key), field.annotation
        if get_origin(kind) is dict and isinstance(entries, Mapping):
            kept[key] = {name: entry for name, entry in entries.items() if entry is not None}
        elif isinstance(kind, type) and issubclass(kind, Settings) and key in block:
            kept[key] = _named_alone(entries, kind)
    return kept


def _checked(model: type[Any], block: Any, place: str, also_known: Iterable[str] = ()) -> tuple[Any, list[str]]:
    """A block that has been read, or None and what is wrong with it."""
    try:
        return model.model_validate(block), []
    except ValidationError as error:
        return None, sentences(error, model, block, lambda _: place, also_known)


def _unknown(place: str, name: str, known: Mapping[str, Any]) -> str:
    return f"{place} must be among {', '.join(known)}; got {short(name)}"


def _unknown_kinds(place: str, kinds: Iterable[str]) -> list[str]:
    known = dict.fromkeys(EMULATORS.names())
    return [_unknown(place, kind, known) for kind in kinds if kind not in known]


def layers(raw: Mapping[str, Any], experiment: str, emulator: str) -> dict[str, Mapping[str, Any]]:
    """Settings of an emulator by where they stand, those that win last."""
    entry = EmulatorEntry.model_validate(raw[experiment]["emulators"][emulator])
    block = raw[experiment]["emulators"][emulator]
    own = {key: value for key, value in block.items() if key == "kind" or key not in EmulatorEntry.model_fields}
    return {
        f"defaults.{entry.kind}": raw.get("defaults", {}).get(entry.kind, {}),
        f"{experiment}.defaults.{entry.kind}": raw[experiment].get("defaults", {}).get(entry.kind, {}),
        f"{experiment}.emulators.{spelled(emulator)}": own,
    }


def _merged(stated: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    block: dict[str, Any] = {}
    for layer in stated.values():
        block = over(block, layer)
    return block


def emulator_problems(stated: Mapping[str, Mapping[str, Any]], shapes: Mapping[str, tuple[int, int, int]]) -> list[str]:
    """What is wrong with an emulator (`layers`), named where it stands, by itself or for data of one of the shapes."""
    *_, own = stated

    def origin(path: Sequence[Any]) -> str:
        """The last layer that has an entry there."""
        return next((place for place, layer in reversed(list(stated.items())) if _has(layer, path)), own)

    block = _merged(stated)
    kind = block["kind"]
    if kind not in EMULATORS.names():
        return [f"{own}.kind must be one of {', '.join(EMULATORS.names())}; got {short(kind)} (kind of emulator)"]
    settings = {key: value for key, value in block.items() if key != "kind"}
    try:
        emulator = EMULATORS[kind].model_validate(settings)
    except ValidationError as error:
        return sentences(error, EMULATORS[kind], settings, origin)
    found = []
    for case, shape in shapes.items():
        try:
            emulator.check(*shape)
        except ValueError as error:
            found.append(f"{own}{case}: {error}")
            break
    return found


def _has(layer: Any, path: Sequence[Any]) -> bool:
    for key in path:
        if isinstance(key, int) and isinstance(layer, list):
            return True  # a list is stated as a whole
        if not isinstance(layer, Mapping) or key not in layer:
            return False
        layer = layer[key]
    return bool(path)


def data_problems(config: Config, name: str) -> list[str]:
    """What is wrong with the data of an experiment that compares emulators, and with its emulators for these data."""
    experiment, block = experiments()[name], config.everything[name]
    shapes: dict[str, tuple[int, int, int]] = {}
    try:
        known = experiment.cases(block)
        shapes = {case: settings.shape for case, settings in known.items()}
    except ValidationError as error:
        return sentences(error, type(block), None, lambda _: f"{name}.data")
    except ValueError as error:
        return [f"{name}: {error}"]
    problems = _unknown_kinds(f"{name}.defaults", block.defaults)
    for emulator, entry in block.emulators.items():
        if not re.fullmatch(NAME.rstrip("$"), emulator) or len(emulator) > 60:
            expected = "at most 60 small letters, digits and _, a letter first"
            problems.append(f"{name}.emulators: names are {expected}; got {short(emulator)}")
        if emulator in RESERVED:
            problems.append(f"{name}.emulators: {emulator} names a row of the tables that is no emulator: rename it")
        unknown = [case for case in entry.cases or () if not experiment.is_case(case)]
        if unknown:
            place = f"{name}.emulators.{spelled(emulator)}.cases"
            problems.append(f"{place}: no case {among(map(spelled, unknown))}; the cases are {among(known)}")
        own = {case: shape for case, shape in shapes.items() if case in (entry.cases or (case,))}
        named = {f" ({case})" if len(known) > 1 else "": shape for case, shape in own.items()}
        problems += emulator_problems(layers(config.raw, name, emulator), named)
    return problems


def _role_problems(experiment: Experiment, block: ExperimentSettings) -> list[str]:
    """Roles that an artifact shows and nobody plays, or that more than one emulator plays."""
    place = f"{experiment.name}.emulators"
    played = [entry.role for entry in block.emulators.values() if entry.role is not None]
    twice = [role for role in dict.fromkeys(played) if played.count(role) > 1 and role not in experiment.shared_roles]
    problems = [f"{place}: {played.count(role)} emulators have the role {role}: give it to one" for role in twice]
    for artifact in experiment.artifacts_of(block):
        for role in artifact.roles:
            if role not in played:
                problems.append(
                    f"{place}: {artifact.id} shows an emulator of role {role}, and none has it: give it to one"
                )
    return problems
