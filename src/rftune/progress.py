"""What long work says of itself while it lasts."""

from __future__ import annotations

import logging
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

logger = logging.getLogger("rftune")

# Of a tuning: its iteration, its normalised misfit and its number of failed members.
Progress = Callable[[int, float, int], None]


def peak_memory_mb() -> float:
    """Largest resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


@contextmanager
def progress_bar(total: int, description: str) -> Iterator[Any]:
    """A bar for a person at a terminal; nothing where standard error is a file."""
    with tqdm(total=total, desc=description, disable=None, leave=False, dynamic_ncols=True) as bar:
        yield bar
