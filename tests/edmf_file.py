"""Small files in the layout of the paper's public EDMF data."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np


def content(
    names: tuple[str, ...] = ("b", "a"),
    n_outputs: int = 3,
    n_iterations: int = 4,
    n_members: int = 5,
    fill: float = np.nan,
) -> bytes:
    """Runs of a smooth simulator; the last iteration has none, one run of the second has failed.

    Columns are in the order of the names; the observation is near the middle of the parameters' cube.
    """
    rng = np.random.default_rng(0)
    shape = {"iteration": n_iterations, "param": len(names), "particle": n_members, "out_full": n_outputs}
    physical = rng.uniform(0.1, 0.9, (n_iterations, len(names), n_members))
    weights = rng.normal(size=(n_outputs, len(names)))
    outputs = np.sin(weights @ physical) + 0.01 * rng.normal(size=(n_iterations, n_outputs, n_members))
    outputs[-1] = np.nan
    outputs[1, 0, 2] = fill
    file = io.BytesIO()
    with h5netcdf.File(file, "w") as archive:
        runs, reference = archive.create_group("particle_diags"), archive.create_group("reference")
        runs.dimensions = shape
        runs.create_variable("param", ("param",), data=np.array(names, dtype=h5py.string_dtype()))
        runs.create_variable("phi", ("iteration", "param", "particle"), data=physical)
        runs.create_variable("g_full", ("iteration", "out_full", "particle"), data=outputs)
        reference.dimensions = {"out_full": n_outputs, "other": n_outputs}
        reference.create_variable("y_full", ("out_full",), data=np.sin(weights @ np.full(len(names), 0.5)))
        reference.create_variable("Gamma_full", ("out_full", "other"), data=0.01 * np.eye(n_outputs))
    return file.getvalue()


def write(path: Path, **sizes: Any) -> None:
    path.write_bytes(content(**sizes))


def values(path: Path, name: str) -> Any:
    """A variable as it is stored."""
    with h5py.File(path) as file:
        return file[name][...]


def replace(image: bytes, name: str, values: Any, axes: tuple[str, ...] | None = None) -> bytes:
    """The file with another variable under a name, whatever it was; its axes are the old one's unless given."""
    stored = io.BytesIO(image)
    with h5py.File(stored, "r+") as file:
        group = file[name.partition("/")[0]]
        old = file[name]
        named = (
            tuple(axis[0].name.rpartition("/")[2] if len(axis) else "" for axis in old.dims) if axes is None else axes
        )
        del file[name]
        made = file.create_dataset(name, data=values)
        for place, axis in enumerate(named[: made.ndim]):
            if axis in group and group[axis].is_scale:
                made.dims[place].attach_scale(group[axis])
    return stored.getvalue()
