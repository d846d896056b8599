"""A results folder before a run: of this format, writable, and nobody else's at the moment."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from pathlib import Path
from typing import TextIO

import xarray as xr

from rftune.storage import FORMAT_VERSION


class FolderError(Exception):
    """A run cannot use the results folder; nothing in it was touched."""


def check_place(results: str | Path) -> None:
    """Whether there can be a folder at all; Snakemake's look into it would fail with less clear words."""
    folder = Path(results)
    for path in (folder, *folder.parents):
        if path.exists() and not path.is_dir():
            raise FolderError(
                f"the results folder {folder} cannot be made: {path} is no folder; name another one (results: ... in a "
                f"config file, or --config results=...)"
            )


def claim(results: str | Path, lock_path: str | Path) -> TextIO:
    """Check a results folder and lock it for this process.

    The lock is the kernel's: it goes with the process, however that ends, so that a killed run is simply started again.

    Parameters
    ----------
    results
    lock_path
        File in it that carries the lock, and who has it.

    Returns
    -------
    The locked file; the lock lasts as long as it is open.
    """
    folder = Path(results)
    _check_format(folder)
    try:
        Path(lock_path).parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".writable-") as probe:
            probe.write(bytes(4096))
        lock = open(lock_path, "a+", encoding="utf-8")  # noqa: SIM115 (open for as long as the run lasts)
    except OSError as error:
        raise FolderError(
            f"the results folder {folder} cannot be written to ({error.strerror}): make room, mend its permissions, or "
            f"name another one (results: ... in a config file, or --config results=...)"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        raise FolderError(
            f"another run ({lock.read().strip()}) writes to {folder}: wait for it, stop it, or name another folder"
        ) from None
    except OSError:  # a file system without locks
        pass
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    lock.flush()
    return lock


def _check_format(folder: Path) -> None:
    """Results of another format are neither read nor replaced nor mixed with ours."""
    for path in folder.rglob("*.nc"):
        try:
            with xr.open_dataset(path, engine="h5netcdf") as stored:
                version = stored.attrs.get("format_version")
        except (OSError, ValueError):
            continue  # a damaged file is made again by its stage, or named by the one that reads it
        if version != FORMAT_VERSION:
            raise FolderError(
                f"{folder} holds results of format {version} ({path.relative_to(folder)}), and this rftune writes "
                f"format {FORMAT_VERSION}: move that folder away or name another one (results: ... in a config file)"
            )
        return
