"""F4, F5, F8, F9, F10: the paper's numbers and claims beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from rftune.experiments.lorenz63.tables import STATES
from rftune.verdicts import (
    NOT_COMPARABLE,
    Evidence,
    Verdict,
    claim,
    convergence,
    count,
    directed,
    not_compared,
    ratio,
)

MAIN = "nonseparable_4"
NAMES = {"gp": "GP", MAIN: "RF"}
PLATEAU = 4  # the rank from which the paper's errors are level


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made, from all of config/paper_values.yaml."""
    table = evidence.tables.get("lorenz63_integrators")
    found: list[Verdict] = []
    if table is not None:
        root = table[table["seed"] == table["seed"].iloc[0]]
        cases = list(root["case"].unique())
        low = root[root["case"] == cases[0]].set_index("emulator")
        found += _low_noise(low, paper["lorenz"])
        if len(cases) > 1:
            high = root[root["case"] == cases[-1]].set_index("emulator")
            found += _high_noise(low, high)
        found += _ranks(low, paper["lorenz"])
    if "F8" in evidence.curves:
        n = paper["convergence"]["restarts"]
        found += convergence("F8", paper["convergence"], evidence.curves["F8"][:n])
    return found


def _low_noise(rows: pd.DataFrame, paper: Mapping[str, Any]) -> list[Verdict]:
    found = []
    for emulator, name in NAMES.items():
        row = rows.loc[emulator]
        found.append(
            directed(
                "F4",
                f"forecast skill in time units, {name}",
                paper["forecast_skill_time_units"],
                float(row["horizon_mean"]),
                "larger",
                float(row["horizon_standard_error"]),
                tolerance=0.5,
            )
        )
    found += [_stays("F4", rows, emulator) for emulator in NAMES]
    untuned = float(rows.loc["untuned", "share_stayed"])
    condition = "share that stays at most one half; not comparable above, because our prior mean is another"
    quantity = "share of untuned RF that stays on the attractor"
    says = "fails to reproduce the attractor"
    found.append(claim("F4", quantity, says, untuned, condition, untuned <= 0.5, otherwise=NOT_COMPARABLE))
    for state in STATES:
        distance, band = float(rows.loc[MAIN, f"ks_{state}"]), float(rows.loc["truth", f"ks_band_{state}"])
        condition = f"at most {band:.3g}, the 95 % band of truth against truth"
        quantity = f"KS distance of {state}, median over re-tunings"
        found.append(claim("F5", quantity, "fits closely", distance, condition, distance <= band))
    found.append(_stays("F5", rows, MAIN))
    return [*found, count("F5", "re-tunings", paper["retunings"], float(rows.loc[MAIN, "n_retunings"]))]


def _stays(id: str, rows: pd.DataFrame, emulator: str) -> Verdict:
    share = float(rows.loc[emulator, "share_stayed"])
    quantity = f"share of {NAMES[emulator]} that stays on the attractor"
    return claim(id, quantity, "stays for 1000 time units", share, "equal to 1", share == 1)


def _high_noise(low: pd.DataFrame, high: pd.DataFrame) -> list[Verdict]:
    found = [_stays("F9", high, emulator) for emulator in NAMES]
    for emulator, name in NAMES.items():
        distances = [float(rows.loc[emulator, [f"ks_{s}" for s in STATES]].max()) for rows in (low, high)]
        growth = distances[1] / distances[0]
        quantity = f"largest KS distance, high over low noise, {name}"
        found.append(claim("F9", quantity, "loses accuracy", growth, "above 1", growth > 1))
    return found


def _ranks(rows: pd.DataFrame, paper: Mapping[str, Any]) -> list[Verdict]:
    """What F10 shows, for our structure and for the paper's covariance, where the ranks are run."""
    errors, found = rows["training_error_mean"], []
    for structure in ("nonseparable", "perturbation"):
        ranks = [r for r in range(PLATEAU, 10) if f"{structure}_{r}" in rows.index]
        if ranks and f"{structure}_1" in rows.index:
            gain = float(errors[f"{structure}_1"] / errors[[f"{structure}_{r}" for r in ranks]].mean())
            quantity = f"training error, rank 1 over ranks from {PLATEAU}, {structure}"
            found.append(claim("F10", quantity, "large benefits of rank", gain, "above 1.5", gain > 1.5))
    full, poor = ([f"separable_{i}_{o}" for i in inputs for o in (1, 2, 3)] for inputs in ((3,), (1, 2)))
    if {*full, *poor} <= set(rows.index):
        loss = float(errors[poor].mean() / errors[full].mean())
        quantity = "training error, input ranks 1 and 2 over 3, separable"
        found.append(claim("F10", quantity, "poor unless the input has full rank", loss, "above 1.5", loss > 1.5))
    ours = [name for name in rows.index if name.startswith(("nonseparable", "separable"))]
    if len(ours) < 2:
        return found
    best = float(rows.loc[ours, "test_error_mean"].min() / rows.loc["gp", "test_error_mean"])
    condition = "at most 2"
    found.append(claim("F10", "test error, best rank over the GP's", "similar to the GP", best, condition, best <= 2))
    seconds = rows.loc[ours, "tuning_seconds"]
    reason = "seconds of another machine"
    mean = float(seconds.mean())
    found += [
        not_compared("F10", "seconds to tune, mean over ranks", paper["tuning_seconds"], mean, reason, "time"),
        ratio("F10", "seconds to tune, slowest over fastest rank", 1.0, float(seconds.max() / seconds.min()), "smaller"),
        count("F10", "re-tunings per rank", paper["retunings_per_rank"], float(rows.loc[ours, "n_retunings"].min())),
    ]
    return found
