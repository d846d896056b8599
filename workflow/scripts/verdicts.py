"""Set the paper's numbers and its sentences beside those of a run."""

from importlib import import_module

import pandas as pd
import yaml

from rftune import storage
from rftune.emulators.listed import Listed
from rftune.experiments.protocol import load_repeats
from rftune.experiments.results import succeeded
from rftune.report import claims, verdicts
from rftune.workflow.jobs import perform


def main(job):
    told = job.params
    with open(job.input.paper, encoding="utf-8") as stream:
        paper = yaml.safe_load(stream)
    tables = {name: pd.read_csv(path) for name, path in told.tables.items()}
    convergence = paper["convergence"]
    curves = {
        name: verdicts.Curves(misfits(paths)[: convergence["restarts"]], name in convergence["logarithmic"])
        for name, paths in told.curves.items()
    }
    found, claimed = [verdicts.setting(*line) for line in told.settings], []
    for name, modules in told.experiments.items():
        evidence = verdicts.Evidence(tables, {entry[0]: Listed(*entry) for entry in told.listed[name]}, curves)
        if "verdicts" in modules:
            found += import_module(modules["verdicts"]).compare(evidence, paper)
        if "claims" in modules:
            claimed += claims.judged(import_module(modules["claims"]).CLAIMS, evidence)
    for name, curve in curves.items():
        if name in convergence:
            found += verdicts.convergence(name, convergence, curve)
    found.sort(key=lambda verdict: told.order.index(verdict.id))
    storage.save_table(verdicts.to_frame(found), job.output.verdicts, float_format=None)
    storage.save_table(claims.to_frame(claimed), job.output.claims, float_format=None)


def misfits(paths):
    """Curves of the re-tunings that ended well."""
    tuned = load_repeats(paths)
    return tuned["misfit"].values[succeeded(tuned)]


if "snakemake" in globals():
    perform(main, snakemake)
