"""Make one table from stored results."""

from rftune import storage
from rftune.experiments.base import experiment
from rftune.experiments.results import Results
from rftune.workflow.jobs import perform


def main(job):
    make = experiment(job.params.experiment).call("tables", job.params.function)
    storage.save_table(make(Results.told(**job.params.results)), job.output[0])


if "snakemake" in globals():
    perform(main, snakemake)
