"""Dataclasses as groups of arrays, and back to the last digit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import xarray as xr

from rftune.features.feature_map import MAPS
from rftune.fitting.archive import Archive, encoding


@dataclass(frozen=True, eq=False)
class Leaf:
    values: Any
    count: int
    label: str
    nothing: Any = None


@dataclass(frozen=True, eq=False)
class Tree:
    leaves: tuple[Leaf, ...]
    share: float
    feature_map: Any
    chol_lower: tuple[Any, ...] = ()


ARCHIVE = Archive((Leaf, Tree), (MAPS,))


def through_a_file(thing, path):
    groups = ARCHIVE.pack(thing, "/thing")
    path.write_bytes(xr.DataTree.from_dict(groups).to_netcdf(engine="h5netcdf", encoding=encoding(groups)))
    read = xr.open_datatree(path, engine="h5netcdf").load()
    return ARCHIVE.unpack({node.path: node.to_dataset(inherit=False) for node in read.subtree}, "/thing")


def test_that_everything_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((3, 2)), np.asfortranarray(rng.standard_normal((50, 40))), np.arange(3), np.zeros(0)]
    factor = np.linalg.cholesky(np.cov(rng.standard_normal((5, 20)))) + np.triu(np.ones((5, 5)), 1)
    tree = Tree(
        tuple(Leaf(array, place, f"leaf {place}") for place, array in enumerate(arrays)),
        0.1 + 0.2,
        MAPS.default(),
        (np.asfortranarray(factor),),
    )
    back = through_a_file(tree, tmp_path / "tree.nc")
    assert (back.share, back.feature_map) == (tree.share, tree.feature_map)
    for array, leaf, again in zip(arrays, tree.leaves, back.leaves, strict=True):
        assert (again.count, again.label, again.nothing) == (leaf.count, leaf.label, None)
        np.testing.assert_array_equal(again.values, array)
        assert again.values.dtype == array.dtype
        assert again.values.flags.f_contiguous == array.flags.f_contiguous
    np.testing.assert_array_equal(back.chol_lower[0], np.tril(factor))


def test_that_unknown_things_are_refused():
    @dataclass
    class Unknown:
        value: float

    with pytest.raises(TypeError, match="/thing is a Unknown, which no file can hold"):
        ARCHIVE.pack(Unknown(1.0), "/thing")
