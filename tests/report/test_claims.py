"""The paper's sentences: which there are, how they are decided, and what is said where they are not."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rftune.experiments.base import experiments
from rftune.report import claims
from rftune.report.claims import FAILS, HOLDS, UNDECIDED, Claim, Finding
from rftune.report.verdicts import Curves, Evidence

NOTHING = Evidence({})
ALL = [
    claim
    for one in experiments().values()
    if (module := one.module("claims")) is not None
    for claim in import_module(module).CLAIMS
]


def made(section: str, found: Finding | None, says: str = "so it is") -> Claim:
    return Claim(section, "F1", says, "a number", lambda evidence: found, because="see there")


def test_that_some_sixty_sentences_are_checked_each_once() -> None:
    assert len(ALL) >= 50
    assert len({(claim.section, claim.says) for claim in ALL}) == len(ALL)
    artifacts = {artifact.id for one in experiments().values() for artifact in one.artifacts}
    assert {claim.artifact for claim in ALL} <= artifacts


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: f"{claim.section}, {claim.artifact}")
def test_that_a_run_that_makes_nothing_decides_nothing(claim: Claim) -> None:
    (line,) = claims.judged([claim], NOTHING)
    assert line["verdict"] == UNDECIDED
    assert line["ours"] == "this run does not make what decides it"


def test_that_a_claim_holds_or_not_and_only_then_is_explained() -> None:
    lines = claims.judged([made("4", Finding("2", True)), made("4", Finding("3", False)), made("4", None)], NOTHING)
    assert [line["verdict"] for line in lines] == [HOLDS, FAILS, UNDECIDED]
    assert [line["because"] for line in lines] == ["", "see there", ""]


def test_that_claims_stand_in_the_papers_order() -> None:
    sections = ["A.3.1", "4.2", "abstract", "4.10", "A", "A.3", "1.1", "5.1"]
    frame = claims.to_frame(claims.judged([made(section, None, section) for section in sections], NOTHING))
    assert list(frame["section"]) == ["abstract", "1.1", "4.2", "4.10", "5.1", "A", "A.3", "A.3.1"]


def test_that_no_claim_is_a_table_with_its_columns(tmp_path: Path) -> None:
    claims.to_frame([]).to_csv(tmp_path / "claims.csv", index=False)
    assert "verdict" in pd.read_csv(tmp_path / "claims.csv")


def test_that_stagnation_is_read_off_the_curves() -> None:
    curve = np.concatenate([np.linspace(1.0, 0.1, 9), np.full(12, 0.1)])
    evidence = Evidence({}, curves={"F7": Curves(np.stack([curve, curve]))})
    assert claims.stagnates_near("F7", 8)(evidence) == Finding("at 8.0; last over first value 0.1", True)
    assert claims.stagnates_near("F7", 12)(evidence).holds is False


def test_that_ranks_correlate_whatever_the_numbers() -> None:
    assert claims.rank_correlation([1.0, 2.0, 30.0], [0.1, 0.2, 0.21]) == pytest.approx(1.0)
    assert claims.rank_correlation([1.0, 2.0, 30.0], [3.0, 2.0, 1.0]) == pytest.approx(-1.0)
    assert claims.rank_correlation([1.0, 2.0, 3.0], [2.0, 1.0, 3.0]) == pytest.approx(0.5)
