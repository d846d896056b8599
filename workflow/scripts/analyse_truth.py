"""Indices of the truth on the design of one data set."""

from importlib import import_module

from rftune import storage
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(data_path, posterior_path, out_path, labels, seed, settings):
    module = import_module(f"rftune.experiments.{labels[0]}.analysis")
    sampled = {"truth_posterior": storage.load(posterior_path)} if posterior_path else {}
    rng = rng_for(seed, *labels, "truth")
    result = module.analyse_truth(storage.load(data_path), rng=rng, **sampled, **settings)
    storage.save(result, out_path, settings=settings, seed=seed)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.input.data,
            snakemake.input.get("truth_posterior"),
            snakemake.output[0],
            [snakemake.wildcards[name] for name in ("experiment", "case")],
            int(snakemake.wildcards.seed),
            snakemake.params.settings,
        )
