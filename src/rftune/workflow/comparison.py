"""Parameters of jobs as Snakemake compares them with those of the last run: short, a few settings at a time.

Of what differs Snakemake prints both values whole, and none of their names. A parameter that is a function of a job's
output it takes for derived, and compares it no more. So a job is told its blocks of settings in this way, and beside
each of them stands what is compared.

Snakemake asks for every parameter of every job before the first job starts. In a sweep of thousands of points that is
most of its planning, so the functions are few, and carry the signature that it would work out each time.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# Lines of settings that are compared, no fewer than any emulator has, and the most settings of a line.
N_LINES = 14
MOST = 5
NOTHING = ...  # is no value that Snakemake compares


def told(**parameters: Any) -> dict[str, Any]:
    """Parameters of a rule: what a job is told under the names given, and what is compared beside them.

    A function of the wildcards is compared by its `lines`; a constant by digests of its parts.
    """
    found: dict[str, Any] = {}
    for name, value in parameters.items():
        compared = _by_lines(name, value) if callable(value) else [_constant(line) for line in digests(name, value)]
        found[name] = _derived(value if callable(value) else _constant(value))
        found |= {f"{name}_{place}": function for place, function in enumerate(compared)}
    return found


def lines(place: str, value: Any) -> list[str]:
    """``place.of.block: setting=value, ...`` for the settings of every block; ``place: value`` for what is no block."""
    if not isinstance(value, Mapping):
        return [f"{place}: {value!r}"]
    blocks = {key: entry for key, entry in value.items() if isinstance(entry, Mapping) and entry}
    own = [f"{key}={entry!r}" for key, entry in value.items() if key not in blocks]
    known = [f"{place}: {', '.join(some)}" for some in _batches(own)]
    known += [line for key, entry in blocks.items() for line in lines(f"{place}.{key}", entry)]
    return known or [f"{place}: nothing"]


def _batches(settings: Sequence[str]) -> list[Sequence[str]]:
    return [settings[first : first + MOST] for first in range(0, len(settings), MOST)]


def digests(place: str, value: Any) -> list[str]:
    """``place.of.part: digest`` for every entry of a block, or for a value that is none."""
    parts = {f"{place}.{key}": entry for key, entry in value.items()} if isinstance(value, Mapping) else {place: value}
    return [f"{part}: {hashlib.sha256(repr(entry).encode()).hexdigest()[:12]}" for part, entry in parts.items()]


def _by_lines(name: str, function: Callable[[Any], Any]) -> list[Callable[[Any], Any]]:
    """A function of the wildcards for each line; the last one has all that are left over."""
    latest: dict[tuple[str, ...], list[str]] = {}  # of the job whose parameters are asked for one after the other

    def line(wildcards: Any, place: int) -> Any:
        key = tuple(wildcards)
        if key not in latest:
            known = lines(name, function(wildcards))
            latest.clear()
            latest[key] = [*known[: N_LINES - 1], *filter(None, ["; ".join(known[N_LINES - 1 :])])]
        return latest[key][place] if place < len(latest[key]) else NOTHING

    return [_at(line, place) for place in range(N_LINES)]


def _at(line: Callable[[Any, int], Any], place: int) -> Any:
    return _signed(lambda wildcards: line(wildcards, place))


def _constant(value: Any) -> Any:
    """A function, so that Snakemake looks for no wildcards in a text."""
    return _signed(lambda wildcards: value)


def _derived(function: Callable[[Any], Any]) -> Any:
    return _signed(lambda wildcards, output: function(wildcards))


def _signed(function: Any) -> Any:
    function.__signature__ = inspect.signature(function)
    return function
