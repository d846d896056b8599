"""Draw one figure, as png and pdf, from stored results."""

from importlib import import_module

from rftune.report.style import save
from rftune.workflow.jobs import job


def main(artifact, experiment, sources, out_paths):
    module = import_module(f"rftune.experiments.{experiment}.figures")
    save(module.FIGURES[artifact](**sources), out_paths)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.artifact,
            snakemake.params.experiment,
            {name: [paths] if isinstance(paths, str) else list(paths) for name, paths in snakemake.input.items()},
            list(snakemake.output),
        )
