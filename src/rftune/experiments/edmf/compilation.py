"""How the column is compiled."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rftune import compilation

# Of what the kernel is compiled with. Numba's cache looks for changes in a function's own file alone, so this is a part
# of the names that it keeps functions under.
AIR = hashlib.sha256(Path(__file__).with_name("air.py").read_bytes()).hexdigest()[:8]

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba; RFTUNE_NUMBA=0 leaves the plain function, which is some thousand times slower.

    Divisions follow NumPy (no test for zero, which would keep loops from being vectorised) and products and sums may be
    fused; nothing is reordered. Which products are fused depends on the surroundings, so functions become part of their
    callers: of several copies of one function the process that compiles could run another than those that load.
    """
    function.__qualname__ = f"{function.__qualname__}_{AIR}"
    result: Function | None = compilation.compiled(
        function, error_model="numpy", fastmath={"contract"}, forceinline=True
    )
    return function if result is None else result


def vector_hint() -> Callable[[], None]:
    """A function to call in compiled ones whose loops shall use vectors of 512 bits, where the processor has them.

    Left alone LLVM takes 256 on most of these processors. llvmlite does not list the attribute, hence ``set.add``.
    """
    if not compilation.numba_is_wanted():
        return lambda: None
    extending: Any = importlib.import_module("numba.extending")
    types: Any = importlib.import_module("numba.types")

    def declare(typing: Any) -> Any:
        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')
            return target.get_dummy_value()

        return types.void(), emit

    result: Callable[[], None] = extending.intrinsic(declare)
    return result
