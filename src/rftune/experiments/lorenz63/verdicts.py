"""F4, F5, F10: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rftune.experiments.lorenz63.tables import family_of
from rftune.report.verdicts import Evidence, Rows, Verdict, count, directed, keyed, not_compared, ratio

NAMES = {"gp": "GP", "rf": "RF"}  # by role


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made, from all of config/paper_values.yaml."""
    if "lorenz63_integrators" not in evidence.tables:
        return []
    root = evidence.at_root("lorenz63_integrators")
    rows = keyed(root[root["case"] == root["case"].iloc[0]], "emulator")
    found = _skill(rows, evidence, paper["lorenz"])
    rf = evidence.named("rf")
    if rf in rows:
        found.append(count("F5", "re-tunings", paper["lorenz"]["retunings"], rows[rf]["n_retunings"]))
        family = family_of(evidence.emulators[rf])
        run = [entry for entry in evidence.emulators.values() if entry.name in rows and entry.role in ("rf", "by_rank")]
        found += _tuning_of_ranks([rows[entry.name] for entry in run if family_of(entry) == family], paper["lorenz"])
    return found


def _skill(rows: Rows, evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    found = []
    for role, name in NAMES.items():
        if evidence.named(role) in rows:
            row = rows[evidence.named(role)]
            ours, error = row["horizon_mean"], row["horizon_standard_error"]
            quantity, theirs = f"forecast skill in time units, {name}", paper["forecast_skill_time_units"]
            found.append(directed("F4", quantity, theirs, ours, "larger", error, tolerance=0.5))
    return found


def _tuning_of_ranks(ranks: Sequence[Mapping[str, Any]], paper: Mapping[str, Any]) -> list[Verdict]:
    """What the paper says of F10 in numbers, of its own features."""
    if len(ranks) == 1:
        return []
    seconds = np.array([row["tuning_seconds"] for row in ranks])
    mean, spread = float(seconds.mean()), float(seconds.max() / seconds.min())
    reason, n_retunings = "another machine", min(row["n_retunings"] for row in ranks)
    return [
        not_compared("F10", "seconds to tune, mean over ranks", paper["tuning_seconds"], mean, reason, "time"),
        ratio("F10", "seconds to tune, slowest over fastest rank", 1.0, spread, "smaller"),
        count("F10", "re-tunings per rank", paper["retunings_per_rank"], n_retunings),
    ]
