"""pyproject.toml, requirements.lock and environment.yml say the same, and name no machine."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))

# conda's name -> the package index's name, where they differ
CONDA_NAMES = {"matplotlib-base": "matplotlib", "snakemake-minimal": "snakemake"}
CONDA_ONLY = {"pip", "python"}
# name of the import -> name of the distribution, where they differ
IMPORT_NAMES = {"PIL": "pillow", "pydantic_core": "pydantic", "sklearn": "scikit-learn", "yaml": "pyyaml"}


def bounds(lines: list[str]) -> dict[str, SpecifierSet]:
    """Return the bound of each requirement by its canonical name."""
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): requirement.specifier for requirement in requirements}


def pyproject_bounds() -> dict[str, SpecifierSet]:
    """Return the direct requirements: to build, to run, to test."""
    project = PYPROJECT["project"]
    extras = [line for extra in project["optional-dependencies"].values() for line in extra]
    return bounds([*PYPROJECT["build-system"]["requires"], *project["dependencies"], *extras])


def pins(text: str) -> dict[str, str]:
    """Return the locked version of each package by its canonical name."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    requirements = [Requirement(line) for line in lines]
    inexact = [str(r) for r in requirements if not re.fullmatch(r"==[^*,]+", str(r.specifier))]
    assert not inexact, f"requirements.lock must pin with ==; run make lock: {inexact}"
    return {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in requirements}


def conda_bounds() -> dict[str, SpecifierSet]:
    """Return the direct requirements of environment.yml under the package index's names."""
    lines = [line for line in ENVIRONMENT["dependencies"] if isinstance(line, str)]
    lines += [line for part in ENVIRONMENT["dependencies"] if isinstance(part, dict) for line in part["pip"]]
    return {CONDA_NAMES.get(name, name): bound for name, bound in bounds(lines).items() if name not in CONDA_ONLY}


def test_that_the_lock_satisfies_every_bound_of_pyproject() -> None:
    locked = pins(LOCK)
    wrong = {
        name: (str(bound), locked.get(name, "not locked"))
        for name, bound in pyproject_bounds().items()
        if name not in locked or locked[name] not in bound
    }
    assert not wrong, f"run make lock: {wrong}"


def test_that_environment_lists_the_requirements_of_pyproject_with_the_same_bounds() -> None:
    assert conda_bounds() == pyproject_bounds()


def test_that_pyproject_and_environment_ask_for_the_same_python() -> None:
    (python,) = [line for line in ENVIRONMENT["dependencies"] if isinstance(line, str) and line.startswith("python>")]
    assert python == "python" + PYPROJECT["project"]["requires-python"]


def test_that_every_direct_requirement_has_a_lower_bound() -> None:
    unbounded = [name for name, bound in pyproject_bounds().items() if not str(bound).startswith(">=")]
    assert not unbounded


def test_that_the_lock_holds_versions_and_nothing_else() -> None:
    assert not re.search(r"://|^-| @ |/", LOCK.split("\n", 2)[2], flags=re.MULTILINE)


def test_that_a_loose_pin_is_noticed() -> None:
    with pytest.raises(AssertionError, match="numpy"):
        pins("numpy>=2.0\n")


def test_that_every_import_is_a_direct_requirement() -> None:
    own = {path.name for path in (ROOT / "src").iterdir()} | {*sys.stdlib_module_names}
    undeclared = {}
    for folder in ("src", "tests", "workflow", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            siblings = {p.stem for p in (ROOT / "tests").glob("*")} | {p.stem for p in path.parent.glob("*.py")}
            for name in imported_distributions(path.read_text(encoding="utf-8")) - own - siblings:
                if canonicalize_name(IMPORT_NAMES.get(name, name)) not in pyproject_bounds():
                    undeclared.setdefault(name, str(path.relative_to(ROOT)))
    assert not undeclared, f"add to pyproject.toml and environment.yml, then make lock: {undeclared}"


def imported_distributions(source: str) -> set[str]:
    """Return the top-level names that a source imports absolutely."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


def test_that_set_up_files_name_no_machine() -> None:
    files = ["Makefile", "pyproject.toml", "environment.yml", "requirements.lock", ".ci/run", ".pre-commit-config.yaml"]
    machine = re.compile(r"(?<![\w.$}/])/(work|tmp|root|home|Users|opt)\b|index-url|find-links")
    named = {name for name in files if machine.search((ROOT / name).read_text(encoding="utf-8"))}
    assert not named
