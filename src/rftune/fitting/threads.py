"""One thread for linear algebra, so that the same numbers come out whatever the cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Products and factors in this block run on one thread: their rounding depends on how work is shared."""
    with threadpool_limits(1):
        yield
