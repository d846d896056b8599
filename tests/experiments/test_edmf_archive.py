"""Any file in the place of the public EDMF data is read, or refused in one sentence that names it."""

from __future__ import annotations

import io
import os
import re
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import edmf_file
from outcomes import counting, within
from rftune.experiments.edmf import archive, sampling
from rftune.experiments.edmf.parameters import SIMULATED, Parameters
from rftune.experiments.protocol import training_set
from rftune.workflow.config import ConfigError
from rftune.workflow.entry import Entered, enter
from users import as_nobody

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
REAL = os.environ.get("RFTUNE_EDMF_DATA")
N_EXAMPLES = int(os.environ.get("RFTUNE_EXAMPLES", "60"))
UNIT = {"bounds": [0.0, 1.0], "prior_mean": 0.5}
# Every file that mutations start from: its parameters as the config has them, and its content.
SEEDS = {"small": dict.fromkeys(("a", "b"), UNIT)} | ({"public": CONFIG["edmf"]["data"]["parameters"]} if REAL else {})


@cache
def seed(name: str) -> bytes:
    return Path(str(REAL)).read_bytes() if name == "public" else edmf_file.content()


def parameters(entries: dict[str, Any]) -> Parameters:
    bounds, means = ([entry[key] for entry in entries.values()] for key in ("bounds", "prior_mean"))
    return Parameters(tuple(entries), np.array(bounds), np.array(means))


AB = parameters(SEEDS["small"])


def config_of(source: str, entries: dict[str, Any]) -> dict[str, Any]:
    """The paper's config with a file, its parameters and the emulators that fit any."""
    changed = deepcopy(CONFIG) | {"experiments": ["edmf"]}
    changed["edmf"]["source"] = source
    changed["edmf"]["data"]["parameters"] = dict.fromkeys(SIMULATED) | entries
    changed["edmf"]["emulators"] = {name: CONFIG["edmf"]["emulators"][name] for name in ("constant", "gp")}
    return changed


def refused(path: Path, message: str) -> None:
    """The file is refused in a sentence that names it and says this, where dots stand for anything."""
    with pytest.raises(archive.ArchiveError) as caught:
        archive.read(str(path), AB)
    said = str(caught.value)
    assert path.name in said
    assert "\n" not in said
    assert re.search(".*".join(map(re.escape, message.split("..."))), said), said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.nc"


# What is wrong with the numbers


def physical(image: bytes) -> Any:
    with h5py.File(io.BytesIO(image)) as file:
        return file["particle_diags/phi"][...]


def changed(values: Any, place: Any, value: Any) -> Any:
    copy = np.array(values)
    copy[place] = value
    return copy


SMALL = edmf_file.content()
CUBE = ("iteration", "param", "particle")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("reference/y_full", [0.1, np.nan, 0.3], "y_full in ... must be finite, at most 1e+30; entry 1"),
        ("reference/y_full", [0.1, 9.97e36, 0.3], "y_full in ... must be finite, at most 1e+30; entry 1"),
        ("reference/y_full", [0.1, 0.2], "g_full in ... must have 2 outputs, as many as in reference/y_full; got 3"),
        (
            "reference/y_full",
            np.zeros((3, 1)),
            "y_full in ... must have the dimensions out_full, ... got out_full, unnamed",
        ),
        ("reference/y_full", 0.1, "y_full in ... must have the dimensions out_full, in any order; got none"),
        ("reference/y_full", np.array(["a", "b", "c"], dtype="S1"), "y_full in ... must hold numbers; got |S1"),
        ("reference/y_full", np.ones(3, dtype=complex), "y_full in ... must hold numbers; got complex128"),
        ("reference/Gamma_full", np.eye(2), "Gamma_full in ... must have (3, 3) entries, ... got (2, 2)"),
        ("reference/Gamma_full", np.diag([1.0, np.inf, 1.0]), "Gamma_full in ... must be finite... entry 1, 1"),
        ("reference/Gamma_full", np.diag([1.0, 0.0, 1.0]), "must have variances of at least 1e-100; got 0 at output 1"),
        ("reference/Gamma_full", np.ones((3, 3)), "Gamma_full in ... must be positive definite; ... add noise"),
        (
            "reference/Gamma_full",
            np.eye(3) + np.diag([0.1, 0.1], 1),
            "Gamma_full in ... must be symmetric; got 0.1 at 0, 1 and 0 at 1, 0: store (Γ + Γᵀ)/2",
        ),
        ("particle_diags/param", [1, 2], "param in ... must be names; got int64 [1, 2]: store text"),
        ("particle_diags/param", ["a", "a"], "param in ... must name every parameter once; got 'a' twice"),
        ("particle_diags/param", [b"a", b"\xff"], r"param in ... must be text in UTF-8; got b'\xff': rename it"),
        (
            "particle_diags/param",
            ["a", "c"],
            "has the parameters a, c; edmf.data.parameters names a, b: ... set others to",
        ),
        (
            "particle_diags/phi",
            physical(SMALL)[:, :, :4],
            "g_full in ... must have 4 members, as many as in particle_diags/phi; got 5",
        ),
        ("particle_diags/phi", physical(SMALL)[:, :1], "phi in ... must have 2 parameters, as many as names ... got 1"),
        ("particle_diags/phi", physical(SMALL)[0], "phi in ... must have the dimensions iteration, particle, param"),
        (
            "particle_diags/phi",
            changed(physical(SMALL), (1, 0, 3), 1.5),
            "b in ... must lie strictly between the bounds 0 and 1 of ...; got 1.5 at iteration 1, member 3",
        ),
        (
            "particle_diags/phi",
            changed(physical(SMALL), np.s_[2, 0], 0.5),
            "differ in every parameter ... in a plane",
        ),
        (
            "particle_diags/g_full",
            np.full((4, 3, 5), np.nan),
            "must hold at least two iterations with outputs, ... got 0",
        ),
        (
            "particle_diags/g_full",
            np.zeros((1, 3, 5)),
            "must hold at least two iterations with outputs, ... got 1: run",
        ),
        (
            "particle_diags/g_full",
            changed(np.zeros((4, 3, 5)), np.s_[3, :, 2:], np.nan),
            "must hold at least 3 runs with outputs in its last iteration, one more than parameters; got 2",
        ),
        (
            "particle_diags/g_full",
            changed(np.zeros((2, 3, 5)), np.s_[0, :, 1:], np.nan),
            "must hold at least two runs with outputs before the last iteration; got 1: run more",
        ),
    ],
)
def test_that_every_number_is_checked_before_any_work(path: Path, name: str, values: Any, message: str) -> None:
    is_text = isinstance(values, list) and isinstance(values[0], str | bytes)
    stored = np.array(values, dtype=h5py.string_dtype() if is_text else None)
    path.write_bytes(edmf_file.replace(SMALL, name, stored))
    refused(path, message)


def test_that_axes_may_stand_in_any_order_and_numbers_be_of_any_kind(path: Path) -> None:
    path.write_bytes(SMALL)
    plain = archive.read(str(path), AB)
    turned = edmf_file.replace(
        SMALL, "particle_diags/phi", physical(SMALL).transpose(2, 0, 1), ("particle", "iteration", "param")
    )
    path.write_bytes(edmf_file.replace(turned, "reference/Gamma_full", 0.01 * np.eye(3, dtype=">f8")))
    found = archive.read(str(path), AB)
    np.testing.assert_array_equal(found.iterates.inputs, plain.iterates.inputs)
    np.testing.assert_array_equal(found.noise_covariance, plain.noise_covariance)


def test_that_a_fill_value_of_the_files_own_is_a_run_that_failed_and_scaled_numbers_are_refused(path: Path) -> None:
    stored = io.BytesIO(edmf_file.content(fill=-9999.0))
    with h5py.File(stored, "r+") as file:
        file["particle_diags/g_full"].attrs["_FillValue"] = np.array([-9999.0])
    path.write_bytes(stored.getvalue())
    assert archive.read(str(path), AB).iterates.n_failed == 1
    with h5py.File(stored, "r+") as file:
        file["particle_diags/g_full"].attrs["scale_factor"] = 0.1
    path.write_bytes(stored.getvalue())
    refused(path, "g_full in ... must hold plain numbers; got scaled ones")


def test_that_rounding_is_no_asymmetry(path: Path) -> None:
    noise = 0.01 * np.eye(3)
    noise[0, 1] = 1e-17
    path.write_bytes(edmf_file.replace(SMALL, "reference/Gamma_full", noise))
    found = archive.read(str(path), AB).noise_covariance
    np.testing.assert_array_equal(found, found.T)


def test_that_an_iteration_that_was_never_written_is_no_run_of_zeros(path: Path) -> None:
    """Of a dimension without limit, as in the public file, a variable may have fewer entries than another."""
    outputs = np.zeros((3, 3, 5))
    path.write_bytes(edmf_file.replace(SMALL, "particle_diags/g_full", outputs))
    assert len(archive.read(str(path), AB).iterates.inputs) == 3


# What is wrong with the file


def zipped(image: bytes, name: str = "folder/runs.nc", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as target:
        target.writestr(name, image)
    return packed.getvalue()


def marked(packed: bytes, offset: int, value: bytes) -> bytes:
    """A zip archive with both headers of its first file changed: at 6 the flags, at 8 the method, at 22 the size."""
    changed = bytearray(packed)
    for place in (offset, packed.index(b"PK\x01\x02") + offset + 2):
        changed[place : place + len(value)] = value
    return bytes(changed)


def flipped(content: bytes, place: int) -> bytes:
    """A byte with all its bits turned over."""
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def with_a_group(image: bytes, name: str) -> bytes:
    stored = io.BytesIO(image)
    with h5py.File(stored, "r+") as file:
        del file[name]
        file.create_group(name)
    return stored.getvalue()


STORED = zipped(SMALL, method=zipfile.ZIP_STORED)
UNPACK = "unpack it yourself and name the netCDF file in edmf.source"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is empty: copy or download it again", id="empty"),
        pytest.param(b"not netCDF", "must be a readable netCDF file and is not (...): give a whole", id="text"),
        pytest.param(SMALL[:-2000], "must be a readable netCDF file and is not (...truncated file", id="cut off"),
        pytest.param(SMALL[:3000] + SMALL[5000:], "must be a readable netCDF file and is not (", id="cut out"),
        pytest.param(b"CDF\x01" + bytes(100), "netCDF file of the classic format: convert it", id="classic"),
        pytest.param(with_a_group(SMALL, "reference/y_full"), "lacks the variable reference/y_full", id="group"),
        pytest.param(with_a_group(SMALL, "reference"), "lacks the variable reference/y_full", id="empty group"),
        pytest.param(flipped(STORED, 5000), f"cannot be unpacked (Bad CRC-32...): {UNPACK}", id="bad CRC"),
        pytest.param(marked(STORED, 6, b"\1\0"), f"cannot be unpacked (...password...): {UNPACK}", id="password"),
        pytest.param(marked(STORED, 8, b"\x09\0"), f"cannot be unpacked (...supported...): {UNPACK}", id="compression"),
        pytest.param(STORED[:-30], f"cannot be unpacked (File is not a zip file): {UNPACK}", id="zip cut off"),
        pytest.param(zipped(SMALL, "runs.txt"), f"must hold one netCDF file; got none: {UNPACK}", id="zip of text"),
        pytest.param(zipped(b"", "runs.nc"), "must be a readable netCDF file and is not (", id="zip of nothing"),
    ],
)
def test_that_a_damaged_file_is_refused_in_a_sentence(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    refused(path, message)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_that_a_zip_archive_is_read_like_the_file_in_it(path: Path, method: int) -> None:
    path.write_bytes(zipped(SMALL, method=method))
    packed = archive.read(str(path), AB)
    path.write_bytes(SMALL)
    np.testing.assert_array_equal(packed.iterates.inputs, archive.read(str(path), AB).iterates.inputs)


def test_that_a_place_without_a_file_is_named(path: Path, tmp_path: Path) -> None:
    asked = "edmf.source must be the path of Diagnostics.nc or of the zip archive that holds it"
    refused(path, f"no file at ...: {asked}, or null for the simulator of the suite")
    refused(tmp_path, f"is a folder: {asked}")
    os.mkfifo(path)  # whoever reads one waits
    refused(path, f"is no ordinary file: {asked}")
    refused(path / "below", "no file at")
    refused(tmp_path / ("x" * 300), "cannot be read (File name too long)")
    with pytest.raises(archive.ArchiveError, match=r"no file can be at '.*nul\\x00byte' \(embedded null byte\)"):
        archive.read(str(tmp_path / "nul\0byte"), AB)


def test_that_a_file_without_permission_is_named() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to others
        path = Path(folder) / "runs.nc"
        path.write_bytes(SMALL)
        Path(folder).chmod(0o755)
        path.chmod(0)
        with as_nobody():
            refused(path, "cannot be read (Permission denied): mend its permissions, or copy it")


def most_memory(call: Callable[[], Any]) -> int:
    """Bytes that Python and numpy held at most during a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_that_no_more_is_unpacked_than_memory_has_room_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the size that is stated, and by that which comes: a header may state less."""
    monkeypatch.setattr(archive, "MOST_UNPACKED", 2**22)
    packed = zipped(bytes(2**26))
    path.write_bytes(packed)
    said = f"folder/runs.nc in ... must be of at most 4 MB, which are unpacked in memory; got 64 MB: {UNPACK}"
    assert most_memory(lambda: refused(path, said)) < 2**20
    path.write_bytes(marked(packed, 22, (1000).to_bytes(4, "little")))
    assert most_memory(lambda: refused(path, f"cannot be unpacked (Bad CRC-32...): {UNPACK}")) < 2**23


def test_that_a_file_is_not_held_twice(path: Path) -> None:
    n_members = 2000
    path.write_bytes(edmf_file.content(n_outputs=200, n_members=n_members))
    n_bytes = 4 * 200 * n_members * 8
    assert most_memory(lambda: archive.read(str(path), AB)) < 2.5 * n_bytes


def test_that_a_variable_of_more_numbers_than_memory_has_room_for_is_refused(path: Path) -> None:
    """A file of a few kilobytes may state any size, and have nothing written of it."""
    stored = io.BytesIO(SMALL)
    with h5py.File(stored, "r+") as file:
        del file["reference/y_full"]
        file.create_dataset("reference/y_full", (10**12,), dtype="f8", chunks=(1000,))
    path.write_bytes(stored.getvalue())
    refused(path, "y_full in ... must have at most 134217728 entries, a gigabyte; got (1000000000000,): leave out")


# HDF5 never ends at a heap of texts whose first is as long as memory, and counts on from its beginning.
HEAP = SMALL.index(b"GCOL") + 24
ENDLESS = SMALL[:HEAP] + (2**64 - 16).to_bytes(8, "little") + SMALL[HEAP + 8 :]


@pytest.mark.parametrize("content", [ENDLESS, zipped(ENDLESS)], ids=["plain", "zip"])
def test_that_a_file_at_which_the_library_never_ends_is_refused(
    path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "PATIENCE", 3.0)
    path.write_bytes(content)
    refused(path, "must be readable within 3 s and is not, so it is damaged: copy or download it again")


def test_that_a_file_at_which_the_library_crashes_is_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = tmp_path / "crash.py"
    crash.write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", encoding="utf-8")
    monkeypatch.setattr(archive, "PROBE", crash)
    path.write_bytes(SMALL)
    refused(path, "reading it ends the process (11), so it is damaged: copy or download it again")


# Any file at all


@pytest.fixture(scope="module")
def impatience() -> Iterator[None]:
    """A file that is never read is not waited for as long as a slow disk, and a harmless one is tried out once."""
    try_out, harmless = archive._try_out, set()

    def once(path: str, content: memoryview | None) -> None:
        if path not in harmless:
            try_out(path, content)
        harmless.add(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "PATIENCE", 20.0)
        patch.setattr(archive, "_try_out", once)
        yield


Mutation = Callable[[bytes], bytes]
NAMES = st.sampled_from(list(archive.NEEDED))


# What a change of a file meets that is no longer one, or lacks what is changed.
NOT_THERE = (OSError, LookupError, RuntimeError, ValueError, TypeError, AttributeError, Warning)


def with_file(change: Callable[[h5py.File], None]) -> Mutation:
    """A change of the netCDF file, where it can be made."""

    def mutate(image: bytes) -> bytes:
        stored = io.BytesIO(image)
        try:
            with h5py.File(stored, "r+") as file:
                change(file)
        except NOT_THERE:
            return image
        return stored.getvalue()

    return mutate


def replaced(name: str, change: Callable[[Any], Any]) -> Mutation:
    """Another variable in the place of one, with its dimensions as far as they go."""

    def mutate(image: bytes) -> bytes:
        try:
            with h5py.File(io.BytesIO(image)) as file:
                values = file[name][...]
            return edmf_file.replace(image, name, change(values))
        except NOT_THERE:
            return image

    return mutate


def cast(values: Any, kind: str) -> Any:
    if kind == "text":
        return np.array([str(value) for value in np.ravel(values)], dtype="S8").reshape(np.shape(values))
    return np.zeros(np.shape(values), dtype=kind) if values.dtype.kind in "OS" else np.nan_to_num(values).astype(kind)


def converted(name: str, kind: str) -> Mutation:
    return replaced(name, lambda values: cast(values, kind))


def indexed(name: str, place: Any) -> Mutation:
    return replaced(name, lambda values: values[place])


def dropped(name: str) -> Mutation:
    return with_file(lambda file: file.__delitem__(name))


def renamed(name: str, other: str) -> Mutation:
    return with_file(lambda file: file.move(name, other))


def grouped(name: str) -> Mutation:
    return lambda image: with_file(lambda file: file.create_group(name) and None)(dropped(name)(image))


def reshaped(name: str, axis: int, size: int) -> Mutation:
    def change(values: Any) -> Any:
        return np.resize(values, [size if place == axis else n for place, n in enumerate(values.shape)])

    return replaced(name, change)


def transposed(name: str, axes: list[int]) -> Mutation:
    return replaced(name, lambda values: values.transpose([axis for axis in axes if axis < values.ndim]))


def spoilt(name: str, place: float, value: float) -> Mutation:
    def change(values: Any) -> Any:
        copy = np.array(values, dtype=np.float64)
        copy.flat[int(place * copy.size)] = value
        return copy

    return replaced(name, change)


def flattened(name: str, value: float) -> Mutation:
    return replaced(name, lambda values: np.full_like(values, value))


def named(names: list[str]) -> Mutation:
    return replaced("particle_diags/param", lambda _: np.array(names, dtype=h5py.string_dtype()))


def attributed(name: str, attribute: str, value: Any) -> Mutation:
    return with_file(lambda file: file[name].attrs.__setitem__(attribute, value))


def cut(begin: float, length: int) -> Mutation:
    return lambda image: image[: int(begin * len(image))] + image[int(begin * len(image)) + length :]


def overwritten(begin: float, content: bytes) -> Mutation:
    return lambda image: image[: (at := int(begin * len(image)))] + content + image[at + len(content) :]


def in_zip(method: int, n_files: int) -> Mutation:
    def mutate(image: bytes) -> bytes:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", method) as target:
            for i in range(n_files):
                target.writestr(f"runs{i}.nc", image)
        return packed.getvalue()

    return mutate


def zip_header(offset: int, value: int) -> Mutation:
    def mutate(image: bytes) -> bytes:
        is_zip = image[:2] == b"PK" and b"PK\1\2" in image
        return marked(image, offset, value.to_bytes(2, "little")) if is_zip else image

    return mutate


SHARE = st.floats(0, 0.999)
KINDS = ["text", "i4", "f2", "f4", ">f8", "c16", "?", "u1"]
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
OF_NUMBERS = st.one_of(
    st.builds(dropped, st.sampled_from([*archive.NEEDED, "reference", "particle_diags", "particle_diags/iteration"])),
    st.builds(renamed, NAMES, st.sampled_from([*archive.NEEDED, "reference/other_name"])),
    st.builds(grouped, NAMES),
    st.builds(reshaped, NAMES, st.integers(0, 2), st.integers(0, 6)),
    st.builds(transposed, NAMES, st.permutations([0, 1, 2])),
    st.builds(spoilt, NAMES, SHARE, st.sampled_from([np.nan, np.inf, -np.inf, 1e35, -1.0, 0.0, 1.0, 1e29, 1e-300])),
    st.builds(flattened, NAMES, st.sampled_from([0.0, 0.5, np.nan, 1e20])),
    st.builds(converted, NAMES, st.sampled_from(KINDS)),
    st.builds(indexed, NAMES, st.sampled_from([0, np.s_[..., None], np.s_[:0]])),
    st.builds(named, st.lists(st.sampled_from(["a", "b", "", "ß", "c$", *SIMULATED]), max_size=6)),
    st.builds(attributed, NAMES, st.sampled_from(["_FillValue", "scale_factor"]), st.sampled_from([0.5, "text"])),
)
OF_BYTES = st.one_of(
    st.builds(cut, SHARE, st.sampled_from([1, 8, 100, 10**9])),
    st.builds(overwritten, SHARE, st.binary(min_size=1, max_size=16)),
    st.builds(in_zip, st.sampled_from(METHODS), st.sampled_from([1, 1, 1, 0, 2])),
    st.builds(zip_header, st.sampled_from([6, 8, 22]), st.integers(0, 2**16 - 1)),
)
CHANGES = st.tuples(st.lists(OF_NUMBERS, max_size=2), st.one_of(st.just([]), st.lists(OF_BYTES, max_size=3)))


@pytest.fixture
def count(request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[str], None]]:
    with counting(request.node.name, capfd) as counted:
        yield counted


def entered(path: Path, entries: dict[str, Any]) -> Entered:
    return enter(config_of(str(path), entries), ROOT, list, only_looks=True)


@pytest.mark.usefixtures("impatience")
@given(st.sampled_from(list(SEEDS)), CHANGES)
@settings(
    max_examples=N_EXAMPLES,
    derandomize="RFTUNE_EXAMPLES" not in os.environ,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_that_any_file_is_read_or_refused_in_one_sentence(
    count: Callable[[str], None], name: str, changes: tuple[list[Mutation], ...]
) -> None:
    content, entries = seed(name), SEEDS[name]
    for mutate in (change for kind in changes for change in kind):
        content = mutate(content)
    with tempfile.TemporaryDirectory() as folder, within(100):
        path = Path(folder) / "runs.nc"
        path.write_bytes(content)
        before = path.stat().st_mtime_ns
        try:
            archive.read(str(path), parameters(entries))
        except archive.ArchiveError as error:
            said = str(error)
            assert path.name in said
            assert "\n" not in said
            count(f"{name} refused")
            with pytest.raises(ConfigError) as caught:
                entered(path, entries)
            # in brackets HDF5's own words, which differ where it looks beyond the end of a file
            assert str(caught.value).startswith(f"the config cannot be used:\n  - edmf: {said.partition(' (')[0]}")
            assert str(caught.value).count("\n") == 1
        else:
            count(f"{name} read")
            made = entered(path, entries).plan.cases["edmf"]["file"].make(np.random.default_rng(0))
            training_set(made).scaling()
            start = sampling.start(made, 10, np.random.default_rng(0))
            assert np.linalg.matrix_rank(start - start.mean(axis=0)) == start.shape[1]
        assert list(Path(folder).iterdir()) == [path]
        assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, before)
