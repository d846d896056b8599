# What only Snakemake can say: the config that it merged, the plan made of it (rftune.workflow), and what happens at a start.

import gc
import re
import sys
from pathlib import Path

import pandas as pd
from snakemake import __version__ as snakemake_version
from snakemake.exceptions import WorkflowError
from snakemake.utils import Paramspace

# A plan of thousands of jobs lives to the end; Python would look through it for garbage again and again.
gc.set_threshold(100_000, 50, 50)

ROOT = Path(str(workflow.current_basedir)).parents[1]
# The workflow and its jobs use the library beside it, where it is, in whatever environment and on whatever machine they run.
if (ROOT / "src/rftune").is_dir():
    sys.path.insert(0, str(ROOT / "src"))
from rftune import compilation
from rftune.workflow import entry, folders, jobs, record, reporting
from rftune.workflow.comparison import told
from rftune.workflow.config import ConfigError
from rftune.workflow.messages import nearest
from rftune.workflow.resources import NoSlurm, check_slurm
from rftune.workflow.stages import STAGES

jobs.use_library(ROOT / "src")
compilation.compile_nothing()  # here; the jobs are processes of their own


def point_names(combinations):
    """Names of a sweep's points, made from their values."""
    return list(Paramspace(pd.DataFrame(combinations), filename_params="*").instance_patterns)


try:
    config.update(entry.complete(config, ROOT))
    # SWEEP is None without --config sweep=...: the paper's figures and tables.
    plan, SWEEP, ask = entry.enter(config, ROOT, point_names, only_looks=workflow.output_settings.dryrun)
except (ConfigError, folders.FolderError) as error:
    raise WorkflowError(str(error)) from None

CASE = plan.case  # one folder per experiment, case and root seed; choices are wildcards, never edited lines
# An input of tables and figures, and asked for with every run. A clone holds tables and figures of a kept run; this mark
# it lacks, and that a job makes it is what makes Snakemake draw them again. No file of the kept run is touched.
BEGUN = f"{plan.logs}/begun"
CLAIMED = []  # the results folder's lock, held until this process ends


wildcard_constraints:
    experiment="|".join(plan.config.blocks),
    case=plan.pattern("case"),
    seed=plan.pattern("seed"),
    emulator=plan.pattern("emulator"),
    repeats=plan.pattern("repeats"),


onstart:
    try:
        if workflow.executor_plugin.name == "slurm":
            check_slurm()
        CLAIMED.append(folders.claim(plan.results, f"{plan.logs}/run.lock"))
    except (folders.FolderError, NoSlurm) as error:
        raise WorkflowError(str(error)) from None
    for handler in workflow.logger_manager.plugin_handlers:
        if hasattr(handler, "expect"):  # the bars of --logger rftune
            handler.expect(expected_jobs(), workflow.cores or 1)
    # Snakemake 9 looks for jobs that its limit of 100 starts a second has held back, and begins one more such look a second
    # with every job that ends: after some hundred jobs that takes a core. On one machine nothing is held back.
    if (
        workflow.local_exec
        and snakemake_version.startswith("9.")
        and hasattr(workflow.scheduler, "job_rate_limiter")
    ):
        workflow.scheduler.job_rate_limiter = None


def expected_jobs():
    """Number, stage and probable seconds of every job that will be run."""
    staged = {known.name: plan.stage_of(known.name) for known in workflow.rules}
    jobs = [job for job in workflow.dag.needrun_jobs() if staged[job.rule.name]]
    order = [*STAGES, "report"]
    jobs.sort(key=lambda job: order.index(staged[job.rule.name]))
    return [(job.jobid, staged[job.rule.name], ask.seconds(staged[job.rule.name], job.wildcards)) for job in jobs]


# Of an exception in an input function Snakemake prints a page; of this one the sentence.
def unnamed_sweep(wildcards):
    sys.exit("no sweep is named: snakemake sweep --config sweep=config/sweeps/rank.yaml")


def no_such_target(wildcards):
    known = sorted(known.name for known in workflow.rules if not known.has_wildcards())
    hint = nearest(wildcards.target, known, "there are")
    sys.exit(f"there is no target {wildcards.target}; {hint} (snakemake --list describes them)")


def unknown_names():
    """What a mistyped target may look like: a plain name, and not that of a file which data are read from."""
    read = {
        path for cases in plan.cases.values() for case in cases.values() for path in [getattr(case, "source", None)]
    }
    return "".join(f"(?!{re.escape(path)}$)" for path in sorted(filter(None, read))) + "[A-Za-z0-9_]+"


def describe_artifacts():
    """For snakemake --list."""
    for known in workflow.rules:
        if known.name in plan.artifacts:
            known.docstring = reporting.title(known.name)


def reported(path, artifact):
    """An output that `snakemake --report` shows with its caption."""
    experiment = reporting.experiment_of(artifact)
    labels = {"artifact": artifact, "as": "table" if path.endswith(".csv") else "picture"}
    return report(path, caption=str(experiment.caption(artifact)), category=experiment.title, labels=labels)
