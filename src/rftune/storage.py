"""Results on disk: netCDF files that describe themselves, written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from rftune import provenance

FORMAT_VERSION = 1
# What writing meets when there is no room: no space, over the quota, over the largest size of a file.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well and vanishes when it does not."""
    target = Path(path)
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
        os.close(descriptor)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        raise OSError(
            f"{path} could not be written ({os.strerror(error.errno)}): make room and start the same command again; "
            f"what is finished stays"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def save(result: xr.Dataset, path: str | Path, *, settings: Any, seed: int) -> None:
    """Write a result with the settings, seed, versions and commit that made it.

    The file holds no time stamp, so the same computation writes the same bytes.

    Parameters
    ----------
    result
        Labelled arrays of numbers and strings.
    path
    settings
        What the result depends on besides its inputs; anything that json can write.
    seed
        Root seed.
    """
    record = {
        "format_version": FORMAT_VERSION,
        "settings": json.dumps(settings, sort_keys=True),
        "seed": seed,
        "versions": json.dumps(provenance.versions(), sort_keys=True),
        "git_commit": provenance.git_commit(),
    }
    with atomic_path(path) as temporary:
        _write(result.assign_attrs(record), temporary)


def save_table(table: pd.DataFrame, path: str | Path, float_format: str | None = "%.6g") -> None:
    """Write a table as csv: six digits of a number, so that the last ones, which depend on the machine, do not show."""
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n", float_format=float_format)


def load(path: str | Path) -> xr.Dataset:
    """Read a result into memory, or say why it cannot be read."""
    with _told(path):
        result = xr.load_dataset(path, engine="h5netcdf")
    _check_version(path, result.attrs)
    return result


def load_per_repeat(path: str | Path, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of a result that have one entry per repeat, in a tenth of the time that `load` takes.

    Parameters
    ----------
    path
    names
        Of the arrays that are asked for; None for all, the repeats' own numbers among them.
    """
    with _told(path), h5py.File(path) as stored:
        record = {name: np.ravel(stored.attrs[name])[0] for name in ("format_version",) if name in stored.attrs}
        arrays = {name: h5py.h5d.open(stored.id, name.encode()) for name in (stored if names is None else names)}
        if names is None:
            arrays = _along(arrays, "repeat")
        found = {name: _entries(h5py.Dataset(array)) for name, array in arrays.items()}
    _check_version(path, record)
    return found


def _along(arrays: Mapping[str, h5py.h5d.DatasetID], dimension: str) -> dict[str, h5py.h5d.DatasetID]:
    """The arrays that have one dimension alone, and its coordinate; HDF5 is asked only where a size leaves doubt."""
    own = arrays[dimension]
    alike = {name: array for name, array in arrays.items() if array.shape == own.shape}
    scales = [name for name, array in alike.items() if h5py.h5ds.is_scale(array)]
    return {
        name: array
        for name, array in alike.items()
        if name == dimension or (name not in scales and (len(scales) == 1 or h5py.h5ds.is_attached(array, own, 0)))
    }


def _entries(stored: h5py.Dataset) -> NDArray[Any]:
    """Numbers; text; and truth values, which netCDF keeps as small numbers."""
    dtype = stored.dtype
    values: NDArray[Any] = stored.asstr()[()] if dtype.hasobject else stored[()]
    return values.astype(bool) if dtype == np.int8 and stored.attrs.get("dtype") == "bool" else values


@contextmanager
def _told(path: str | Path) -> Iterator[None]:
    """One sentence where a file cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"no result at {path}: run the stage that makes it") from None
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{path} is not a readable netCDF file ({error}): delete it and run its stage again"
        ) from error


def _check_version(path: str | Path, record: Mapping[str, Any]) -> None:
    version = record.get("format_version")
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {version}, this rftune reads {FORMAT_VERSION}: "
            f"choose another results folder or delete the file and run its stage again"
        )


def _write(result: xr.Dataset, path: Path) -> None:
    """Write netCDF by way of memory: HDF5 tells less of a full disk, and leaves it to a crash at the end."""
    buffer = result.to_netcdf(engine="h5netcdf")
    path.write_bytes(buffer)


def settings_of(result: xr.Dataset) -> Mapping[str, Any]:
    """The settings recorded in a result."""
    settings: Mapping[str, Any] = json.loads(result.attrs["settings"])
    return settings


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
