"""Indices of the truth on the design of one data set."""

from rftune import storage
from rftune.workflow.jobs import perform


def main(job):
    module = job.module("analysis")
    posterior = job.input.get("truth_posterior")
    sampled = {"truth_posterior": storage.load(posterior)} if posterior else {}
    data = storage.load(job.input.data)
    job.save(module.analyse_truth(data, rng=job.rng("truth"), **sampled, **job.params.settings), job.output[0])


if "snakemake" in globals():
    perform(main, snakemake)
