"""Make one table from stored results."""

from importlib import import_module

import yaml

from rftune import storage
from rftune.jobs import job


def main(artifact, experiment, sources, paper_path, out_path, seeds, emulators):
    with open(paper_path, encoding="utf-8") as stream:
        paper = yaml.safe_load(stream)[artifact]
    tables = import_module(f"rftune.experiments.{experiment}.tables").TABLES
    table = tables[artifact](**sources, paper=paper, seeds=seeds, emulators=emulators)
    with storage.atomic_path(out_path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n", float_format="%.6g")


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.artifact,
            snakemake.params.experiment,
            {"data_paths": snakemake.input.data, "analysis_paths": snakemake.input.analyses},
            snakemake.input.paper,
            snakemake.output[0],
            snakemake.params.seeds,
            snakemake.params.emulators,
        )
