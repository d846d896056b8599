"""Named columns of numbers: what users hand in, arrays, pandas or xarray, as checked matrices, and results in kind."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from rftune.data import Array
from rftune.fitting.forms import Block, Form

LARGEST = 1e100  # of a number, so that float64 holds its square
_SHOWN = 40  # letters of an entry that a message shows


@dataclass(frozen=True, eq=False)
class Columns:
    """A matrix whose columns have names.

    Attributes
    ----------
    names
        One per column, all different.
    values : (n_runs, n_columns)
        Finite and read-only.
    runs
        Labels of the rows; None where these are only counted, from 0.
    form
        What the numbers came in, for results that look like them.
    """

    names: tuple[str, ...]
    values: Array
    runs: pd.Index | None
    form: Form

    def __len__(self) -> int:
        return len(self.values)

    @property
    def in_field(self) -> NDArray[np.bool_]:
        """Which columns are entries of one larger thing, (n_columns,)."""
        if not self.form.blocks:
            return np.zeros(len(self.names), dtype=bool)
        return np.concatenate([np.full(block.size, block.size > 1) for block in self.form.blocks])

    def run(self, row: int) -> str:
        """Name of a row."""
        return str(row if self.runs is None else self.runs[row])


def read(what: Literal["inputs", "outputs"], given: Any) -> Columns:
    """Columns from an array, a data frame, a series, a mapping of columns, or an xarray data set or array.

    Parameters
    ----------
    what
        For messages, and for the names of columns that have none: "x0", "x1", ... or "y0", "y1", ...
    given
        A row per run. Only outputs may have one dimension.
    """
    if isinstance(given, Columns):
        return given
    if isinstance(given, xr.DataArray | xr.Dataset):
        return _from_xarray(what, given)
    if isinstance(given, Mapping):
        given = _frame(what, given)
    if isinstance(given, pd.Series):
        name = "y0" if given.name is None else given.name
        return _checked(what, [name], [given], given.index, Form("series"))
    if isinstance(given, pd.DataFrame):
        names = [given.iloc[:, column].name for column in range(given.shape[1])]
        series = [given.iloc[:, column] for column in range(given.shape[1])]
        return _checked(what, names, series, given.index, Form("frame"))
    return _from_array(what, given)


def like(what: Literal["inputs", "outputs"], given: Any, names: Sequence[str]) -> Columns:
    """Columns of given names, in that order: chosen by name where ``given`` has names, by place where it has none."""
    if isinstance(given, Mapping) and not isinstance(given, xr.Dataset):
        given = _frame(what, given)
    if isinstance(given, pd.DataFrame):
        present = [str(name) for name in given.columns]
        check_present(what, names, present)
        return read(what, given.iloc[:, [present.index(name) for name in names]])
    columns = read(what, given)
    if columns.form.kind not in ("matrix", "vector"):
        check_present(what, names, columns.names)
        order = [columns.names.index(name) for name in names]
        if order == list(range(len(columns.names))):
            return columns
        return Columns(tuple(names), columns.values[:, order], columns.runs, columns.form)
    if len(columns.names) != len(names):
        shown = ", ".join(names) if len(names) <= 10 else f"{names[0]} to {names[-1]}"
        raise ValueError(f"{what} must have {len(names)} columns ({shown}); got {len(columns.names)}")
    return Columns(tuple(names), columns.values, columns.runs, columns.form)


def check_present(what: str, wanted: Sequence[str], present: Sequence[str]) -> None:
    """Raise a ValueError that names the columns that are missing."""
    missing = [name for name in wanted if name not in present]
    if missing:
        raise ValueError(
            f"{what} must have the column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing[:5]))}; there "
            f"{'is' if len(present) == 1 else 'are'} {', '.join(map(repr, present[:20])) or 'none'}: check the names"
        )
    twice = [name for name in wanted if list(present).count(name) > 1]
    if twice:
        raise ValueError(f"{what} must have different names; {twice[0]!r} is there twice: rename one of the columns")


def check_same_runs(inputs: Columns, outputs: Columns) -> None:
    """Raise a ValueError where inputs and outputs cannot belong together row by row."""
    if len(inputs) != len(outputs):
        raise ValueError(
            f"inputs and outputs must have a row for every run; got {len(inputs)} and {len(outputs)} rows: "
            f"leave out what is in one alone"
        )
    if inputs.runs is not None and outputs.runs is not None:
        row = next((row for row in range(len(inputs)) if inputs.run(row) != outputs.run(row)), None)
        if row is not None:
            raise ValueError(
                f"inputs and outputs must have the same runs in the same order; row {row} is {inputs.run(row)!r} in "
                f"one and {outputs.run(row)!r} in the other: align them by their labels"
            )
    shared = [name for name in inputs.names if name in outputs.names]
    if shared:
        raise ValueError(f"no column can be both an input and an output; {shared[0]!r} is: leave it out of one of them")


def _from_array(what: str, given: Any) -> Columns:
    matrix = _numbers(what, given)
    kind: Literal["matrix", "vector"] = "matrix"
    if matrix.ndim == 1 and what == "outputs":
        matrix, kind = matrix[:, None], "vector"
    if matrix.ndim != 2:
        hint = "pass x[:, None] for one input, x[None, :] for one point" if matrix.ndim == 1 else "reshape it"
        raise ValueError(f"{what} must have a row per run and a column per quantity; got shape {matrix.shape}: {hint}")
    letter = "x" if what == "inputs" else "y"
    names = [f"{letter}{column}" for column in range(matrix.shape[1])]
    return _made(what, names, matrix, None, Form(kind))


def _from_xarray(what: str, given: xr.DataArray | xr.Dataset) -> Columns:
    """A variable of one dimension is a column, one of several a column for each of its entries beside the runs."""
    single = isinstance(given, xr.DataArray)
    dataset = given.to_dataset(name=given.name or what) if isinstance(given, xr.DataArray) else given
    arrays = {str(name): array for name, array in dataset.data_vars.items()}
    if not arrays or any(array.ndim == 0 for array in arrays.values()):
        raise ValueError(f"{what} must be variables along a dimension of runs; got {list(arrays) or 'no variable'}")
    run = next(iter(arrays.values())).dims[0]
    if any(run not in array.dims for array in arrays.values()):
        raise ValueError(f"every variable of {what} must have the dimension {run!r}, which is that of the first one")
    blocks, parts, names = [], [], list[Hashable]()
    for name, array in arrays.items():
        ordered = array.transpose(run, ...)
        values = _numbers(f"{what} ({name!r})", ordered.to_numpy())
        block = Block(name, tuple(map(str, ordered.dims[1:])), ordered.shape[1:], _coordinates(ordered))
        blocks.append(block)
        parts.append(values.reshape(len(values), -1))
        names += block.column_names(single)
    labels = dataset.indexes.get(run)
    form = Form("dataarray" if single else "dataset", str(run), tuple(blocks))
    return _made(what, names, np.concatenate(parts, axis=1), labels, form)


def _coordinates(array: xr.DataArray) -> dict[str, list[Any]]:
    """Labels of the entries beside the runs, where there are any."""
    beside = {str(dim): array.coords[dim].to_numpy() for dim in array.dims[1:] if dim in array.coords}
    return {
        dim: labels.tolist() if labels.dtype.kind in "iuf" else [*map(str, labels)] for dim, labels in beside.items()
    }


def _frame(what: str, given: Mapping[Any, Any]) -> pd.DataFrame:
    lengths = {str(name): np.size(column) for name, column in given.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"all columns of {what} must have one length; got {lengths}")
    return pd.DataFrame({name: np.ravel(column) for name, column in given.items()})


def _checked(what: str, names: Sequence[Any], series: Sequence[pd.Series], index: pd.Index, form: Form) -> Columns:
    columns = [_column(what, str(name), entries) for name, entries in zip(names, series, strict=True)]
    matrix = np.column_stack(columns) if columns else np.empty((len(index), 0))
    return _made(what, names, matrix, None if isinstance(index, pd.RangeIndex) else index, form)


def _column(what: str, name: str, series: pd.Series) -> Array:
    """A column as float64, or which entry is no number."""
    if series.dtype.kind in "biuf":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if series.dtype.kind != "O" and not isinstance(series.dtype, pd.CategoricalDtype):
        raise ValueError(f"{what} must be numbers; column {name!r} holds {series.dtype}: convert it or leave it out")
    numbers, bad = np.empty(len(series)), np.zeros(len(series), dtype=bool)
    for row, entry in enumerate(series.astype(object)):
        try:
            numbers[row] = np.nan if entry is None or entry is pd.NA else float(entry)
        except (TypeError, ValueError, OverflowError):
            bad[row] = True
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{what} must be numbers; {_short(series.iloc[row])} stands in column {name!r}, row {series.index[row]}"
            f"{_others(bad)}: remove or repair {'it' if bad.sum() == 1 else 'them'}"
        )
    return numbers


def _made(what: str, names: Sequence[Hashable], matrix: Array, runs: pd.Index | None, form: Form) -> Columns:
    """What every source of columns has to fulfil."""
    texts = tuple(map(str, names))
    twice = next((name for name in texts if texts.count(name) > 1), None) if len(set(texts)) < len(texts) else None
    if twice is not None:
        raise ValueError(f"{what} must have different names; {twice!r} is there twice: rename one of the columns")
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise ValueError(f"{what} must have at least one run and one column; got shape {matrix.shape}")
    values = np.array(matrix, dtype=np.float64, order="C")
    values.flags.writeable = False
    columns = Columns(texts, values, runs, form)
    bad = ~(np.abs(values) <= LARGEST)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        entry = values[row, column]
        problem, remedy = f"{entry:g} stands", "remove or repair these runs"
        if np.isnan(entry):
            problem = "no number stands"
        elif np.isfinite(entry):
            remedy = f"use units in which all are below {LARGEST:g}"
        raise ValueError(
            f"{what} must be finite numbers; {problem} in column {texts[column]!r}, row {columns.run(row)}"
            f"{_others(bad)}: {remedy}"
        )
    return columns


def _numbers(what: str, given: Any) -> Array:
    """An array of float64, or what is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            array = np.asarray(given)
        if array.dtype.kind in "biuf" or (array.dtype.kind == "O" and array.ndim > 0):
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, Warning) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{what} must be numbers, as many in every row; got {_short(given)} ({reason})") from None
    kinds = {"U": "text", "S": "text", "c": "complex numbers", "M": "dates", "m": "durations"}
    raise ValueError(f"{what} must be real numbers; got {kinds.get(array.dtype.kind, type(given).__name__)}")


def _short(entry: Any) -> str:
    text = " ".join(repr(entry).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _others(bad: Any) -> str:
    others = int(np.count_nonzero(bad)) - 1
    return f" (and {others} other{'s' if others > 1 else ''})" if others else ""
