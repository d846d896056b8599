"""Set the paper's numbers and its sentences beside those of a run."""

from importlib import import_module

import pandas as pd
import yaml

from rftune import storage
from rftune.emulators.listed import Listed
from rftune.experiments.protocol import load_repeats
from rftune.experiments.results import succeeded
from rftune.report import claims, verdicts
from rftune.workflow.jobs import job


def main(experiments, table_paths, curve_paths, listed, settings, order, paper_path, out_path, claims_path):
    with open(paper_path, encoding="utf-8") as stream:
        paper = yaml.safe_load(stream)
    tables = {name: pd.read_csv(path) for name, path in table_paths.items()}
    convergence = paper["convergence"]
    curves = {
        name: verdicts.Curves(misfits(paths)[: convergence["restarts"]], name in convergence["logarithmic"])
        for name, paths in curve_paths.items()
    }
    found, claimed = [verdicts.setting(*line) for line in settings], []
    for name, modules in experiments.items():
        evidence = verdicts.Evidence(tables, {entry[0]: Listed(*entry) for entry in listed[name]}, curves)
        if "verdicts" in modules:
            found += import_module(modules["verdicts"]).compare(evidence, paper)
        if "claims" in modules:
            claimed += claims.judged(import_module(modules["claims"]).CLAIMS, evidence)
    for name, curve in curves.items():
        if name in convergence:
            found += verdicts.convergence(name, convergence, curve)
    found.sort(key=lambda verdict: order.index(verdict.id))
    storage.save_table(verdicts.to_frame(found), out_path, float_format=None)
    storage.save_table(claims.to_frame(claimed), claims_path, float_format=None)


def misfits(paths):
    """Curves of the re-tunings that ended well."""
    tuned = load_repeats(paths)
    return tuned["misfit"].values[succeeded(tuned)]


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.params.experiments,
            snakemake.params.tables,
            snakemake.params.curves,
            snakemake.params.listed,
            snakemake.params.settings,
            snakemake.params.order,
            snakemake.input.paper,
            snakemake.output.verdicts,
            snakemake.output.claims,
        )
