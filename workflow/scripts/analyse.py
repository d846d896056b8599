"""Analyse the predictions of all repeats of one emulator."""

from importlib import import_module

from rftune import storage
from rftune.experiments.protocol import load_repeats, with_scores
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(data_path, prediction_paths, posterior_paths, truth_posterior_path, out_path, labels, seed, settings):
    module = import_module(f"rftune.experiments.{labels[0]}.analysis")
    sampled = {}
    if posterior_paths:
        sampled = {"posteriors": load_repeats(posterior_paths), "truth_posterior": storage.load(truth_posterior_path)}
    rng = rng_for(seed, *labels, "analyse")
    data, predictions = storage.load(data_path), load_repeats(prediction_paths)
    result = module.analyse(data, predictions, rng=rng, **sampled, **settings)
    storage.save(with_scores(result, data, predictions), out_path, settings=settings, seed=seed)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.input.data,
            snakemake.input.predictions,
            snakemake.input.get("posteriors"),
            snakemake.input.get("truth_posterior"),
            snakemake.output[0],
            [snakemake.wildcards[name] for name in ("experiment", "case", "emulator")],
            int(snakemake.wildcards.seed),
            snakemake.params.settings,
        )
