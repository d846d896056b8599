"""Fingerprints of code: a stage is rerun when the library code behind it changes."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from rftune.provenance import PACKAGE_ROOT


def code_fingerprint(script: str | Path, modules: Iterable[str] = ()) -> str:
    """Hash of a script and of every rftune module that it reaches through imports.

    Snakemake looks only at the script, so a stage passes this as a parameter to be rerun when the library code
    behind it changes. Comments, docstrings and formatting do not enter: they change no result.

    Parameters
    ----------
    script
        Path of the stage's script.
    modules
        Modules that the script imports by a computed name: the kind of emulator, the experiment's module.

    Packages' own files, which hold names only, and `provenance`, which only writes records, have no part in it.
    """
    pending = [*modules, *_imported_modules(Path(script))]
    reached: set[str] = set()
    while pending:
        module = pending.pop()
        path = _module_path(module)
        if module not in reached | {"rftune.provenance"} and path.name != "__init__.py":
            reached.add(module)
            pending.extend(_imported_modules(path))
    digest = hashlib.sha256(_meaning(Path(script)).encode())
    for module in sorted(reached):
        digest.update(f"\0{module}\0{_meaning(_module_path(module))}".encode())
    return digest.hexdigest()[:16]


def _module_path(module: str) -> Path:
    path = PACKAGE_ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imported_modules(path: Path) -> tuple[str, ...]:
    """Names of the rftune modules that a file imports, wherever in the file."""
    return _modules_imported_by(path, path.read_text(encoding="utf-8"))


@cache  # by content: the stages share most of their modules
def _modules_imported_by(path: Path, source: str) -> tuple[str, ...]:
    return tuple(_imports(path, ast.parse(source, filename=str(path))))


def _imports(path: Path, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            candidates = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute_base(node, path)
            candidates = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in candidates:
            if name.split(".")[0] == "rftune" and _module_path(name).is_file():
                yield name


def _absolute_base(node: ast.ImportFrom, path: Path) -> str:
    """What ``from ... import`` imports from, by its full name also where it is relative."""
    if node.level == 0:
        return node.module or ""
    package = path.resolve().parents[node.level - 1].relative_to(PACKAGE_ROOT)
    return ".".join(["rftune", *package.parts, *([node.module] if node.module else [])])


def _meaning(path: Path) -> str:
    """The syntax tree of a file without docstrings."""
    return _tree_without_docstrings(path.read_text(encoding="utf-8"))


@cache  # by content: the stages share most of their modules
def _tree_without_docstrings(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:]
    return ast.dump(tree)
