"""Sample the posterior with each emulator of a chunk of repeats in the likelihood."""

import pandas as pd
import xarray as xr

from rftune import storage
from rftune.emulators.base import EMULATORS
from rftune.experiments.protocol import stack_repeats, training_set
from rftune.inference import chains
from rftune.inference.settings import SamplingSettings
from rftune.workflow.jobs import perform


def main(job):
    module, settings = job.module("sampling"), job.params.settings
    data, tuned = storage.load(job.input.data), storage.load(job.input.tuned)
    training = training_set(data)
    emulator = EMULATORS.read(settings)
    options = SamplingSettings(**job.params.sampling)
    repeats = tuned["repeat"].values.tolist()
    variants = module.variants(options, **job.params.likelihood)

    def over_variants(found):
        return xr.concat(list(found), dim=pd.Index(list(variants), name="likelihood"), join="exact")

    chains_made, checkpoints = [], []
    for repeat in repeats:
        one = tuned.sel(repeat=repeat, drop=True)
        if one["failure"].item():
            chains_made.append(over_variants(chains.missing(options, data.sizes["input"]) for _ in variants))
            continue
        # with the generator of the predictions: the same draw of features
        model = emulator.fit(training, one, job.rng(repeat, "predict"))
        start = module.start(data, options.n_walkers, job.rng(repeat, "start"))
        found = []
        for name, variant in variants.items():
            place, told = f"{job.output[0]}.{repeat}.{name}.part", [settings, variant.misfit_ensembles, job.params.code]
            source = chains.Source(place, (job.seed, *job.labels, repeat), [data, one], told)
            density = module.log_posterior(model, data, variant.misfit_ensembles)
            found.append(chains.sampled(density, start, variant.sampling, source))
            checkpoints.append(source.checkpoint)
        chains_made.append(over_variants(found))
    job.save(stack_repeats(chains_made, repeats), job.output[0], [settings, job.params.sampling, job.params.likelihood])
    for checkpoint in checkpoints:
        checkpoint.unlink(missing_ok=True)


if "snakemake" in globals():
    perform(main, snakemake)
