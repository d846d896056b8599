"""Tables of runs in files: csv, parquet, npz and netCDF, read and written."""

from __future__ import annotations

import csv
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from rftune import storage
from rftune.fitting import columns
from rftune.fitting.columns import Columns

Source = pd.DataFrame | xr.Dataset

_SEPARATORS = (",", ";", "\t")
_UNREADABLE = (OSError, ValueError, LookupError, RuntimeError, TypeError, EOFError, OverflowError, zipfile.BadZipFile)


def load(path: str | Path) -> Source:
    """What is in a file, by its suffix."""
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path} must be a file of one of the kinds {', '.join(_READERS)}; rename or convert it")
    if not path.exists():
        raise ValueError(f"there is no file {path}: check the path")
    if not path.is_file():
        raise ValueError(f"{path} must be a file; it is a folder")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty: there is nothing to read")
    with _readable(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of readers about what they guess; the columns are checked
        return reader(path)


def names_in(source: Source) -> list[str]:
    """Names of its columns or variables."""
    return [str(name) for name in (source.columns if isinstance(source, pd.DataFrame) else source.data_vars)]


def matching(what: str, patterns: Sequence[str], source: Source) -> list[str]:
    """Names of a source's columns that patterns such as "T_*" stand for, in the order of the patterns."""
    present, found = names_in(source), list[str]()
    for pattern in patterns:
        found += [pattern] if pattern in present else [name for name in present if fnmatchcase(name, pattern)]
        if not found or not (pattern in found or any(fnmatchcase(name, pattern) for name in found)):
            columns.check_present(what, [pattern], present)
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{what} must have different names; {twice!r} is asked for twice: once is enough")
    return found


def take(what: Literal["inputs", "outputs"], source: Source, names: Sequence[str]) -> Columns:
    """Some of its columns as numbers."""
    if isinstance(source, pd.DataFrame):
        return columns.like(what, source, names)
    columns.check_present(what, names, names_in(source))
    return columns.read(what, source[list(names)])


def labelled(source: Source, column: str | None) -> Source:
    """The source with the entries of a column as names of its runs."""
    if column is None or not isinstance(source, pd.DataFrame):
        return source
    columns.check_present("the file", [column], names_in(source))
    return source.set_index(column)


def save(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table with all digits, in the kind of file that the suffix names; row labels other than a count too."""
    path = Path(path)
    check_writable(path)
    if not isinstance(table.index, pd.RangeIndex):
        table = table.reset_index(names=table.index.name or "run")
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        with storage.atomic_path(path) as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n", sep="," if suffix == ".csv" else "\t")
        return
    with storage.atomic_path(path) as temporary:
        if suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        elif suffix == ".npz":
            _write_arrays(table, temporary)
        else:
            run = _unlike(table.columns)
            dataset = xr.Dataset({str(name): (run, _plain(series)) for name, series in table.items()})
            temporary.write_bytes(dataset.to_netcdf(engine="h5netcdf"))


def check_writable(path: str | Path) -> None:
    """Raise a ValueError, before long work, where a table could not be written."""
    if Path(path).suffix.lower() not in _READERS:
        raise ValueError(f"{path} must have one of the suffixes {', '.join(_READERS)}, which say how to write it")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What goes wrong in a reader as one line."""
    try:
        yield
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:150] or type(error).__name__
        raise ValueError(f"{path} cannot be read as a {path.suffix} file ({reason}): is it of that kind?") from None


def _read_separated(path: Path) -> pd.DataFrame:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
    separator = max(_SEPARATORS, key=first.count)
    header = [name.strip() for name in next(csv.reader([first], delimiter=separator), [])]
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"the column {twice!r} is there twice")
    frame = pd.read_csv(
        path,
        sep=separator,
        encoding="utf-8-sig",
        skipinitialspace=True,
        float_precision="round_trip",
        index_col=False,
        low_memory=False,
    )
    if frame.shape[1] != len(header):
        raise ValueError("its rows and its heading differ in length")
    return frame.set_axis(header, axis="columns")


def _read_arrays(path: Path) -> xr.Dataset:
    with np.load(path, allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    lengths = {name: len(np.atleast_1d(array)) for name, array in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"its arrays must have one length; they have {lengths}")
    if any(array.ndim == 0 for array in found.values()):
        raise ValueError("its arrays must have an entry for every run; some are single numbers")
    run = _unlike(found)
    dims = {name: (run, *(f"{run}_{name}_{axis}" for axis in range(1, array.ndim))) for name, array in found.items()}
    return xr.Dataset({name: (dims[name], array) for name, array in found.items()})


def _unlike(names: Iterable[Any]) -> str:
    """A name for the dimension of the runs that no column has: xarray would take that for labels."""
    taken = [str(name) for name in names]
    return "run" + "_" * max([len(name) - 2 for name in taken if name.startswith("run")], default=0)


def _read_netcdf(path: Path) -> xr.Dataset:
    with path.open("rb") as file:
        classic = file.read(3) == b"CDF"
    return xr.load_dataset(path, engine="scipy" if classic else "h5netcdf").reset_coords()


def _write_arrays(table: pd.DataFrame, path: Path) -> None:
    """As `numpy.savez` does, whose own parameters are no names of arrays."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, series in table.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # of a fixed date, so that the same table has the same bytes
            with archive.open(member, "w") as file:
                np.lib.format.write_array(file, _plain(series), allow_pickle=False)


def _plain(series: pd.Series) -> NDArray[Any]:
    """Numbers as they are, all else as text."""
    numeric = series.dtype.kind in "biuf"
    return series.to_numpy() if numeric else series.astype(str).to_numpy(dtype="U")


_READERS: dict[str, Callable[[Path], Source]] = {
    ".csv": _read_separated,
    ".tsv": _read_separated,
    ".parquet": pd.read_parquet,
    ".npz": _read_arrays,
    ".nc": _read_netcdf,
}
