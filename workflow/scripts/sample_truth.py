"""Sample the posterior with the truth itself in the likelihood, where there is one to be run."""

import xarray as xr

from rftune import storage
from rftune.inference import chains
from rftune.inference.settings import SamplingSettings
from rftune.workflow.jobs import perform


def main(job):
    module, data = job.module("sampling"), storage.load(job.input.data)
    options = SamplingSettings(**job.params.sampling)
    density = module.log_posterior_of_truth(data)
    if density is None:
        job.save(xr.Dataset(), job.output[0], job.params.sampling)
        return
    source = chains.Source(f"{job.output[0]}.part", (job.seed, *job.labels, "truth"), [data], [job.params.code])
    start = module.start(data, options.n_walkers, job.rng("truth", "start"))
    job.save(chains.sampled(density, start, options, source), job.output[0], job.params.sampling)
    source.checkpoint.unlink(missing_ok=True)


if "snakemake" in globals():
    perform(main, snakemake)
