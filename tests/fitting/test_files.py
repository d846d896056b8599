"""Tables of runs in files."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from rftune.fitting import files

TABLE = pd.DataFrame({"a": [0.1, 0.2, 1 / 3], "b": [1.0, 2.0, 3.0], "T_1": [5.0, 6.0, 7.0], "T_2": [7.0, 8.0, 9.0]})
SUFFIXES = [".csv", ".tsv", ".parquet", ".npz", ".nc"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_that_a_table_comes_back_to_the_last_digit(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    files.save(TABLE, path)
    source = files.load(path)
    assert files.names_in(source) == list(TABLE)
    np.testing.assert_array_equal(files.take("inputs", source, ["b", "a"]).values, TABLE[["b", "a"]])
    first = path.read_bytes()
    files.save(TABLE, path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_that_row_labels_and_text_are_written_too(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    files.save(pd.DataFrame({"y": [1.0, 2.0], "word": ["one", "two"]}, index=["p", "q"]), path)
    assert files.names_in(files.load(path)) == ["run", "y", "word"]


def test_that_csv_may_have_spaces_semicolons_and_a_mark_of_its_encoding(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("\ufeffa; b\n1.5; 2\n2.5; 3\n", "utf-8")
    np.testing.assert_array_equal(files.take("inputs", files.load(path), ["a", "b"]).values, [[1.5, 2.0], [2.5, 3.0]])


def test_that_fields_are_read_from_netcdf_and_npz(tmp_path):
    field = np.arange(12.0).reshape(3, 4)
    np.savez(tmp_path / "runs.npz", x=np.arange(3.0), field=field)
    xr.Dataset({"field": (("run", "place"), field)}).to_netcdf(tmp_path / "old.nc", engine="scipy")
    for name in ("runs.npz", "old.nc"):
        taken = files.take("outputs", files.load(tmp_path / name), ["field"])
        np.testing.assert_array_equal(taken.values, field)


def test_that_patterns_stand_for_columns():
    assert files.matching("outputs", ["T_*", "b"], TABLE) == ["T_1", "T_2", "b"]
    with pytest.raises(ValueError, match=r"outputs must have the column 'S_[*]'; there are 'a', 'b'"):
        files.matching("outputs", ["a", "S_*"], TABLE)
    with pytest.raises(ValueError, match="'T_1' is asked for twice"):
        files.matching("outputs", ["T_1", "T_*"], TABLE)


def test_that_runs_are_named_by_a_column():
    named = files.labelled(TABLE.assign(name=["p", "q", "r"]), "name")
    assert files.take("inputs", named, ["a"]).run(1) == "q"


BAD = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"a,b\n", "at least one run"),
    "twice.csv": (b"a,a\n1,2\n", "the column 'a' is there twice"),
    "longer.csv": (b"a,b\n1,2\n3,4,5\n", "cannot be read as a .csv file"),
    "binary.csv": (bytes(range(256)), "cannot be read as a .csv file"),
    "text.parquet": (b"a,b\n1,2\n", "cannot be read as a .parquet file"),
    "text.nc": (b"a,b\n1,2\n", "cannot be read as a .nc file"),
    "text.npz": (b"a,b\n1,2\n", "cannot be read as a .npz file"),
    "runs.xlsx": (b"a", "must be a file of one of the kinds .csv"),
}


@pytest.mark.parametrize("name", BAD)
def test_that_a_bad_file_gets_one_line(tmp_path, name):
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        files.take("inputs", files.load(tmp_path / name), ["a"])
    assert "\n" not in str(caught.value)


def test_that_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        files.load(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="it is a folder"):
        files.load(tmp_path / "folder.csv")


def test_that_arrays_of_several_lengths_are_refused(tmp_path):
    np.savez(tmp_path / "runs.npz", x=np.arange(3.0), y=np.arange(4.0))
    with pytest.raises(ValueError, match=r"one length; they have {'x': 3, 'y': 4}"):
        files.load(tmp_path / "runs.npz")


def test_that_a_table_has_a_known_suffix():
    with pytest.raises(ValueError, match=r"must have one of the suffixes .csv"):
        files.check_writable("table.txt")
