"""Make the page of a run, and the record of what the run was made with."""

import json
from pathlib import Path

import pandas as pd

from rftune import provenance, storage
from rftune.report.page import Exhibit, Run, render
from rftune.report.run import jobs, machine
from rftune.workflow import record
from rftune.workflow.jobs import job


def main(
    exhibits,
    verdicts_path,
    claims_path,
    page_path,
    record_path,
    made_with,
    settings,
    experiments,
    seeds,
    cores,
    benchmarks,
):
    folder = Path(page_path).parent
    shown = [Exhibit(**exhibit) for exhibit in exhibits]
    run = Run(
        preset=folder.name,
        seeds=seeds,
        commit=provenance.git_commit(),
        machine=machine(),
        settings=settings,
        jobs=jobs(benchmarks, {"report", *experiments, *(one.id for one in shown)}, seeds),
        cores=cores,
    )
    with storage.atomic_path(page_path) as temporary:
        temporary.write_text(
            render(shown, pd.read_csv(verdicts_path), pd.read_csv(claims_path, keep_default_na=False), run),
            encoding="utf-8",
        )
    kept = [path for one in shown for path in (one.picture, one.table) if path]
    made = {
        "commit": run.commit,
        "versions": provenance.versions(),
        "cores": cores,
        **made_with,
        "files": record.digests(folder, [*kept, verdicts_path, claims_path, page_path]),
    }
    with storage.atomic_path(record_path) as temporary:
        temporary.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.exhibits,
            snakemake.input.verdicts,
            snakemake.input.claims,
            snakemake.output.page,
            snakemake.output.record,
            snakemake.params.made_with,
            snakemake.config,
            snakemake.params.experiments,
            snakemake.params.seeds,
            snakemake.resources.n_cores,
            snakemake.params.benchmarks,
        )
