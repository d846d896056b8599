"""The tidy table of a sweep: a row per repeat of every point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rftune import storage
from rftune.experiments.protocol import load_repeats
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
    frame = pd.concat([_rows(source) for source in sources], ignore_index=True)
    for name in settings:
        frame[name] = _column([row.get(name, _ABSENT) for row in frame["values"]])
    first = ["experiment", "case", "seed", "emulator", *settings, "repeat"]
    last = ["failure", *TIMES]
    measured = [name for name in frame if name not in (*first, *last, "values")]
    return frame[[*first, *measured, *last]]


_ABSENT = object()


def _rows(source: Source) -> pd.DataFrame:
    analysis, times = storage.load(source.analysis), load_repeats(source.times)
    per_repeat = {str(name): array.values for name, array in analysis.data_vars.items() if array.dims == ("repeat",)}
    failed = per_repeat["failure"] != ""
    measured = {
        name: np.where(failed, np.nan, values) if name.endswith(("error", "rmse")) else values
        for name, values in per_repeat.items()
    }
    frame = pd.DataFrame({"repeat": analysis["repeat"].values, **measured})
    for name in TIMES:
        frame[name] = times[name].values
    described = source._asdict()
    for name in ("experiment", "case", "seed", "emulator"):
        frame[name] = described[name]
    frame["values"] = pd.Series([dict(source.values)] * len(frame), dtype=object)
    return frame


def _column(values: Sequence[Any]) -> pd.Series[Any]:
    """Numbers as numbers, anything else as text; empty where the setting is not varied."""
    known = [value for value in values if value is not _ABSENT]
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in known):
        whole = all(isinstance(value, int) for value in known)
        numbers = [pd.NA if value is _ABSENT else value for value in values]
        return pd.Series(numbers, dtype="Int64" if whole else "Float64")
    return pd.Series([pd.NA if value is _ABSENT else text(value) for value in values], dtype="string")
