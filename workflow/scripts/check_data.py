"""Check a data file before any long work is based on it."""

from rftune import storage
from rftune.experiments.protocol import training_set
from rftune.workflow.jobs import perform


def main(job):
    stored = storage.load(job.input.data)
    try:
        data = training_set(stored).data
    except ValueError as error:
        raise ValueError(f"{job.input.data}: {error}") from error
    with storage.atomic_path(job.output[0]) as temporary:
        temporary.write_text(f"{data.n_samples} samples, {data.n_inputs} inputs, {data.n_outputs} outputs\n")


if "snakemake" in globals():
    perform(main, snakemake)
