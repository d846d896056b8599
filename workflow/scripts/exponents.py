"""Fit exponents to measured costs."""

import pandas as pd
import yaml

from rftune import storage
from rftune.experiments.complexity.tables import exponents_table
from rftune.workflow.jobs import job


def main(measured_path, paper_path, out_path):
    with open(paper_path, encoding="utf-8") as stream:
        paper = yaml.safe_load(stream)["T1"]
    table = exponents_table(pd.read_csv(measured_path), paper)
    with storage.atomic_path(out_path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n", float_format="%.6g")


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(snakemake.input.measured, snakemake.input.paper, snakemake.output[0])
