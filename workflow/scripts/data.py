"""Make the data of one case of an experiment."""

from rftune import storage
from rftune.experiments.base import experiment
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(out_path, name, case, seed, settings):
    data = experiment(name).Data(**settings).make(rng_for(seed, name, case, "data"))
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
