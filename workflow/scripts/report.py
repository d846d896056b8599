"""Make the page of a run, and the record of what the run was made with."""

import json
from pathlib import Path

import pandas as pd

from rftune import provenance, storage
from rftune.report import reference
from rftune.report.page import Artifact, Run, render
from rftune.report.run import jobs, machine
from rftune.workflow.jobs import job


def main(artifacts, verdicts_path, page_path, record_path, config, experiments, seeds, cores, benchmarks, scripts):
    folder = Path(page_path).parent
    shown = [Artifact(**artifact) for artifact in artifacts]
    run = Run(
        preset=folder.name,
        seeds=seeds,
        commit=provenance.git_commit(),
        machine=machine(),
        settings=config,
        jobs=jobs(benchmarks, {"report", *experiments, *(one.id for one in shown)}, seeds),
        cores=cores,
    )
    with storage.atomic_path(page_path) as temporary:
        temporary.write_text(render(shown, pd.read_csv(verdicts_path), run), encoding="utf-8")
    kept = [path for one in shown for path in (one.picture, one.table) if path]
    record = {
        "commit": run.commit,
        "versions": provenance.versions(),
        "cores": cores,
        **reference.made_with(config, experiments, Path(scripts)),
        "files": reference.digests(folder, [*kept, verdicts_path, page_path]),
    }
    with storage.atomic_path(record_path) as temporary:
        temporary.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.artifacts,
            snakemake.input.verdicts,
            snakemake.output.page,
            snakemake.output.record,
            snakemake.config,
            snakemake.params.experiments,
            snakemake.params.seeds,
            snakemake.resources.n_cores,
            snakemake.params.benchmarks,
            snakemake.scriptdir,
        )
