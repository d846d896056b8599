"""Fingerprints of code: a stage is rerun when the library code behind it changes."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rftune.provenance import PACKAGE_ROOT

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


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
    own = _read(Path(script))
    pending = [*modules, *own.imports]
    reached: dict[str, str] = {}
    while pending:
        module = pending.pop()
        path = _module_path(module)
        if module not in reached and module != "rftune.provenance" and path.name != "__init__.py":
            found = _read(path)
            reached[module] = found.digest
            pending.extend(found.imports)
    return _digest([own.digest, *(f"{module} {reached[module]}" for module in sorted(reached))])


class Source(NamedTuple):
    """A file, as far as it matters: a digest of what it says, and the rftune modules that it imports."""

    digest: str
    imports: tuple[str, ...]


def _module_path(module: str) -> Path:
    path = PACKAGE_ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _read(path: Path) -> Source:
    return _parsed(path, path.read_text(encoding="utf-8"))


@cache  # by content: the stages share most of their modules
def _parsed(path: Path, source: str) -> Source:
    """One walk through the syntax tree, without docstrings; imports count wherever they stand."""
    parts: list[str] = []
    imports: list[str] = []
    pending: list[Any] = [ast.parse(source, filename=str(path))]
    while pending:
        entry = pending.pop()
        if isinstance(entry, list):
            parts.append(f"[{len(entry)}")
            pending.extend(entry)
        elif isinstance(entry, ast.AST):
            if isinstance(entry, DOCUMENTED) and ast.get_docstring(entry, clean=False):
                entry.body = entry.body[1:]
            elif isinstance(entry, ast.Import | ast.ImportFrom):
                imports.extend(_modules(entry, path))
            parts.append(type(entry).__name__)
            pending.extend(getattr(entry, name, None) for name in entry._fields)
        else:
            parts.append(repr(entry))
    return Source(_digest(parts), tuple(imports))


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _modules(node: ast.Import | ast.ImportFrom, path: Path) -> Iterator[str]:
    """Names of the rftune modules that a statement imports."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _absolute_base(node, path)
        names = [base, *(f"{base}.{name}" for name in names)]
    return (name for name in names if name.split(".")[0] == "rftune" and _module_path(name).is_file())


def _absolute_base(node: ast.ImportFrom, path: Path) -> str:
    """What ``from ... import`` imports from, by its full name also where it is relative."""
    if node.level == 0:
        return node.module or ""
    package = path.resolve().parents[node.level - 1].relative_to(PACKAGE_ROOT)
    return ".".join(["rftune", *package.parts, *([node.module] if node.module else [])])
