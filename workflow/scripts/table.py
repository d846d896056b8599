"""Make one table from stored results."""

from rftune import storage
from rftune.experiments.base import experiment
from rftune.experiments.results import Results
from rftune.workflow.jobs import job


def main(name, function, results, out_path):
    storage.save_table(experiment(name).call("tables", function)(results), out_path)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.experiment,
            snakemake.params.function,
            Results.told(**snakemake.params.results),
            snakemake.output[0],
        )
