"""Sample the posterior with the truth itself in the likelihood, where there is one to be run."""

from importlib import import_module

import xarray as xr

from rftune import storage
from rftune.inference import chains
from rftune.inference.settings import SamplingSettings
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(data_path, out_path, labels, seed, sampling, code):
    module = import_module(f"rftune.experiments.{labels[0]}.sampling")
    data = storage.load(data_path)
    options = SamplingSettings(**sampling)
    density = module.log_posterior_of_truth(data)
    if density is None:
        storage.save(xr.Dataset(), out_path, settings=sampling, seed=seed)
        return
    source = chains.Source(f"{out_path}.part", (seed, *labels, "truth"), [data], [code])
    start = module.start(data, options.n_walkers, rng_for(seed, *labels, "truth", "start"))
    storage.save(chains.sampled(density, start, options, source), out_path, settings=sampling, seed=seed)
    source.checkpoint.unlink(missing_ok=True)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.input.data,
            snakemake.output[0],
            [snakemake.wildcards[name] for name in ("experiment", "case")],
            int(snakemake.wildcards.seed),
            snakemake.params.sampling,
            snakemake.params.code,
        )
