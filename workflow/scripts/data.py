"""Make the data of one case of an experiment."""

from rftune.experiments.base import experiment
from rftune.workflow.jobs import perform


def main(job):
    job.save(experiment(job.labels[0]).Data(**job.params.settings).make(job.rng("data")), job.output[0])


if "snakemake" in globals():
    perform(main, snakemake)
