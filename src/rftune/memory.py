"""Whether arrays fit into memory, asked before any work is done."""

from __future__ import annotations

import os

FLOAT = 8  # bytes of a float64
# Of this machine's memory. The machine that plans may be the login node of a cluster, whose other nodes have more.
GENEROUS = 4


def available() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check(n_numbers: int, what: str, remedy: str) -> None:
    """Raise a ValueError where so many float64 numbers take more than `GENEROUS` times this machine's memory.

    Only arrays whose size a setting squares or multiplies are asked for, each alone: an estimate that is too small by a
    factor of a few, which finds what can never fit.
    """
    needed, most = FLOAT * n_numbers, GENEROUS * available()
    if needed > most:
        raise ValueError(
            f"{what} would take {_gigabytes(needed)} GB of memory, and at most {_gigabytes(most)} GB, {GENEROUS} times "
            f"this machine's, are accepted: {remedy}"
        )


def _gigabytes(n_bytes: int) -> str:
    gigabytes = n_bytes // 10**9
    return f"{gigabytes}" if gigabytes < 10**6 else f"1e{len(str(gigabytes)) - 1}"
