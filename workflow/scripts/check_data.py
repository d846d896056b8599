"""Check a data file before any long work is based on it."""

from rftune import storage
from rftune.experiments.protocol import training_set
from rftune.workflow.jobs import job


def main(data_path, out_path):
    stored = storage.load(data_path)
    try:
        data = training_set(stored).data
    except ValueError as error:
        raise ValueError(f"{data_path}: {error}") from error
    with storage.atomic_path(out_path) as temporary:
        temporary.write_text(f"{data.n_samples} samples, {data.n_inputs} inputs, {data.n_outputs} outputs\n")


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(snakemake.input.data, snakemake.output[0])
