"""The tidy table of a sweep: a row per repeat of every point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rftune import storage
from rftune.workflow.sweeps.settings import text

TIMES = ("seconds", "fit_seconds", "peak_memory_mb")


class Source(NamedTuple):
    """Where the results of a point are; ``values`` are the varied settings."""

    experiment: str
    case: str
    seed: int
    emulator: str
    values: Mapping[str, Any]
    analysis: str
    times: Sequence[str]


def sweep_table(sources: Sequence[Source]) -> pd.DataFrame:
    """Settings, errors, seconds and failures of every repeat of every point.

    The columns are experiment, case, seed and emulator; each varied setting, empty where a run does not vary it;
    the repeat; every number that the experiment's analysis gives per repeat, ``test_error`` among them; ``failure``,
    empty for a tuning that ended well; ``seconds`` of the tuning and ``fit_seconds``; peak memory.
    """
    settings = {name: None for source in sources for name in source.values}
    read = [_read(source) for source in sources]
    frame = pd.concat([_frame(list(some)) for _, some in groupby(read, key=list)], ignore_index=True)
    values = np.repeat(np.array([source.values for source in sources]), [len(columns["repeat"]) for columns in read])
    for name in settings:
        frame[name] = _column([row.get(name, _ABSENT) for row in values])
    first = ["experiment", "case", "seed", "emulator", *settings, "repeat"]
    last = ["failure", *TIMES]
    measured = [name for name in frame if name not in (*first, *last)]
    return frame[[*first, *measured, *last]]


_ABSENT = object()


def _read(source: Source) -> dict[str, Any]:
    """The columns of a point, a row per repeat."""
    found = storage.load_per_repeat(source.analysis)
    failed = found["failure"] != ""
    columns = {
        name: np.where(failed, np.nan, values) if name.endswith(("error", "rmse")) else values
        for name, values in found.items()
    }
    chunks = [storage.load_per_repeat(path, ("repeat", *TIMES)) for path in source.times]
    order = np.argsort(np.concatenate([chunk["repeat"] for chunk in chunks]))
    columns |= {name: np.concatenate([chunk[name] for chunk in chunks])[order] for name in TIMES}
    for name in ("experiment", "case", "seed", "emulator"):
        columns[name] = np.full(len(failed), getattr(source, name))
    return columns


def _frame(points: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Points with the same columns."""
    return pd.DataFrame({name: np.concatenate([columns[name] for columns in points]) for name in points[0]})


def _column(values: Sequence[Any]) -> pd.Series[Any]:
    """Numbers as numbers, anything else as text; empty where the setting is not varied."""
    known = [value for value in values if value is not _ABSENT]
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in known):
        whole = all(isinstance(value, int) for value in known)
        numbers = [pd.NA if value is _ABSENT else value for value in values]
        return pd.Series(numbers, dtype="Int64" if whole else "Float64")
    return pd.Series([pd.NA if value is _ABSENT else text(value) for value in values], dtype="string")
