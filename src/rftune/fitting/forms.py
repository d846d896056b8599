"""The form in which numbers came, and results in the same form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import pandas as pd
import xarray as xr

from rftune.data import Array


@dataclass(frozen=True)
class Block:
    """A variable of an xarray data set: one column, or one for each of its entries beside the runs.

    Attributes
    ----------
    name
    dims
        Beside the runs.
    shape
        Of those.
    coordinates
        Labels along them, where there are any.
    """

    name: str
    dims: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    coordinates: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def column_names(self, alone: bool) -> list[str]:
        """ "name" or "name[label, label]"; of a matrix that is ``alone`` its columns' own labels, where it has them."""
        labels = [self.coordinates.get(dim, list(range(size))) for dim, size in zip(self.dims, self.shape, strict=True)]
        if not labels:
            return [self.name]
        if alone and len(labels) == 1 and self.coordinates:
            return [str(label) for label in labels[0]]
        return [f"{self.name}[{', '.join(map(str, entry))}]" for entry in product(*labels)]


@dataclass(frozen=True)
class Form:
    """What numbers came in.

    Attributes
    ----------
    kind
    run
        The dimension of the runs, of xarray objects.
    blocks
        Their variables.
    """

    kind: Literal["matrix", "vector", "frame", "series", "dataset", "dataarray"]
    run: str = "run"
    blocks: tuple[Block, ...] = ()

    def restore(self, values: Array, names: Sequence[str], runs: pd.Index | None) -> Any:
        """Values (n_runs, n_columns) in this form.

        Parameters
        ----------
        values
        names
            Of the columns.
        runs
            Labels of the rows; None to count them.
        """
        if self.kind == "matrix":
            return values
        if self.kind == "vector":
            return values[:, 0]
        if self.kind in ("dataset", "dataarray"):
            return self._restore_xarray(values, runs)
        frame = pd.DataFrame(values, columns=list(names), index=runs)
        return frame.iloc[:, 0] if self.kind == "series" else frame

    def _restore_xarray(self, values: Array, runs: pd.Index | None) -> xr.Dataset | xr.DataArray:
        arrays, start = {}, 0
        labels = {} if runs is None else {self.run: runs}
        for block in self.blocks:
            part = values[:, start : start + block.size].reshape(len(values), *block.shape)
            start += block.size
            coordinates = {**labels, **block.coordinates}
            arrays[block.name] = xr.DataArray(part, coords=coordinates, dims=(self.run, *block.dims))
        if self.kind == "dataarray":
            (name, array), *_ = arrays.items()
            return array.rename(name)
        return xr.Dataset(arrays)
