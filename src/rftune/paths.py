"""Paths in settings: what every file system can have, with ``~`` for the home folder of whoever runs."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Annotated

from pydantic import AfterValidator

LONGEST_NAME, LONGEST_PATH = 255, 4000  # bytes, on the file systems in use; a run's own names are added to the path


def expanded(path: str) -> str:
    """The path with ``~`` written out, or a ValueError where no file system could have it."""
    if any(ord(letter) < 32 for letter in path):
        raise ValueError(f"a path must hold no line break, NUL or other control character; got {path!r}: take it out")
    try:
        names = [os.fsencode(name) for name in PurePath(path).parts]
    except UnicodeEncodeError:
        raise ValueError(f"a path must be text that UTF-8 can write; got {path!r}: give it another name") from None
    longest = max(map(len, names), default=0)
    if longest > LONGEST_NAME or len(b"/".join(names)) > LONGEST_PATH:
        raise ValueError(
            f"a path must have names of at most {LONGEST_NAME} bytes, and {LONGEST_PATH} in all; got {path[:40]!r}…, "
            f"whose longest name has {longest}: shorten it"
        )
    home = os.path.expanduser(path)
    if home.startswith("~"):
        raise ValueError(f"~ must be the home folder of a user of this machine; got {path!r}: write the folder out")
    return home


def _planned(path: str) -> str:
    """The path as Snakemake takes it without a warning, or a ValueError where it would take it for something else."""
    if {"{", "}"} & set(path):
        raise ValueError(f"a path must hold no braces, which Snakemake takes for wildcards; got {path!r}: rename it")
    if "://" in path:
        raise ValueError(f"a path must be on a file system of this machine; got {path!r}: name a folder")
    if path != path.strip():
        raise ValueError(f"a path must not begin or end with a space; got {path!r}: take it out")
    return path and str(PurePath(path))


FilePath = Annotated[str, AfterValidator(expanded)]
PlannedPath = Annotated[FilePath, AfterValidator(_planned)]  # of what rules write to
