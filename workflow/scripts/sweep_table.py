"""Make the table of a sweep, as csv and parquet."""

from rftune import storage
from rftune.workflow.jobs import job
from rftune.workflow.sweeps.tables import Source, sweep_table


def main(sources, csv_path, parquet_path):
    table = sweep_table(sources)
    with storage.atomic_path(parquet_path) as temporary:
        table.to_parquet(temporary, index=False)
    storage.save_table(table, csv_path)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            [Source(*source) for source in snakemake.params.sources],
            snakemake.output.csv,
            snakemake.output.parquet,
        )
