"""What a run was made with, beside its results, so that a kept run can say when it is out of date."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rftune.workflow.config import SCHEDULING
from rftune.workflow.plan import Plan

NAME = "reference.json"


def made_with(plan: Plan) -> dict[str, Any]:
    """Settings of a run and fingerprints of the code behind each of its stages."""
    config = plan.config
    shared = {name: value for name, value in config.raw.items() if name in type(config.run).model_fields}
    blocks = {name: config.raw[name] for name in config.blocks}
    return {"settings": without_scheduling(shared | blocks), "code": plan.codes()}


def without_scheduling(settings: Any) -> Any:
    """Settings without those that change no result, at any depth."""
    if not isinstance(settings, Mapping):
        return settings
    return {key: without_scheduling(value) for key, value in settings.items() if key not in SCHEDULING}


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two records of `made_with`, one sentence each; none if the run is up to date."""
    before, after = _flat(then["settings"]), _flat(now["settings"])
    found = [
        f"{key} was {before.get(key, 'absent')!r} and is {after.get(key, 'absent')!r}"
        for key in sorted({*before, *after})
        if before.get(key, "absent") != after.get(key, "absent")
    ]
    stages = sorted({*then["code"], *now["code"]})
    found += [
        f"the code of {stage} has changed" for stage in stages if then["code"].get(stage) != now["code"].get(stage)
    ]
    return found


def _flat(settings: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(settings, Mapping):
        return {path: settings}
    return {
        place: entry
        for key, value in settings.items()
        for place, entry in _flat(value, f"{path}.{key}" if path else str(key)).items()
    }


def digests(folder: Path, paths: Iterable[str | Path]) -> dict[str, str]:
    """Hash of each file by its path in the run's folder."""
    return {
        str(Path(path).relative_to(folder)): hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
        for path in sorted(map(str, paths))
    }


def altered(folder: Path, recorded: Mapping[str, str]) -> list[str]:
    """Recorded files that are not as the run left them; those that are not kept are none of them."""
    present = [folder / name for name in recorded if (folder / name).exists()]
    return [name for name, digest in digests(folder, present).items() if recorded[name] != digest]
