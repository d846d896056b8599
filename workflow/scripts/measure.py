"""Measure costs, in an experiment that needs no data and no emulator."""

from rftune import storage
from rftune.experiments.base import experiment
from rftune.progress import logger
from rftune.workflow.jobs import perform


def main(job):
    settings = experiment(job.labels[0]).Settings(**job.params.settings)
    measured = job.module("measurement").measure(settings, job.rng(), logger.info)
    storage.save_table(measured, job.output[0])


if "snakemake" in globals():
    perform(main, snakemake)
