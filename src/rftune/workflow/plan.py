"""The plan of a run: from a config to paths, chunks of repeats, settings and code of every job.

Methods that rules call take a job's ``wildcards``, an object with the attributes experiment, case, seed, emulator and
repeats, those of them that the rule's paths have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from rftune.analysis import scores
from rftune.emulators.base import Emulator
from rftune.experiments.base import Artifact, DataSettings, ExperimentSettings, Need, experiments
from rftune.experiments.results import Stored
from rftune.workflow.config import Config, ConfigError, Run
from rftune.workflow.fingerprints import code_fingerprint
from rftune.workflow.stages import STAGES, Stage

CASE = "{experiment}/{case}/seed{seed}"  # a folder per data set


class Plan:
    """What is made of a config, and how.

    Parameters
    ----------
    config
    root
        The project's folder: scripts, config, the paper's numbers.
    runs
        Everything that is run; None for all that the config asks for.
    cases
        The data sets of every experiment; None for the config's.
    """

    def __init__(
        self,
        config: Config,
        root: Path,
        runs: Iterable[Run] | None = None,
        cases: Mapping[str, Mapping[str, DataSettings]] | None = None,
    ) -> None:
        self.config, self.root = config, root
        self.results = config.run.results
        self.logs, self.benchmarks = f"{self.results}/logs", f"{self.results}/benchmarks"
        self.case = f"{self.results}/{CASE}"
        self.runs = {run.key: run for run in (config.runs() if runs is None else runs)}
        self.cases = cases or config.cases
        self.compared = [name for name, block in config.blocks.items() if isinstance(block, ExperimentSettings)]
        self.measured = [name for name in config.blocks if experiments()[name].module("measurement")]
        self._codes: dict[tuple[str, str | None, tuple[str, ...]], str] = {}

    # Files and folders of the project

    @property
    def environment(self) -> str:
        return str(self.root / "environment.yml")

    @property
    def paper_path(self) -> str:
        return str(self.root / "config/paper_values.yaml")

    @cached_property
    def paper(self) -> Any:
        """Every number that the paper prints."""
        return yaml.safe_load(Path(self.paper_path).read_text(encoding="utf-8"))

    def script(self, name: str) -> Path:
        return self.root / f"workflow/scripts/{name}.py"

    # Paths

    def log(self, name: str) -> str:
        return f"{self.logs}/{name}.log"

    def benchmark(self, name: str) -> str:
        return f"{self.benchmarks}/{name}.tsv"

    def chunks(self, run: Run) -> list[str]:
        """Names first-last of the chunks of repeats that share a job."""
        size = self.config.blocks[run.experiment].repeats_per_job
        return [f"{first:04d}-{min(first + size, run.repeats) - 1:04d}" for first in range(0, run.repeats, size)]

    def case_path(self, name: str, experiment: str, case: str, seed: int) -> str:
        """A file that belongs to a data set: "data", "truth", "posterior"."""
        return f"{self.case.format(experiment=experiment, case=case, seed=seed)}/{name}.nc"

    def run_paths(self, name: str, run: Run) -> list[str]:
        """The files of a run: its "analysis", or chunks ("tuned", "timing", "predicted", "posterior", "times")."""
        folder = self.case.format(experiment=run.experiment, case=run.case, seed=run.seed)
        chunks = [""] if name == "analysis" else [f"-{chunk}" for chunk in self.chunks(run)]
        return [f"{folder}/{run.emulator}/{name}{chunk}.nc" for chunk in chunks]

    @property
    def stage_targets(self) -> dict[str, list[str]]:
        """The files of every stage of every experiment that compares emulators; of its data the marks of the check."""
        found: dict[str, list[str]] = {}
        for stage, experiment in product(STAGES.values(), self.compared):
            runs = [run for run in self.runs.values() if run.experiment == experiment and stage.stored]
            asked = [run for run in runs if run.sampled or stage.name != "sample"]
            found[f"{stage.name}_{experiment}"] = [path for run in asked for path in self.run_paths(stage.stored, run)]
        for experiment in self.compared:
            places = product([experiment], self.cases[experiment], self.config.seeds)
            marks = [self.case_path("data", *place).replace(".nc", ".checked") for place in places]
            found[f"data_{experiment}"] = marks
        return {name: paths for name, paths in found.items() if paths}

    def timed_paths(self) -> list[str]:
        """What T1, T3, T4 and T6 time."""
        of_runs = [path for run in self.runs.values() if run.timed for path in self.run_paths("times", run)]
        return [*of_runs, *map(self.measured_path, self.measured)]

    def measured_path(self, experiment: str) -> str:
        return f"{self.results}/{experiment}/measured.csv"

    def table_path(self, artifact: str) -> str:
        return f"{self.results}/tables/{artifact}.csv"

    def pictures(self, artifact: str) -> list[str]:
        """Paths of a figure's two formats."""
        return [f"{self.results}/figures/{artifact}.{suffix}" for suffix in ("png", "pdf")]

    def pattern(self, name: str) -> str:
        """A regular expression of the values of a wildcard; any name where so many would make Snakemake slow."""
        values: set[str] = {chunk for run in self.runs.values() for chunk in self.chunks(run)}
        if name != "repeats":
            values = {str(getattr(run, name)) for run in self.runs.values()}
        patterns = sorted(re.escape(value) for value in values)
        return "|".join(patterns) if len(patterns) <= 100 else "[^/]+"

    def stage_of(self, rule: str) -> str | None:
        """The stage that a rule's jobs belong to; None for rules that only collect files."""
        if rule in STAGES or rule == "report":
            return rule
        if rule.removesuffix("_csv") in self.tables and rule.endswith("_csv"):
            return "table"
        if rule in self.artifacts:
            return "figure"
        return {"sweep_table": "table", "sweep_figure": "figure"}.get(rule)

    # What a job is told

    def run(self, wildcards: Any) -> Run:
        return self.runs[wildcards.experiment, wildcards.case, int(wildcards.seed), wildcards.emulator]

    def emulator(self, wildcards: Any) -> Emulator:
        return self.config.emulators[wildcards.experiment][wildcards.emulator]

    def settings(self, stage: str) -> Any:
        """The blocks of the emulator that a stage reads."""
        call = STAGES[stage].call
        return lambda wildcards: self.emulator(wildcards).read_by(str(call))

    def data_settings(self, wildcards: Any) -> dict[str, Any]:
        return self.cases[wildcards.experiment][wildcards.case].plain()

    def block(self, name: str) -> Any:
        """A block of the wildcards' experiment; empty where it has none."""
        return lambda wildcards: self.config.blocks[wildcards.experiment].of_stage(name)

    def code(self, stage: str, experiment: str | None = None) -> Any:
        """Fingerprint of the code behind a stage: of an experiment, or a function of wildcards."""
        known = STAGES.get(stage, Stage(stage))
        if experiment is not None or (known.module is None and known.call is None):
            return self._code(stage, experiment)
        return lambda wildcards: self._code(
            stage, wildcards.experiment, self.emulator(wildcards) if known.call else None
        )

    def _code(self, stage: str, experiment: str | None, emulator: Emulator | None = None) -> str:
        kinds = () if emulator is None else tuple(type(kind).__module__ for kind in (emulator, *emulator.kinds()))
        key = (stage, experiment, kinds)
        if key not in self._codes:
            own = STAGES.get(stage, Stage(stage)).module
            modules = [experiments()[experiment].module(own)] if own and experiment else []
            modules += scores.modules() if stage == "analyse" else []
            known = [module for module in dict.fromkeys([*modules, *kinds]) if module is not None]
            self._codes[key] = code_fingerprint(self.script(stage), known)
        return self._codes[key]

    def codes(self) -> dict[str, str]:
        """Fingerprints of all stages by stage and experiment; of those that know emulators, by kind too."""
        found = {}
        for name in self.config.blocks:
            for stage in STAGES.values():
                if not (stage.call or (stage.module and experiments()[name].module(stage.module))):
                    continue
                if stage.call is None:
                    found[f"{stage.name} of {name}"] = self._code(stage.name, name)
                for emulator in self.config.emulators.get(name, {}).values() if stage.call else ():
                    found[f"{stage.name} of {name}, {emulator.kind_name()}"] = self._code(stage.name, name, emulator)
        return found

    def repeat_range(self, wildcards: Any) -> list[int]:
        """The half-open range of repeats of a chunk."""
        first, last = map(int, wildcards.repeats.split("-"))
        return [first, last + 1]

    def source(self, wildcards: Any) -> list[str]:
        """The file that an experiment's data are read from, if they are."""
        source = getattr(self.cases[wildcards.experiment][wildcards.case], "source", None)
        return [] if source is None else [source]

    def analysed(self, wildcards: Any) -> dict[str, Any]:
        """What the analysis of a run reads besides its data: predictions, and posteriors where it is sampled."""
        run = self.run(wildcards)
        found: dict[str, Any] = {"predictions": self.run_paths("predicted", run)}
        if run.sampled:
            found |= {"posteriors": self.run_paths("posterior", run), **self.true_posterior(wildcards)}
        return found

    def true_posterior(self, wildcards: Any) -> dict[str, str]:
        """The posterior with the truth in its likelihood, in experiments that infer parameters."""
        if experiments()[wildcards.experiment].module("sampling") is None:
            return {}
        place = (wildcards.experiment, wildcards.case, int(wildcards.seed))
        return {"truth_posterior": self.case_path("posterior", *place)}

    # Artifacts

    @cached_property
    def artifacts(self) -> dict[str, tuple[str, Artifact]]:
        """Every artifact that is made, by its id, with its experiment."""
        return {
            artifact.id: (name, artifact)
            for name, block in self.config.blocks.items()
            for artifact in experiments()[name].artifacts_of(block)
        }

    @property
    def tables(self) -> dict[str, str]:
        """Paths of all tables."""
        return {name: self.table_path(name) for name, (_, one) in self.artifacts.items() if one.table}

    @property
    def curves(self) -> dict[str, list[str]]:
        """Paths of the tunings whose convergence a figure shows."""
        return {
            name: [path for source in self.sources(name) if source.stage == "tuned" for path in source.paths]
            for name, (_, one) in self.artifacts.items()
            if one.curve
        }

    def check(self) -> None:
        """Raise a `ConfigError` where an artifact shows what is not run."""
        for artifact in self.artifacts:
            self.sources(artifact)

    def sources(self, artifact: str) -> list[Stored]:
        """The stored results that an artifact is made from."""
        experiment, one = self.artifacts[artifact]
        return [
            source for need in one.needs if need.stage != "measured" for source in self._sources(experiment, one, need)
        ]

    def source_paths(self, artifact: str) -> list[str]:
        """The files behind an artifact, a rule's inputs."""
        experiment, one = self.artifacts[artifact]
        measured = [self.measured_path(experiment)] if any(need.stage == "measured" for need in one.needs) else []
        return [*(path for source in self.sources(artifact) for path in source.paths), *measured]

    def drawn_from(self, artifact: str) -> dict[str, str]:
        """Paths of the tables that a figure is drawn from."""
        experiment, one = self.artifacts[artifact]
        names = [*([artifact] if one.table else []), *one.tables]
        return {name: self.measured_path(experiment) if name == "measured" else self.table_path(name) for name in names}

    def listed(self, artifact: str) -> list[list[Any]]:
        """The emulators as an artifact's job is told of them; a figure alone knows those that it shows."""
        experiment, one = self.artifacts[artifact]
        known = self.config.listed.get(experiment, {})
        if one.table or one.tables:
            return [entry.plain for entry in known.values()]
        shown = dict.fromkeys(source.emulator for source in self.sources(artifact) if source.emulator)
        return [replace(known[name], settings=_described(known[name].settings)).plain for name in shown]

    def drawn_paths(self, artifact: str) -> list[str]:
        """The files that a figure is drawn from: tables, and of what is a figure alone stored results."""
        stored = [] if self.artifacts[artifact][1].table else self.source_paths(artifact)
        return [*stored, *self.drawn_from(artifact).values()]

    def told(self, artifact: str, stage: str) -> dict[str, Any]:
        """What the job that makes a "table" or a "figure" is told."""
        experiment, one = self.artifacts[artifact]
        of_table = stage == "table"
        from_stored = of_table or one.table is None
        measured = {"measured": self.measured_path(experiment)} if experiment in self.measured else {}
        return {
            "experiment": experiment,
            "function": one.table if of_table else one.figure,
            "results": {
                "stored": [source.plain for source in self.sources(artifact)] if from_stored else [],
                "emulators": self.listed(artifact),
                "tables": measured if of_table else self.drawn_from(artifact),
                "paper": {name: self.paper.get(name, {}) for name in (artifact, "convergence")},
                "artifact": artifact,
            },
            "code": self.code(stage, experiment),
        }

    def _sources(self, experiment: str, artifact: Artifact, need: Need) -> Iterator[Stored]:
        cases = list(self.cases[experiment])
        cases = {"all": cases, "first": cases[:1], "last": cases[-1:]}[need.case]
        for seed in self.config.seeds if need.every_seed else [self.config.run.seed]:
            for case in cases:
                if not need.of_emulators:
                    yield Stored(need.stage, case, seed, "", [self.case_path(need.stage, experiment, case, seed)])
                    continue
                for name, entry in self.config.listed[experiment].items():
                    if need.roles == () or entry.role in need.roles:
                        run = self._shown((experiment, case, seed, name), artifact, need)
                        paths = [] if run is None else self.run_paths(need.stage, run)
                        if paths:
                            yield Stored(need.stage, case, seed, name, paths if need.whole else paths[:1])

    def _shown(self, key: tuple[str, str, int, str], artifact: Artifact, need: Need) -> Run | None:
        """The run that an artifact shows; None where there is none and it does without, else an error."""
        run = self.runs.get(key)
        if run is not None and (run.sampled or need.stage != "posterior"):
            return run
        if need.if_run or need.roles == ():
            return None
        experiment, case, seed, emulator = key
        missing = "run" if run is None else "sampled"
        raise ConfigError(
            f"{experiment}: emulator {emulator} is not {missing} in case {case} at seed {seed}, and {artifact.id} "
            f"shows it: " + ("add the case to its cases" if run is None else "take sampled: false away")
        )


def _described(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a figure may say of an emulator: kind, features, and whether it is tuned; else it would be drawn again."""
    described = {key: settings[key] for key in ("kind", "features") if key in settings}
    return {**described, "tuning": None if settings.get("tuning") is None else {}}
