"""F4, F5, F8, F9, F10: the paper's numbers and claims beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rftune.emulators.listed import Listed
from rftune.experiments.lorenz63.data import N_STATES
from rftune.experiments.lorenz63.tables import STATES, family_of, is_separable, rank_of
from rftune.report.verdicts import (
    NOT_COMPARABLE,
    WORSE,
    Evidence,
    Rows,
    Verdict,
    claim,
    count,
    directed,
    keyed,
    not_compared,
    ratio,
)

NAMES = {  # by role
    "gp": "GP",
    "rf": "RF",
    "rf_untuned": "untuned RF",
    "rf_untuned_separable": "untuned separable RF",
    "rf_untuned_printed": "untuned separable RF at ς = 1",
}
# What is said of an untuned RF: that at the printed prior's median is the paper's.
UNTUNED = {
    "rf_untuned_printed": "",
    "rf_untuned_separable": "; not comparable above, its ς is not the printed one",
    "rf_untuned": "; not comparable above, its structure and ς are not those of the public code",
}
COMPARED = ("gp", "rf")
PLATEAU = 4  # the rank from which the paper's errors are level
LARGE = 1.5  # a ratio of errors that one sees in F10


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made, from all of config/paper_values.yaml."""
    if "lorenz63_integrators" not in evidence.tables:
        return []
    table = evidence.tables["lorenz63_integrators"]
    root = table[table["seed"] == table["seed"].iloc[0]]
    by_name = [keyed(rows, "emulator") for _, rows in root.groupby("case", sort=False)]
    low, *others = [_by_role(rows, evidence) for rows in by_name]
    found = _integrators(low, paper["lorenz"]) + _distributions(low, paper["lorenz"])
    if others:
        found += _high_noise(low, others[-1])
    return found + _ranks(by_name[0], low, evidence, paper["lorenz"])


def _by_role(rows: Rows, evidence: Evidence) -> Rows:
    """The rows of the emulators that the paper shows too, by their role, and the truth's."""
    named = {"truth": "truth", **{role: evidence.named(role) for role in NAMES}}
    return {role: rows[name] for role, name in named.items() if name in rows}


def _integrators(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    found = []
    compared = [role for role in COMPARED if role in rows]
    for role in compared:
        row, quantity = rows[role], f"forecast skill in time units, {NAMES[role]}"
        error = row["horizon_standard_error"]
        theirs, ours = paper["forecast_skill_time_units"], row["horizon_mean"]
        found.append(directed("F4", quantity, theirs, ours, "larger", error, tolerance=0.5))
    found += [_stays("F4", rows, role) for role in compared]
    for role in UNTUNED:
        if role in rows:
            share = min(rows[role]["share_stayed"], rows[role]["share_within_band"])
            quantity = f"share of {NAMES[role]} that stays on the attractor and in the band of the truth"
            condition = "at most one half" + UNTUNED[role]
            says, otherwise = "fails to reproduce the attractor", NOT_COMPARABLE if UNTUNED[role] else WORSE
            found.append(claim("F4", quantity, says, share, condition, share <= 0.5, otherwise=otherwise))
    return found


def _distributions(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    if "rf" not in rows:
        return []
    found = []
    for state in STATES:
        distance, band = rows["rf"][f"ks_{state}"], rows["truth"][f"ks_band_{state}"]
        condition = f"at most {band:.3g}, the 95 % band of truth against truth"
        quantity = f"KS distance of {state}, median over re-tunings"
        found.append(claim("F5", quantity, "fits closely", distance, condition, distance <= band))
    n_retunings = rows["rf"]["n_retunings"]
    return [*found, _stays("F5", rows, "rf"), count("F5", "re-tunings", paper["retunings"], n_retunings)]


def _stays(id: str, rows: Rows, role: str) -> Verdict:
    share = rows[role]["share_stayed"]
    quantity = f"share of {NAMES[role]} that stays on the attractor"
    return claim(id, quantity, "stays for 1000 time units", share, "equal to 1", share == 1)


def _high_noise(low: Rows, high: Rows) -> list[Verdict]:
    compared = [role for role in COMPARED if role in low and role in high]
    found = [_stays("F9", high, role) for role in compared]
    for role in compared:
        small, large = (max(rows[role][f"ks_{state}"] for state in STATES) for rows in (low, high))
        quantity = f"largest KS distance, high over low noise, {NAMES[role]}"
        found.append(claim("F9", quantity, "loses accuracy", large / small, "above 1", large > small))
    return found


def _ranks(rows: Rows, roles: Rows, evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """What the paper says of F10, of the paper's features."""
    if "rf" not in roles:
        return []
    family = family_of(evidence.emulators[evidence.named("rf")])
    run = [entry for entry in evidence.emulators.values() if entry.name in rows and entry.role in ("rf", "by_rank")]
    own = [entry for entry in run if family_of(entry) == family]
    found = _gains(rows, own) + _gains_of_inputs(rows, own)
    ranks = [rows[entry.name] for entry in own]
    return [*found, *_tuning_of_ranks(ranks, roles, paper)] if len(ranks) > 1 else found


def _gains(rows: Rows, entries: Sequence[Listed]) -> list[Verdict]:
    entries = [entry for entry in entries if not is_separable(entry)]
    first = _mean_error(rows, entries, lambda rank: rank[0] == 1)
    level = _mean_error(rows, entries, lambda rank: rank[0] >= PLATEAU)
    quantity = f"training error, rank 1 over ranks from {PLATEAU}, nonseparable"
    return _large(quantity, "large benefits of rank", first / level)


def _gains_of_inputs(rows: Rows, entries: Sequence[Listed]) -> list[Verdict]:
    entries = [entry for entry in entries if is_separable(entry)]
    low = _mean_error(rows, entries, lambda rank: rank[0] < N_STATES)
    full = _mean_error(rows, entries, lambda rank: rank[0] >= N_STATES)
    quantity = "training error, input ranks 1 and 2 over 3, separable"
    return _large(quantity, "poor unless the input has full rank", low / full)


def _mean_error(rows: Rows, entries: Sequence[Listed], chosen: Callable[[tuple[float, ...]], bool]) -> float:
    """Training error in the mean over emulators of the chosen ranks; NaN where there is none."""
    found = [rows[entry.name]["training_error_mean"] for entry in entries if chosen(rank_of(entry))]
    return float(np.mean(found)) if found else np.nan


def _large(quantity: str, says: str, gain: float) -> list[Verdict]:
    """The claim that a ratio of errors is large, where it is known."""
    return [claim("F10", quantity, says, gain, f"above {LARGE:g}", gain > LARGE)] if np.isfinite(gain) else []


def _tuning_of_ranks(ranks: Sequence[Mapping[str, Any]], roles: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    found = []
    if "gp" in roles:
        best = float(np.nanmin([row["test_error_mean"] for row in ranks])) / roles["gp"]["test_error_mean"]
        quantity = "test error, best rank over the GP's"
        found.append(claim("F10", quantity, "similar to the GP", best, "at most 2", best <= 2))
    seconds = np.array([row["tuning_seconds"] for row in ranks])
    mean, spread = float(seconds.mean()), float(seconds.max() / seconds.min())
    reason, n_retunings = "another machine", min(row["n_retunings"] for row in ranks)
    return [
        *found,
        not_compared("F10", "seconds to tune, mean over ranks", paper["tuning_seconds"], mean, reason, "time"),
        ratio("F10", "seconds to tune, slowest over fastest rank", 1.0, spread, "smaller"),
        count("F10", "re-tunings per rank", paper["retunings_per_rank"], n_retunings),
    ]
