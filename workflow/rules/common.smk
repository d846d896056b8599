# The checked config, and what the rules derive from it: paths, chunks of repeats, code fingerprints.

import gc
import re
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import Paramspace

# A plan of thousands of jobs lives to the end; Python would look through it for garbage again and again.
gc.set_threshold(100_000, 50, 50)

ROOT = Path(workflow.basedir)
# The workflow and its jobs use the library beside it, in whatever environment and on whatever machine they run.
sys.path.insert(0, str(ROOT / "src"))
from rftune.workflow import config as rftune_config
from rftune import provenance
from rftune.workflow import folders
from rftune.workflow import jobs
from rftune.workflow.sweeps import plan as sweep_plan

jobs.use_library(ROOT / "src")

ENVIRONMENT = str(ROOT / "environment.yml")  # for --software-deployment-method conda
PAPER_VALUES = str(ROOT / "config/paper_values.yaml")
MEASURED = yaml.safe_load((ROOT / "config/resources.yaml").read_text())


def schema(name):
    return yaml.safe_load((ROOT / f"workflow/schemas/{name}.schema.yaml").read_text())


def point_names(combinations):
    """Names of a sweep's points, made from their values."""
    return list(Paramspace(pd.DataFrame(combinations), filename_params="*").instance_patterns)


config.update(rftune_config.without_absent(config))
SWEEP = None  # without --config sweep=...: the paper's figures and tables
try:
    if workflow.is_main_process:  # what runs a single job on a cluster was checked before it was sent there
        rftune_config.check(config, schema("config"))
    if config["sweep"] is not None:
        SWEEP = sweep_plan.make_plan(config["sweep"], config, schema("sweep"), schema("config"), point_names)
        if workflow.is_main_process:
            sweep_plan.check_points(SWEEP, schema("config"))
        config.update(SWEEP.config)
    folders.check_place(config["results"])
except (rftune_config.ConfigError, folders.FolderError) as error:
    raise WorkflowError(str(error)) from None

RESULTS = config["results"]
EXPERIMENTS = rftune_config.experiments(config)
ROOT_SEED = config["seed"]
SEEDS = rftune_config.seeds(config)
if SWEEP:
    CASES, planned = SWEEP.cases, SWEEP.runs
else:
    CASES = {experiment: rftune_config.cases(config, experiment) for experiment in EXPERIMENTS}
    planned = [run for experiment in EXPERIMENTS for run in rftune_config.runs(config, experiment)]
RUNS = {(run.experiment, run.case, run.seed, run.emulator): run for run in planned}
# One folder per experiment, case and root seed; choices are wildcards, never edited lines.
CASE = f"{RESULTS}/{{experiment}}/{{case}}/seed{{seed}}"
LOGS = f"{RESULTS}/logs"
BENCHMARKS = f"{RESULTS}/benchmarks"
# An input of tables and figures. What they are made from is missing in a clone, which holds tables and figures of a kept
# run; so is this mark, and a missing input is what makes Snakemake draw them again. No file of the kept run is touched.
BEGUN = f"{LOGS}/begun"
CLAIMED = []  # the results folder's lock, held until this process ends


onstart:
    try:
        CLAIMED.append(folders.claim(RESULTS, f"{LOGS}/run.lock"))
    except folders.FolderError as error:
        raise WorkflowError(str(error)) from None
    # Snakemake looks for jobs that its limit of 100 starts a second has held back, and begins one more such look a second
    # with every job that ends: after some hundred jobs that takes a core. On one machine nothing is held back.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


# The modules behind each kind of emulator; emulators.py imports those of the kind that it is asked for.
BEHIND = {
    "gp": {"emulators.kinds.gp", "regression.exact_gp"},
    "random_features": {
        "emulators.kinds.random_features",
        "emulators.per_output",
        "features.distribution",
        "features.drawn",
        "features.family",
        "features.kernels",
        "regression.weight_space",
        "tuning.loop",
        "tuning.objective",
        "tuning.optimisers.eki",
    },
    "baseline": {"emulators.point"},
}


@cache
def chunks(run):
    """Names first-last of the chunks of repeats that share a job."""
    size = config[run.experiment]["repeats_per_job"]
    return [f"{first:04d}-{min(first + size, run.repeats) - 1:04d}" for first in range(0, run.repeats, size)]


def either(values):
    """A pattern that matches the values and nothing else; any name where so many would make Snakemake slow."""
    patterns = sorted({re.escape(str(value)) for value in values})
    return "|".join(patterns) if len(patterns) <= 100 else "[^/]+"


wildcard_constraints:
    experiment=either(EXPERIMENTS),
    case=either(run.case for run in RUNS.values()),
    seed=either(SEEDS),
    emulator=either(run.emulator for run in RUNS.values()),
    repeats=either(chunk for run in RUNS.values() for chunk in chunks(run)),


@cache
def code_of(stage, experiment_module=None, kind=None):
    """Fingerprint of the code behind a stage, a parameter of its rule."""
    extra = [f"rftune.experiments.{experiment_module}"] if experiment_module else []
    own = BEHIND.get(kind, BEHIND["baseline"]) if kind else set.union(*BEHIND.values())
    others = {f"rftune.{module}" for module in set.union(*BEHIND.values()) - own}
    return provenance.code_fingerprint(ROOT / f"workflow/scripts/{stage}.py", extra, others)


def emulator_code(stage, module=None):
    """Fingerprint of the code behind a stage of the emulator that a job is for, with a module of the experiment."""
    return lambda wildcards: code_of(
        stage,
        f"{wildcards.experiment}.{module}" if module else None,
        emulator_settings(wildcards)["kind"],
    )


def emulator_settings(wildcards):
    """Everything that the results of an emulator depend on, besides how many of them there are."""
    return settings_of(wildcards.experiment, wildcards.emulator)


@cache
def settings_of(experiment, emulator):
    return rftune_config.emulator_settings(config, experiment, emulator)


def tuning_settings(wildcards):
    """As `emulator_settings` without what only the prediction uses."""
    settings = emulator_settings(wildcards)
    predicting = ("n_features_predict", "n_features_pool")
    return {key: value for key, value in settings.items() if key not in predicting}


def block_of(name):
    """A block of the wildcards' experiment in the config."""
    return lambda wildcards: config[wildcards.experiment][name]


def run_of(wildcards):
    """The run that a job belongs to."""
    return RUNS[wildcards.experiment, wildcards.case, int(wildcards.seed), wildcards.emulator]


def claimed_threads(wildcards):
    """A timed job claims all cores and so runs alone."""
    run = run_of(wildcards)
    return workflow.cores if run.timed or run.n_workers is None else run.n_workers


def n_workers(wildcards, threads):
    """Threads that a tuning really uses, of those that it claims; a resource, because it changes no result."""
    return min(run_of(wildcards).n_workers or threads, threads)


def resources(rule):
    """Memory (MB) and time (minutes) of a rule's jobs on a cluster, and where they go; a retry gets twice as much."""
    chosen = config["cluster"]

    def memory(wildcards, attempt):
        # a cluster's job has two Snakemakes around the script, its own and its step's
        needed = chosen["margin"] * measured(rule, wildcards)["mem_mb"] + 700
        return int(needed * 2 ** (attempt - 1))

    def runtime(wildcards, attempt):
        first, last = repeat_range(wildcards) if hasattr(wildcards, "repeats") else (0, 1)
        minutes = chosen["margin"] * measured(rule, wildcards)["seconds"] * (last - first) / 60
        return int((minutes + chosen["least_minutes"]) * 2 ** (attempt - 1))

    placed = {f"slurm_{name}": chosen[name] for name in ("account", "partition") if chosen[name] is not None}
    return {"mem_mb": memory, "runtime": runtime, **placed}


def measured(rule, wildcards):
    """What jobs of a rule take in a case with a kind of emulator."""
    place = [wildcards.experiment, wildcards.case] if hasattr(wildcards, "case") else ["any"]
    if hasattr(wildcards, "emulator"):
        place.append(emulator_settings(wildcards)["kind"])
    return MEASURED.get(rule, {}).get("/".join(place)) or most_of(rule, place[-1])


@cache
def most_of(rule, kind):
    """The most that a rule took with a kind of emulator in any case; or with any; or the most of all rules."""
    cases = MEASURED.get(rule) or {name: case for cases in MEASURED.values() for name, case in cases.items()}
    like = [case for name, case in cases.items() if name.split("/")[-1] == kind] or cases.values()
    return {quantity: max(case[quantity] for case in like) for quantity in ("mem_mb", "seconds")}


def repeat_range(wildcards):
    """The half-open range of repeats of a chunk."""
    first, last = map(int, wildcards.repeats.split("-"))
    return [first, last + 1]


def case_path(name, experiment, case, seed):
    """A file that belongs to a data set: "data", "truth", "posterior"."""
    folder = CASE.format(experiment=experiment, case=case, seed=seed)
    return f"{folder}/{name}.nc"


def run_paths(name, experiment, case, seed, emulator):
    """The files of a run: its "analysis", or chunks of repeats ("tuned", "predicted", "posterior", "times")."""
    folder = CASE.format(experiment=experiment, case=case, seed=seed)
    run = RUNS.get((experiment, case, int(seed), emulator))
    if run is None:
        raise WorkflowError(
            f"{experiment}: emulator {emulator} is not run in case {case} at seed {seed}, and a figure needs it: "
            f"add the case to its cases"
        )
    return [
        f"{folder}/{emulator}/{name}{chunk}.nc"
        for chunk in ([""] if name == "analysis" else [f"-{chunk}" for chunk in chunks(run)])
    ]


def analysed_paths(wildcards):
    """What the analysis of a run reads besides its data: predictions, and posteriors where it is sampled."""
    found = {"predictions": run_paths("predicted", **wildcards)}
    if run_of(wildcards).sampled:
        place = (wildcards.experiment, wildcards.case, wildcards.seed)
        found |= {"posteriors": run_paths("posterior", **wildcards), "truth_posterior": case_path("posterior", *place)}
    return found


def truth_posterior(wildcards):
    """The posterior with the truth in its likelihood, in experiments that infer parameters."""
    if "sampling" not in config[wildcards.experiment]:
        return {}
    return {"posterior": case_path("posterior", wildcards.experiment, wildcards.case, wildcards.seed)}


def stage_paths(name, experiment):
    """The files of all runs of an experiment."""
    return [path for key in RUNS if key[0] == experiment for path in run_paths(name, *key)]


def truth_sources(experiment):
    """Case, seed, no emulator and path of the truth's indices for every data set of an experiment."""
    keys = [(case, seed) for seed in SEEDS for case in CASES[experiment]]
    return [[case, seed, "", [case_path("truth", experiment, case, seed)]] for case, seed in keys]


def run_sources(name, experiment):
    """Case, seed, emulator and paths of the files of every run of an experiment."""
    return [[*key[1:], run_paths(name, *key)] for key in RUNS if key[0] == experiment]


def paths_of(sources):
    """The paths of sources, which are a rule's inputs."""
    return [path for source in sources for path in source[-1]]


def picture(artifact):
    """Paths of a figure's two formats."""
    return multiext(f"{RESULTS}/figures/{artifact}", ".png", ".pdf")


def table_path(artifact):
    return f"{RESULTS}/tables/{artifact}.csv"


def unnamed_sweep(wildcards):
    raise WorkflowError("no sweep is named: snakemake sweep --config sweep=config/sweeps/rank.yaml")


# Headings of the artifacts in both reports.
CATEGORIES = {
    "ishigami": "Ishigami function",
    "sobol_g": "Sobol G function",
    "lorenz63": "Lorenz 63",
    "edmf": "Cloud model",
    "complexity": "Cost",
}


def caption(artifact):
    """What to see in an artifact: its title, an empty line, its text."""
    return str(ROOT / f"workflow/report/{artifact}.rst")


def reported(path, artifact, experiment):
    """An output that `snakemake --report` shows with its caption."""
    kind = "table" if path.endswith(".csv") else "picture"
    labels = {"artifact": artifact, "as": kind}
    return report(path, caption=caption(artifact), category=CATEGORIES[experiment], labels=labels)


def reported_table(artifact, experiment):
    return reported(table_path(artifact), artifact, experiment)


def reported_picture(artifact, experiment):
    """A figure's two formats, of which the png is reported."""
    png, pdf = picture(artifact)
    return [reported(png, artifact, experiment), pdf]
