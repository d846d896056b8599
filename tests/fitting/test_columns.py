"""What users hand in, with its names, and results in kind."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from rftune.fitting import columns
from rftune.fitting.columns import like, read

MATRIX = np.arange(6.0).reshape(3, 2)


def test_that_arrays_get_names_and_vectors_are_one_output():
    assert read("inputs", MATRIX).names == ("x0", "x1")
    assert read("outputs", MATRIX.tolist()).names == ("y0", "y1")
    vector = read("outputs", MATRIX[:, 0])
    assert vector.values.shape == (3, 1)
    assert vector.form.restore(vector.values, vector.names, None).shape == (3,)


def test_that_frames_series_and_mappings_keep_names_and_labels():
    frame = pd.DataFrame(MATRIX, columns=["a", "b"], index=["p", "q", "r"])
    for given in (frame, {"a": MATRIX[:, 0], "b": MATRIX[:, 1]}):
        assert read("inputs", given).names == ("a", "b")
        np.testing.assert_array_equal(read("inputs", given).values, MATRIX)
    taken = read("outputs", frame)
    pd.testing.assert_frame_equal(taken.form.restore(taken.values, taken.names, taken.runs), frame)
    assert [taken.run(row) for row in range(3)] == ["p", "q", "r"]
    series = read("outputs", frame["b"])
    pd.testing.assert_series_equal(series.form.restore(series.values, series.names, series.runs), frame["b"])


def test_that_xarray_fields_are_columns_and_come_back():
    field = xr.DataArray(
        np.arange(24.0).reshape(4, 3, 2), dims=("lat", "run", "lon"), coords={"lat": [10, 20, 30, 40], "run": [7, 8, 9]}
    )
    dataset = xr.Dataset({"scalar": ("run", [1.0, 2.0, 3.0]), "field": field})
    taken = read("outputs", dataset)
    assert taken.names[:4] == ("scalar", "field[10, 0]", "field[10, 1]", "field[20, 0]")
    assert taken.in_field.tolist() == [False] + 8 * [True]
    xr.testing.assert_identical(
        taken.form.restore(taken.values, taken.names, taken.runs), dataset.transpose("run", ...).drop_attrs()
    )
    alone = read("outputs", field.transpose("run", "lat", "lon").rename("t"))
    restored = alone.form.restore(alone.values, alone.names, alone.runs)
    xr.testing.assert_equal(restored, field.transpose("run", "lat", "lon"))


def test_that_a_matrix_of_xarray_has_its_own_column_names():
    array = xr.DataArray(MATRIX, dims=("run", "quantity"), coords={"quantity": ["a", "b"]})
    assert read("inputs", array).names == ("a", "b")


def test_that_columns_are_found_by_name_or_by_place():
    frame = pd.DataFrame({"other": [9.0, 9.0, 9.0], "b": MATRIX[:, 1], "a": MATRIX[:, 0]})
    for given in (frame, xr.Dataset({name: ("run", frame[name]) for name in frame}), MATRIX, frame.to_dict("list")):
        taken = like("inputs", given, ["a", "b"])
        assert taken.names == ("a", "b")
        np.testing.assert_array_equal(taken.values, MATRIX)


BAD = {
    "inputs must be numbers; 'x' stands in column 'a', row q: remove or repair it": pd.DataFrame(
        {"a": [1.0, "x"]}, index=["p", "q"]
    ),
    "'x' stands in column 'a', row 1 .and 1 other.: remove or repair them": {"a": [1.0, "x", "y"]},
    "column 'a' holds datetime64": {"a": pd.to_datetime(["2020-01-01", "2020-01-02"]).to_numpy()},
    "inputs must be finite numbers; no number stands in column 'a', row 1": {"a": [1.0, None]},
    "inputs must be finite numbers; inf stands in column 'x1', row 0: remove": np.array([[1.0, np.inf]]),
    "1e[+]200 stands .* use units in which all are below 1e[+]100": np.array([[1e200]]),
    "different names; 'a' is there twice": pd.DataFrame(MATRIX, columns=["a", "a"]),
    "one length; got {'a': 1, 'b': 2}": {"a": [1.0], "b": [1.0, 2.0]},
    r"a row per run and a column per quantity; got shape \(2,\): pass x\[:, None\]": [1.0, 2.0],
    r"got shape \(1, 1, 1\): reshape it": [[[1.0]]],
    "numbers, as many in every row": [[1.0], [1.0, 2.0]],
    "real numbers; got complex numbers": np.array([[1j]]),
    "real numbers; got text": np.array([["1"]]),
    r"at least one run and one column; got shape \(0, 2\)": MATRIX[:0],
    r"at least one run and one column; got shape \(3, 0\)": pd.DataFrame(index=range(3)),
    "inputs must be variables along a dimension of runs; got no variable": xr.Dataset(),
    "real numbers; got NoneType": None,
}


@pytest.mark.parametrize("message", BAD)
def test_that_bad_columns_say_what_is_wrong_in_one_line(message):
    with pytest.raises(ValueError, match=message) as caught:
        read("inputs", BAD[message])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pd.DataFrame({"a": [1.0], "c": [1.0]}), "must have the column 'b'; there are 'a', 'c'"),
        (np.ones((1, 3)), r"must have 2 columns \(a, b\); got 3"),
        (xr.Dataset({"a": ("run", [1.0])}), "must have the column 'b'; there is 'a'"),
    ],
)
def test_that_missing_columns_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        like("inputs", given, ["a", "b"])


def test_that_inputs_and_outputs_must_belong_together():
    inputs = read("inputs", pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"]))
    with pytest.raises(ValueError, match="a row for every run; got 2 and 1 rows"):
        columns.check_same_runs(inputs, read("outputs", [1.0]))
    with pytest.raises(ValueError, match="same order; row 0 is 'p' in one and 'q' in the other"):
        columns.check_same_runs(inputs, read("outputs", pd.Series([1.0, 2.0], index=["q", "p"], name="y")))
    with pytest.raises(ValueError, match="both an input and an output; 'a' is"):
        columns.check_same_runs(inputs, read("outputs", {"a": [1.0, 2.0]}))
