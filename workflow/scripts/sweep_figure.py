"""Draw error and time of a sweep against each varied setting, as png and pdf."""

import pandas as pd

from rftune.report.style import save
from rftune.workflow.jobs import perform
from rftune.workflow.sweeps.figures import sweep_figure


def main(job):
    save(sweep_figure(pd.read_parquet(job.input.table), job.params.settings, job.params.title), job.output)


if "snakemake" in globals():
    perform(main, snakemake)
