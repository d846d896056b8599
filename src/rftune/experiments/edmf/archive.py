"""Runs of a simulator that a calibration left in a file, in the layout of the paper's public EDMF data.

Groups of the netCDF file: ``particle_diags`` with ``phi`` (iteration, param, particle) and ``g_full`` (iteration,
out_full, particle) and the names ``param``; ``reference`` with ``y_full`` (out_full) and ``Gamma_full``. The file may
be inside a zip archive. Any number of iterations, members, parameters and outputs.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import h5netcdf
import numpy as np

from rftune.data import Array
from rftune.experiments.edmf.calibration import Iterates
from rftune.experiments.edmf.parameters import Parameters

LARGEST = 1e30  # netCDF's default fill value, 9.97e36, is beyond it
# What is read, and in which order of axes.
NEEDED: dict[str, tuple[str, ...]] = {
    "particle_diags/phi": ("iteration", "particle", "param"),
    "particle_diags/g_full": ("iteration", "particle", "out_full"),
    "particle_diags/param": ("param",),
    "reference/y_full": ("out_full",),
    "reference/Gamma_full": ("out_full", "out_full"),
}


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
    """Read a file, or say what it lacks; columns are bound to parameters by name, never by position."""
    found = _variables(path)
    order = _columns(path, found["particle_diags/param"], parameters)
    physical = _without_fill(found["particle_diags/phi"])[:, :, order]
    outputs = _without_fill(found["particle_diags/g_full"])
    n_iterations = min(len(physical), len(outputs))  # the last parameters may never have been run
    physical, outputs = physical[:n_iterations], outputs[:n_iterations]
    made = np.asarray(np.isfinite(outputs).all(axis=2) & np.isfinite(physical).all(axis=2))
    outputs[~made] = np.nan
    kept = made.any(axis=1)
    if np.count_nonzero(kept) < 2:
        raise ValueError(
            f"{path} must hold at least two iterations with outputs, the last for testing; got {kept.sum()}"
        )
    inputs = np.full(physical.shape, np.nan)
    inputs[made] = parameters.unconstrain(physical[made])
    return Archive(
        Iterates(inputs[kept], outputs[kept]),
        _without_fill(found["reference/y_full"]),
        _without_fill(found["reference/Gamma_full"]),
    )


@lru_cache(maxsize=4)
def _variables(path: str) -> Mapping[str, Any]:
    """The needed variables of the file, or of the one netCDF file in a zip archive, with axes as in `NEEDED`."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise ValueError(
            f"no file at {path}: edmf.source must be the path of Diagnostics.nc or of the zip archive that holds it, "
            f"or null for the simulator of the suite"
        )
    content = _unzipped(file) if zipfile.is_zipfile(file) else file.read_bytes()
    try:
        with h5netcdf.File(io.BytesIO(content), "r") as archive:
            return {name: _values(path, archive, name) for name in NEEDED}
    except OSError as error:
        raise ValueError(f"{path} must be a netCDF file with groups particle_diags and reference: {error}") from error


def _values(path: str, archive: h5netcdf.File, name: str) -> Any:
    """One variable, its axes in the order in which they are needed."""
    *group, variable = name.split("/")
    place = archive.groups.get(group[0])
    if place is None or variable not in place.variables:
        raise ValueError(f"{path} lacks the variable {name}: it must have {', '.join(NEEDED)}")
    stored = place.variables[variable]
    if stored.ndim < 3:
        return stored[...]
    if set(stored.dimensions) != set(NEEDED[name]):
        raise ValueError(f"{name} in {path} must have the dimensions {NEEDED[name]}; got {stored.dimensions}")
    return np.transpose(stored[...], [stored.dimensions.index(axis) for axis in NEEDED[name]])


def _unzipped(file: Path) -> bytes:
    with zipfile.ZipFile(file) as archive:
        inside = [name for name in archive.namelist() if name.endswith(".nc") and not name.startswith("__MACOSX")]
        if len(inside) != 1:
            raise ValueError(f"{file} must hold one netCDF file; got {', '.join(inside) or 'none'}: unpack it yourself")
        return archive.read(inside[0])


def _columns(path: str, stored_names: Any, parameters: Parameters) -> list[int]:
    """Positions in the file of the config's parameters."""
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in stored_names]
    if sorted(names) != sorted(parameters.names):
        raise ValueError(
            f"{path} has the parameters {', '.join(sorted(names))}; edmf.data.parameters names "
            f"{', '.join(sorted(parameters.names))}: list the file's, with bounds and prior means, in the config"
        )
    return [names.index(name) for name in parameters.names]


def _without_fill(values: Any) -> Array:
    numbers = np.array(values, dtype=np.float64)
    numbers[np.abs(numbers) > LARGEST] = np.nan
    return numbers
