"""How tests of many random inputs tell what came of them, and that none of them hung."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """An error where a block takes longer: whoever waits for a file waits for ever."""

    def late(*_: object) -> None:
        raise TimeoutError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def counting(what: str, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[str], None]]:
    """Count outcomes by name, and say how many there were even where the test passes."""
    found: Counter[str] = Counter()
    yield lambda name: found.update([name])
    with capfd.disabled():
        print(f"\n{what}: {', '.join(f'{n} {name}' for name, n in sorted(found.items()))}", flush=True)
