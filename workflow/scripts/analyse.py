"""Analyse the predictions of all repeats of one emulator."""

from rftune import storage
from rftune.experiments.protocol import load_repeats, with_scores
from rftune.workflow.jobs import perform


def main(job):
    module = job.module("analysis")
    data, predictions = storage.load(job.input.data), load_repeats(job.input.predictions)
    sampled = {}
    if job.input.get("posteriors"):
        sampled["posteriors"] = load_repeats(job.input.posteriors)
        sampled["truth_posterior"] = storage.load(job.input.truth_posterior)
    result = module.analyse(data, predictions, rng=job.rng("analyse"), **sampled, **job.params.settings)
    job.save(with_scores(result, data, predictions), job.output[0])


if "snakemake" in globals():
    perform(main, snakemake)
