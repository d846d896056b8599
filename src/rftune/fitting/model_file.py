"""An emulator in one netCDF file that describes itself and holds numbers and text alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from rftune import storage
from rftune.features.drawn import Features
from rftune.features.feature_map import MAPS
from rftune.fitting.archive import Archive, encoding
from rftune.fitting.columns import Columns
from rftune.fitting.forms import Block, Form
from rftune.fitting.least_squares import Polynomial
from rftune.fitting.projection import Projection
from rftune.fitting.surrogate import Component, Surrogate
from rftune.fitting.training import Trained
from rftune.regression.covariances import Hyperparameters
from rftune.regression.gp_posterior import FittedGP
from rftune.regression.scaled import ScaledModel
from rftune.regression.weight_space import NativeRegression, SharedRegression
from rftune.scaling import Scaling

FORMAT, FORMAT_VERSION = "rftune emulator", 1
SUFFIX = ".nc"

ARCHIVE = Archive(
    (
        Component,
        Features,
        FittedGP,
        Hyperparameters,
        NativeRegression,
        Polynomial,
        Projection,
        ScaledModel,
        Scaling,
        SharedRegression,
        Surrogate,
    ),
    (MAPS,),
)
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError)


def save(trained: Trained, inputs: Columns, outputs: Columns, card: Mapping[str, Any], path: str | Path) -> None:
    """Write an emulator with the runs that it was fitted to; the same gives the same bytes."""
    check_path(path)
    groups = {
        "/": xr.Dataset(attrs={"format": FORMAT, "format_version": FORMAT_VERSION, "card": json.dumps(card)}),
        "/data/inputs": _columns(inputs),
        "/data/outputs": _columns(outputs),
        "/left_out": xr.Dataset(
            {
                "mean": (("run", "output"), trained.left_out_mean),
                "std": (("run", "output"), trained.left_out_std),
            },
            attrs={"method": trained.method, "notes": json.dumps(trained.notes)},
        ),
        "/race": _table(trained.race),
        **ARCHIVE.pack(trained.surrogate, "/surrogate"),
    }
    content = xr.DataTree.from_dict(groups).to_netcdf(engine="h5netcdf", encoding=encoding(groups))
    assert isinstance(content, memoryview), "a file that is made in memory"
    with storage.atomic_path(path) as temporary:
        temporary.write_bytes(content)


def check_path(path: str | Path) -> None:
    """Raise a ValueError, before long work, where an emulator should not be written."""
    if Path(path).suffix != SUFFIX:
        raise ValueError(f"an emulator is saved as a netCDF file, {Path(path).stem}{SUFFIX}; got {Path(path).name!r}")


def load(path: str | Path) -> tuple[Trained, Columns, Columns, Mapping[str, Any]]:
    """What `save` wrote, or why it cannot be read."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no emulator at {path}: check the path, or make one with rftune.fit or `rftune fit`")
    try:
        tree = xr.open_datatree(path, engine="h5netcdf").load()
        tree.close()
        version = tree.attrs["format_version"] if tree.attrs.get("format") == FORMAT else None
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:150]
        raise ValueError(f"{path} is no netCDF file that holds an emulator ({reason}): make it again") from None
    if version != FORMAT_VERSION:
        what = "no emulator of rftune" if version is None else f"an emulator of format {version}"
        raise ValueError(
            f"{path} holds {what}; this rftune reads format {FORMAT_VERSION}: make it again with `rftune fit`"
        )
    try:
        groups = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
        left_out = groups["/left_out"]
        trained = Trained(
            surrogate=ARCHIVE.unpack(groups, "/surrogate"),
            left_out_mean=left_out["mean"].to_numpy(),
            left_out_std=left_out["std"].to_numpy(),
            method=left_out.attrs["method"],
            race=_race(groups["/race"]),
            notes=tuple(json.loads(left_out.attrs["notes"])),
        )
        inputs, outputs = (_read_columns(groups[f"/data/{name}"]) for name in ("inputs", "outputs"))
        return trained, inputs, outputs, json.loads(tree.attrs["card"])
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:150]
        raise ValueError(f"{path} is damaged ({reason}): make it again with `rftune fit`") from None


def _columns(columns: Columns) -> xr.Dataset:
    names = np.array(columns.names, dtype=object)
    labels = {} if columns.runs is None else {"run_label": ("run", np.array([*map(str, columns.runs)], dtype=object))}
    variables = {"values": (("run", "column"), columns.values), "name": ("column", names), **labels}
    return xr.Dataset(variables, attrs={"form": json.dumps(asdict(columns.form))})


def _read_columns(stored: xr.Dataset) -> Columns:
    form = json.loads(stored.attrs["form"])
    blocks = tuple(
        Block(block["name"], tuple(block["dims"]), tuple(block["shape"]), block["coordinates"])
        for block in form["blocks"]
    )
    values = stored["values"].to_numpy()
    values.flags.writeable = False
    runs = pd.Index(stored["run_label"].to_numpy().astype(str)) if "run_label" in stored else None
    names = tuple(map(str, stored["name"].to_numpy()))
    return Columns(names, values, runs, Form(form["kind"], form["run"], blocks))


def _table(race: pd.DataFrame) -> xr.Dataset:
    return xr.Dataset({str(name): ("contender", column.to_numpy()) for name, column in race.items()})


def _race(stored: xr.Dataset) -> pd.DataFrame:
    return pd.DataFrame({str(name): stored[name].to_numpy() for name in stored.data_vars})
