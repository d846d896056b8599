"""Draw one figure, as png and pdf, from stored results."""

from rftune.experiments.base import experiment
from rftune.experiments.results import Results
from rftune.report.style import save
from rftune.workflow.jobs import job


def main(name, function, results, out_paths):
    save(experiment(name).call("figures", function)(results), out_paths)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.experiment,
            snakemake.params.function,
            Results.told(**snakemake.params.results),
            list(snakemake.output),
        )
