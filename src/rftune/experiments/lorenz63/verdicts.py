"""F4, F5, F8, F9, F10: the paper's numbers and claims beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rftune.experiments.lorenz63.tables import STATES
from rftune.report.verdicts import (
    NOT_COMPARABLE,
    Evidence,
    Rows,
    Verdict,
    claim,
    convergence,
    count,
    directed,
    keyed,
    not_compared,
    ratio,
)

MAIN = "nonseparable_4"
NAMES = {"gp": "GP", MAIN: "RF"}
PLATEAU = 4  # the rank from which the paper's errors are level
LARGE = 1.5  # a ratio of errors that one sees in F10


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made, from all of config/paper_values.yaml."""
    found: list[Verdict] = []
    if "lorenz63_integrators" in evidence.tables:
        table = evidence.tables["lorenz63_integrators"]
        root = table[table["seed"] == table["seed"].iloc[0]]
        cases = {case: keyed(rows, "emulator") for case, rows in root.groupby("case", sort=False)}
        low, *others = cases.values()
        found += _integrators(low, paper["lorenz"]) + _distributions(low, paper["lorenz"])
        if others:
            found += _high_noise(low, others[-1])
        found += _ranks(low) + _tuning_of_ranks(low, paper["lorenz"])
    if "F8" in evidence.curves:
        shown = evidence.curves["F8"][: paper["convergence"]["restarts"]]
        found += convergence("F8", paper["convergence"], shown)
    return found


def _integrators(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    found = []
    for emulator, name in NAMES.items():
        row, quantity = rows[emulator], f"forecast skill in time units, {name}"
        error = row["horizon_standard_error"]
        theirs, ours = paper["forecast_skill_time_units"], row["horizon_mean"]
        found.append(directed("F4", quantity, theirs, ours, "larger", error, tolerance=0.5))
    found += [_stays("F4", rows, emulator) for emulator in NAMES]
    share = rows["untuned"]["share_stayed"]
    quantity, says = "share of untuned RF that stays on the attractor", "fails to reproduce the attractor"
    condition = "at most one half; not comparable above, because our prior mean is another"
    return [*found, claim("F4", quantity, says, share, condition, share <= 0.5, otherwise=NOT_COMPARABLE)]


def _distributions(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    found = []
    for state in STATES:
        distance, band = rows[MAIN][f"ks_{state}"], rows["truth"][f"ks_band_{state}"]
        condition = f"at most {band:.3g}, the 95 % band of truth against truth"
        quantity = f"KS distance of {state}, median over re-tunings"
        found.append(claim("F5", quantity, "fits closely", distance, condition, distance <= band))
    n_retunings = rows[MAIN]["n_retunings"]
    return [*found, _stays("F5", rows, MAIN), count("F5", "re-tunings", paper["retunings"], n_retunings)]


def _stays(id: str, rows: Rows, emulator: str) -> Verdict:
    share = rows[emulator]["share_stayed"]
    quantity = f"share of {NAMES[emulator]} that stays on the attractor"
    return claim(id, quantity, "stays for 1000 time units", share, "equal to 1", share == 1)


def _high_noise(low: Rows, high: Rows) -> list[Verdict]:
    found = [_stays("F9", high, emulator) for emulator in NAMES]
    for emulator, name in NAMES.items():
        small, large = (max(rows[emulator][f"ks_{state}"] for state in STATES) for rows in (low, high))
        quantity = f"largest KS distance, high over low noise, {name}"
        found.append(claim("F9", quantity, "loses accuracy", large / small, "above 1", large > small))
    return found


def _ranks(rows: Rows) -> list[Verdict]:
    """What the paper says of F10, for our structure and for its own covariance, where the ranks are run."""

    def mean_error(*emulators: str) -> float:
        found = [rows[name]["training_error_mean"] for name in emulators if name in rows]
        return float(np.mean(found)) if found else np.nan

    found = []
    for structure in ("nonseparable", "perturbation"):
        high = mean_error(*(f"{structure}_{rank}" for rank in range(PLATEAU, 10)))
        gain = mean_error(f"{structure}_1") / high
        quantity = f"training error, rank 1 over ranks from {PLATEAU}, {structure}"
        found.append(claim("F10", quantity, "large benefits of rank", gain, f"above {LARGE:g}", gain > LARGE))
    low, full = (mean_error(*(f"separable_{i}_{o}" for i in inputs for o in (1, 2, 3))) for inputs in ((1, 2), (3,)))
    quantity, says = "training error, input ranks 1 and 2 over 3, separable", "poor unless the input has full rank"
    found.append(claim("F10", quantity, says, low / full, f"above {LARGE:g}", low / full > LARGE))
    return [verdict for verdict in found if np.isfinite(float(verdict.ours))]


def _tuning_of_ranks(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    ranks = [row for name, row in rows.items() if name.startswith(("nonseparable", "separable"))]
    if len(ranks) < 2:
        return []
    best = float(np.nanmin([row["test_error_mean"] for row in ranks])) / rows["gp"]["test_error_mean"]
    seconds = np.array([row["tuning_seconds"] for row in ranks])
    mean, spread = float(seconds.mean()), float(seconds.max() / seconds.min())
    reason, n_retunings = "another machine", min(row["n_retunings"] for row in ranks)
    return [
        claim("F10", "test error, best rank over the GP's", "similar to the GP", best, "at most 2", best <= 2),
        not_compared("F10", "seconds to tune, mean over ranks", paper["tuning_seconds"], mean, reason, "time"),
        ratio("F10", "seconds to tune, slowest over fastest rank", 1.0, spread, "smaller"),
        count("F10", "re-tunings per rank", paper["retunings_per_rank"], n_retunings),
    ]
