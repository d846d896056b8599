"""What an experiment is: settings, cases, stages, and the figures and tables that come out of it.

To add one: a folder here, whose ``__init__`` holds an `Experiment`, and its block in the config. Its modules are called
by the stages; those that it lacks are left out:

- ``data``: the settings of a data set (`DataSettings`);
- ``prediction``: ``predict(model, data)``, what is asked of one fitted emulator; ``measure(model, data)``, times that
  are kept beside it;
- ``analysis``: ``analyse(data, predictions, rng=...)`` and ``analyse_truth(data, rng=...)``, with the config's blocks
  ``analysis`` and ``truth`` as further keywords;
- ``sampling``, where parameters are inferred: ``log_posterior(model, data)``, with the block ``likelihood`` as further
  keywords, ``log_posterior_of_truth(data, n_workers)`` and ``start(data, n_walkers, rng)``;
- ``measurement``: ``measure(settings, rng, progress)``, a table of costs that needs no data and no emulator;
- ``tables`` and ``figures``: the functions that its artifacts name, of stored results (`results.Results`);
- ``verdicts``: ``compare(evidence, paper)``, the paper's numbers beside ours;
- ``claims``: ``CLAIMS``, the paper's sentences that its results decide (`rftune.report.claims`);
- ``captions``: a text per artifact.
"""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import xarray as xr
from pydantic import ConfigDict

from rftune.settings import Different, Field, Printable, Settings

PACKAGE = "rftune.experiments"

NAME = r"^[a-z][a-z0-9_]*$"  # of an emulator, in paths on every file system; those of a sweep's points carry values too
Name = Annotated[str, Field(pattern=NAME)]
Count = Annotated[int, Field(ge=1, le=10_000)]


class DataSettings(Settings, ABC):
    """The settings of a data set, which is a case of an experiment."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """Numbers of training samples, inputs and outputs."""

    @abstractmethod
    def make(self, rng: np.random.Generator) -> xr.Dataset:
        """Training data, prediction points and truth, see `protocol.pack_data`."""


class EmulatorEntry(Settings):
    """An emulator of an experiment: its kind with blocks of settings, its name in figures, how often it runs where."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(description="kind of emulator")
    label: Annotated[str, Field(min_length=1, max_length=60), Printable] | None = Field(
        None, description="what figures call it; null for its own name"
    )
    role: Name | None = Field(
        None, description="what it stands for in figures, tables and verdicts; each experiment lists its roles"
    )
    repeats: Count | None = Field(None, description="re-tunings, no more than the experiment's; null for as many")
    cases: Annotated[tuple[str, ...], Field(min_length=1), Different] | None = Field(
        None, description="the only cases that it runs in"
    )
    root_seed_only: bool = Field(False, description="whether it is left out at the further seeds")
    timed: bool = Field(False, description="whether its tuning claims all cores, to be timed (root seed)")
    n_workers: Annotated[int, Field(ge=1, le=1024)] | Literal["all"] | None = Field(
        None, description="threads of its tuning; all for as many as its job claims; null for the config's"
    )
    sampled: bool = Field(True, description="whether a posterior is sampled with it, where parameters are inferred")

    @property
    def blocks(self) -> dict[str, Any]:
        """Its kind and the blocks that its results depend on, defaults not filled in."""
        return {"kind": self.kind, **(self.model_extra or {})}


class ExperimentSettings(Settings):
    """An experiment's block in the config; subclasses add what its stages read."""

    repeats: Count = Field(description="re-tunings on the same data; no emulator has more")
    further_repeats: Count | None = Field(None, description="most re-tunings at the further seeds; null for as many")
    repeats_per_job: Count = Field(1, description="repeats that share one job; changes no result")
    emulators: dict[str, EmulatorEntry] = Field(
        min_length=1, description="the emulators that are compared; one that is set to null is not run"
    )
    defaults: dict[str, dict[str, Any]] = Field(
        {}, description="settings of this experiment's emulators by kind, over the common ones"
    )

    def of_stage(self, name: str) -> dict[str, Any]:
        """The block that a stage reads, as plain values; empty where there is none."""
        block = getattr(self, name, None)
        return block.plain() if isinstance(block, Settings) else {}


Place = Literal["all", "first", "last"]


@dataclass(frozen=True)
class Need:
    """Stored results that an artifact is made from.

    Attributes
    ----------
    stage
        What is stored: "data", "truth", "measured"; of emulators "tuned", "predicted", "analysis", "times";
        "posterior", of emulators with ``roles`` and of the truth without.
    roles
        Of the emulators; empty for all of them.
    case
        "all", "first" or "last".
    every_seed
        False for the root seed alone.
    whole
        False for the first chunk of repeats alone.
    if_run
        Whether an emulator that is not run is simply left out.
    """

    stage: str
    roles: tuple[str, ...] = ()
    case: Place = "all"
    every_seed: bool = False
    whole: bool = True
    if_run: bool = False

    @property
    def of_emulators(self) -> bool:
        return self.stage in OF_EMULATORS or (self.stage == "posterior" and self.roles != ())


OF_EMULATORS = ("tuned", "predicted", "analysis", "times")
# What a table of all results is made from.
EVERYTHING = tuple(Need(stage, every_seed=True, if_run=True) for stage in ("truth", "analysis", "times"))


@dataclass(frozen=True)
class Artifact:
    """A figure or a table: of the paper (F1..., T1...) or beyond it.

    Attributes
    ----------
    id
    figure
        The function in the experiment's ``figures`` that draws it, a table too.
    table
        The function in its ``tables`` that makes it; None for what is a figure alone.
    needs
        What it is made from: the table where there is one, else the figure.
    tables
        Tables that the figure is drawn from, by id, beside its own; "measured" is the measurement.
    curve
        Role whose tunings' convergence it shows: they are judged.
    about
        Roles that it is about: it is left out where no emulator plays any of them.
    """

    id: str
    figure: str
    table: str | None = None
    needs: tuple[Need, ...] = ()
    tables: tuple[str, ...] = ()
    curve: str | None = None
    about: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that must be played for it, each once."""
        return tuple(dict.fromkeys(role for need in self.needs if not need.if_run for role in need.roles))


class Experiment(ABC):
    """One of the problems that emulators are compared on."""

    title: ClassVar[str]
    chapter: ClassVar[int]  # its place among the experiments
    Settings: ClassVar[type[Settings]]
    Data: ClassVar[type[DataSettings] | None] = None
    artifacts: ClassVar[tuple[Artifact, ...]] = ()
    shared_roles: ClassVar[tuple[str, ...]] = ()  # that several emulators may play

    @property
    def name(self) -> str:
        return type(self).__module__.removeprefix(f"{PACKAGE}.").partition(".")[0]

    def cases(self, settings: Any) -> Mapping[str, DataSettings]:
        """The data sets that the experiment's block asks for, by name."""
        return {}

    def is_case(self, name: str) -> bool:
        """Whether a name is that of a case, of this config or another."""
        return False

    def artifacts_of(self, settings: Any) -> tuple[Artifact, ...]:
        """The artifacts that can be made with the experiment's block."""
        return tuple(one for one in self.artifacts if not self.left_out(one, settings))

    def left_out(self, artifact: Artifact, settings: Any) -> str:
        """Why an artifact is not made with the experiment's block; empty where it is."""
        if artifact.about and not set(artifact.about) & {entry.role for entry in settings.emulators.values()}:
            return f"no emulator has the role {' or '.join(artifact.about)}"
        return ""

    def module(self, name: str) -> str | None:
        """Full name of the module that a stage calls; None where there is none."""
        full = f"{PACKAGE}.{self.name}.{name}"
        return full if find_spec(full) else None

    def call(self, module: str, function: str) -> Any:
        """A function of one of its modules."""
        return getattr(import_module(f"{PACKAGE}.{self.name}.{module}"), function)

    def caption(self, artifact: str) -> Path:
        """What to see in an artifact: its title, an empty line, its text."""
        return Path(str(find_spec(f"{PACKAGE}.{self.name}").origin)).parent / f"captions/{artifact}.rst"  # type: ignore[union-attr]


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of their chapters: the folders of this package."""
    folders = [module.name for module in pkgutil.iter_modules(import_module(PACKAGE).__path__) if module.ispkg]
    found = [experiment(name) for name in folders]
    return {one.name: one for one in sorted(found, key=lambda one: (one.chapter, one.name))}


@cache
def experiment(name: str) -> Experiment:
    """The experiment of a name, whose folder alone is imported."""
    module = import_module(f"{PACKAGE}.{name}")
    own = [entry for entry in vars(module).values() if isinstance(entry, type) and issubclass(entry, Experiment)]
    made: Experiment = next(entry for entry in own if entry.__module__ == module.__name__)()
    return made
