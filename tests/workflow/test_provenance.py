"""The fingerprint of a stage's code sees what can change a result, and nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rftune import provenance
from rftune.provenance import git_commit, versions
from rftune.workflow import fingerprints
from rftune.workflow.fingerprints import code_fingerprint

SCRIPT = '''"""A script."""
from rftune import first


def main():
    """Call it."""
    return first.value()
'''
MODULES = {
    "__init__.py": "",
    "first.py": "from rftune.second import number\n\n\ndef value():\n    return number()\n",
    "second.py": "def number():\n    from rftune.deep import inner\n\n    return inner.NUMBER\n",
    "deep/__init__.py": "",
    "deep/inner.py": "from . import sibling\nfrom ..third import shift\n\nNUMBER = 1 + shift(sibling.ZERO)\n",
    "deep/sibling.py": "ZERO = 0\n",
    "third.py": "def shift(value):\n    return value\n",
    "unused.py": "NUMBER = 2\n",
    "by_name.py": "NUMBER = 3\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in the place of rftune, and a script beside it."""
    root = tmp_path / "rftune"
    for name, source in MODULES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(source, encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    for module in (provenance, fingerprints):
        monkeypatch.setattr(module, "PACKAGE_ROOT", root)
    return root


@pytest.fixture
def fingerprint(package: Path) -> Callable[..., str]:
    def of(*extra: str) -> str:
        return code_fingerprint(package.parent / "script.py", extra)

    return of


def edit(path: Path, old: str, new: str) -> None:
    source = path.read_text(encoding="utf-8")
    assert old in source
    path.write_text(source.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "counts"),
    [
        pytest.param("../script.py", "first.value()", "-first.value()", True, id="the script"),
        pytest.param("first.py", "number()\n", "-number()\n", True, id="a module that it imports"),
        pytest.param("second.py", "inner.NUMBER", "-inner.NUMBER", True, id="a module behind that one"),
        pytest.param("deep/inner.py", "1 +", "2 +", True, id="an import inside a function"),
        pytest.param("deep/sibling.py", "0", "1", True, id="a relative import"),
        pytest.param("third.py", "return value", "return -value", True, id="a relative import from above"),
        pytest.param("unused.py", "2", "3", False, id="a module out of reach"),
        pytest.param("../script.py", "Call it.", "Call the other.", False, id="a docstring"),
        pytest.param("../script.py", '    """Call it."""\n', "", False, id="no docstring"),
        pytest.param("first.py", "def value", "# A comment.\ndef value", False, id="a comment"),
        pytest.param("third.py", "return value", "return (value)", False, id="formatting"),
    ],
)
def test_that_code_within_reach_changes_the_fingerprint_and_nothing_else(
    package: Path, fingerprint: Callable[..., str], name: str, old: str, new: str, counts: bool
) -> None:
    before = fingerprint()
    edit(package / name, old, new)
    assert (fingerprint() != before) == counts


def test_that_a_string_which_is_no_docstring_counts(package: Path, fingerprint: Callable[..., str]) -> None:
    edit(package / "third.py", "return value", 'return "a" + value')
    before = fingerprint()
    edit(package / "third.py", '"a"', '"b"')
    assert fingerprint() != before


def test_that_a_module_imported_by_a_computed_name_counts_when_named(
    package: Path, fingerprint: Callable[..., str]
) -> None:
    alone, named = fingerprint(), fingerprint("rftune.by_name")
    edit(package / "by_name.py", "3", "4")
    assert fingerprint() == alone
    assert fingerprint("rftune.by_name") != named


def test_that_modification_times_do_not_count(package: Path, fingerprint: Callable[..., str]) -> None:
    before = fingerprint()
    for path in package.rglob("*.py"):
        os.utime(path, (0, 0))
    assert fingerprint() == before


def test_that_versions_name_what_can_change_a_digit() -> None:
    assert {"rftune", "numpy", "scipy", "numba"} <= versions().keys()


@pytest.fixture
def fresh_commit() -> Iterator[None]:
    git_commit.cache_clear()
    yield
    git_commit.cache_clear()


@pytest.mark.usefixtures("fresh_commit")
def test_that_the_commit_is_unknown_outside_a_checkout(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(package.parent.parent))
    assert git_commit() == "unknown"


@pytest.mark.usefixtures("fresh_commit")
def test_that_the_commit_says_when_files_differ_from_it(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package.parent), "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    kept = package.parent / "results/kept.csv"
    kept.parent.mkdir()
    kept.write_text("1", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--no-gpg-sign", "--message", "all")
    commit = git("rev-parse", "HEAD")
    assert git_commit() == commit
    git_commit.cache_clear()
    edit(kept, "1", "2")
    assert git_commit() == commit
    git_commit.cache_clear()
    edit(package / "unused.py", "2", "3")
    assert git_commit() == f"{commit}+dirty"
