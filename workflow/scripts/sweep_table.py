"""Make the table of a sweep, as csv and parquet."""

from rftune import storage
from rftune.workflow.jobs import perform
from rftune.workflow.sweeps.tables import Source, sweep_table


def main(job):
    table = sweep_table([Source(*source) for source in job.params.sources])
    with storage.atomic_path(job.output.parquet) as temporary:
        table.to_parquet(temporary, index=False)
    storage.save_table(table, job.output.csv)


if "snakemake" in globals():
    perform(main, snakemake)
