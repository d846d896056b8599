"""csv files as tables of a page: numbers short to read, whole to sort by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DIGITS = 4
SMALL_WORDS = {"ks": "KS", "rmse": "RMSE", "mb": "MB", "ms": "ms", "n": "number of"}


@dataclass(frozen=True)
class Cell:
    """What is shown, and what a column is sorted by (empty: sort last)."""

    text: str
    key: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a page."""

    columns: list[str]
    rows: list[list[Cell]]
    name: str


def read(path: str | Path) -> Table:
    """A csv file without its empty columns."""
    frame = pd.read_csv(path).dropna(axis="columns", how="all")
    return Table([heading(name) for name in frame.columns], _rows(frame), Path(path).name)


def _rows(frame: pd.DataFrame) -> list[list[Cell]]:
    return [[cell(value) for value in row] for row in frame.astype(object).itertuples(index=False)]


def heading(column: str) -> str:
    """A column's name in words."""
    words = [SMALL_WORDS.get(word, word) for word in column.split("_")]
    return " ".join(words)


def cell(value: Any) -> Cell:
    """A value as text: numbers with a few digits, nothing for NaN."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return Cell("", "")
    if isinstance(value, bool | np.bool_):
        return Cell("yes" if value else "no", "yes" if value else "no")
    if isinstance(value, int | float | np.number):
        key = repr(float(value)).replace("inf", "Infinity")  # as a browser reads it
        return Cell(number(float(value)), key, is_number=True)
    return Cell(str(value), str(value))


def quoted(value: Any) -> Cell:
    """A value that is quoted, not computed: without zeros that would feign more digits than it has."""
    found = cell(value)
    plain = found.is_number and "." in found.text and "·" not in found.text
    return replace(found, text=found.text.rstrip("0").rstrip(".")) if plain else found


def number(value: float) -> str:
    """A number with four digits, a true minus sign and no exponent where it can be done without."""
    if not np.isfinite(value):
        return "∞" if value > 0 else "–∞" if value < 0 else ""
    magnitude = abs(value)
    if magnitude and (magnitude >= 1e6 or magnitude < 1e-4):
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        text = f"{mantissa}·10{_superscript(int(exponent))}"
    elif value == round(value):
        text = f"{value:.0f}"
    else:
        decimals = max(0, DIGITS - 1 - int(np.floor(np.log10(magnitude))))
        text = f"{value:.{min(decimals, 6)}f}"
        text = text.rstrip("0").rstrip(".") if decimals > DIGITS else text
    return text.replace("-", "−")


def _superscript(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
