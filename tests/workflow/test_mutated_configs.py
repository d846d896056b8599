"""Configs and sweeps with something wrong in them: a plan or a sentence for each problem, and nothing is written.

RFTUNE_EXAMPLES sets the number of examples, which are then drawn anew; without it there are the same 100 of each test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import CONFIG, ROOT, Project, states, tiny_config
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from snakemake.utils import Paramspace

from outcomes import counting, within
from rftune.workflow import folders, record, reporting
from rftune.workflow.config import ConfigError, from_command_line, over
from rftune.workflow.entry import enter

N_EXAMPLES = int(os.environ.get("RFTUNE_EXAMPLES", "100"))
LONGEST_LINE = 620  # a problem, and the dash before it
MANY = 3000  # repeats beyond which a plan is made, and not every artifact's part of it

many = settings(
    max_examples=N_EXAMPLES,
    derandomize="RFTUNE_EXAMPLES" not in os.environ,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)


def preset(name: str) -> dict[str, Any]:
    return over(CONFIG, yaml.safe_load((ROOT / f"config/{name}.yaml").read_text(encoding="utf-8")))


CONFIGS = {"paper": CONFIG, "quick": preset("quick"), "full": preset("full"), "tiny": tiny_config()}
SWEEPS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in (ROOT / "config/sweeps").glob("*.yaml")
}

TEXTS = (
    *(
        "",
        " ",
        "$",
        "a$b$",
        "$\\frac{$",
        "{",
        "{x}",
        "a\nb",
        "a\x00b",
        "\u202e",
        "\ud800",
        "é😀",
        "../x",
        "~",
        "/",
        "a/b",
        "a b",
    ),
    *(
        "null",
        "true",
        "nan",
        "1e-1",
        "1e400",
        ".inf",
        "=",
        "*",
        "&a",
        "x" * 300,
        "x" * 5000,
        "*.nc",
        "%d",
        "[",
        "d6",
        "rf",
    ),
    *(
        "gp",
        "ishigami",
        "standard",
        "eki",
        "lowrank",
        "sparse",
        "random_features",
        "separate",
        "all",
        "data",
        "name",
        "kind",
    ),
)
NUMBERS = (
    *(0, 1, -1, 2, 3, 10, 64, 10**4, 10**6, 10**9, 10**12, 2**31, 2**63, 10**30, 10**400, -(10**30)),
    *(0.0, -0.0, 0.5, 1.0, 1e-1, 1e-12, 1e-300, 5e-324, 1e30, 1e300, float("nan"), float("inf"), -float("inf")),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.sampled_from(NUMBERS), st.integers(), st.floats(), st.sampled_from(TEXTS), st.text()
)
keys = st.one_of(st.sampled_from(TEXTS), st.text(max_size=20), st.integers(), st.none(), st.floats(), st.booleans())
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)


def places(block: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all entries, blocks and lists too."""
    entries = block.items() if isinstance(block, Mapping) else enumerate(block) if isinstance(block, list) else ()
    for key, entry in entries:
        yield (*path, key)
        yield from places(entry, (*path, key))


def entry(block: Any, path: Sequence[Any]) -> Any:
    for key in path:
        block = block[key]
    return block


def mutated(draw: Callable[[st.SearchStrategy[Any]], Any], block: dict[str, Any], n_most: int = 3) -> dict[str, Any]:
    """A copy with up to so many entries changed, lost, doubled, renamed, nested or taken from elsewhere."""
    block, loop = deepcopy(block), draw(st.integers(0, 30)) == 0
    for _ in range(draw(st.sampled_from([1, 1, 1, *range(1, n_most + 1)]))):
        known = list(places(block))
        if not known:
            break
        path = draw(st.sampled_from(known))
        within, key, old = entry(block, path[:-1]), path[-1], entry(block, path)
        match draw(st.sampled_from([*["alike"] * 6, "set", "set", "lose", "add", "rename", "nest", "move", "null"])):
            case "alike":
                within[key] = alike(draw, old)
            case "set":
                within[key] = draw(values)
            case "lose":
                del within[key]
            case "add" if isinstance(within, list):
                within.append(draw(st.just(deepcopy(old)) | values))
            case "add":
                within[draw(keys)] = draw(values)
            case "rename" if isinstance(within, dict):
                within[draw(keys)] = within.pop(key)
            case "nest":
                within[key] = draw(st.sampled_from([[old], {"name": old}, {"kind": old}, [old, old]]))
            case "move":
                within[key] = deepcopy(entry(block, draw(st.sampled_from(known))))
            case _:
                within[key] = None
    known = list(places(block))
    if loop and known:  # last, because there would be no end of places
        *path, key = draw(st.sampled_from(known))
        held = draw(st.sampled_from([entry(block, path), [], {}]))
        entry(block, path)[key] = held
        held.append(held) if isinstance(held, list) else held.update({draw(keys): held})
    return block


def alike(draw: Callable[[st.SearchStrategy[Any]], Any], old: Any) -> Any:
    """A value of the same type, which may be a good one."""
    match old:
        case bool():
            return not old
        case int():
            return draw(
                st.sampled_from([old + 1, old - 1, old // 2, 3 * old, 10**3 * old, 10**9 * old, -old, float(old)])
            )
        case float():
            return old * draw(st.sampled_from([0.0, -1.0, 0.5, 1.1, 1e3, 1e9, 1e300, 1e-9, 1e-300, float("nan")]))
        case str():
            return draw(st.sampled_from([*TEXTS, old.upper(), f"{old} ", f"{old}$", old[:-1]]))
        case list():
            changed = [alike(draw, one) for one in old]
            return draw(st.sampled_from([old[::-1], old[1:], old * 2, [*old, *changed], changed, []]))
    return draw(values)


def point_names(combinations: Any) -> list[str]:
    """As the workflow names a sweep's points."""
    return list(Paramspace(pd.DataFrame(combinations), filename_params="*").instance_patterns)


def planned(raw: Any) -> None:
    """Everything that the Snakefile makes of a config before Snakemake looks for jobs."""
    plan, sweep, demand = enter(from_command_line(raw), ROOT, point_names, only_looks=True)
    if sweep is not None:
        sweep.paths(plan), sweep.sources(plan)
    for name in ("case", "seed", "emulator", "repeats"):
        re.compile(plan.pattern(name))
    if sweep is None and sum(run.repeats for run in plan.runs.values()) < MANY:
        for artifact in plan.artifacts:
            plan.told(artifact, "figure"), plan.source_paths(artifact), plan.drawn_paths(artifact)
        reporting.judged(plan), reporting.exhibits(plan, []), record.made_with(plan), plan.timed_paths()
    for run in list(plan.runs.values())[:2]:
        plan.settings("tune")(run), plan.data_settings(run), plan.source(run), demand.measured("tune", run)


def outcome(raw: Any) -> str:
    """ "planned", or "refused" with a line per problem."""
    try:
        with within(100):
            planned(raw)
    except (ConfigError, folders.FolderError) as error:
        first, *problems = str(error).split("\n")
        wrong = [line for line in problems if not line.startswith("  - ")]
        wrong += [line for line in (first, *problems) if len(line) > LONGEST_LINE or not line.isprintable()]
        if wrong:
            pytest.fail(f"no sentence: {wrong[0]!r}")
        return "refused"
    return "planned"


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that we are in, with results of its own; nothing in it may change but what a test itself writes."""
    for name in ("results/tiny/tables/T2.csv", "results/paper/report.html", "thesis.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = states(tmp_path)
    yield tmp_path
    assert states(tmp_path) == before


@pytest.fixture
def count(request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[str], None]]:
    with counting(request.node.name, capfd) as counted:
        yield counted


@given(st.data())
@many
def test_that_a_mutated_config_is_a_plan_or_a_sentence(
    watched: Path, count: Callable[[str], None], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(CONFIGS)))
    before = states(watched)
    count(f"{name} {outcome(mutated(data.draw, CONFIGS[name]))}")
    assert states(watched) == before


@given(st.data())
@many
def test_that_a_mutated_sweep_is_a_plan_or_a_sentence(
    tmp_path: Path, count: Callable[[str], None], data: st.DataObject
) -> None:
    """Its entries, its bytes, its name, the csv beside it and the config below it."""
    (tmp_path / "structure.csv").write_bytes(csv_of(data))
    name = data.draw(st.sampled_from([*["mine"] * 20, "a{b}", "a b", ".x", "é", "x" * 200, "a$b"]))
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(content_of(data, data.draw(st.sampled_from(sorted(SWEEPS)))))
    config = CONFIGS[data.draw(st.sampled_from(["paper", "quick"]))]
    if data.draw(st.integers(0, 3)) == 0:
        config = mutated(data.draw, config, 1)
    before = states(tmp_path)
    count(outcome({**config, "sweep": str(path)} if isinstance(config, dict) else config))
    assert states(tmp_path) == before
    path.unlink()


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    return make_project({})


@given(st.data())
@settings(many, max_examples=3, phases=[Phase.generate])
def test_that_a_dry_run_of_a_mutated_config_plans_or_says_why_not(
    project: Project, count: Callable[[str], None], data: st.DataObject
) -> None:
    """The same through Snakemake itself."""
    config = mutated(data.draw, CONFIGS["tiny"])
    try:
        content = yaml.safe_dump(config).encode()
    except (yaml.YAMLError, ValueError):  # no yaml can say this
        reject()
    (project.root / "config/config.yaml").write_bytes(content)
    before = states(project.root)
    done = project.snakemake("--dry-run", "--cores", "1")
    assert "Traceback" not in done.stdout
    count("planned" if done.returncode == 0 else "refused")
    assert done.returncode == 0 or "\nWorkflowError" in done.stdout, done.stdout
    assert states(project.root) == before


def content_of(data: st.DataObject, name: str) -> bytes:
    """A sweep's file: with other entries, or with other bytes."""
    kind = data.draw(st.sampled_from(["entries"] * 6 + ["cut", "bytes", "loop"]))
    whole = yaml.safe_dump(SWEEPS[name]).encode()
    if kind == "entries":
        try:
            return yaml.safe_dump(mutated(data.draw, SWEEPS[name])).encode(errors="surrogatepass")
        except (yaml.YAMLError, ValueError):  # no yaml can say this
            return whole
    place = data.draw(st.integers(0, len(whole)))
    return {
        "cut": whole[:place],
        "bytes": whole[:place] + data.draw(st.binary(max_size=8)) + whole[place:],
        "loop": b"title: &a [*a]\nruns: *a\nrepeats: 2024-99-99\n",
    }[kind]


def csv_of(data: st.DataObject) -> bytes:
    """The csv of the structures, with cells, lines or bytes changed."""
    rows = [line.split(",") for line in (ROOT / "config/sweeps/structure.csv").read_text().splitlines()]
    for _ in range(data.draw(st.integers(0, 2))):
        row = data.draw(st.sampled_from(rows))
        match data.draw(st.sampled_from(["cell", "more", "less", "twice"])):
            case "cell" if row:
                row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.sampled_from(TEXTS) | st.text())
            case "more":
                row.append(data.draw(st.sampled_from(TEXTS)))
            case "less" if row:
                row.pop()
            case _:
                rows.append(list(row))
    text = "\n".join(",".join(row) for row in rows).encode(errors="surrogatepass")
    place = data.draw(st.sampled_from([None, None, None, *range(0, len(text), 7)]))
    return text if place is None else text[:place] + data.draw(st.binary(max_size=4)) + text[place:]
