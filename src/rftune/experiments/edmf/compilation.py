"""How the column is compiled."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba; RFTUNE_NUMBA=0 leaves the plain function, which is some thousand times slower.

    Divisions follow NumPy (no test for zero, which would keep loops from being vectorised) and products and sums may be
    fused; nothing is reordered.
    """
    if os.environ.get("RFTUNE_NUMBA", "1") == "0":
        return function
    numba: Any = importlib.import_module("numba")
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    try:
        result: Function = numba.njit(cache=True, **options)(function)
    except (RuntimeError, OSError):  # no directory for the cache can be written
        result = numba.njit(**options)(function)
    return result
