"""What the documents name is there: links, files, settings, modules, commands, and the picture of the stages."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from pkgutil import resolve_name

import pytest

from rftune.workflow.documents import settings_reference
from rftune.workflow.reporting import sections
from rftune.workflow.stages import STAGES

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
PAGES = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in FILES}
REFERENCE = settings_reference()

BLOCK = re.compile(r"^ {4}.*\n(?:(?: {4}.*)?\n)*", re.MULTILINE)  # of indented code
SPAN = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")  # code within a sentence
# First parts of the settings that a document names by their path, and folders whose files it names.
BLOCKS = "ishigami|sobol_g|lorenz63|edmf|complexity|cluster|features|tuning|prediction"
FOLDERS = "src|config|docs|workflow|tests|benchmarks"
COLLECTING = {"default", "all", "begin"}  # rules without a result of their own
Edges = set[tuple[str, str]]
Snakemake = Callable[..., subprocess.CompletedProcess[str]]


def code(text: str) -> list[str]:
    """Every line of indented code, and every piece of code within a sentence."""
    blocks = [line.strip() for block in BLOCK.findall(text) for line in block.splitlines()]
    return [*blocks, *(" ".join(span.split()) for span in SPAN.findall(BLOCK.sub("\n", text)))]


CODE = {page: code(text) for page, text in PAGES.items()}


def named(pattern: str) -> dict[str, str]:
    """What a pattern finds in the code of all documents, each once, with a document that names it."""
    return {match: page for page, lines in CODE.items() for line in lines for match in re.findall(pattern, line)}


def block_with(page: str, text: str) -> str:
    """The indented code of a page that has some text in it, without its indentation."""
    found = next(block for block in BLOCK.findall(PAGES[page]) if text in block)
    return "".join(line[4:] for line in found.splitlines(keepends=True))


def anchors(text: str) -> set[str]:
    """The headings as a link names them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_that_every_link_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            linked = (ROOT / page).parent / path if path else ROOT / page
            assert linked.exists(), target
            assert not anchor or anchor in anchors(linked.read_text("utf-8")), target


def test_that_the_readme_leads_to_every_document() -> None:
    assert [page for page in PAGES if f"]({page})" not in PAGES["README.md"]] == ["README.md"]


def test_that_every_file_is_there() -> None:
    paths = named(rf"(?<![\w/.])((?:{FOLDERS})/[\w./*-]*[\w*/])")
    assert len(paths) > 20
    assert {path: page for path, page in paths.items() if not list(ROOT.glob(path))} == {}


def known_settings() -> set[str]:
    """Dotted names of all settings, as the reference has them, those of a kind behind the setting that chooses it."""
    parts = re.split(r"^##+ (.+)$", REFERENCE, flags=re.MULTILINE)[1:]
    bodies = zip(parts[::2], parts[1::2], strict=True)
    tables = [(title, re.findall(r"^\| `([\w.]+)` ", body, re.MULTILINE)) for title, body in bodies]
    known = {name for _, names in tables for name in names}
    for title, names in tables:
        chooser = title.partition(": ")[0]  # an experiment's name, too
        places = [name for name in known if name.endswith(f".{chooser}")]
        known |= {f"{place}.{name}" for place in (chooser, *places) for name in names}
    return known


def test_that_every_setting_is_there() -> None:
    known, settings = known_settings(), named(rf"(?<![\w./'])((?:{BLOCKS})(?:\.\w+)+)")
    assert {"features.family.loading_std", "tuning.optimiser.n_members", "edmf.data.truth"} <= known & {*settings}
    assert not {"features.structure", "prior.loading_std", "eki.inflation"} & known
    assert {name: page for name, page in settings.items() if name not in known} == {}


@pytest.mark.parametrize("thing", named(r"(?<![\w./])(rftune(?:\.\w+)+)"))
def test_that_every_module_is_there(thing: str) -> None:
    resolve_name(thing)


def test_that_make_knows_every_target() -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert {"reproduce", "documents"} <= {*named("^make ([a-z][a-z-]*)")} <= known


def test_that_the_example_in_python_runs() -> None:
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8").failed == 0


@pytest.fixture(scope="module")
def snakemake(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    """Snakemake in a folder that has the project's files and no results, and the settings of the README's example."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("config", "environment.yml", "profiles", "Snakefile", "src", "workflow"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "mine.yaml").write_text(block_with("README.md", "# mine.yaml"), "utf-8")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*arguments: str, within: Path = folder) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "snakemake", *arguments]
        return subprocess.run(command, cwd=within, env=environment, capture_output=True, text=True, timeout=300)

    return run


COMMANDS = {
    tuple(word for word in shlex.split(command, comments=True) if word != "-n")
    for command in named(r"^snakemake .+")
    if "--report" not in command  # which needs a finished run
}


@pytest.mark.parametrize("command", sorted(COMMANDS), ids=" ".join)
def test_that_every_command_can_be_run(command: tuple[str, ...], snakemake: Snakemake) -> None:
    """Its targets, files and settings are those of the workflow: a dry run plans it."""
    done = snakemake(*command[1:], "--dry-run", "--quiet")
    missing = "no file at path/to/Diagnostics.nc" in done.stdout + done.stderr  # which is the reader's
    assert done.returncode == 0 or missing, done.stdout + done.stderr


def test_that_the_readmes_own_settings_are_what_it_says(snakemake: Snakemake) -> None:
    files = ("config/quick.yaml", "mine.yaml")
    planned = snakemake("tune_ishigami", "--dry-run", "--configfile", *files).stdout
    assert "results/mine/ishigami/standard/seed2026/lowrank/tuned-0000-0002.nc" in planned
    assert "diagonal" not in planned


def test_that_the_example_of_a_module_can_be_run(tmp_path: Path, snakemake: Snakemake) -> None:
    example = block_with("docs/workflow.md", "module rftune").replace("/path/to/rftune", str(ROOT))
    (tmp_path / "Snakefile").write_text(example, "utf-8")
    (tmp_path / "mine.yaml").write_text(block_with("README.md", "# mine.yaml"), "utf-8")
    done = snakemake("--dry-run", within=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "poster" in done.stdout


def stage_graph(snakemake: Snakemake, *arguments: str) -> Edges:
    """Which stage reads what which other one wrote: Snakemake's graph of rules, the artifacts' taken together."""
    done = snakemake("--rulegraph", "mermaid-js", "--configfile", "config/quick.yaml", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    tables = {f"{artifact}_csv" for artifact in sections()}
    stages = {
        node: "table" if rule in tables else "figure" if rule in sections() else rule
        for node, rule in re.findall(r"^\t(id\d+)\[(\w+)\]$", done.stdout, re.MULTILINE)
    }
    edges = {(stages[a], stages[b]) for a, b in re.findall(r"^\t(id\d+) --> (id\d+)$", done.stdout, re.MULTILINE)}
    return {(first, second) for first, second in edges if first != second and not {first, second} & COLLECTING}


def without_shortcuts(edges: Edges, of_all: Collection[str]) -> Edges:
    """The arrows that do not follow from others, on a way through stages that every experiment has."""
    reached = set(edges)
    for _ in edges:
        steps = {(first, middle) for first, middle in edges if middle in of_all}
        reached |= {(first, end) for first, middle in steps for start, end in reached if middle == start}
    return {(first, last) for first, last in edges if not any({(first, m), (m, last)} <= reached for m in of_all)}


def chart(edges: Edges, of_all: Collection[str]) -> str:
    """A flow chart in mermaid's language; stages that not every experiment has are dashed."""
    order = [*STAGES, "report"]
    arrows = sorted(without_shortcuts(edges, of_all), key=lambda edge: [order.index(stage) for stage in edge])
    of_some = {stage for edge in edges for stage in edge} - {*of_all}
    lines = [f"    {first} --> {second}" for first, second in arrows]
    dashed = ",".join(sorted(of_some, key=order.index))
    return "\n".join(["flowchart TB", *lines, "    classDef some stroke-dasharray: 5", f"    class {dashed} some"])


def test_that_the_picture_of_the_stages_is_snakemakes_own(snakemake: Snakemake) -> None:
    edges = stage_graph(snakemake)
    stages = {stage for edge in edges for stage in edge}
    of_all = {stage for edge in stage_graph(snakemake, "--config", 'experiments=["ishigami"]') for stage in edge}
    page = PAGES["docs/workflow.md"]
    assert f"```mermaid\n{chart(edges, of_all)}\n```" in page
    assert stages == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == {*STAGES, "report"}


def test_that_shortcuts_are_left_out_and_nothing_else() -> None:
    edges = {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d"), ("a", "e")}
    assert without_shortcuts(edges, "abcde") == {("a", "b"), ("b", "c"), ("c", "d"), ("a", "e")}
    assert without_shortcuts(edges, "acde") == {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "e")}
