"""Runs of a simulator that a calibration left in a file, in the layout of the paper's public EDMF data.

Groups of the netCDF file: ``particle_diags`` with ``phi`` (iteration, param, particle) and ``g_full`` (iteration,
out_full, particle) and the names ``param``; ``reference`` with ``y_full`` (out_full) and ``Gamma_full``. The file may
be inside a zip archive. Any number of iterations, members, parameters and outputs.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from rftune.data import Array
from rftune.experiments.edmf.calibration import Iterates
from rftune.experiments.edmf.parameters import Parameters

LARGEST = 1e30  # netCDF's default fill value, 9.97e36, is beyond it
AXES = {"inputs": ("iteration", "particle", "param"), "outputs": ("iteration", "particle", "out_full")}


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
    runs, reference = _groups(path)
    order = _columns(path, runs, parameters)
    physical = _without_fill(runs["phi"].transpose(*AXES["inputs"]).values)[:, :, order]
    outputs = _without_fill(runs["g_full"].transpose(*AXES["outputs"]).values)
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
        _without_fill(reference["y_full"].values),
        _without_fill(reference["Gamma_full"].values),
    )


@lru_cache(maxsize=4)
def _groups(path: str) -> tuple[xr.Dataset, xr.Dataset]:
    """The two groups of the file, or of the one netCDF file in a zip archive."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise ValueError(
            f"no file at {path}: edmf.source must be the path of Diagnostics.nc or of the zip archive that holds it, "
            f"or null for the simulator of the suite"
        )
    content = _unzipped(file) if zipfile.is_zipfile(file) else file.read_bytes()
    try:
        runs, reference = (
            xr.load_dataset(io.BytesIO(content), group=group, engine="h5netcdf")
            for group in ("particle_diags", "reference")
        )
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} must be a netCDF file with groups particle_diags and reference: {error}") from error
    for group, needed in ((runs, ("phi", "g_full", "param")), (reference, ("y_full", "Gamma_full"))):
        missing = [name for name in needed if name not in group.variables]
        if missing:
            raise ValueError(f"{path} lacks {', '.join(missing)}: it must have phi, g_full, param, y_full, Gamma_full")
    return runs, reference


def _unzipped(file: Path) -> bytes:
    with zipfile.ZipFile(file) as archive:
        inside = [name for name in archive.namelist() if name.endswith(".nc") and not name.startswith("__MACOSX")]
        if len(inside) != 1:
            raise ValueError(f"{file} must hold one netCDF file; got {', '.join(inside) or 'none'}: unpack it yourself")
        return archive.read(inside[0])


def _columns(path: str, runs: xr.Dataset, parameters: Parameters) -> list[int]:
    """Positions in the file of the config's parameters."""
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in runs["param"].values]
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
