"""F6, T5, T6: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rftune.report.verdicts import (
    Evidence,
    Rows,
    Verdict,
    count,
    directed,
    explained,
    keyed,
    near_exact,
    not_compared,
    quotient_error,
    ratio,
)

# The paper's rows of T6, which are roles of ours.
NAMES = {
    "gp": "GP",
    "rf_untuned": "untuned RF",
    "rf_separable_5_1": "separable RF",
    "rf_nonseparable_1": "nonseparable RF",
}
SMOOTH = "our simulator is smooth, which suits a GP; errors on the public file are in docs/edmf.md"
COLUMNS = ("tuning_seconds", "training_error_mean", "test_error_mean", "likelihood_ms")  # in the paper's order
QUANTITIES = ("seconds to tune", "training error", "test error", "milliseconds per likelihood")


def compare(evidence: Evidence, paper: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the artifacts of this experiment that were made, from all of config/paper_values.yaml."""
    found: list[Verdict] = []
    if "T5" in evidence.tables:
        found += _priors(keyed(evidence.tables["T5"], "parameter"), paper["T5"])
    if "T6" in evidence.tables:
        every = keyed(evidence.at_root("T6"), "emulator")
        rows = {role: every[evidence.named(role)] for role in NAMES if evidence.named(role) in every}
        found += _emulators(rows, paper["T6"]) + _sampling(rows, paper["EDMF_MCMC"])
        found += [
            not_compared("T6", f"all numbers, {text}", "", "", f"no emulator has the role {role}")
            for role, text in NAMES.items()
            if role not in rows
        ]
    return found


def _priors(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    """The parameters that are both the paper's and ours."""
    found = []
    for parameter, printed in paper.items():
        if parameter not in rows:
            continue
        numbers = {
            "lower": printed["bounds"][0],
            "upper": printed["bounds"][1],
            "prior_mean": printed["prior_mean"],
        }
        for column, number in numbers.items():
            ours = rows[parameter][column]
            quantity = f"{parameter}, {column.replace('_', ' ')}"
            found.append(near_exact("T5", quantity, number, ours, number, rounding=0.005))
    return found


def _emulators(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    """Every number of T6 is named; judged are those relative to the GP, because simulator and machine are others."""
    found: list[Verdict] = []
    for key, row in rows.items():
        for column, quantity, printed in zip(COLUMNS, QUANTITIES, paper[key], strict=True):
            timed = column in ("tuning_seconds", "likelihood_ms")
            reason = "another machine" if timed else "another simulator"
            text = f"{quantity}, {NAMES[key]}"
            found.append(not_compared("T6", text, printed, row[column], reason, "time" if timed else "value"))
    for key, row in rows.items():
        quantity = f"test over training error, {NAMES[key]}"
        ours, theirs = row["test_error_mean"] / row["training_error_mean"], paper[key][2] / paper[key][1]
        found.append(ratio("T6", quantity, theirs, ours, "smaller", kind="value"))
    for key, row in rows.items():
        if key == "gp" or "gp" not in rows:
            continue
        for i, name in ((1, "training_error"), (2, "test_error")):
            top, bottom = row[f"{name}_mean"], rows["gp"][f"{name}_mean"]
            error = quotient_error(top, row[f"{name}_standard_error"], bottom, rows["gp"][f"{name}_standard_error"])
            quantity = f"{QUANTITIES[i]} over the GP's, {NAMES[key]}"
            relative = directed("T6", quantity, paper[key][i] / paper["gp"][i], top / bottom, "smaller", error)
            found.append(explained(relative, SMOOTH))
        ours = rows["gp"]["likelihood_ms"] / row["likelihood_ms"]
        quantity = f"time per likelihood, GP over {NAMES[key]}"
        found.append(ratio("T6", quantity, paper["gp"][3] / paper[key][3], ours, "larger"))
    n_restarts = min((row["n_retunings"] for key, row in rows.items() if key != "gp"), default=float("nan"))
    return [*found, count("T6", "restarts", paper["restarts"], n_restarts)]


def _sampling(rows: Rows, paper: Mapping[str, Any]) -> list[Verdict]:
    """F6: the Markov chains; how long they are is a choice, how well they accept and how fast they forget is not."""
    found = []
    for key, steps in (("gp", "steps_gp"), ("rf_nonseparable_1", "steps_rf")):
        if key in rows:
            quantity = f"Markov chain, acceptance rate, {NAMES[key]}"
            found.append(ratio("F6", quantity, paper["acceptance"], rows[key]["acceptance"], "larger", kind="value"))
            reason = "ours is burn-in alone, its end judged by R-hat"
            found.append(
                not_compared("F6", f"Markov chain, steps, {NAMES[key]}", paper[steps], rows[key]["burn_in"], reason)
            )
    if {"gp", "rf_nonseparable_1"} <= set(rows) and rows["rf_nonseparable_1"]["burn_in"] != 0:
        ours = rows["gp"]["burn_in"] / rows["rf_nonseparable_1"]["burn_in"]
        quantity, reason = "Markov chain, burn-in, GP over RF", "ours has jumps and a least length"
        found.append(not_compared("F6", quantity, paper["burn_in_ratio_gp_rf"], ours, reason))
    return found
