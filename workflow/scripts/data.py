"""Make the data of one case of an experiment."""

from importlib import import_module

from rftune import storage
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(out_path, experiment, case, seed, settings):
    module = import_module(f"rftune.experiments.{experiment}.data")
    data = module.make_data(module.Settings(**settings), rng_for(seed, experiment, case, "data"))
    storage.save(data, out_path, settings=settings, seed=seed)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.output[0],
            snakemake.wildcards.experiment,
            snakemake.wildcards.case,
            int(snakemake.wildcards.seed),
            snakemake.params.settings,
        )
