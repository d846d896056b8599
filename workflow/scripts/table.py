"""Make one table from stored results."""

from importlib import import_module

import yaml

from rftune import storage
from rftune.experiments.results import Stored
from rftune.workflow.jobs import job


def main(artifact, experiment, truths, analyses, timings, paper_path, out_path):
    with open(paper_path, encoding="utf-8") as stream:
        paper = yaml.safe_load(stream).get(artifact, {})
    tables = import_module(f"rftune.experiments.{experiment}.tables").TABLES
    table = tables[artifact](truths, analyses, timings, paper)
    with storage.atomic_path(out_path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n", float_format="%.6g")


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.artifact,
            snakemake.params.experiment,
            *([Stored(*source) for source in snakemake.params[kind]] for kind in ("truths", "analyses", "timings")),
            snakemake.input.paper,
            snakemake.output[0],
        )
