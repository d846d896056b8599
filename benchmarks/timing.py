"""Timing side by side, and tables of what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

Row = Mapping[str, str | float]


def best_seconds(calls: Mapping[str, Callable[[], Any]], n_rounds: int, n_in_a_row: int = 3) -> dict[str, float]:
    """Shortest time of each call over rounds in which all take turns.

    Taking turns exposes all calls to the same disturbances, of which the shortest time has the least; some times in a
    row, because the first finds the caches full of another's data.
    """
    seconds = dict.fromkeys(calls, float("inf"))
    for name in [*calls] * n_rounds:
        for _ in range(n_in_a_row):
            start = perf_counter()
            calls[name]()
            seconds[name] = min(seconds[name], perf_counter() - start)
    return seconds


def verdict(ratio: float, target: float) -> str:
    return f">= {target:g}: {'met' if ratio >= target else 'MISSED'}"


def show(title: str, explanation: str, rows: Sequence[Row]) -> None:
    """Print an aligned table; every row has the same columns."""
    cells = [list(rows[0]), *([_text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    print(f"\n{title}\n  {explanation}")
    for line in cells:
        padded = [
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("    " + "  ".join(padded).rstrip(), flush=True)


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
