"""Before a run: where its results may go, and that nothing but its own broken-off files is removed."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest
from conftest import tiny_config

from rftune import storage
from rftune.workflow import folders
from rftune.workflow.config import ConfigError, read
from users import as_nobody

ANOTHER = "name another one (results: ... in a config file, or --config results=...)"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder that others may look into, as pytest's own is not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        monkeypatch.chdir(folder)
        yield Path(folder)


def refused(results: Path, **options: Any) -> str:
    with pytest.raises(folders.FolderError) as caught:
        folders.check_place(results, **options)
    return str(caught.value)


# Places


def test_that_a_folder_that_can_be_made_is_no_problem(place: Path) -> None:
    folders.check_place("results/mine")
    (place / "results/mine").mkdir(parents=True)
    folders.check_place(place / "results/mine")


def test_that_a_folder_without_permission_is_named_before_snakemake_looks_at_it(place: Path) -> None:
    results = place / "results"
    results.mkdir()
    results.chmod(0o555)
    with as_nobody():
        said = refused(results)
        folders.check_place(results, only_looks=True)
    assert said == (
        f"the results folder {results} cannot be written to (Permission denied): mend its permissions, or {ANOTHER}"
    )


def test_that_a_folder_behind_a_closed_one_is_named(place: Path) -> None:
    (place / "closed").mkdir()
    (place / "closed").chmod(0)
    with as_nobody():
        said = refused(place / "closed/results")
    (place / "closed").chmod(0o700)
    assert said == f"the results folder {place}/closed/results cannot be looked for (Permission denied): {ANOTHER}"


def test_that_a_read_only_mount_is_called_that(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = place / "results"
    results.mkdir()
    mounted = os.statvfs_result([*tuple(os.statvfs(place))[:8], os.ST_RDONLY, 255])
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != results)
    monkeypatch.setattr(os, "statvfs", lambda _: mounted)
    assert f"the results folder {results} cannot be written to ({os.strerror(errno.EROFS)})" in refused(results)


@pytest.mark.parametrize("is_there", [False, True])
def test_that_a_folder_in_which_snakemake_can_keep_no_records_is_named(place: Path, is_there: bool) -> None:
    """It would end with a traceback."""
    if is_there:
        (place / ".snakemake").mkdir()
        (place / ".snakemake").chmod(0o555)
    else:
        place.chmod(0o555)
    with as_nobody():
        said = refused(Path(tempfile.gettempdir()) / "rftune-results", only_looks=True)
    place.chmod(0o755)
    assert said.startswith(f"Snakemake's records in {place}/.snakemake cannot be written (Permission denied): start it")


# Paths


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a\0b", r"a path must hold no line break, NUL or other control character; got 'a\x00b': take it out"),
        ("a\nb", r"a path must hold no line break, NUL or other control character; got 'a\nb': take it out"),
        ("x" * 256, f"a path must have names of at most 255 bytes, and 4000 in all; got '{'x' * 40}'…, whose longest"),
        ("é" * 128, "a path must have names of at most 255 bytes"),
        ("x/" * 2100, "a path must have names of at most 255 bytes, and 4000 in all"),
        ("~nobody_of_this_name/run", "~ must be the home folder of a user of this machine; got '~nobody_of_this_name/"),
    ],
)
@pytest.mark.parametrize("key", ["results", "sweep", "edmf.source"])
def test_that_no_file_system_could_have_it_is_said_in_a_sentence(key: str, value: str, message: str) -> None:
    (problem,) = problems(key, value)
    assert problem.startswith(f"{key}: {message}")


def test_that_a_path_is_text(place: Path) -> None:
    (problem,) = problems("sweep", "a\ud800")
    assert problem == "sweep: a path must be text that UTF-8 can write; got 'a\\ud800': give it another name"


@pytest.mark.parametrize("key", ["results", "sweep"])
@pytest.mark.parametrize("value", ["run{1}", "a{b", "a}b/c"])
def test_that_braces_which_snakemake_would_take_for_wildcards_are_refused(key: str, value: str) -> None:
    assert problems(key, value) == [
        f"{key}: a path must hold no braces, which Snakemake takes for wildcards; got {value!r}: rename it"
    ]


@pytest.mark.parametrize("key", ["results", "sweep"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("s3://bucket/run", "a path must be on a file system of this machine; got 's3://bucket/run': name a folder"),
        (" run", "a path must not begin or end with a space; got ' run': take it out"),
        (" ", "a path must not begin or end with a space; got ' ': take it out"),
    ],
)
def test_that_a_path_which_snakemake_would_take_for_another_is_refused(key: str, value: str, message: str) -> None:
    assert problems(key, value) == [f"{key}: {message}"]


@pytest.mark.parametrize("value", ["run/mine/", "./run/mine", "run//mine"])
def test_that_a_path_is_written_as_snakemake_wants_it(value: str) -> None:
    """Of each path that begins with ./ or has // in it Snakemake prints a warning."""
    assert read(tiny_config({"results": value})).run.results == "run/mine"


def problems(key: str, value: str) -> list[str]:
    block, _, name = key.rpartition(".")
    override = {name: value}
    with pytest.raises(ConfigError) as caught:
        read(tiny_config({block: override} if block else override))
    first, *rest = str(caught.value).split("\n  - ")
    assert first == "the config cannot be used:"
    return rest


def test_that_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    config = read(tiny_config({"results": "~/run", "sweep": "~/rank.yaml", "edmf": {"source": "~/runs.nc"}}))
    assert (config.run.results, config.run.sweep) == ("/home/someone/run", "/home/someone/rank.yaml")
    assert config.everything["edmf"].source == "/home/someone/runs.nc"
    assert read(tiny_config({"results": "a~b/~"})).run.results == "a~b/~"


# What is in them


def result(path: Path, **attributes: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as stored:
        stored.attrs.update(attributes)
    return path


@pytest.mark.parametrize("name", ["data/Diagnostics.nc", "notes.nc", "ishigami/standard/seed1/another.nc"])
def test_that_netcdf_files_of_others_are_no_results(results: Path, name: str) -> None:
    result(results / name)
    result(results / "ishigami/standard/seed1/data.nc", format_version=storage.FORMAT_VERSION)
    claim(results)


def test_that_a_result_of_another_format_is_named_among_files_of_others(results: Path) -> None:
    result(results / "ishigami/standard/seed1/another.nc")
    result(results / "ishigami/standard/seed1/data.nc", format_version=storage.FORMAT_VERSION + 1)
    with pytest.raises(folders.FolderError, match=r"holds results of format 2 \(ishigami/standard/seed1/data.nc\)"):
        claim(results)


def test_that_a_result_of_a_time_to_come_is_named_and_that_clocks_may_differ_a_little(results: Path) -> None:
    made = result(results / f"{SEED}/gp/tuned-0000-0000.nc", format_version=storage.FORMAT_VERSION)
    os.utime(made, (0, time.time() + 30))
    claim(results)
    os.utime(made, (0, time.time() + 120))
    with pytest.raises(folders.FolderError, match=r"tuned-0000-0000.nc is dated 20.*, and here it is only 20.*wait"):
        claim(results)


# What killed jobs leave


def left_behind(target: Path) -> Path:
    """The file of a job that was killed while it wrote a target."""
    with storage.atomic_path(target) as temporary:
        copy = temporary.with_name("kept")
        os.link(temporary, copy)
        name = temporary.name
    target.unlink()
    left = copy.rename(copy.with_name(name))
    left.chmod(0o600)
    left.write_bytes(b"half")
    return left


SEED = "ishigami/standard/seed2026"
TARGETS = (
    *(f"{SEED}/{name}" for name in ("data.nc", "data.checked", "lowrank/tuned-0000-0002.nc", "gp/analysis.nc")),
    *("edmf/file/seed1/gp/posterior-0000-0000.nc.0.part", "tables/T2.csv", "figures/F1.png", "figures/F1.pdf"),
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def claim(results: Path) -> None:
    folders.claim(results, results / "logs/run.lock").close()


def test_that_the_next_run_clears_what_killed_jobs_left(results: Path) -> None:
    left = [left_behind(results / target) for target in TARGETS]
    claim(results)
    assert [path for path in left if path.exists()] == []


KEPT = (
    f"{SEED}/data.nc",  # a result
    f"{SEED}/.data.nc",
    f"{SEED}/.data-abcdefg.nc",  # seven letters
    f"{SEED}/.data-abcdefghi.nc",
    f"{SEED}/.data-ABCDEFGH.nc",
    f"{SEED}/.data-abcdefgh",
    f"{SEED}/.-abcdefgh.nc",
    f"{SEED}/data-abcdefgh.nc",
    f"{SEED}/gp/deeper/.data-abcdefgh.nc",
    "ishigami/standard/.data-abcdefgh.nc",
    "ishigami/standard/notes/.data-abcdefgh.nc",
    "mine/standard/seed2026/.data-abcdefgh.nc",
    ".data-abcdefgh.nc",
    "tables/old/.T2-abcdefgh.csv",
)


def test_that_nothing_else_is_cleared(results: Path) -> None:
    for name in KEPT:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_bytes(b"mine")
        (results / name).chmod(0o600)
    readable = results / SEED / ".my-notebook.nc"  # a name like ours, and rights of a file that somebody made
    readable.write_bytes(b"mine")
    readable.chmod(0o644)
    (results / SEED / ".data-abcdefgh.nc").mkdir()
    claim(results)
    assert [name for name in KEPT if not (results / name).is_file()] == []
    assert readable.is_file()
    assert (results / SEED / ".data-abcdefgh.nc").is_dir()


@pytest.mark.parametrize("link", [SEED, "ishigami/standard", "ishigami", "figures", f"{SEED}/gp"])
def test_that_nothing_behind_a_link_is_cleared(results: Path, tmp_path: Path, link: str) -> None:
    target = tmp_path / "elsewhere"
    below = f"{SEED}/gp/data.nc".removeprefix(link).lstrip("/") if link != "figures" else "F1.png"
    left = left_behind(target / below)
    (results / link).parent.mkdir(parents=True)
    (results / link).symlink_to(target)
    claim(results)
    assert left.is_file()


def test_that_a_link_is_no_file_of_a_killed_job(results: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "thesis.nc"
    foreign.write_bytes(b"mine")
    foreign.chmod(0o600)
    (results / "tables").mkdir(parents=True)
    link = results / "tables/.T2-abcdefgh.csv"
    link.symlink_to(foreign)
    claim(results)
    assert link.is_symlink()
    assert foreign.read_bytes() == b"mine"


def test_that_nothing_is_cleared_in_a_folder_of_another_run(results: Path) -> None:
    left = left_behind(results / TARGETS[0])
    with folders.claim(results, results / "logs/run.lock"):
        left.write_bytes(b"half") if left.exists() else left.touch(mode=0o600)
        with pytest.raises(folders.FolderError, match="another run"):
            folders.claim(results, results / "logs/run.lock")
        assert left.is_file()


def test_that_nothing_is_cleared_where_there_are_no_locks(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    left = left_behind(results / TARGETS[0])
    monkeypatch.setattr(folders.fcntl, "flock", no_locks)
    claim(results)
    assert left.is_file()
