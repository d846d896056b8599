"""The Lorenz 63 experiment: data, predictions, statistics, tables and figures."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from rftune import storage
from rftune.analysis import dynamics
from rftune.data import Dataset
from rftune.emulators import point as baselines
from rftune.emulators.point import PointModel
from rftune.experiments.lorenz63 import analysis, data, figures, prediction, tables
from rftune.experiments.protocol import OUTCOME, training_set
from rftune.experiments.results import Stored
from rftune.report.style import MUTED

SMALL = {
    "sigma": 10.0,
    "rho": 28.0,
    "beta": 8 / 3,
    "time_step": 0.01,
    "method": "euler",
    "start": [1.0, 0.0, 0.0],
    "noise_variance": 1e-4,
    "n_train": 200,
    "train_time": 10.0,
    "test_time": 5.0,
    "long_time": 60.0,
    "keep_every": 10,
    "n_starts": 6,
    "horizon_time": 8.0,
}


def settings(**changes):
    return data.Settings(**{**SMALL, **changes})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data as the workflow stores them."""
    path = tmp_path_factory.mktemp("lorenz63") / "data.nc"
    storage.save(data.make_data(settings(), np.random.default_rng(1)), path, settings=SMALL, seed=1)
    return storage.load(path)


def true_model(bias=0.0):
    """The true map, plus a constant."""
    step = settings().integrator()
    return PointModel(lambda u: step(u) + bias, np.eye(3), 3)


def test_that_training_pairs_are_steps_with_noise_on_the_output_only(made):
    training, noise = training_set(made)
    residuals = training.outputs - settings().integrator()(training.inputs)
    assert training.n_samples == 200
    # 600 residuals: their mean square has a relative standard error of √(2/600)
    assert np.mean(residuals**2) == pytest.approx(1e-4, rel=5 * np.sqrt(2 / 600))
    np.testing.assert_array_equal(noise, 1e-4 * np.eye(3))
    inputs = {tuple(row) for row in training.inputs}
    first_stretch = made["points"].values[~made["is_test"].values]
    assert len(first_stretch) == 1000
    assert inputs <= {tuple(row) for row in first_stretch}


def test_that_the_test_stretch_starts_where_training_ends(made):
    points, truth = made["points"].values, made["truth"].values
    np.testing.assert_array_equal(points[1:], truth[:-1])
    is_test = made["is_test"].values
    np.testing.assert_array_equal(points[is_test][0], made["trace_truth"].values[0])
    np.testing.assert_array_equal(made["long_truth"].values[0], made["trace_truth"].values[0])
    np.testing.assert_array_equal(made["long_truth"].values[1], made["trace_truth"].values[10])
    assert is_test.sum() == 500
    np.testing.assert_array_equal(made["forecast_truth"].values[:, 0], made["starts"].values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_train": 5000}, "n_train must be between 1 and the 1000 steps of train_time; got 5000"),
        ({"test_time": 100.0}, "test_time must be at most long_time"),
        ({"n_starts": 400}, "400 starts are too many"),
        ({"start": [1.0, 0.0]}, "start must have 3 numbers"),
        ({"time_step": 0.03}, r"train_time must be a whole number of time steps of 0\.03; got 10"),
        ({"test_time": 0.001}, "test_time must be a whole number of time steps"),
    ],
)
def test_that_settings_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        settings(**changes)


def test_that_an_unstable_time_step_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"lower the time step 0\.1 or use method rk4"):
        data.make_data(settings(time_step=0.1, n_train=50), np.random.default_rng(0))


def test_that_a_case_is_a_noise_level():
    block = {"noise_variances": [0.01, 1e-4], "data": {"sigma": 1.0}}
    expected = {
        v: {"sigma": 1.0, "noise_variance": float(v.removeprefix("noise"))} for v in ("noise0.0001", "noise0.01")
    }
    assert data.cases(block) == expected
    assert list(data.cases(block)) == ["noise0.0001", "noise0.01"]  # the lowest first
    assert data.shape(settings()) == (200, 3, 3)
    with pytest.raises(ValueError, match="noise_variances must differ"):
        data.cases({"noise_variances": [1e-4, 1.0000001e-4], "data": {}})


@pytest.mark.parametrize(("name", "known"), [("noise0.0001", True), ("noise1e-4", False), ("loud", False)])
def test_that_a_case_has_one_name(name, known):
    assert data.is_case(name) == known


def test_that_the_true_map_is_a_perfect_integrator(made):
    predicted = prediction.predict(true_model(), made)
    np.testing.assert_array_equal(predicted["mean"], made["truth"])
    np.testing.assert_array_equal(predicted["trace"], made["trace_truth"])
    np.testing.assert_array_equal(predicted["long"], made["long_truth"])
    assert predicted["left_reason"].item() == ""
    np.testing.assert_allclose(predicted["horizon"], 8.0)


def test_that_persistence_rests_and_an_unstable_map_escapes(made):
    states = made["points"].values
    still = prediction.predict(baselines.persistence(Dataset(states, states), np.random.default_rng(0)), made)
    assert still["left_reason"].item() == "fixed point"
    growing = prediction.predict(PointModel(lambda u: 1.1 * u, np.eye(3), 3), made)
    assert growing["left_reason"].item() == "escaped"
    largest = np.abs(made["trace_truth"].values[0]).max()
    n_steps = np.ceil(np.log(dynamics.ESCAPED / largest) / np.log(1.1))
    assert growing["left_time"].item() == pytest.approx(0.01 * n_steps)
    assert np.isnan(growing["long"].values[-1]).all()


def test_that_a_failed_tuning_goes_through_as_unknown(made):
    predicted = prediction.predict(baselines.unknown(3, 3), made)
    assert np.isnan(predicted["mean"]).all()
    assert predicted["left_time"].item() == pytest.approx(0.01)


def outcomes(*models, made, failure=()):
    """Predictions of several repeats, with what a tuning says of itself."""
    found = xr.concat([prediction.predict(model, made) for model in models], dim="repeat")
    failures = np.array([failure[i] if i < len(failure) else "" for i in range(len(models))], dtype=object)
    said = {"failure": failures, **{name: np.zeros(len(models)) for name in OUTCOME if name != "failure"}}
    return found.assign({name: ("repeat", values) for name, values in said.items()}).assign_coords(
        repeat=np.arange(len(models))
    )


@pytest.fixture(scope="module")
def analysed(made):
    models = [true_model(), true_model(1e-3), PointModel(lambda u: 1.1 * u, np.eye(3), 3)]
    return analysis.analyse(made, outcomes(*models, made=made), rng=np.random.default_rng(0))


def test_that_one_step_errors_are_mean_norms(analysed):
    np.testing.assert_allclose(analysed["test_error"][:2], [0.0, 1e-3 * np.sqrt(3)], atol=1e-15, rtol=1e-9)
    np.testing.assert_allclose(analysed["training_error"][:2], [0.0, 1e-3 * np.sqrt(3)], atol=1e-15, rtol=1e-9)


def test_that_distances_vanish_for_the_truth_and_are_largest_after_an_escape(analysed):
    np.testing.assert_array_equal(analysed["ks"][0], 0.0)
    np.testing.assert_array_equal(analysed["wasserstein"][0], 0.0)
    np.testing.assert_array_equal(analysed["ks"][2], 1.0)
    assert np.isinf(analysed["wasserstein"][2]).all()
    assert ((analysed["ks"][1] > 0) & (analysed["ks"][1] < 0.5)).all()


def test_that_densities_integrate_to_the_share_inside(made):
    widths = np.diff(analysis.RANGES, axis=1)[:, 0] / analysis.N_BINS
    np.testing.assert_allclose(analysis.densities(made["long_truth"].values).sum(axis=1) * widths, 1.0)
    outside = np.vstack([np.full((5, 3), 500.0), np.full((5, 3), 10.0), np.full((2, 3), np.nan)])
    np.testing.assert_allclose(analysis.densities(outside).sum(axis=1) * widths, 0.5)
    np.testing.assert_array_equal(analysis.densities(np.full((2, 3), np.nan)), 0.0)


@pytest.fixture(scope="module")
def yardstick(made):
    return analysis.analyse_truth(made, 4, np.random.default_rng(0))


def test_that_the_yardstick_is_between_nothing_and_everything(yardstick):
    assert yardstick["pair_ks"].shape == (4, 3)
    assert ((yardstick["pair_ks"] > 0) & (yardstick["pair_ks"] < 0.6)).all()
    np.testing.assert_allclose(yardstick["ks_band"], np.quantile(yardstick["pair_ks"], 0.95, axis=0))
    assert 0.6 < yardstick["lyapunov_exponent"].item() < 1.4  # over 60 time units


def save(result, folder, name):
    prior = {"prior": {"amplitude": [0.0, 2.0], "log_scale": [-1.0, 1.5]}}
    storage.save(result, folder / f"{name}.nc", settings=prior, seed=1)
    return [str(folder / f"{name}.nc")]


@pytest.fixture(scope="module")
def stored(made, analysed, yardstick, tmp_path_factory):
    """Data, truth, predictions, analyses and times of a few integrators, one of whose tunings failed."""
    folder = tmp_path_factory.mktemp("stored")
    keep = partial(save, folder=folder)
    failing = outcomes(true_model(1e-3), baselines.unknown(3, 3), made=made, failure=("", "zero predictor"))
    escaping = outcomes(PointModel(lambda u: 1.1 * u, np.eye(3), 3), made=made)
    sources = {"data": keep(made, name="data"), "truth": keep(yardstick, name="truth"), "analyses": [], "timings": []}
    for name, predicted in (
        ("gp", outcomes(true_model(), made=made)),
        ("nonseparable_4", failing),
        ("untuned", escaping),
    ):
        sources[f"{name}_predicted"] = keep(predicted, name=f"{name}-p")
        result = analysis.analyse(made, predicted, rng=np.random.default_rng(0))
        sources[f"{name}_analysis"] = keep(result, name=f"{name}-a")
        n = predicted.sizes["repeat"]
        timing = xr.Dataset({"seconds": ("repeat", np.full(n, 2.0))}, coords={"repeat": np.arange(n)})
        sources["analyses"].append(Stored("noise0.0001", 1, name, sources[f"{name}_analysis"]))
        sources["timings"].append(Stored("noise0.0001", 1, name, keep(timing, name=f"{name}-t")))
    return sources


@pytest.fixture(scope="module")
def table(stored):
    truths = [Stored("noise0.0001", 1, "", stored["truth"])]
    return tables.integrators_table(truths, stored["analyses"], stored["timings"], {})


def test_that_the_table_counts_failures_and_shows_departures(table):
    rows = table.set_index("emulator")
    assert (rows.loc["nonseparable_4", "n_retunings"], rows.loc["nonseparable_4", "n_failed"]) == (2, 1)
    assert rows.loc["nonseparable_4", "test_error_mean"] == pytest.approx(1e-3 * np.sqrt(3))
    assert rows.loc["nonseparable_4", "share_stayed"] == 1.0  # the failed one is not among them
    assert rows.loc["untuned", "share_stayed"] == 0.0
    assert rows.loc["untuned", "departures"] == "escaped"
    assert rows.loc["untuned", "ks_x"] == 1.0
    assert rows.loc["gp", "share_within_band"] == 1.0
    assert rows.loc["gp", "horizon_mean"] == pytest.approx(8.0)
    assert rows.loc["gp", "horizon_lyapunov_times"] == pytest.approx(8.0 * rows.loc["truth", "lyapunov_exponent"])


def test_that_a_fate_is_told_in_words(made):
    def fate(reason, time, failure=""):
        return figures._fate(xr.Dataset({"left_reason": reason, "left_time": time, "failure": failure}), made)

    assert fate("", np.nan) == "stays on the attractor for 60 time units"
    assert fate("cycle", 30.0) == "is caught in a cycle after 30.00 time units"  # beyond the trace
    assert fate("fixed point", 4.0) == "comes to rest after 4.00 time units (dashed)"
    assert fate("escaped", 0.01, "ended at the zero predictor") == "its tuning failed"


def test_that_figures_are_drawn_from_stored_results(stored, table, tmp_path):
    names = ("untuned", "gp", "nonseparable_4")
    sources = {f"{name}_{kind}": stored[f"{name}_{kind}"] for name in names for kind in ("predicted", "analysis")}
    figure = figures.draw_integrators(stored["data"], stored["truth"], **sources)
    titles = [block.get_suptitle() for block in figure.subfigs]
    heading, titles[0] = titles[0].split("\n")
    assert heading == "noise covariance 0.0001·I; truth orange, emulator blue"
    assert titles[0].startswith("RF untuned, rank 4 (a ~ N(0, 2²), log D ~ N(-1, 1.5²)): escapes after 0.")
    assert titles[0].endswith("(dashed)")
    assert titles[1] == "GP: stays on the attractor for 60 time units"
    figure = figures.draw_distributions(stored["truth"], stored["nonseparable_4_analysis"])
    assert figure.legends[0].get_texts()[2].get_text() == "RF: 1 of 2 re-tunings stay"
    figure = figures.draw_distributions(stored["truth"], stored["untuned_analysis"])
    assert figure.legends[0].get_texts()[3].get_text() == "1 leave the attractor"
    table.to_csv(tmp_path / "table.csv", index=False)
    figure = figures.draw_ranks([str(tmp_path / "table.csv")])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["4"]
    assert figure.legends[0].get_texts()[0].get_text() == "RF, diag(D)² + UUᵀ, n = 2, 1 failed"
    ranks = table.set_index("emulator").rename(index={"untuned": "nonseparable_7"}).reset_index()
    ranks = pd.concat([ranks, ranks[ranks["emulator"] == "nonseparable_4"].assign(emulator="perturbation_7")])
    ranks.to_csv(tmp_path / "ranks.csv", index=False)
    figure = figures.draw_ranks([str(tmp_path / "ranks.csv")])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["4", "7"]
    grey = [line.get_xdata().tolist() for line in figure.axes[0].lines if line.get_color() == MUTED]
    assert grey == [[1], [1]]  # at rank 7 only, test and training
    assert figures.draw_table([str(tmp_path / "table.csv")]).axes[0].tables
