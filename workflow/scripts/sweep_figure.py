"""Draw error and time of a sweep against each varied setting, as png and pdf."""

import pandas as pd

from rftune.report.style import save
from rftune.workflow.jobs import job
from rftune.workflow.sweeps.figures import sweep_figure


def main(table_path, settings, title, out_paths):
    save(sweep_figure(pd.read_parquet(table_path), settings, title), out_paths)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.input.table,
            snakemake.params.settings,
            snakemake.params.title,
            list(snakemake.output),
        )
