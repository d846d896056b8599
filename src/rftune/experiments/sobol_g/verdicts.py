"""F2, T3, T4: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rftune.experiments.sobol_g import TIMED
from rftune.experiments.sobol_g.tables import printed_by_features
from rftune.report.verdicts import (
    Evidence,
    Rows,
    Verdict,
    bound,
    count,
    directed,
    explained,
    keyed,
    not_compared,
    quotient_error,
    ratio,
)

# By role.
NAMES = {
    "gp": "GP, fast",
    "gp_sklearn": "GP, scikit-learn, one start",
    "gp_sklearn_restarts": "GP, scikit-learn, ten restarts",
    "rf_serial": "RF serial",
    "rf_parallel": "RF parallel",
}
# Why a GP's times are named beside the paper's and not judged; its own was scikit-learn's with restarts.
OTHERS = {
    "gp": "another algorithm, with an analytic gradient",
    "gp_sklearn": "one start; the public code has ten restarts",
}
ERRORS = {"training_error": "training error", "test_error": "test error"}
GP = np.inf  # its number of features in T4
OTHER_MACHINE = "another machine"
FASTER = "our GP's cost per evaluation is lower: the table names its algorithm and restarts"
OTHER_DATA = "other noise and test set"


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made, from all of config/paper_values.yaml."""
    found: list[Verdict] = []
    if "sobol_g_accuracy" in evidence.tables:
        root = keyed(evidence.at_root("sobol_g_accuracy"), "emulator", "dimension")
        found += _retunings(_of(root, evidence.named("rf")), paper)
    if "T3" in evidence.tables:
        rows = keyed(evidence.tables["T3"], "emulator", "dimension")
        by_role = {role: _of(rows, evidence.named(role)) for role in TIMED}
        found += _seconds(by_role, paper["T3"])
        for gp in ("gp_sklearn_restarts", "gp_sklearn", "gp"):
            found += _speed(gp, by_role[gp], paper["T3"])
    if "T4" in evidence.tables:
        table = evidence.tables["T4"]
        beside = table["emulator"] == evidence.named("gp_sklearn_restarts")  # what the RFs are compared with is our GP
        found += _features(keyed(table[~beside], "n_features"), paper["T4"])
    return found


def _of(rows: Rows, emulator: str) -> Rows:
    """Rows of an emulator by dimension."""
    return {d: row for (name, d), row in rows.items() if name == emulator}


def _retunings(tuned: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    """What the paper says of F2 in numbers: where the objective ends, and how many re-tunings there are."""
    if not tuned:
        return []
    limit, found = paper["convergence"]["sobol_g_normalised_objective"], []
    for d, row in tuned.items():
        falls = bound("F2", f"objective, last over first, d = {d}", limit, row["objective_ratio"], "<", "value")
        found.append(explained(falls, "the ratio says how bad the start is and how large Γ: see ishigami_choices"))
    n_retunings = min(row["n_retunings"] for row in tuned.values())
    return [*found, count("F2", "re-tunings", paper["F2"]["retunings"], n_retunings)]


def _seconds(by_role: Mapping[str, Rows], paper: Mapping[str, Any]) -> list[Verdict]:
    """All seconds of the table, named and not judged."""
    found = []
    for role, column in TIMED.items():
        for d, printed in zip(paper["dimensions"], paper[column], strict=True):
            if d in by_role[role]:
                row = by_role[role][d]
                ours = row["seconds_mean"] if row["finished"] else f"> {row['seconds_mean']:.4g}"
                theirs = f"> {paper['gp_stopped_after']}" if printed is None else printed
                quantity = f"seconds, {NAMES[role]}, d = {d}"
                found.append(not_compared("T3", quantity, theirs, ours, OTHER_MACHINE, "time"))
    return found


def _speed(gp: str, rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    """Seconds of a GP over those of serial RF in the same run, and where the RF begins to be faster."""
    found: list[Verdict] = []
    for d, printed, serial in zip(paper["dimensions"], paper["gp"], paper["rf_serial"], strict=True):
        if d not in rows:
            continue
        quantity, ours = f"seconds, {NAMES[gp]} over RF serial, d = {d}", rows[d]["times_rf_serial"]
        stopped = not rows[d]["finished"]
        limit = (paper["gp_stopped_after"] if printed is None else printed) / serial
        if gp in OTHERS:
            theirs = limit if printed is not None else f"> {limit:.4g}"
            found.append(not_compared("T3", quantity, theirs, f"> {ours:.4g}" if stopped else ours, OTHERS[gp], "time"))
        elif printed is None or stopped:
            found.append(bound("T3", quantity, limit, ours, ">", "time", open_ended=stopped))
        else:
            found.append(explained(ratio("T3", quantity, limit, ours, "larger"), FASTER))
    if rows and gp not in OTHERS:
        first = min((d for d, row in rows.items() if row["times_rf_serial"] > 1), default=np.nan)
        quantity = f"smallest d at which RF serial is faster than {NAMES[gp]}"
        found.append(directed("T3", quantity, paper["rf_faster_from"], first, "smaller", kind="time"))
    return found


def _features(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    """Seconds and errors are named; judged are seconds relative to the fewest features' and errors to the GP's."""
    printed = {m: row for m, row in printed_by_features(paper).items() if m in rows}
    fewest = min(paper["n_features"])
    found: list[Verdict] = []
    for m, row in printed.items():
        found.append(
            not_compared("T4", f"seconds, {_name(m)}", row["seconds"], rows[m]["seconds"], OTHER_MACHINE, "time")
        )
        for key, text in ERRORS.items():
            found.append(not_compared("T4", f"{text}, {_name(m)}", row[key], rows[m][key], OTHER_DATA))
    for m in (m for m in printed if m != GP):
        if GP in printed:
            found += _relative_errors(m, rows, printed)
        if fewest in printed and m != fewest:
            ours, theirs = (of[m]["seconds"] / of[fewest]["seconds"] for of in (rows, printed))
            found.append(ratio("T4", f"seconds over those with {_name(fewest)}, {_name(m)}", theirs, ours, "smaller"))
    return found


def _name(n_features: float) -> str:
    return "GP" if n_features == GP else f"M = {n_features:g}"


def _relative_errors(m: float, rows: Rows, printed: Mapping[float, Mapping[str, float]]) -> list[Verdict]:
    found = []
    for key, text in ERRORS.items():
        ours, gp = rows[m][key], rows[GP][key]
        error = quotient_error(ours, rows[m][f"{key}_std"] / np.sqrt(rows[m]["n_retunings"]), gp)
        theirs = printed[m][key] / printed[GP][key]
        found.append(directed("T4", f"{text} over the GP's, {_name(m)}", theirs, ours / gp, "smaller", error))
    return found
