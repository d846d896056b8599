"""Draw one figure, as png and pdf, from stored results."""

from rftune.experiments.base import experiment
from rftune.experiments.results import Results
from rftune.report.style import save
from rftune.workflow.jobs import perform


def main(job):
    draw = experiment(job.params.experiment).call("figures", job.params.function)
    save(draw(Results.told(**job.params.results)), job.output)


if "snakemake" in globals():
    perform(main, snakemake)
