"""Measure what the operations of GPR and RFR cost."""

from rftune import storage
from rftune.experiments.complexity.measurement import Settings, measure
from rftune.seeding import rng_for
from rftune.workflow.jobs import job, logger


def main(out_path, settings, seed):
    measured = measure(Settings.of(settings), rng_for(seed, "complexity"), logger.info)
    with storage.atomic_path(out_path) as temporary:
        measured.to_csv(temporary, index=False, lineterminator="\n", float_format="%.6g")


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(snakemake.output[0], snakemake.params.settings, snakemake.params.seed)
