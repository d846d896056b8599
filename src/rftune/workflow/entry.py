"""The way into a run: from settings as Snakemake hands them in to a plan, or to what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rftune.workflow.config import from_command_line, load, over, read
from rftune.workflow.folders import check_place
from rftune.workflow.plan import Plan
from rftune.workflow.resources import Demand
from rftune.workflow.sweeps.plan import Namer, Sweep, make_sweep


class Entered(NamedTuple):
    """What the rules are made from; no sweep where the paper's figures and tables are asked for."""

    plan: Plan
    sweep: Sweep | None
    demand: Demand


def complete(handed: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Settings of config files and the command line, over those of the project in ``root``."""
    return over(load(root / "config/config.yaml"), from_command_line(handed))


def enter(settings: Mapping[str, Any], root: Path, namer: Namer, *, only_looks: bool) -> Entered:
    """The plan of a run, or a `ConfigError` or `FolderError` that says what is wrong; nothing is written.

    Parameters
    ----------
    settings
        Complete.
    root
        The project's folder.
    namer
        Gives each combination of a sweep's settings its name in paths.
    only_looks
        Whether nothing will be run.
    """
    config = read(settings)
    if config.run.sweep is None:
        sweep, plan = None, Plan(config, root)
        plan.check()
    else:
        sweep = make_sweep(config, namer)
        plan = Plan(sweep.config, root, sweep.runs, sweep.cases)
    check_place(plan.results, only_looks=only_looks)
    return Entered(plan, sweep, Demand(plan))
