"""Sample the posterior with each emulator of a chunk of repeats in the likelihood."""

from importlib import import_module

import pandas as pd
import xarray as xr

from rftune import storage
from rftune.emulators.base import EMULATORS
from rftune.experiments.protocol import stack_repeats, training_set
from rftune.inference import chains
from rftune.inference.settings import SamplingSettings
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(data_path, tuned_path, out_path, labels, seed, settings, sampling, likelihood, code):
    module = import_module(f"rftune.experiments.{labels[0]}.sampling")
    data, tuned = storage.load(data_path), storage.load(tuned_path)
    training = training_set(data)
    emulator = EMULATORS.read(settings)
    options = SamplingSettings(**sampling)
    repeats = tuned["repeat"].values.tolist()
    variants = module.variants(options, **likelihood)

    def over_variants(found):
        return xr.concat(list(found), dim=pd.Index(list(variants), name="likelihood"), join="exact")

    chains_made, checkpoints = [], []
    for repeat in repeats:
        one = tuned.sel(repeat=repeat, drop=True)
        if one["failure"].item():
            chains_made.append(over_variants(chains.missing(options, data.sizes["input"]) for _ in variants))
            continue
        # with the generator of the predictions: the same draw of features
        model = emulator.fit(training, one, rng_for(seed, *labels, repeat, "predict"))
        start = module.start(data, options.n_walkers, rng_for(seed, *labels, repeat, "start"))
        found = []
        for name, variant in variants.items():
            place = f"{out_path}.{repeat}.{name}.part"
            source = chains.Source(
                place, (seed, *labels, repeat), [data, one], [settings, variant.misfit_ensembles, code]
            )
            density = module.log_posterior(model, data, variant.misfit_ensembles)
            found.append(chains.sampled(density, start, variant.sampling, source))
            checkpoints.append(source.checkpoint)
        chains_made.append(over_variants(found))
    storage.save(stack_repeats(chains_made, repeats), out_path, settings=[settings, sampling, likelihood], seed=seed)
    for checkpoint in checkpoints:
        checkpoint.unlink(missing_ok=True)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.input.data,
            snakemake.input.tuned,
            snakemake.output[0],
            [snakemake.wildcards[name] for name in ("experiment", "case", "emulator")],
            int(snakemake.wildcards.seed),
            snakemake.params.settings,
            snakemake.params.sampling,
            snakemake.params.likelihood,
            snakemake.params.code,
        )
