# The checked config, and what the rules derive from it: paths, chunks of repeats, code fingerprints.

import sys
from functools import cache
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.basedir)
# The workflow and its jobs use the library beside it, in whatever environment and on whatever machine they run.
sys.path.insert(0, str(ROOT / "src"))
from rftune import config as rftune_config
from rftune import jobs, provenance
from rftune.experiments import EXPERIMENTS

jobs.use_library(ROOT / "src")

ENVIRONMENT = str(ROOT / "environment.yml")  # for --software-deployment-method conda
PAPER_VALUES = str(ROOT / "config/paper_values.yaml")

try:
    rftune_config.check(
        config,
        yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text()),
    )
except rftune_config.ConfigError as error:
    raise WorkflowError(str(error)) from None

RESULTS = config["results"]
SEEDS = list(dict.fromkeys([config["seed"], *config["further_seeds"]]))
# One folder per experiment, case and root seed; choices are wildcards, never edited lines.
CASE = f"{RESULTS}/{{experiment}}/{{case}}/seed{{seed}}"
LOGS = f"{RESULTS}/logs"
BENCHMARKS = f"{RESULTS}/benchmarks"
CASES = {"ishigami": ["standard"]}


wildcard_constraints:
    experiment="|".join(EXPERIMENTS),
    case="[a-z0-9_.-]+",
    seed="[0-9]+",
    emulator="[a-z][a-z0-9_]*",
    repeats="[0-9]+-[0-9]+",


@cache
def code_of(stage, experiment_module=None):
    """Fingerprint of the code behind a stage, a parameter of its rule."""
    extra = [f"rftune.experiments.{experiment_module}"] if experiment_module else []
    return provenance.code_fingerprint(ROOT / f"workflow/scripts/{stage}.py", extra)


def emulator_settings(experiment, emulator):
    """Everything that the results of an emulator depend on, besides how many of them there are."""
    block = rftune_config.emulator_block(config, experiment, emulator)
    return {key: value for key, value in block.items() if key != "repeats"}


def tuning_settings(experiment, emulator):
    """As `emulator_settings` without what only the prediction uses."""
    settings = emulator_settings(experiment, emulator)
    return {key: value for key, value in settings.items() if key != "n_features_predict"}


def chunks(experiment, emulator):
    """Names first-last of the chunks of repeats that share a job."""
    block = rftune_config.emulator_block(config, experiment, emulator)
    repeats = block.get("repeats", config[experiment]["repeats"])
    size = config[experiment]["repeats_per_job"]
    return [f"{first:04d}-{min(first + size, repeats) - 1:04d}" for first in range(0, repeats, size)]


def repeat_range(wildcards):
    """The half-open range of repeats of a chunk."""
    first, last = map(int, wildcards.repeats.split("-"))
    return [first, last + 1]


def chunk_paths(name, experiment, case, seed, emulator):
    """Paths of an emulator's chunk files of one stage (tuned, predicted)."""
    return expand(
        f"{CASE}/{{emulator}}/{name}-{{repeats}}.nc",
        experiment=experiment,
        case=case,
        seed=seed,
        emulator=emulator,
        repeats=chunks(experiment, emulator),
    )


def stage_paths(name, experiment):
    """All files of one stage of an experiment."""
    return [
        path
        for case in CASES[experiment]
        for seed in SEEDS
        for emulator in config[experiment]["emulators"]
        for path in chunk_paths(name, experiment, case, seed, emulator)
    ]


def case_paths(name, experiment):
    """A file that every case and seed of an experiment has."""
    return expand(
        f"{CASE}/{name}",
        experiment=experiment,
        case=CASES[experiment],
        seed=SEEDS,
    )


def analysis_paths(experiment):
    """Analyses of all emulators of an experiment."""
    return expand(
        f"{CASE}/{{emulator}}/analysis.nc",
        experiment=experiment,
        case=CASES[experiment],
        seed=SEEDS,
        emulator=list(config[experiment]["emulators"]),
    )


def picture(artifact):
    """Paths of a figure's two formats."""
    return multiext(f"{RESULTS}/figures/{artifact}", ".png", ".pdf")


def table_path(artifact):
    return f"{RESULTS}/tables/{artifact}.csv"


ARTIFACTS = [
    *picture("F1"),
    *picture("F7"),
    table_path("T2"),
    *picture("T2"),
]
