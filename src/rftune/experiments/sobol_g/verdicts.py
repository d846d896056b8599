"""F2, F3, T3, T4: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rftune.experiments.sobol_g.tables import TIMED
from rftune.verdicts import (
    BETTER,
    Evidence,
    Verdict,
    bound,
    claim,
    count,
    directed,
    not_compared,
    quotient_error,
    ratio,
)

VISIBLE = 0.05  # an error of an index that one sees in F2
OTHER_MACHINE = "seconds of another machine"
OTHER_NOISE = "the paper states no noise variance and another test set"


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made, from all of config/paper_values.yaml."""
    tables = evidence.tables
    found: list[Verdict] = []
    if "sobol_g_accuracy" in tables:
        accuracy = tables["sobol_g_accuracy"]
        root = accuracy[accuracy["seed"] == accuracy["seed"].iloc[0]].set_index(["emulator", "dimension"])
        found += _indices(root, paper) + _slices(root)
    if "T3" in tables:
        found += _times(tables["T3"].set_index(["emulator", "dimension"]), paper["T3"])
    if "T4" in tables:
        found += _features(tables["T4"].set_index("emulator"), paper["T4"])
    return found


def _indices(root: pd.DataFrame, paper: Mapping[str, Any]) -> list[Verdict]:
    tuned = root.loc["lowrank"]
    limit = paper["convergence"]["sobol_g_normalised_objective"]
    found: list[Verdict] = []
    for d, row in tuned.iterrows():
        for name, column in (("V", "first_error"), ("TV", "total_error")):
            error = float(row[column])
            quantity = f"largest error of a {name}ᵢ, d = {d}"
            if name == "TV" and d in paper["F2"]["total_missed_at"]:
                condition = f"above {VISIBLE:g}; better below"
                found.append(
                    claim("F2", quantity, "not captured", error, condition, error > VISIBLE, otherwise=BETTER)
                )
            else:
                condition = f"at most {VISIBLE:g}"
                found.append(claim("F2", quantity, "well captured", error, condition, error <= VISIBLE))
    for d, row in tuned.iterrows():
        ours = float(row["objective_ratio"])
        found.append(bound("F2", f"objective, last over first, d = {d}", limit, ours, "<", "value"))
    return [*found, count("F2", "re-tunings", paper["F2"]["retunings"], float(tuned["n_retunings"].min()))]


def _slices(root: pd.DataFrame) -> list[Verdict]:
    tuned = root.loc["lowrank", "relative_rmse_mean"]
    found: list[Verdict] = []
    if "untuned" in root.index:
        for d, untuned in root.loc["untuned", "relative_rmse_mean"].items():
            share = float(tuned[d] / untuned)
            quantity = f"relative test RMSE, tuned over untuned RF, d = {d}"
            found.append(claim("F3", quantity, "untuned RF performs very poorly", share, "below 1", share < 1))
    if len(tuned) > 1:
        growth = float((tuned.iloc[1:].to_numpy() / tuned.iloc[:-1].to_numpy()).min())
        quantity = "relative test RMSE, smallest growth from one dimension to the next"
        found.append(claim("F3", quantity, "harder as d grows", growth, "above 1", growth > 1, otherwise=BETTER))
    return found


def _times(table: pd.DataFrame, paper: Mapping[str, Any]) -> list[Verdict]:
    names = {"gp": "GP, fast", "gp_sklearn": "GP, scikit-learn", "rf_serial": "RF serial", "rf_parallel": "RF parallel"}
    found: list[Verdict] = []
    for emulator, column in TIMED.items():
        for d, printed in zip(paper["dimensions"], paper[column], strict=True):
            if (emulator, d) in table.index:
                seconds: Any = float(table.loc[(emulator, d), "seconds_mean"])
                shown = seconds if table.loc[(emulator, d), "finished"] else f"> {seconds:.6g}"
                text = f"> {paper['gp_stopped_after']}" if printed is None else printed
                found.append(not_compared("T3", f"seconds, {names[emulator]}, d = {d}", text, shown, OTHER_MACHINE, "time"))
    serial = dict(zip(paper["dimensions"], paper["rf_serial"], strict=True))
    for gp in ("gp_sklearn", "gp"):
        if gp not in table.index:
            continue
        for d, printed in zip(paper["dimensions"], paper["gp"], strict=True):
            if (gp, d) not in table.index:
                continue
            row, quantity = table.loc[(gp, d)], f"seconds, {names[gp]} over RF serial, d = {d}"
            ours = float(row["times_rf_serial"])
            if printed is None:
                limit = paper["gp_stopped_after"] / serial[d]
                found.append(bound("T3", quantity, limit, ours, ">", "time", open_ended=not row["finished"]))
            else:
                found.append(ratio("T3", quantity, printed / serial[d], ours, "larger"))
        faster = table.loc[gp, "times_rf_serial"]
        first = float(faster.index[faster > 1].min()) if (faster > 1).any() else np.nan
        quantity = f"smallest d at which RF serial is faster than {names[gp]}"
        found.append(directed("T3", quantity, paper["rf_faster_from"], first, "smaller", kind="time"))
    return found


def _features(table: pd.DataFrame, paper: Mapping[str, Any]) -> list[Verdict]:
    """Seconds and errors are named; judged are seconds relative to M = 25 and errors relative to the GP's."""
    printed = {f"m{m}": {key: paper[key][i] for key in paper["gp"]} for i, m in enumerate(paper["n_features"])}
    printed["gp"] = paper["gp"]
    known = {name: row for name, row in printed.items() if name in table.index}
    found: list[Verdict] = []
    for name, numbers in known.items():
        label = "GP" if name == "gp" else f"M = {name[1:]}"
        seconds = float(table.loc[name, "seconds"])
        found.append(not_compared("T4", f"seconds, {label}", numbers["seconds"], seconds, OTHER_MACHINE, "time"))
        for key in ("training_error", "test_error"):
            text = f"{key.replace('_', ' ')}, {label}"
            found.append(not_compared("T4", text, numbers[key], float(table.loc[name, key]), OTHER_NOISE))
    for name, numbers in known.items():
        if name == "gp":
            continue
        label, row = f"M = {name[1:]}", table.loc[name]
        if "gp" in known:
            for key in ("training_error", "test_error"):
                gp = float(table.loc["gp", key])
                error = quotient_error(row[key], row[f"{key}_std"] / np.sqrt(row["n_retunings"]), gp)
                quantity = f"{key.replace('_', ' ')} over the GP's, {label}"
                ours = float(row[key]) / gp
                found.append(directed("T4", quantity, numbers[key] / paper["gp"][key], ours, "smaller", error))
        if "m25" in known and name != "m25":
            times = float(row["seconds"] / table.loc["m25", "seconds"])
            paper_times = numbers["seconds"] / printed["m25"]["seconds"]
            found.append(ratio("T4", f"seconds over those with M = 25, {label}", paper_times, times, "smaller"))
    return found
