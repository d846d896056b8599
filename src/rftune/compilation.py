"""How inner loops are compiled: by Numba, without Python's lock; the plain functions serve where it is missing."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

_computes = True  # whether this process does; see `compile_nothing`


def numba_is_wanted() -> bool:
    """RFTUNE_NUMBA=0 leaves everything plain."""
    return _computes and os.environ.get("RFTUNE_NUMBA", "1") != "0"


def compile_nothing() -> None:
    """Leave everything plain in this process, which only plans: importing Numba would take an eighth of its time."""
    global _computes
    _computes = False


def compiled(function: Callable[..., Any], signatures: Sequence[str] = (), **options: Any) -> Any:
    """A function compiled by Numba and kept on disk; None where Numba is missing or not wanted.

    Parameters
    ----------
    function
    signatures
        It is compiled for, at once; by default for what it is called with, at the first call.
    options
        Of `numba.njit`.
    """
    if not numba_is_wanted():
        return None
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError:
        return None
    arguments = [list(signatures)] if signatures else []
    try:
        return numba.njit(*arguments, nogil=True, cache=True, **options)(function)
    except (RuntimeError, OSError):  # no directory for the cache can be written
        return numba.njit(*arguments, nogil=True, **options)(function)


def known_by_type(function: Callable[..., Any], table: Mapping[Any, Any]) -> None:
    """Let compiled functions call ``function(array)``: it is ``table[array.dtype]`` there, a constant."""
    if not numba_is_wanted():
        return
    try:
        extending: Any = importlib.import_module("numba.extending")
    except ImportError:
        return

    def declare(array: Any) -> Any:
        value = table[np.dtype(str(array.dtype))]
        return lambda array: value

    extending.overload(function, strict=False)(declare)  # strict compares annotations too
