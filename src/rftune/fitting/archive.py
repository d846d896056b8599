"""Fitted models as groups of a netCDF file: every dataclass is a group, every array a variable of it.

Nothing but numbers, text and names of known classes is stored, so that a file cannot run anything when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import xarray as xr

from rftune.settings import Choice, Registry

Groups = dict[str, xr.Dataset]

_COMPRESSED_FROM = 1000  # numbers
_TRIANGLE = "chol_lower"  # what has this name is read in its lower triangle alone
_ENCODING = {"zlib": True, "complevel": 1, "shuffle": True}


class Archive:
    """What can be stored: dataclasses of some classes, and kinds of some registries, at any depth.

    Parameters
    ----------
    classes
        Dataclasses, whose fields are arrays, numbers, text, None, tuples of these, and further such classes.
    registries
        Of settings that are one of several kinds.
    """

    def __init__(self, classes: Iterable[type[Any]], registries: Iterable[Registry[Any]] = ()) -> None:
        self._classes = {known.__name__: known for known in classes}
        self._registries = {registry.base.__name__: registry for registry in registries}

    def pack(self, thing: Any, path: str) -> Groups:
        """The groups that hold a dataclass, from ``path`` downwards."""
        groups: Groups = {}
        self._pack(thing, path, groups)
        return groups

    def unpack(self, groups: Mapping[str, xr.Dataset], path: str) -> Any:
        """The dataclass that `pack` stored at a path."""
        group = groups[path]
        plain = json.loads(group.attrs["fields"])
        values = {name: _array(group[name]) for name in map(str, group.data_vars)}
        for name, (base, block) in plain.pop("settings").items():
            values[name] = self._registries[base].read(block)
        for name in plain.pop("parts"):
            values[name] = self.unpack(groups, f"{path}/{name}")
        values |= plain.pop("values")
        kind = group.attrs["class"]
        if kind == "tuple":
            return tuple(values[str(place)] for place in range(len(values)))
        return self._classes[kind](**values)

    def _pack(self, thing: Any, path: str, groups: Groups) -> None:
        name = type(thing).__name__
        if isinstance(thing, tuple | list):
            name, entries = "tuple", {str(place): entry for place, entry in enumerate(thing)}
        elif is_dataclass(thing) and self._classes.get(name) is type(thing):
            entries = {entry.name: getattr(thing, entry.name) for entry in fields(thing)}
        else:
            raise TypeError(f"{path} is a {name}, which no file can hold: add it to the classes of the archive")
        plain: dict[str, Any] = {"values": {}, "settings": {}, "parts": []}
        arrays = {}
        for key, value in entries.items():
            if value is None or isinstance(value, bool | int | float | str):
                plain["values"][key] = value
            elif isinstance(value, np.ndarray):
                arrays[key] = _variable(key, np.tril(value) if _TRIANGLE in f"{path}/{key}" else value)
            elif isinstance(value, Choice):
                base = next(base for base, registry in self._registries.items() if isinstance(value, registry.base))
                plain["settings"][key] = (base, value.plain())
            else:
                plain["parts"].append(key)
                self._pack(value, f"{path}/{key}", groups)
        groups[path] = xr.Dataset(arrays, attrs={"class": name, "fields": json.dumps(plain)})


def encoding(groups: Mapping[str, xr.Dataset]) -> dict[str, dict[str, dict[str, Any]]]:
    """How netCDF should write the arrays: large ones compressed, without loss."""
    return {
        path: {str(name): _ENCODING for name, array in group.data_vars.items() if array.size >= _COMPRESSED_FROM}
        for path, group in groups.items()
    }


def _variable(name: str, array: Any) -> xr.Variable:
    """An array with its order in memory, on which the rounding of products depends."""
    is_fortran = array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
    stored = array.T if is_fortran else array
    dims = [f"{name}_{axis}" for axis in range(array.ndim)]
    return xr.Variable(dims, stored, attrs={"order": "F" if is_fortran else "C"})


def _array(stored: xr.DataArray) -> Any:
    array = np.ascontiguousarray(stored.to_numpy())
    return array.T if stored.attrs["order"] == "F" else array
