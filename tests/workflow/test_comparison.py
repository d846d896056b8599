"""What Snakemake compares of a job's parameters."""

from __future__ import annotations

import inspect
from typing import Any

from conftest import ROOT

from rftune.workflow import config
from rftune.workflow.comparison import MOST, N_LINES, NOTHING, digests, lines, told
from rftune.workflow.plan import Plan

BLOCK = {"kind": "gp", "tuning": {"bounds": [1, 2], "limit": None, "more": {}}}
LINES = ["settings: kind='gp'", "settings.tuning: bounds=[1, 2], limit=None, more={}"]


def compared(parameters: dict[str, Any], *wildcards: str) -> list[Any]:
    """The values that Snakemake keeps: a function of output it takes for derived."""
    functions = [one for one in parameters.values() if "output" not in inspect.signature(one).parameters]
    return [value for one in functions if (value := one(wildcards)) is not NOTHING]


def test_that_every_block_has_lines_of_a_few_settings() -> None:
    assert lines("settings", BLOCK) == LINES
    assert lines("settings", {}) == ["settings: nothing"]
    assert lines("settings", {"tuning": {"limit": 1}}) == ["settings.tuning: limit=1"]
    many = lines("settings", {str(place): place for place in range(MOST + 1)})
    assert many == ["settings: 0=0, 1=1, 2=2, 3=3, 4=4", "settings: 5=5"]


def test_that_a_job_is_told_the_block_and_snakemake_compares_its_lines() -> None:
    parameters = told(settings=lambda wildcards: {**BLOCK, "kind": wildcards[0]})
    assert parameters["settings"](("rf",), None) == {**BLOCK, "kind": "rf"}
    assert compared(parameters, "rf") == ["settings: kind='rf'", *LINES[1:]]
    assert compared(parameters, "gp") == LINES


def test_that_no_setting_is_lost_where_there_are_many_blocks() -> None:
    before = {f"block{place}": {"setting": place} for place in range(2 * N_LINES)}
    known = compared(told(settings=lambda wildcards: before), "rf")
    assert len(known) == N_LINES
    for name in before:
        changed = compared(told(settings=lambda wildcards, name=name: {**before, name: {"setting": "new"}}), "rf")
        assert sum(one != other for one, other in zip(known, changed, strict=True)) == 1


def test_that_every_emulators_blocks_have_lines_of_their_own() -> None:
    plan = Plan(config.read(config.load(ROOT / "config/config.yaml")), ROOT)
    for call in ("tune", "fit"):
        for known in plan.config.emulators.values():
            for emulator in known.values():
                assert len(lines("settings", emulator.read_by(call))) <= N_LINES


def test_that_snakemake_need_not_work_out_what_a_parameter_depends_on() -> None:
    functions = told(settings=lambda wildcards: BLOCK, seeds=[1, 2]).values()
    assert all(one.__signature__ == inspect.signature(one) for one in functions)


def test_that_a_constant_is_compared_by_digests_of_its_parts() -> None:
    parameters = told(results={"stored": ["a"] * 1000, "text": "{braces}"}, seeds=[1, 2])
    assert parameters["results"]((), None)["stored"] == ["a"] * 1000
    found = compared(parameters)
    assert [line.partition(":")[0] for line in found] == ["results.stored", "results.text", "seeds"]
    assert max(map(len, found)) < 40
    assert digests("seeds", [1, 2]) != digests("seeds", [2, 1])
