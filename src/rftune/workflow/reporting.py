"""What the page at the end of a run shows, and what it takes from the config."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rftune.experiments.base import Experiment, experiments
from rftune.report import page
from rftune.workflow.fingerprints import code_fingerprint
from rftune.workflow.plan import Plan


def sections() -> dict[str, str]:
    """Every artifact that there is, run or not, with its experiment: the paper's figures, its tables, the rest."""
    found = {artifact.id: name for name, one in experiments().items() for artifact in one.artifacts}
    return {artifact: found[artifact] for artifact in sorted(found, key=_place)}


def _place(artifact: str) -> tuple[int, int]:
    kind, number = artifact[0], artifact[1:]
    return ("FT".index(kind), int(number)) if kind in "FT" and number.isdigit() else (2, 0)


def exhibits(plan: Plan, configfiles: Sequence[str]) -> list[dict[str, Any]]:
    """What the page shows of every artifact; no picture and no table where this run makes none."""
    options = _option(plan, configfiles)
    return [
        {
            "id": name,
            "experiment": experiment,
            "category": experiments()[experiment].title,
            "caption": str(experiments()[experiment].caption(name)),
            "picture": plan.pictures(name)[0] if name in plan.artifacts else None,
            "table": plan.tables.get(name),
            "absent": _absent(plan, name, experiment),
            "command": f"snakemake {name}{options}",
        }
        for name, experiment in sections().items()
    ]


def _absent(plan: Plan, artifact: str, experiment: str) -> str:
    """Why this run does not make an artifact; empty where it does."""
    if artifact in plan.artifacts:
        return ""
    one, block = experiments()[experiment], plan.config.blocks.get(experiment)
    own = next(entry for entry in one.artifacts if entry.id == artifact)
    return (block and one.left_out(own, block)) or "its config leaves it out"


def _option(plan: Plan, configfiles: Sequence[str]) -> str:
    """The option that names a run's own config files."""
    own = [path for path in map(Path, configfiles) if path.resolve() != plan.root / "config/config.yaml"]
    shown = [path.relative_to(plan.root) if path.is_relative_to(plan.root) else path for path in own]
    return f" --configfile {shlex.join(map(str, shown))}" if shown else ""


def paper_settings(plan: Plan) -> list[list[Any]]:
    """Artifact, name, the paper's value and ours, of every setting that the paper states of what this run makes."""
    return [
        [artifact, name, value, plan.config.setting(place)]
        for artifact, entries in plan.paper["settings"].items()
        for name, (place, value) in entries.items()
        if artifact in plan.artifacts
    ]


def content_of(paths: Iterable[str | Path]) -> str:
    """A hash of files that are neither code nor results, so that a change of them shows."""
    return hashlib.sha256(b"\0".join(Path(path).read_bytes() for path in paths)).hexdigest()[:16]


def experiment_of(artifact: str) -> Experiment:
    return experiments()[sections()[artifact]]


def title(artifact: str) -> str:
    """The first line of an artifact's caption."""
    return experiment_of(artifact).caption(artifact).read_text(encoding="utf-8").partition("\n")[0].strip("* ")


def judged(plan: Plan) -> dict[str, Any]:
    """What the job that sets the paper's numbers beside ours is told."""
    compared = {
        name: {own: full for own in ("verdicts", "claims") if (full := experiments()[name].module(own)) is not None}
        for name in plan.config.blocks
    }
    listed = plan.config.listed
    return {
        "experiments": compared,
        "tables": plan.tables,
        "curves": plan.curves,
        "listed": {name: [one.plain for one in listed.get(name, {}).values()] for name in compared},
        "settings": paper_settings(plan),
        "order": list(sections()),
        "code": code_fingerprint(
            plan.script("verdicts"), [module for modules in compared.values() for module in modules.values()]
        ),
    }


def texts() -> str:
    """A hash of the page's parts and of all captions."""
    return content_of([*page.PARTS, *(experiment_of(name).caption(name) for name in sections())])
