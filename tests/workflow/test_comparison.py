"""What Snakemake compares of a job's parameters."""

from __future__ import annotations

import inspect
from typing import Any

from rftune.workflow.comparison import N_LINES, NOTHING, digests, lines, told

BLOCK = {"kind": "gp", "tuning": {"bounds": [1, 2], "limit": None, "more": {}}}
LINES = [
    "settings.kind: 'gp'",
    "settings.tuning.bounds: [1, 2]",
    "settings.tuning.limit: None",
    "settings.tuning.more: {}",
]


def compared(parameters: dict[str, Any], *wildcards: str) -> list[Any]:
    """The values that Snakemake keeps: a function of output it takes for derived."""
    functions = [one for one in parameters.values() if "output" not in inspect.signature(one).parameters]
    return [value for one in functions if (value := one(wildcards)) is not NOTHING]


def test_that_a_block_has_a_line_per_setting() -> None:
    assert lines("settings", BLOCK) == LINES
    assert lines("settings", {}) == ["settings: {}"]


def test_that_a_job_is_told_the_block_and_snakemake_compares_its_lines() -> None:
    parameters = told(settings=lambda wildcards: {**BLOCK, "kind": wildcards[0]})
    assert parameters["settings"](("rf",), None) == {**BLOCK, "kind": "rf"}
    assert compared(parameters, "rf") == ["settings.kind: 'rf'", *LINES[1:]]
    assert compared(parameters, "gp") == LINES


def test_that_no_setting_is_lost_where_there_are_many() -> None:
    before = {str(place): place for place in range(2 * N_LINES)}
    known = compared(told(settings=lambda wildcards: before), "rf")
    assert len(known) == N_LINES
    for place in before:
        changed = compared(told(settings=lambda wildcards, place=place: {**before, place: "new"}), "rf")
        assert sum(one != other for one, other in zip(known, changed, strict=True)) == 1


def test_that_a_constant_is_compared_by_digests_of_its_parts() -> None:
    parameters = told(results={"stored": ["a"] * 1000, "text": "{braces}"}, seeds=[1, 2])
    assert parameters["results"]((), None)["stored"] == ["a"] * 1000
    found = compared(parameters)
    assert [line.partition(":")[0] for line in found] == ["results.stored", "results.text", "seeds"]
    assert max(map(len, found)) < 40
    assert digests("seeds", [1, 2]) != digests("seeds", [2, 1])
