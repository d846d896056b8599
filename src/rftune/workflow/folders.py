"""A results folder before a run: of this format, writable, nobody else's at the moment, and rid of broken-off files."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import xarray as xr

from rftune.experiments.base import experiments
from rftune.storage import FORMAT_VERSION

ANOTHER = "name another one (results: ... in a config file, or --config results=...)"
# What `storage.atomic_path` calls the file that it writes: the target's stem, eight letters of `tempfile`, its suffix.
TEMPORARY = re.compile(r"\..+-[a-z0-9_]{8}\.[a-z]+")
MOST_AHEAD, CLOCK = 60.0, "%Y-%m-%d %H:%M:%S"  # seconds that clocks of a cluster may differ, and how times are told


class FolderError(Exception):
    """A run cannot use the results folder; nothing in it was touched."""


def check_place(results: str | Path, *, only_looks: bool = False) -> None:
    """Whether there can be a folder at all, and records of it; Snakemake would fail with less clear words.

    Parameters
    ----------
    results
    only_looks
        Whether nothing will be written there.
    """
    folder, records = Path(results), Path(".snakemake")
    try:
        obstacle = next((path for path in (folder, *folder.parents) if path.exists() and not path.is_dir()), None)
        is_there = folder.exists()
    except OSError as error:
        raise FolderError(f"the results folder {folder} cannot be looked for ({error.strerror}): {ANOTHER}") from None
    if obstacle is not None:
        raise FolderError(f"the results folder {folder} cannot be made: {obstacle} is no folder; {ANOTHER}")
    if is_there and not only_looks and (why := _unwritable(folder)):
        raise FolderError(
            f"the results folder {folder} cannot be written to ({why}): mend its permissions, or {ANOTHER}"
        )
    if why := _unwritable(records if records.exists() else records.parent):
        raise FolderError(
            f"Snakemake's records in {records.resolve()} cannot be written ({why}): start it in a folder of your own, "
            f"with --snakefile and the path of this project's Snakefile"
        )


def _unwritable(folder: Path) -> str:
    """Why no file can be made in a folder; empty where one can."""
    if os.access(folder, os.W_OK | os.X_OK):
        return ""
    is_mounted_so = os.statvfs(folder).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if is_mounted_so else errno.EACCES)


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
    _check_dates(folder)
    try:
        Path(lock_path).parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".writable-") as probe:
            probe.write(bytes(4096))
        lock = open(lock_path, "a+", encoding="utf-8")  # noqa: SIM115 (open for as long as the run lasts)
    except OSError as error:
        raise FolderError(
            f"the results folder {folder} cannot be written to ({error.strerror}): make room, mend its permissions, or "
            f"{ANOTHER}"
        ) from None
    is_locked = True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with lock:
            lock.seek(0)
            other = lock.read().strip()
        raise FolderError(
            f"another run ({other}) writes to {folder}: wait for it, stop it, or name another folder"
        ) from None
    except OSError:  # a file system without locks
        is_locked = False
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    lock.flush()
    if is_locked:
        _clear(folder)
    return lock


def _clear(folder: Path) -> None:
    """Remove what killed jobs of earlier runs left unfinished, and nothing else; whatever cannot be removed stays."""
    for place in _own_folders(folder):
        with suppress(OSError):
            for path in [Path(entry) for entry in os.scandir(place)]:
                if TEMPORARY.fullmatch(path.name) and _is_private(path):
                    path.unlink()


def _own_folders(folder: Path) -> Iterator[Path]:
    """Where jobs write: tables, figures, and the folders of every case; none that is behind a link."""
    yield from (place for place in _folders_in(folder) if place.name in ("tables", "figures"))
    for experiment in (place for place in _folders_in(folder) if place.name in experiments()):
        for case in _folders_in(experiment):
            for seed in (place for place in _folders_in(case) if re.fullmatch(r"seed[0-9]+", place.name)):
                yield from (seed, *_folders_in(seed))


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [Path(entry) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_private(path: Path) -> bool:
    """Whether it is a plain file of this user that nobody else may read, as `tempfile` makes them."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600 and found.st_uid == os.geteuid()


def _check_format(folder: Path) -> None:
    """Results of another format are neither read nor replaced nor mixed with ours."""
    for path in _own_results(folder):
        try:
            with xr.open_dataset(path, engine="h5netcdf") as stored:
                version = stored.attrs.get("format_version")
        except (OSError, ValueError):
            continue  # a damaged file is made again by its stage, or named by the one that reads it
        if version == FORMAT_VERSION:
            return
        if version is not None:  # a file without one is nobody's result
            raise FolderError(
                f"{folder} holds results of format {version} ({path.relative_to(folder)}), and this rftune writes "
                f"format {FORMAT_VERSION}: move that folder away or {ANOTHER}"
            )


def _check_dates(folder: Path) -> None:
    """No result is of a time to come, as after a clock was put back: whatever follows from it would be made in vain."""
    now = time.time()
    for path in _own_results(folder):
        with suppress(OSError):
            made = path.stat().st_mtime
            if made > now + MOST_AHEAD:
                raise FolderError(
                    f"{path} is dated {time.strftime(CLOCK, time.localtime(made))}, and here it is only "
                    f"{time.strftime(CLOCK, time.localtime(now))}, so that whatever is made from it would be out of "
                    f"date at once: mend the clock, wait, or {ANOTHER}"
                )


def _own_results(folder: Path) -> Iterator[Path]:
    for place in _own_folders(folder):
        yield from sorted(place.glob("*.nc"))
