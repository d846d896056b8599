"""Runs of a simulator that a calibration left in a file, in the layout of the paper's public EDMF data.

Groups of the netCDF file: ``particle_diags`` with ``phi`` (iteration, param, particle) and ``g_full`` (iteration,
out_full, particle) and the names ``param``; ``reference`` with ``y_full`` (out_full) and ``Gamma_full``. The file may
be inside a zip archive. Any number of iterations, members, parameters and outputs.

Everything is checked when the file is read, so that a bad one costs no work: `ArchiveError` says what was expected,
what came and what to do.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rftune.data import Array
from rftune.experiments.edmf.calibration import Iterates
from rftune.experiments.edmf.parameters import Parameters
from rftune.scaling import noise_factor

Mask = NDArray[np.bool_]

LARGEST = 1e30  # netCDF's default fill value, 9.97e36, is beyond it
MOST_NUMBERS = 2**27  # of a variable, a gigabyte
MOST_UNPACKED = 2**28  # bytes that are unpacked in memory
SMALLEST = 1e-100  # variance, whose products float64 still holds
PROBE = Path(__file__).with_name("probe.py")
PATIENCE, SLOWEST = 120.0, 5e6  # seconds, and bytes per second, in which the slowest disk has answered
SYMMETRIC = 1e-10  # difference of two entries of a covariance, in standard deviations, that is rounding
WIDEST = 1e7  # ratio of the widths of an ensemble beyond which it is flat; walkers allow 1e8
NAMES, PHYSICAL, OUTPUTS = "particle_diags/param", "particle_diags/phi", "particle_diags/g_full"
OBSERVATION, COVARIANCE = "reference/y_full", "reference/Gamma_full"
# What is read, and in which order of axes; those of one and two axes may have any names.
NEEDED: dict[str, tuple[str, ...]] = {
    PHYSICAL: ("iteration", "particle", "param"),
    OUTPUTS: ("iteration", "particle", "out_full"),
    NAMES: ("param",),
    OBSERVATION: ("out_full",),
    COVARIANCE: ("out_full", "out_full"),
}
ASKED = "edmf.source must be the path of Diagnostics.nc or of the zip archive that holds it"


class ArchiveError(ValueError):
    """A file that cannot be used, in one sentence that names it."""


@dataclass(frozen=True, eq=False)
class Archive:
    """What the file holds, parameters in the order of the config.

    Attributes
    ----------
    iterates
        Unconstrained inputs; the iterations without any output are left out.
    observation : (n_outputs,)
    noise_covariance : (n_outputs, n_outputs)
    """

    iterates: Iterates
    observation: Array
    noise_covariance: Array


def read(path: str, parameters: Parameters) -> Archive:
    """Read a file, or say what is wrong with it; columns are bound to parameters by name, never by position."""
    with _netcdf(path) as file:
        order = _columns(path, _names(path, file), parameters)
        physical, outputs, observation, covariance = (
            _numbers(path, file, name) for name in (PHYSICAL, OUTPUTS, OBSERVATION, COVARIANCE)
        )
    _check_sizes(path, physical, outputs, observation, covariance, len(order))
    _check_reference(path, observation, covariance)
    n_iterations = min(len(physical), len(outputs))  # the last parameters may never have been run
    physical, outputs = physical[:n_iterations, :, order], outputs[:n_iterations]
    made = np.asarray(np.isfinite(outputs).all(axis=2) & np.isfinite(physical).all(axis=2))
    _check_bounds(path, physical, made, parameters)
    inputs = np.full(physical.shape, np.nan)
    inputs[made] = parameters.unconstrain(physical[made])
    outputs[~made] = np.nan
    kept = np.asarray(made.any(axis=1))
    _check_runs(path, inputs, made, kept, parameters)
    end = int(np.flatnonzero(kept)[-1]) + 1
    chosen = slice(end) if kept[:end].all() else kept  # without a copy where only iterations at the end are left out
    return Archive(Iterates(inputs[chosen], outputs[chosen]), observation, (covariance + covariance.T) / 2)


@contextmanager
def _netcdf(path: str) -> Iterator[h5py.File]:
    """The netCDF file, or the one in a zip archive, open for reading."""
    advice = f"give a whole netCDF-4 file in the layout of docs/edmf.md; it must have {', '.join(NEEDED)}"
    with _opened(path) as stored:
        start = stored.read(4)
        if start[:3] == b"CDF":
            raise ArchiveError(f"{path} is a netCDF file of the classic format: convert it with nccopy -k nc4")
        stream = _unzipped(path, stored) if start[:2] == b"PK" else stored
        _try_out(path, stream.getbuffer() if isinstance(stream, io.BytesIO) else None)
        with _told(f"{path} must be a readable netCDF file and is not", advice), h5py.File(stream, "r") as file:
            yield file


def _opened(path: str) -> IO[bytes]:
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            raise ArchiveError(f"{path} is a folder: {ASKED}")
        if not stat.S_ISREG(found.st_mode):
            raise ArchiveError(f"{path} is no ordinary file: {ASKED}")
        if found.st_size == 0:
            raise ArchiveError(f"{path} is empty: copy or download it again")
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        raise ArchiveError(f"no file at {path}: {ASKED}, or null for the simulator of the suite") from None
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read ({error.strerror}): mend its permissions, or copy it") from None
    except ArchiveError:
        raise
    except ValueError as error:
        raise ArchiveError(f"no file can be at {path!r} ({error}): {ASKED}") from None


@contextmanager
def _told(what: str, advice: str) -> Iterator[None]:
    """Whatever a library raises on a damaged file, which has no end of kinds, as one sentence."""
    try:
        yield
    except ArchiveError:
        raise
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ArchiveError(f"{what} ({said}): {advice}") from error


def _unzipped(path: str, stored: IO[bytes]) -> io.BytesIO:
    """The one netCDF file in a zip archive, as long as it is of a size for memory."""
    advice = "unpack it yourself and name the netCDF file in edmf.source"
    unpacked = io.BytesIO()
    with _told(f"the zip archive {path} cannot be unpacked", advice), zipfile.ZipFile(stored) as packed:
        inside = [one for one in packed.infolist() if one.filename.endswith(".nc") and "__MACOSX" not in one.filename]
        if len(inside) != 1:
            names = ", ".join(one.filename for one in inside[:5]) or "none"
            raise ArchiveError(f"{path} must hold one netCDF file; got {names}: {advice}")
        if inside[0].file_size > MOST_UNPACKED:
            raise ArchiveError(
                f"{inside[0].filename} in {path} must be of at most {MOST_UNPACKED // 2**20} MB, which are unpacked in "
                f"memory; got {inside[0].file_size // 2**20} MB: {advice}"
            )
        with packed.open(inside[0]) as stream:  # which ends at the size that is stated, and an error tells of more
            shutil.copyfileobj(stream, unpacked, 2**20)
    return unpacked


def _try_out(path: str, content: memoryview | None) -> None:
    """Let another process read a file first, or its content where it was in a zip archive: see `probe`."""
    n_bytes = os.stat(path).st_size if content is None else len(content)
    command = [sys.executable, "-P", str(PROBE), path if content is None else "-", str(MOST_NUMBERS), *NEEDED]
    try:
        done = subprocess.run(
            command, input=content, stderr=subprocess.DEVNULL, timeout=PATIENCE + n_bytes / SLOWEST, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ArchiveError(
            f"{path} must be readable within {error.timeout:.0f} s and is not, so it is damaged: copy or download it "
            f"again"
        ) from None
    if done.returncode < 0:
        raise ArchiveError(
            f"{path} must be a readable netCDF file, and reading it ends the process ({-done.returncode}), so it is "
            f"damaged: copy or download it again"
        )


def _variable(path: str, file: h5py.File, name: str) -> Any:
    found, axes = file.get(name), NEEDED[name]
    if not isinstance(found, h5py.Dataset):
        raise ArchiveError(f"{path} lacks the variable {name}: it must have {', '.join(NEEDED)}")
    got = _axes(found)
    if len(got) != len(axes) or (len(axes) > 2 and set(got) != set(axes)):
        raise ArchiveError(
            f"{name} in {path} must have the dimensions {', '.join(axes)}, in any order; got {', '.join(got) or 'none'}"
            f": store it with these"
        )
    if math.prod(found.shape) > MOST_NUMBERS:
        raise ArchiveError(
            f"{name} in {path} must have at most {MOST_NUMBERS} entries, a gigabyte; got {found.shape}: leave out "
            f"iterations or outputs"
        )
    return found


def _axes(stored: h5py.Dataset) -> list[str]:
    """Names of a variable's dimensions, as netCDF attaches them; that of a dimension without a name is "unnamed"."""
    attached = [(axis[0].name or "" if len(axis) else axis.label).rpartition("/")[2] for axis in stored.dims]
    return [name or "unnamed" for name in attached]


def _names(path: str, file: h5py.File) -> list[str]:
    """The names of the parameters, each once."""
    stored = _variable(path, file, NAMES)[...]
    if not all(isinstance(name, str | bytes) for name in stored):
        raise ArchiveError(f"{NAMES} in {path} must be names; got {stored.dtype} {stored[:3].tolist()}: store text")
    try:
        names = [name.decode() if isinstance(name, bytes) else str(name) for name in stored]
    except UnicodeDecodeError as error:
        raise ArchiveError(f"{NAMES} in {path} must be text in UTF-8; got {error.object!r}: rename it") from None
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ArchiveError(f"{NAMES} in {path} must name every parameter once; got {twice!r} twice: rename one")
    return names


def _numbers(path: str, file: h5py.File, name: str) -> Array:
    """One variable, its axes in the order in which they are needed, NaN where nothing was written."""
    stored, axes = _variable(path, file, name), NEEDED[name]
    if np.dtype(stored.dtype).kind not in "iuf":
        raise ArchiveError(f"{name} in {path} must hold numbers; got {stored.dtype}: store float64")
    if {"scale_factor", "add_offset"} & set(stored.attrs):
        raise ArchiveError(f"{name} in {path} must hold plain numbers; got scaled ones (scale_factor): store float64")
    values = np.asarray(stored[...], dtype=np.float64)
    for fill in np.ravel(stored.attrs.get("_FillValue", [])):
        values[values == fill] = np.nan
    values[~((values >= -LARGEST) & (values <= LARGEST))] = np.nan
    return values if len(axes) < 3 else np.transpose(values, [_axes(stored).index(axis) for axis in axes])


def _columns(path: str, names: list[str], parameters: Parameters) -> list[int]:
    """Positions in the file of the config's parameters."""
    if sorted(names) != sorted(parameters.names):
        raise ArchiveError(
            f"{path} has the parameters {', '.join(sorted(names))}; edmf.data.parameters names "
            f"{', '.join(sorted(parameters.names))}: list the file's, with bounds and prior means, in the config, and "
            f"set others to null"
        )
    return [names.index(name) for name in parameters.names]


def _check_sizes(
    path: str, physical: Array, outputs: Array, observation: Array, covariance: Array, n_parameters: int
) -> None:
    """Whether the variables are of the same parameters, members and outputs."""
    n_outputs = len(observation)
    for name, got, expected, of in (
        (PHYSICAL, physical.shape[2], n_parameters, f"parameters, as many as names in {NAMES}"),
        (OUTPUTS, outputs.shape[1], physical.shape[1], f"members, as many as in {PHYSICAL}"),
        (OUTPUTS, outputs.shape[2], n_outputs, f"outputs, as many as in {OBSERVATION}"),
        (COVARIANCE, covariance.shape, (n_outputs, n_outputs), "entries, a row and a column per output"),
    ):
        if got != expected:
            raise ArchiveError(f"{name} in {path} must have {expected} {of}; got {got}: store both of the same runs")
    if n_outputs == 0:
        raise ArchiveError(f"{OBSERVATION} in {path} must have at least one output; got none: store the observation")


def _check_reference(path: str, observation: Array, covariance: Array) -> None:
    """Whether the observation is finite and its noise covariance one."""
    for name, values in ((OBSERVATION, observation), (COVARIANCE, covariance)):
        if not np.isfinite(values).all():
            place = ", ".join(map(str, np.argwhere(~np.isfinite(values))[0]))
            raise ArchiveError(
                f"{name} in {path} must be finite, at most {LARGEST:g}; entry {place} (from 0) is not: repair it, or "
                f"leave the output out of all variables"
            )
    variances = np.diagonal(covariance)
    if not (variances >= SMALLEST).all():
        output = int(np.argmin(variances))
        raise ArchiveError(
            f"{COVARIANCE} in {path} must have variances of at least {SMALLEST:g}; got {variances[output]:g} at output "
            f"{output} (from 0): store the variance of the observation's noise"
        )
    std = np.sqrt(variances)
    asymmetry = np.abs(covariance - covariance.T) / std / std[:, None]
    if asymmetry.max() > SYMMETRIC:
        row, column = np.unravel_index(np.argmax(asymmetry), asymmetry.shape)
        raise ArchiveError(
            f"{COVARIANCE} in {path} must be symmetric; got {covariance[row, column]:g} at {row}, {column} and "
            f"{covariance[column, row]:g} at {column}, {row}: store (Γ + Γᵀ)/2"
        )
    try:
        noise_factor((covariance + covariance.T) / 2)
    except ValueError as error:
        raise ArchiveError(f"{COVARIANCE} in {path}: {error}") from None


def _check_bounds(path: str, physical: Array, made: Mask, parameters: Parameters) -> None:
    """Whether the parameters of all runs are within the config's bounds."""
    low, high = parameters.bounds.T
    place = (physical - low) / (high - low)
    outside = made[:, :, None] & ~((place > 0) & (place < 1))
    if outside.any():
        iteration, member, column = np.argwhere(outside)[0]
        raise ArchiveError(
            f"{parameters.names[column]} in {path} must lie strictly between the bounds {low[column]:g} and "
            f"{high[column]:g} of edmf.data.parameters; got {physical[iteration, member, column]:g} at iteration "
            f"{iteration}, member {member} (from 0): widen the bounds, or store NaN for the outputs of that run"
        )


def _check_runs(path: str, inputs: Array, made: Mask, kept: Mask, parameters: Parameters) -> None:
    """Whether there are runs to learn from, and runs of a last ensemble from whose spread walkers can start."""
    if np.count_nonzero(kept) < 2:
        raise ArchiveError(
            f"{path} must hold at least two iterations with outputs, the last for testing; got "
            f"{np.count_nonzero(kept)}: run more"
        )
    last = np.flatnonzero(kept)[-1]
    n_learned, n_parameters = np.count_nonzero(made[:last]), len(parameters.names)
    if n_learned < 2:
        raise ArchiveError(
            f"{path} must hold at least two runs with outputs before the last iteration; got {n_learned}: run more"
        )
    runs = inputs[last, made[last]]
    if len(runs) <= n_parameters:
        raise ArchiveError(
            f"{path} must hold at least {n_parameters + 1} runs with outputs in its last iteration, one more than "
            f"parameters; got {len(runs)}: run more members, or take the iteration out"
        )
    deviations = runs - runs.mean(axis=0)
    widths = np.abs(deviations).max(axis=0)
    if not (widths > 0).all() or np.linalg.cond(deviations / widths) > WIDEST:
        raise ArchiveError(
            f"{path} must have a last iteration whose runs differ in every parameter and combination of parameters; "
            f"got {len(runs)} runs in a plane: take the iteration out, or a parameter that never changes"
        )
