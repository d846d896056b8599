"""Which module may know which: the sources are read, not run."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
WORKFLOW = ROOT / "workflow"

EMULATORS = (
    "rftune.emulators",
    "rftune.features",
    "rftune.regression",
    "rftune.tuning.loop",
    "rftune.tuning.objective",
)
KNOW_NO_EMULATOR = (
    "analysis.dynamics",
    "analysis.metrics",
    "analysis.sensitivity",
    "inference.mcmc",
    "tuning.optimisers.eki",
)
# A module imports none of a higher level; modules without a level are free.
LEVELS = (
    {"data", "scaling", "seeding"},
    {"features"},
    {"regression"},
    {"tuning"},
    {"emulators"},
    {"fitting"},
    {"experiments"},
)
DRAWING = {"convergence", "figures", "style"}
PICKLES = {"cloudpickle", "dill", "marshal", "pickle", "shelve"}
GENERATORS = {"BitGenerator", "Generator", "PCG64", "PCG64DXSM", "Philox", "SeedSequence", "default_rng"}
MAX_LINES = 400


def module_name(path: Path) -> str:
    """Return the dotted name of a file under src."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in sorted(SRC.rglob("*.py"))}
PACKAGES = {module_name(path) for path in SRC.rglob("__init__.py")}


def imports(source: str, module: str, modules: set[str], *, is_package: bool = False) -> set[str]:
    """Return the full names of all modules that a source imports, wherever in the file.

    ``from a import b`` counts as ``a.b`` if that is one of ``modules`` and as ``a`` otherwise.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                kept = parents[: len(parents) - node.level + is_package]
                base = ".".join([*kept, base] if base else kept)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full in modules else base)
    return found


def top(name: str) -> str:
    return name.partition(".")[0]


def global_draws(source: str) -> set[str]:
    """Return the uses of random numbers that do not come from a generator handed in."""
    tree = ast.parse(source)
    numpy_names, random_names, found = set(), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            numpy_names |= {alias.asname or "numpy" for alias in node.names if alias.name == "numpy"}
            random_names |= {alias.asname for alias in node.names if alias.name == "numpy.random" and alias.asname}
            numpy_names |= {"numpy" for alias in node.names if alias.name == "numpy.random" and not alias.asname}
            found |= {"random" for alias in node.names if alias.name == "random"}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = {alias.name: alias.asname or alias.name for alias in node.names}
            if node.module == "numpy" and "random" in names:
                random_names.add(names["random"])
            elif node.module == "numpy.random":
                found |= {f"numpy.random.{name}" for name in names if name not in GENERATORS}
            elif node.module == "random":
                found.add("random")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr not in GENERATORS:
            match node.value:
                case ast.Attribute(value=ast.Name(id=owner), attr="random") if owner in numpy_names:
                    found.add(f"numpy.random.{node.attr}")
                case ast.Name(id=owner) if owner in random_names:
                    found.add(f"numpy.random.{node.attr}")
    return found


def pickling(source: str) -> set[str]:
    """Return the ways in which a source reads or writes pickles."""
    found = {top(name) for name in imports(source, "", set())} & PICKLES
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr="read_pickle" | "to_pickle" as name):
                found.add(name)
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=False)):
                pass
            case ast.keyword(arg="allow_pickle"):
                found.add("allow_pickle")
    return found


def import_graph() -> dict[str, set[str]]:
    """Return, for each module of the package, the modules of the package that it imports."""
    names = set(SOURCES)
    everything = {m: imports(source, m, names, is_package=m in PACKAGES) for m, source in SOURCES.items()}
    everything["rftune"] = set()  # the public names are imported when they are first used
    return {module: found & names - {module} for module, found in everything.items()}


def reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Return what a module imports, directly or through others."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def level(module: str) -> int | None:
    """Return the height of a module of the package, None if it has none."""
    name = module.removeprefix("rftune.").partition(".")[0]
    return next((height for height, names in enumerate(LEVELS) if name in names), None)


GRAPH = import_graph()


def test_that_there_is_something_to_read() -> None:
    assert {"rftune", "rftune.data", "rftune.seeding"} <= set(SOURCES)


@pytest.mark.parametrize("module", KNOW_NO_EMULATOR)
def test_that_general_methods_know_no_emulator(module: str) -> None:
    assert not [name for name in reachable(f"rftune.{module}", GRAPH) if name.startswith(EMULATORS)]


@pytest.mark.parametrize("module", SOURCES)
def test_that_imports_point_downwards(module: str) -> None:
    height = level(module)
    if height is None:
        return
    above = [name for name in GRAPH[module] if (other := level(name)) is not None and other > height]
    assert not above


@pytest.mark.parametrize("module", SOURCES)
def test_that_methods_know_no_experiment(module: str) -> None:
    # The config and the sweeps know all experiments: they are what the workflow asks about them.
    if not module.startswith(("rftune.experiments", "rftune.workflow")):
        assert not [name for name in GRAPH[module] if name.startswith("rftune.experiments")]


def test_that_no_import_goes_in_a_circle() -> None:
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail("imports in a circle: " + " -> ".join(error.args[1]))


@pytest.mark.parametrize("module", SOURCES)
def test_that_matplotlib_is_imported_only_where_figures_are_drawn(module: str) -> None:
    if module.rpartition(".")[2] not in DRAWING:
        assert "matplotlib" not in {top(name) for name in imports(SOURCES[module], module, set())}


@pytest.mark.parametrize("module", SOURCES)
def test_that_the_library_knows_no_snakemake(module: str) -> None:
    assert "snakemake" not in {top(name) for name in imports(SOURCES[module], module, set())}
    names = {node.id for node in ast.walk(ast.parse(SOURCES[module])) if isinstance(node, ast.Name)}
    assert "snakemake" not in names


@pytest.mark.parametrize("module", SOURCES)
def test_that_randomness_is_an_argument(module: str) -> None:
    assert not global_draws(SOURCES[module])


@pytest.mark.parametrize("module", SOURCES)
def test_that_modules_stay_readable_in_length(module: str) -> None:
    assert len(SOURCES[module].splitlines()) <= MAX_LINES


def test_that_nothing_is_pickled() -> None:
    scripts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in WORKFLOW.rglob("*.py")}
    found = {name: used for name, source in {**SOURCES, **scripts}.items() if (used := pickling(source))}
    assert not found


def test_that_no_rule_imports_pickle() -> None:
    pattern = re.compile(rf"^\s*(?:import|from)\s+(?:{'|'.join(sorted(PICKLES))})\b", flags=re.MULTILINE)
    rules = [path for path in [ROOT / "Snakefile", *WORKFLOW.rglob("*.smk")] if path.exists()]
    assert not [path.name for path in rules if pattern.search(path.read_text(encoding="utf-8"))]


def test_that_the_reader_sees_every_form_of_import() -> None:
    source = """
import scipy.linalg as sl
from rftune import gp, __version__
from .data import Dataset
from . import eki
def later():
    from ..rftune.tuning import tune
"""
    modules = {"rftune", "rftune.gp", "rftune.data", "rftune.eki", "rftune.tuning"}
    seen = {"scipy.linalg", "rftune", "rftune.gp", "rftune.data", "rftune.eki", "rftune.tuning"}
    assert imports(source, "rftune.made_up", modules) == seen
    inner = {"rftune.experiments.ishigami"}
    assert imports("from . import ishigami", "rftune.experiments", inner, is_package=True) == inner


def test_that_imports_are_followed_through_other_modules() -> None:
    graph = {"eki": {"helper"}, "helper": {"gp"}, "gp": set()}
    assert reachable("eki", graph) == {"helper", "gp"}


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.random.seed(1)",
        "import numpy\nx = numpy.random.normal(size=3)",
        "import numpy.random\nnumpy.random.rand()",
        "from numpy import random as r\nr.shuffle(x)",
        "from numpy.random import normal",
        "import random",
        "from random import choice",
    ],
)
def test_that_global_randomness_is_noticed(source: str) -> None:
    assert global_draws(source)


def test_that_generators_are_allowed() -> None:
    assert not global_draws("import numpy as np\nrng: np.random.Generator = np.random.default_rng(3)\nrng.normal()")


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from dill import dumps",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=flag)",
        "frame.to_pickle(path)",
    ],
)
def test_that_pickles_are_noticed(source: str) -> None:
    assert pickling(source)
    assert not pickling("np.load(path, allow_pickle=False)")
