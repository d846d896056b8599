"""BLAS and LAPACK for compiled functions: SciPy's own, called by address, without Python's lock.

`scipy.linalg.lapack` and `scipy.linalg.blas` hold the lock while they work, so that threads which solve wait for each
other. A routine here is called in a compiled function with Fortran's arguments in Fortran's order: integers and floats
are handed over by reference, arrays by the address of their first number, and the arrays' precision chooses between
the s- and the d-version. Fortran counts columns first: it sees a C-ordered matrix as its transpose.
"""

from __future__ import annotations

import importlib
from typing import Any

from rftune import compilation

LOWER, RIGHT, PLAIN, TRANSPOSED = (ord(letter) for letter in "LRNT")  # what BLAS reads of a letter is its first byte


def _routine(name: str, module: str) -> Any:
    """A routine of one of SciPy's modules for Cython; None where it or Numba is missing or not wanted."""
    if not compilation.numba_is_wanted():
        return None
    try:
        extending: Any = importlib.import_module("numba.extending")
        addresses = {
            kind: extending.get_cython_function_address(f"scipy.linalg.{module}", kind + name) for kind in "sd"
        }
    except (ImportError, ValueError):
        return None
    binding: Any = importlib.import_module("llvmlite.binding")
    for kind, address in addresses.items():
        # Compiled code refers to the name, so that what is kept on disk is right in a process with other addresses.
        binding.add_symbol(f"rftune_{kind}{name}", address)
    return _intrinsic(name, extending)


def _intrinsic(name: str, extending: Any) -> Any:
    """A call by reference in compiled code."""
    types: Any = importlib.import_module("numba.types")
    cgutils: Any = importlib.import_module("numba.core.cgutils")
    ir: Any = importlib.import_module("llvmlite.ir")
    kinds = {types.float32: "s", types.float64: "d"}

    def declare(typing: Any, *arguments: Any) -> Any:
        # Numba asks twice: for the arguments' types, then for the tuple of them that the generated code is handed.
        given = arguments[0].types if isinstance(arguments[0], types.BaseTuple) else arguments
        (dtype,) = {t.dtype for t in given if isinstance(t, types.Array) and isinstance(t.dtype, types.Float)}

        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointers = []
            for kind, value in zip(given, cgutils.unpack_tuple(builder, values[0]), strict=True):
                if isinstance(kind, types.Array):
                    place = context.make_array(kind)(context, builder, value).data
                else:
                    passed = types.int32 if isinstance(kind, types.Integer) else dtype
                    place = cgutils.alloca_once_value(builder, context.cast(builder, value, kind, passed))
                pointers.append(builder.bitcast(place, cgutils.voidptr_t))
            call = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(pointers))
            symbol = f"rftune_{kinds[dtype]}{name}"
            builder.call(cgutils.get_or_insert_function(builder.module, call, symbol), pointers)
            return context.get_dummy_value()

        return types.void(types.StarArgTuple.from_types(given)), emit

    return extending.intrinsic(declare)


gemm, gemv, syrk = (_routine(name, "cython_blas") for name in ("gemm", "gemv", "syrk"))
potrf, potrs, sytrd, ormtr = (_routine(name, "cython_lapack") for name in ("potrf", "potrs", "sytrd", "ormtr"))
AVAILABLE = None not in (gemm, gemv, syrk, potrf, potrs, sytrd, ormtr)
