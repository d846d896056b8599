"""The paper's numbers of every experiment, named from tables: the committed ones, and small ones made here."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from rftune.emulators.listed import Listed
from rftune.experiments.base import experiments
from rftune.experiments.complexity import measurement
from rftune.experiments.complexity.figures import draw_costs
from rftune.experiments.complexity.settings import ComplexitySettings, Sizes, VariedSizes
from rftune.experiments.complexity.tables import exponents_table, slope
from rftune.experiments.edmf import verdicts as verdicts_of_edmf
from rftune.experiments.results import Results
from rftune.report import claims
from rftune.report.verdicts import Curves, Evidence, Verdict, convergence

ROOT = Path(__file__).resolve().parents[2]
PAPER = yaml.safe_load((ROOT / "config/paper_values.yaml").read_text(encoding="utf-8"))
TABLES = ROOT / "results/paper/tables"


# The emulators that are looked for, by role.
ROLES = {
    "ishigami": {"gp": "gp", "rf": "lowrank", "rf_untuned": "untuned"},
    "sobol_g": {
        **{"gp": "gp", "gp_sklearn": "gp_sklearn", "rf": "lowrank", "rf_untuned": "untuned"},
        **{"rf_serial": "rf_serial", "rf_parallel": "rf_parallel"},
    },
    "lorenz63": {"gp": "gp", "rf": "nonseparable_4", "rf_untuned": "untuned", "rf_untuned_printed": "untuned_printed"},
    "edmf": {
        **{"gp": "gp", "rf_untuned": "untuned"},
        **{"rf_separable_5_1": "separable_5_1", "rf_nonseparable_1": "nonseparable_1"},
    },
    "complexity": {},
}


def listed(name: str, role: str) -> Listed:
    """An emulator, lowrank of rank 4 where it is one of random features."""
    features = {"family": {"name": "lowrank"}, "rank": 4, "separable": False}
    tuning = None if role == "rf_untuned" else {"n_features": 100}
    settings = {"kind": "gp"} if "gp" in role else {"kind": "random_features", "features": features, "tuning": tuning}
    return Listed(name, name, role, settings)


def compared(experiment: str, tables: dict[str, pd.DataFrame], *absent: str) -> list[Verdict]:
    """Verdicts of an experiment, in which emulators of some roles are not run."""
    emulators = {name: listed(name, role) for role, name in ROLES[experiment].items() if role not in absent}
    module = import_module(f"rftune.experiments.{experiment}.verdicts")
    found: list[Verdict] = module.compare(Evidence(tables, emulators), PAPER)
    return found


def committed(*names: str) -> dict[str, pd.DataFrame]:
    return {name: pd.read_csv(TABLES / f"{name}.csv") for name in names}


@pytest.mark.parametrize("experiment", experiments())
def test_that_nothing_is_said_of_what_is_not_there(experiment: str) -> None:
    assert compared(experiment, {}) == []


@pytest.mark.parametrize(("experiment", "roles"), ROLES.items())
def test_that_an_emulator_that_is_not_run_is_left_out(experiment: str, roles: dict[str, str]) -> None:
    tables = committed(
        *(one.id for one in experiments()[experiment].artifacts if one.table and one.id != "ishigami_choices")
    )
    whole = compared(experiment, tables)
    shown = {
        role: name
        for role, name in roles.items()
        if any(table.isin([name]).any(axis=None) for table in tables.values())
    }
    for role, name in shown.items():
        fewer = {key: table[~table.isin([name]).any(axis=1)] for key, table in tables.items()}
        found = compared(experiment, fewer, role)
        assert len(found) < len(whole) or role.startswith("rf_untuned")  # whose errors are no printed numbers
        left_out = ("T6", f"all numbers, {verdicts_of_edmf.NAMES.get(role)}")  # which says so
        assert {(line.id, line.quantity) for line in found} - {left_out} <= {(line.id, line.quantity) for line in whole}


def test_that_every_number_of_t2_is_named() -> None:
    found = [line for line in compared("ishigami", committed("T2")) if line.id == "T2"]
    printed = [PAPER["T2"][row][i] for row in ("analytic", "empirical", "gp", "rf", "rf_std") for i in range(6)]
    assert [line.paper for line in found] == [*printed, PAPER["T2"]["retunings"]]
    assert all(line.verdict == "agreed" for line in found[:6]), "the analytic values are the same formula"


def test_that_one_seed_has_only_the_error_of_re_tunings() -> None:
    table = committed("T2")["T2"]
    alone = table[table["seed"].astype(str) == str(table["seed"].iloc[0])]
    several, one = ({line.quantity: line for line in compared("ishigami", {"T2": rows})} for rows in (table, alone))
    assert one["V1, RF"].standard_error < several["V2, RF"].standard_error
    assert np.isnan(one["V1, GP"].standard_error)


def test_that_every_number_of_t3_and_t4_is_named() -> None:
    found = compared("sobol_g", committed("T3", "T4", "sobol_g_accuracy"))
    assert Counter(line.id for line in found)["F2"] == 5  # objective in four dimensions, re-tunings
    times = [line.paper for line in found if line.id == "T3" and " over " not in line.quantity]
    gp, rf = PAPER["T3"]["gp"], [PAPER["T3"][name] for name in ("rf_serial", "rf_8_threads")]
    printed = [gp, gp[:3], *rf]  # the fast GP; scikit-learn's, which is not run at d = 20
    assert times == [f"> {PAPER['T3']['gp_stopped_after']}" if n is None else n for row in printed for n in row]
    errors = {line.paper for line in found if line.id == "T4"}
    assert {*PAPER["T4"]["training_error"], *PAPER["T4"]["test_error"], *PAPER["T4"]["gp"].values()} <= errors
    assert {line.kind for line in found if line.id == "T3"} == {"time"}


def edmf_tables() -> dict[str, pd.DataFrame]:
    emulators = {"constant": 1.0, "gp": 1.0, "untuned": 1.2, "separable_5_1": 1.1, "nonseparable_1": 0.8}
    rows = [
        {
            **{"case": "surrogate", "seed": 1, "emulator": name, "tuning_seconds": 10.0, "likelihood_ms": 2.0},
            **{f"{kind}_error_mean": 5.0 * size for kind in ("training", "test")},
            **{f"{kind}_error_standard_error": 0.1 for kind in ("training", "test")},
            **{"posterior_distance_mean": 0.2, "printed_posterior_distance_mean": 0.2, "covered": 1.0},
            **{"n_retunings": 3, "n_failed": 0, "n_converged": 3, "printed_n_converged": 3},
            **{"acceptance": 0.24, "burn_in": 40000.0},
        }
        for name, size in emulators.items()
    ]
    priors = [
        {"parameter": name, "lower": entry["bounds"][0], "upper": entry["bounds"][1], "prior_mean": entry["prior_mean"]}
        for name, entry in PAPER["T5"].items()
    ]
    rows.append({"case": "surrogate", "seed": 1, "emulator": "simulator", "n_converged": 1})
    return {"T5": pd.DataFrame(priors), "T6": pd.DataFrame(rows)}


def test_that_every_number_of_t5_and_t6_is_named() -> None:
    found = compared("edmf", edmf_tables())
    found += convergence("F11", PAPER["convergence"], Curves(np.exp(-np.arange(21.0))[None]))
    assert all(line.verdict == "agreed" for line in found if line.id == "T5")
    assert sum(line.id == "T5" for line in found) == 15
    named = [line for line in found if line.id == "T6" and line.rule.startswith("not compared")]
    rows = [PAPER["T6"][name] for name in ("gp", "rf_untuned", "rf_separable_5_1", "rf_nonseparable_1")]
    np.testing.assert_equal([line.paper for line in named], [np.nan if n is None else n for row in rows for n in row])
    of_restarts = {line.id: line.verdict for line in found if line.rule.startswith("at least as many")}
    assert of_restarts == {"T6": "worse", "F11": "worse"}
    chains = {line.quantity: (line.paper, line.verdict) for line in found if line.quantity.startswith("Markov chain")}
    assert chains["Markov chain, acceptance rate, GP"] == (0.25, "agreed")
    assert chains["Markov chain, burn-in, GP over RF"] == (4, "not comparable")
    assert {200000, 500000} < {number for number, _ in chains.values()}


def findings(experiment: str, tables: dict[str, pd.DataFrame]) -> dict[tuple[str, str], tuple[str, str]]:
    """What is found of every sentence of the paper, by artifact and the sentence's beginning."""
    emulators = {name: listed(name, role) for role, name in ROLES[experiment].items()}
    sentences = import_module(f"rftune.experiments.{experiment}.claims").CLAIMS
    lines = claims.judged(sentences, Evidence(tables, emulators))
    return {(line["artifact"], line["says"].partition(" ")[0]): (line["ours"], line["verdict"]) for line in lines}


@pytest.mark.parametrize(("experiment", "roles"), ROLES.items())
def test_that_a_sentence_whose_evidence_is_missing_is_not_decided(experiment: str, roles: dict[str, str]) -> None:
    """Every table and every emulator is left out in turn, as a config may; nothing fails and nothing is NaN."""
    tables = committed(
        *(one.id for one in experiments()[experiment].artifacts if one.table and one.id != "ishigami_choices")
    )
    whole = findings(experiment, tables)
    for name in tables:
        fewer = findings(experiment, {key: table for key, table in tables.items() if key != name})
        assert sum(verdict == "not decided" for _, verdict in fewer.values()) > 0
    for emulator in roles.values():
        left = {key: table[~table.isin([emulator]).any(axis=1)] for key, table in tables.items()}
        for place, (text, verdict) in findings(experiment, left).items():
            assert verdict in (whole[place][1], "not decided") or text != whole[place][0]
            assert verdict == "not decided" or not re.search(r"\bnan\b", text)


def test_that_posteriors_are_judged_only_where_the_chains_converged() -> None:
    tables = edmf_tables()
    assert findings("edmf", tables)["F6", "Reasonable"][1] == "holds"
    text, verdict = findings("edmf", tables)["F12", "the"]
    assert verdict == "does not hold"
    assert text.endswith("the paper's likelihood: untuned RF 0.20, nonseparable RF 0.20")
    tables["T6"].loc[tables["T6"]["emulator"] == "gp", "printed_n_converged"] = 2
    assert findings("edmf", tables)["F6", "Reasonable"] == ("a chain has not converged", "not decided")
    assert findings("edmf", tables)["F12", "the"][1] == "does not hold", "the GP has no part in it"
    tables["T6"].loc[tables["T6"]["emulator"] == "simulator", "n_converged"] = 0
    assert findings("edmf", tables)["F12", "the"] == ("a chain has not converged", "not decided")


def test_that_lorenz_numbers_and_sentences_are_read_off_the_table() -> None:
    common = {"seed": 1, "n_retunings": 30, "horizon_standard_error": 0.05, "tuning_seconds": 3.0, "share_stayed": 1.0}
    common |= {"share_within_band": 1.0, "horizon_mean": 3.9, "training_error_mean": 0.002, "test_error_mean": 0.002}
    common |= {f"ks_band_{state}": 0.04 for state in "xyz"}
    rows = [
        {"case": case, "emulator": name, **{f"ks_{state}": distance for state in "xyz"}, **common}
        for case, distance in (("noise0.0001", 0.02), ("noise0.01", 0.08))
        for name in ("truth", "gp", "untuned", "nonseparable_4", "untuned_printed")
    ]
    tables = {"lorenz63_integrators": pd.DataFrame(rows)}
    numbers = {(line.id, line.quantity): line for line in compared("lorenz63", tables)}
    assert numbers["F4", "forecast skill in time units, RF"].verdict == "agreed"
    assert not [key for key in numbers if key[0] == "F10"], "no ranks were run"
    said = findings("lorenz63", tables)
    assert said["F5", "the"] == ("largest KS distance GP 0.020, RF 0.020; band up to 0.040", "holds")
    assert said["F9", "However,"] == ("largest KS distance over that at low noise: GP 4.0, RF 4.0", "holds")
    assert said["F4", "Without"][1] == "does not hold", "the untuned RF stays"
    assert said["F10", "the"][1] == "not decided"


def test_that_a_slope_is_the_exponent_of_a_power_law() -> None:
    size = np.array([10.0, 20.0, 40.0, 80.0])
    assert slope(np.log(size), np.log(3.0 * size**2.5)) == pytest.approx((2.5, 0.0))
    assert np.isnan(slope(np.log(size[:2]), np.log(size[:2]))[1])


def test_that_measured_space_has_the_papers_exponents() -> None:
    """Bytes are counted, so their exponents are sharp; times at these sizes are noise, and only to be positive."""
    settings = ComplexitySettings(
        n_inputs=2,
        n_points=3,
        repeats=1,
        base=Sizes(n_train=60, n_features=200, n_outputs=2),
        sizes=VariedSizes(n_train=(40, 80, 160), n_features=(100, 200, 400), n_outputs=(1, 2, 4)),
    )
    measured = measurement.measure(settings, np.random.default_rng(0))
    assert (measured["cost"] > 0).all()
    results = Results(tables={"measured": measured}, paper=PAPER, artifact="T1")
    table = exponents_table(results)
    assert len(table) == (2 + 3) * len(measurement.OPERATIONS)
    space = table[table["operation"] == "space"]
    np.testing.assert_allclose(space["exponent"], space["paper_exponent"], atol=0.1)
    found = compared("complexity", {"T1": table})
    assert len(found) == sum(len(entry) for method in PAPER["T1"].values() for entry in method.values())
    assert {line.kind for line in found if "space" in line.quantity} == {"value"}
    panels = draw_costs(replace(results, tables={"measured": measured, "T1": table})).axes
    assert [len(axis.texts) for axis in panels] == [2, 1, 2] * 4, "GPR has no features"
    assert "RFR 0.00 (paper 0)" in [text.get_text() for text in panels[0].texts]


def test_that_the_measured_models_are_right() -> None:
    """The dense GP and the RFR predict with the covariances of their textbook formulas."""
    sizes = Sizes(n_train=5, n_features=40, n_outputs=2)
    varied = VariedSizes(n_train=(5, 6), n_features=(40, 50), n_outputs=(2, 3))
    settings = ComplexitySettings(n_inputs=2, n_points=3, repeats=1, base=sizes, sizes=varied)
    for make in measurement.MODELS.values():
        model = make(settings, settings.base, np.random.default_rng(1))
        covariance = model.operations["covariance"]()
        blocks = getattr(covariance, "covariance", covariance)
        assert blocks.shape == (3, 2, 2)
        assert (np.linalg.eigvalsh(blocks) > -1e-12).all()
        assert model.operations["mean"]().shape == (3, 2)
