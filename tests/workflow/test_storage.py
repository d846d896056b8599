"""Result files: whole or not there, the same bytes for the same result, readable without pickle, self-describing."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from rftune import provenance, storage
from rftune.workflow import jobs

Reader = Callable[[Path], Any]
each_reader = pytest.mark.parametrize("read", [storage.load, storage.load_per_repeat])
SETTINGS = {"rank": None, "bounds": [0.5, 2.0], "nested": {"n": 3, "name": "lowrank"}}


@pytest.fixture
def result() -> xr.Dataset:
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {
            "mean": (("repeat", "point"), rng.standard_normal((2, 5))),
            "failure": ("repeat", np.array(["", "ended at the zero predictor ς→0"], dtype=object)),
            "n_restarts": ("repeat", [0, 2]),
        },
        coords={"repeat": [4, 5]},
    )


def test_that_a_result_comes_back_as_it_was(result: xr.Dataset, tmp_path: Path) -> None:
    storage.save(result, tmp_path / "a.nc", settings=SETTINGS, seed=7)
    xr.testing.assert_equal(storage.load(tmp_path / "a.nc"), result)


def test_that_a_file_says_what_made_it(result: xr.Dataset, tmp_path: Path) -> None:
    storage.save(result, tmp_path / "a.nc", settings=SETTINGS, seed=7)
    loaded = storage.load(tmp_path / "a.nc")
    assert storage.settings_of(loaded) == SETTINGS
    assert loaded.attrs["seed"] == 7
    assert f'"numpy": "{np.__version__}"' in loaded.attrs["versions"]
    assert loaded.attrs["git_commit"] == provenance.git_commit()
    assert re.fullmatch(r"[0-9a-f]{40}(\+dirty)?|unknown", loaded.attrs["git_commit"])
    assert result.attrs == {}, "saving changed the result"


def test_that_the_same_result_is_the_same_bytes(result: xr.Dataset, tmp_path: Path) -> None:
    for name in ("a.nc", "elsewhere/b.nc"):
        storage.save(result, tmp_path / name, settings=SETTINGS, seed=7)
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "elsewhere/b.nc").read_bytes()


def test_that_the_order_of_settings_changes_no_byte(result: xr.Dataset, tmp_path: Path) -> None:
    storage.save(result, tmp_path / "a.nc", settings=SETTINGS, seed=7)
    storage.save(result, tmp_path / "b.nc", settings=dict(reversed(SETTINGS.items())), seed=7)
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_that_reading_needs_no_pickle(result: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(result, tmp_path / "a.nc", settings=SETTINGS, seed=7)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("pickle was asked to load")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(f"pickle.{name}", refuse)
    storage.load(tmp_path / "a.nc")
    content = (tmp_path / "a.nc").read_bytes()
    assert content.startswith(b"\x89HDF")
    assert b"cnumpy" not in content
    assert b"OPAQUE" not in content


@each_reader
def test_that_a_missing_file_names_the_remedy(tmp_path: Path, read: Reader) -> None:
    with pytest.raises(FileNotFoundError, match=r"no result at .*a\.nc: run the stage that makes it"):
        read(tmp_path / "a.nc")


@each_reader
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.95])
def test_that_a_truncated_file_names_the_remedy(result: xr.Dataset, tmp_path: Path, share: float, read: Reader) -> None:
    path = tmp_path / "a.nc"
    storage.save(result, path, settings=SETTINGS, seed=7)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"a\.nc is not a readable netCDF file .*: delete it and run its stage again"):
        read(path)


@each_reader
@pytest.mark.parametrize("version", [None, storage.FORMAT_VERSION + 1])
def test_that_a_file_of_another_format_names_both_versions(
    result: xr.Dataset, tmp_path: Path, version: int | None, read: Reader
) -> None:
    attributes = {} if version is None else {"format_version": version}
    result.assign_attrs(attributes).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match=rf"a\.nc has format version {version}, this rftune reads 1: choose another"):
        read(tmp_path / "a.nc")


@pytest.mark.parametrize("n_repeats", [3, 5])
def test_that_arrays_per_repeat_are_those_that_xarray_reads(tmp_path: Path, n_repeats: int) -> None:
    """With as many inputs as repeats sizes do not tell the dimensions apart."""
    rng = np.random.default_rng(1)
    made = xr.Dataset(
        {
            "error": ("repeat", rng.standard_normal(n_repeats)),
            "first": (("repeat", "input"), rng.standard_normal((n_repeats, 3))),
            "scale": ("input", rng.standard_normal(3)),
            "stayed": ("repeat", np.arange(n_repeats) % 2 == 0),
            "n_failed": ("repeat", np.arange(n_repeats)),
            "failure": ("repeat", np.array(["", "é", *[""] * (n_repeats - 2)])),
            "one": ((), 1.0),
        },
        coords={"repeat": np.arange(n_repeats)},
    )
    storage.save(made, tmp_path / "a.nc", settings={}, seed=1)
    slow = storage.load(tmp_path / "a.nc")
    expected = {str(name): array.values for name, array in slow.variables.items() if array.dims == ("repeat",)}
    found = storage.load_per_repeat(tmp_path / "a.nc")
    assert found.keys() == expected.keys() == {"repeat", "error", "stayed", "n_failed", "failure"}
    for name, values in expected.items():
        assert repr(found[name].tolist()) == repr(values.tolist()), name
    assert list(storage.load_per_repeat(tmp_path / "a.nc", ["error"])) == ["error"]


def test_that_a_failed_write_leaves_the_earlier_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("earlier", encoding="utf-8")

    def write_half() -> None:
        with storage.atomic_path(path) as temporary:
            temporary.write_text("half", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text(encoding="utf-8") == "earlier"


def test_that_nothing_stands_at_the_path_before_the_write_ends(tmp_path: Path) -> None:
    path = tmp_path / "folder/a.nc"
    with storage.atomic_path(path) as temporary:
        temporary.write_text("whole", encoding="utf-8")
        assert not path.exists()
        assert temporary.parent == path.parent  # a rename between file systems would be a copy
        assert temporary.suffix == ".nc"
    assert path.read_text(encoding="utf-8") == "whole"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.nc"]


def test_that_others_may_read_a_file_as_far_as_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with storage.atomic_path(tmp_path / "a.txt") as temporary:
            temporary.write_text("", encoding="utf-8")
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def test_that_a_failed_job_says_why_in_one_sentence_and_logs_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        with jobs.job(tmp_path / "a.log"):
            raise ValueError("x must be positive; got -1")

    with pytest.raises(SystemExit) as caught:
        fail()
    assert caught.value.code == 1
    assert capsys.readouterr().err == f"error: x must be positive; got -1\n(details in {tmp_path / 'a.log'})\n"
    assert "Traceback" in (tmp_path / "a.log").read_text(encoding="utf-8")


BAR = """
from rftune.progress import progress_bar
with progress_bar(3, "tune lowrank") as bar:
    for _ in range(3):
        bar.update()
"""


def test_that_a_person_at_a_terminal_sees_a_bar_and_a_file_does_not() -> None:
    command = [sys.executable, "-c", BAR]
    quiet = subprocess.run(command, check=True, capture_output=True)
    assert quiet.stderr == b""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    termios.tcsetwinsize(theirs, (24, 80))
    try:
        subprocess.run(command, check=True, stderr=theirs)
        assert b"tune lowrank" in os.read(ours, 10000)
    finally:
        os.close(theirs)
        os.close(ours)


LATE_LIBRARIES = """
import sys
from rftune.emulators import base
from rftune.workflow.jobs import job
from threadpoolctl import threadpool_info
with job(sys.argv[1]):
    from rftune.emulators.kinds import random_features
    print(*{library["num_threads"] for library in threadpool_info()})
"""


def test_that_a_library_loaded_within_a_job_has_one_thread_whatever_the_environment_says(tmp_path: Path) -> None:
    many = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    command = [sys.executable, "-c", LATE_LIBRARIES, str(tmp_path / "log")]
    run = subprocess.run(command, env=os.environ | many, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1"]
