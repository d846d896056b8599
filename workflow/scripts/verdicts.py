"""Set the paper's numbers beside those of a run."""

from importlib import import_module

import pandas as pd
import yaml

from rftune import storage
from rftune.experiments.protocol import load_repeats
from rftune.experiments.results import succeeded
from rftune.report import verdicts
from rftune.workflow.jobs import job


def main(experiments, table_paths, curve_paths, settings, order, paper_path, out_path):
    with open(paper_path, encoding="utf-8") as stream:
        paper = yaml.safe_load(stream)
    evidence = verdicts.Evidence(
        tables={name: pd.read_csv(path) for name, path in table_paths.items()},
        curves={name: misfits(paths) for name, paths in curve_paths.items()},
    )
    found = [verdicts.setting(*line) for line in settings]
    for experiment in experiments:
        found += import_module(f"rftune.experiments.{experiment}.verdicts").compare(evidence, paper)
    found.sort(key=lambda verdict: order.index(verdict.id))
    with storage.atomic_path(out_path) as temporary:
        verdicts.to_frame(found).to_csv(temporary, index=False, lineterminator="\n")


def misfits(paths):
    """Curves of the re-tunings that ended well."""
    tuned = load_repeats(paths)
    return tuned["misfit"].values[succeeded(tuned)]


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.experiments,
            snakemake.params.tables,
            snakemake.params.curves,
            snakemake.params.settings,
            snakemake.params.order,
            snakemake.input.paper,
            snakemake.output[0],
        )
