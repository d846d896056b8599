"""From one's own runs to predictions, a card and a file."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from simulators import field_runs, field_truth, runs, truth

from rftune.fitting.emulator import fit, load

QUICK = ["quadratic", "anova"]


@pytest.fixture(scope="module")
def emulator():
    return fit(*runs(names=("y", "z")), emulators=QUICK)


@pytest.fixture(scope="module")
def of_field():
    inputs, _, noisy, places = field_runs()
    outputs = xr.DataArray(noisy, dims=("run", "place"), coords={"place": places}, name="temperature")
    return fit(inputs, outputs, emulators=QUICK)


def test_that_it_learns_the_function_and_the_noise(emulator):
    points, _ = runs(500, seed=1)
    mean, std = emulator.predict(points, return_std=True)
    assert list(mean.columns) == ["y", "z"]
    np.testing.assert_allclose(mean["y"], truth(points), atol=0.15)
    assert 0.8 < np.mean(np.abs(mean["y"] - truth(points)) < 1.645 * std["y"]) <= 1.0
    np.testing.assert_allclose(emulator.noise_std, 0.05, rtol=0.4)
    _, of_data = emulator.predict(points, return_std=True, noise=True)
    np.testing.assert_allclose(of_data**2 - std**2, np.tile(emulator.noise_std**2, (500, 1)), rtol=1e-6)


def test_that_results_have_the_form_of_the_outputs():
    inputs, outputs = runs()
    points = inputs.iloc[[3, 1]]
    for given in (outputs["y"].to_numpy(), outputs["y"], outputs, outputs.to_numpy()):
        mean, std = fit(inputs, given, emulators=QUICK).predict(points, return_std=True)
        assert type(mean) is type(std) is type(given)
        assert mean.shape == (2, *np.shape(given)[1:])
    assert list(mean.index if isinstance(mean, pd.DataFrame) else [3, 1]) == [3, 1]


def test_that_inputs_are_taken_by_name_or_by_place(emulator):
    inputs, _ = runs(5, seed=2)
    expected = emulator.predict(inputs).to_numpy()
    for given in (inputs.to_numpy(), inputs[["c", "a", "b"]], inputs.to_dict("list"), inputs.to_xarray()):
        np.testing.assert_array_equal(emulator.predict(given).to_numpy(), expected)


def test_that_covariances_are_those_of_draws(emulator):
    inputs, _ = runs(3, seed=3)
    mean, covariance = emulator.predict(inputs, return_cov=True)
    draws = emulator.sample(inputs, 4000)
    assert draws.shape == (4000, 3, 2)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.01)
    np.testing.assert_allclose(np.cov(draws[:, 0].T), covariance[0], atol=0.1 * covariance[0].max())
    _, std = emulator.predict(inputs, return_std=True)
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)), std)


def test_that_a_file_gives_the_same_predictions_in_another_process(emulator, tmp_path):
    path, points = tmp_path / "model.nc", runs(200, seed=4)[0]
    emulator.save(path)
    points.to_csv(tmp_path / "points.csv", index=False)
    code = """
import sys, numpy as np, pandas as pd, rftune
mean, std = rftune.load(sys.argv[1]).predict(pd.read_csv(sys.argv[2], float_precision="round_trip"), return_std=True)
np.savez(sys.argv[3], mean=mean, std=std)
"""
    arguments = [str(path), str(tmp_path / "points.csv"), str(tmp_path / "out.npz")]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    mean, std = emulator.predict(points, return_std=True)
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_allclose(found["mean"], mean, rtol=1e-12)
        np.testing.assert_allclose(found["std"], std, rtol=1e-12)


def test_that_a_file_keeps_all_that_is_known(emulator, tmp_path):
    emulator.save(tmp_path / "model.nc")
    again = load(tmp_path / "model.nc")
    assert again.card == emulator.card
    assert again.notes == emulator.notes
    pd.testing.assert_frame_equal(again.race, emulator.race, check_dtype=False)
    pd.testing.assert_frame_equal(again.validate().scores, emulator.validate().scores)
    again.save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "model.nc").read_bytes()


@pytest.mark.parametrize("kind", ["quadratic", "anova_rough", "sparse", "subspace"])
def test_that_every_kind_can_be_saved(kind, tmp_path):
    inputs, outputs = runs()
    made = fit(inputs, outputs, emulators=[kind])
    made.save(tmp_path / "model.nc")
    for one, other in zip(
        made.predict(inputs, return_std=True), load(tmp_path / "model.nc").predict(inputs, return_std=True), strict=True
    ):
        pd.testing.assert_frame_equal(one, other, rtol=1e-12)


def test_that_the_card_says_what_it_is(emulator):
    card = emulator.card
    assert list(card["inputs"]) == ["a", "b", "c"]
    assert card["outputs"]["y"] == [runs()[1]["y"].min(), runs()[1]["y"].max()]
    assert set(card["chosen"]) == {"y", "z"}
    assert card["settings"]["budget"] == 60.0
    assert len(card["data_sha256"]) == 64
    assert "numpy" in card["made_with"]
    other = fit(runs()[0], runs(seed=5)[1], emulators=["quadratic"]).card
    assert other["data_sha256"] != card["data_sha256"]


def test_that_the_same_seed_gives_the_same_digits():
    given = runs(40)
    one, other = (fit(*given, emulators=["anova", "sparse"], budget=20.0) for _ in range(2))
    np.testing.assert_array_equal(one.predict(given[0]), other.predict(given[0]))
    different = fit(*given, emulators=["sparse"], seed=1).predict(given[0])
    assert (different != fit(*given, emulators=["sparse"]).predict(given[0])).any(axis=None)


def test_that_a_field_is_learned_as_a_few_components(of_field):
    inputs, _, _, places = field_runs(seed=7, n_runs=50)
    mean, std = of_field.predict(inputs, return_std=True)
    clean = field_truth(inputs, places)
    assert (mean.name, mean.dims, len(of_field.trained.surrogate.components)) == ("temperature", ("run", "place"), 2)
    assert np.sqrt(np.mean((mean - clean) ** 2)) < 0.02
    assert np.mean(np.abs(mean - clean) < 1.645 * std) > 0.85
    assert any("300 outputs are emulated as 2 components" in note for note in of_field.notes)


def test_that_a_field_can_be_saved(of_field, tmp_path):
    of_field.save(tmp_path / "model.nc")
    inputs = field_runs(seed=8, n_runs=5)[0]
    xr.testing.assert_identical(of_field.predict(inputs), load(tmp_path / "model.nc").predict(inputs))
    assert (tmp_path / "model.nc").stat().st_size < 2e6


def test_that_2000_outputs_and_one_go_the_same_road():
    inputs, _, noisy, _ = field_runs(n_places=2000)
    many = fit(inputs, noisy, emulators=QUICK)
    assert many.predict(inputs[:3]).shape == (3, 2000)
    one = fit(inputs, noisy[:, 500], emulators=QUICK)
    np.testing.assert_allclose(one.predict(inputs), many.predict(inputs)[:, 500], atol=0.05)


def test_that_known_noise_is_taken_as_it_is():
    inputs, outputs = runs(names=("y", "z"))
    for noise in (0.01, [0.01, 0.01], {"y": 0.01, "z": 0.01}, np.diag([0.01, 0.01])):
        made = fit(inputs, outputs, noise=noise, emulators=QUICK)
        np.testing.assert_allclose(made.noise_std, 0.1, rtol=1e-9)
    partly = fit(inputs, outputs, noise={"y": 0.01}, emulators=QUICK).noise_std
    np.testing.assert_allclose(partly["y"], 0.1, rtol=1e-9)
    np.testing.assert_allclose(partly["z"], 0.05, rtol=0.4)


def test_that_correlated_noise_is_whitened():
    inputs, outputs = runs(names=("y", "z"))
    noise = np.array([[0.01, 0.008], [0.008, 0.01]])
    made = fit(inputs, outputs, noise=noise, emulators=QUICK)
    np.testing.assert_allclose(made.trained.surrogate.noise_covariance, noise, rtol=1e-9)
    assert set(made.race["component"]) == {"component 1", "component 2"}


def test_that_a_simulator_without_noise_is_said_to_be_one():
    inputs, outputs = runs(noise=0.0)
    learned, known = (fit(inputs, outputs, noise=noise, emulators=QUICK) for noise in (None, 0.0))
    assert any("y seems to be without noise; a jitter of" in note for note in learned.notes)
    assert any("y is taken to be without noise; a jitter of 1e-09" in note for note in known.notes)
    points = runs(200, seed=1)[0]
    for made in (learned, known):
        np.testing.assert_allclose(made.predict(points)["y"], truth(points), atol=0.02)


def test_that_repeated_runs_tell_the_noise_and_are_left_out_together():
    inputs, outputs = runs(30, noise=0.0)
    rng = np.random.default_rng(0)
    repeated = pd.concat([inputs] * 4, ignore_index=True)
    noisy = pd.concat([outputs] * 4, ignore_index=True) + 0.1 * rng.standard_normal((120, 1))
    made = fit(repeated, noisy, emulators=QUICK)
    np.testing.assert_allclose(made.noise_std, 0.1, rtol=0.2)
    assert any("Repeated runs put it at 0." in note and "from 90 degrees of freedom" in note for note in made.notes)
    with pytest.raises(ValueError, match="noise is stated as 0, but runs at the same inputs differ in 'y'"):
        fit(repeated, noisy, noise=0.0)


def test_that_nothing_to_learn_is_said():
    inputs, _ = runs(100)
    made = fit(inputs, np.random.default_rng(9).standard_normal(100))
    assert any("Nothing was learned of y0" in note for note in made.notes)
    assert any("nothing yet" in sentence for sentence in made.validate().verdict())


BAD = {
    "at least 5 runs, .* got 1": lambda x, y: (x[:1], y[:1]),
    "input 'b' is the same in all runs": lambda x, y: (x.assign(b=3.0), y),
    "output 'y' is the same in all runs": lambda x, y: (x, y.assign(y=3.0)),
    "60 and 59 rows": lambda x, y: (x, y[1:]),
}


@pytest.mark.parametrize("message", BAD)
def test_that_bad_runs_are_refused_before_any_work(message):
    with pytest.raises(ValueError, match=message):
        fit(*BAD[message](*runs()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": -1.0}, "noise variances must not be negative; got -1: 0 means no noise"),
        ({"noise": [1.0, 2.0]}, r"noise must be a variance, 1 variances or .* got shape \(2,\)"),
        ({"noise": {"q": 1.0}}, "noise names 'q', which is no output; the outputs are y"),
        ({"noise": np.inf}, "noise variances must be finite"),
        ({"noise": "much"}, "noise must be a variance.*; got 'much'"),
        ({"budget": 0}, "budget must be a positive number of seconds; got 0"),
        ({"components": 2}, "components must be between 1 and 1; got 2"),
        ({"emulators": ["anvoa"]}, "did you mean 'anova'"),
        ({"seed": -1}, "the root seed must be a non-negative integer; got -1"),
    ],
)
def test_that_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        fit(*runs(), **settings)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((1, 2)), r"inputs must have 3 columns \(a, b, c\); got 2"),
        (pd.DataFrame({"a": [0.0], "b": [0.0]}), "must have the column 'c'"),
        (np.zeros(3), "a row per run and a column per quantity"),
    ],
)
def test_that_bad_points_are_refused(emulator, x, message):
    with pytest.raises(ValueError, match=message):
        emulator.predict(x)


def test_that_other_files_are_refused(tmp_path, emulator):
    with pytest.raises(ValueError, match="there is no emulator at"):
        load(tmp_path / "none.nc")
    (tmp_path / "text.nc").write_text("no emulator", "utf-8")
    with pytest.raises(ValueError, match="no netCDF file that holds an emulator"):
        load(tmp_path / "text.nc")
    xr.Dataset({"a": ("b", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match="holds no emulator of rftune"):
        load(tmp_path / "other.nc")
    with pytest.raises(ValueError, match=r"saved as a netCDF file, model.nc; got 'model.pkl'"):
        emulator.save(tmp_path / "model.pkl")
