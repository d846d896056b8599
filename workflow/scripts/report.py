"""Make the page of a run, and the record of what the run was made with."""

import json
from pathlib import Path

import pandas as pd

from rftune import provenance, storage
from rftune.report.page import Exhibit, Run, render
from rftune.report.run import jobs, machine
from rftune.workflow import record
from rftune.workflow.jobs import perform


def main(job):
    told, folder = job.params, Path(job.output.page).parent
    shown = [Exhibit(**exhibit) for exhibit in told.exhibits]
    run = Run(
        preset=folder.name,
        seeds=told.seeds,
        commit=provenance.git_commit(),
        machine=machine(),
        settings=job.config,
        jobs=jobs(told.benchmarks, {"report", *told.experiments, *(one.id for one in shown)}, told.seeds),
        cores=job.resources.n_cores,
    )
    verdicts, claims = job.input.verdicts, job.input.claims
    with storage.atomic_path(job.output.page) as temporary:
        temporary.write_text(
            render(shown, pd.read_csv(verdicts), pd.read_csv(claims, keep_default_na=False), run), encoding="utf-8"
        )
    kept = [path for one in shown for path in (one.picture, one.table) if path]
    made = {
        "commit": run.commit,
        "versions": provenance.versions(),
        "cores": job.resources.n_cores,
        **told.made_with,
        "files": record.digests(folder, [*kept, verdicts, claims, job.output.page]),
    }
    with storage.atomic_path(job.output.record) as temporary:
        temporary.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if "snakemake" in globals():
    perform(main, snakemake)
