"""Measure costs, in an experiment that needs no data and no emulator."""

from importlib import import_module

from rftune import storage
from rftune.experiments.base import experiment
from rftune.progress import logger
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(out_path, name, settings, seed):
    module = import_module(f"rftune.experiments.{name}.measurement")
    measured = module.measure(experiment(name).Settings(**settings), rng_for(seed, name), logger.info)
    storage.save_table(measured, out_path)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.output[0],
            snakemake.wildcards.experiment,
            snakemake.params.settings,
            snakemake.params.seed,
        )
