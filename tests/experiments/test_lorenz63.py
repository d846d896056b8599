"""The Lorenz 63 experiment: data, predictions, statistics, tables and figures."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from rftune import storage
from rftune.analysis import dynamics
from rftune.data import Dataset
from rftune.emulators.base import EMULATORS, Training
from rftune.emulators.kinds.persistence import Persistence
from rftune.emulators.listed import Listed
from rftune.emulators.point import PointModel, unknown
from rftune.experiments.base import experiment
from rftune.experiments.lorenz63 import analysis, figures, prediction, tables
from rftune.experiments.lorenz63.data import Lorenz63Data
from rftune.experiments.protocol import OUTCOME, predict_intervals, training_set, with_scores
from rftune.experiments.results import Results, Stored
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
    return Lorenz63Data(**{**SMALL, **changes})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data as the workflow stores them."""
    path = tmp_path_factory.mktemp("lorenz63") / "data.nc"
    storage.save(settings().make(np.random.default_rng(1)), path, settings=settings().plain(), seed=1)
    return storage.load(path)


def true_model(bias=0.0):
    """The true map, plus a constant."""
    step = settings().integrator()
    return PointModel(lambda u: step(u) + bias, np.eye(3), 3)


def test_that_training_pairs_are_steps_with_noise_on_the_output_only(made):
    training = training_set(made)
    residuals = training.data.outputs - settings().integrator()(training.data.inputs)
    assert training.data.n_samples == 200
    # 600 residuals: their mean square has a relative standard error of √(2/600)
    assert np.mean(residuals**2) == pytest.approx(1e-4, rel=5 * np.sqrt(2 / 600))
    np.testing.assert_array_equal(training.noise, 1e-4 * np.eye(3))
    inputs = {tuple(row) for row in training.data.inputs}
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
        ({"start": [1.0, 0.0]}, r"start\.2\s+Field required"),
        ({"time_step": 0.03}, r"train_time must be a whole number of time steps of 0\.03; got 10"),
        ({"test_time": 0.001}, "test_time must be a whole number of time steps"),
    ],
)
def test_that_settings_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        settings(**changes)


def test_that_an_unstable_time_step_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"lower the time step 0\.1 or use method rk4"):
        settings(time_step=0.1, n_train=50).make(np.random.default_rng(0))


def block(**changes):
    """The experiment's block of a config."""
    entries = {
        "noise_variances": [0.01, 1e-4],
        "data": {key: value for key, value in SMALL.items() if key != "noise_variance"},
        "truth": {"n_pairs": 4},
        "repeats": 1,
        "emulators": {"gp": {"kind": "gp"}},
    }
    return experiment("lorenz63").Settings(**{**entries, **changes})


def test_that_a_case_is_a_noise_level():
    found = experiment("lorenz63").cases(block())
    assert found == {"noise0.0001": settings(noise_variance=1e-4), "noise0.01": settings(noise_variance=0.01)}
    assert list(found) == ["noise0.0001", "noise0.01"]  # the lowest first
    assert settings().shape == (200, 3, 3)
    with pytest.raises(ValueError, match="noise_variances must differ"):
        experiment("lorenz63").cases(block(noise_variances=[1e-4, 1.0000001e-4]))


@pytest.mark.parametrize(("name", "known"), [("noise0.0001", True), ("noise1e-4", False), ("loud", False)])
def test_that_a_case_has_one_name(name, known):
    assert experiment("lorenz63").is_case(name) == known


def test_that_there_are_as_many_figures_as_there_is_to_show():
    lorenz63, by_rank = experiment("lorenz63"), {"kind": "random_features", "role": "by_rank"}
    assert {one.id for one in lorenz63.artifacts_of(block())} & {"F9", "F10"} == {"F9"}
    ranked = block(noise_variances=[1e-4], emulators={"some": by_rank})
    assert {one.id for one in lorenz63.artifacts_of(ranked)} & {"F9", "F10"} == {"F10"}


def test_that_the_true_map_is_a_perfect_integrator(made):
    predicted = prediction.predict(true_model(), made)
    np.testing.assert_array_equal(predicted["mean"], made["truth"])
    np.testing.assert_array_equal(predicted["trace"], made["trace_truth"])
    np.testing.assert_array_equal(predicted["long"], made["long_truth"])
    assert predicted["left_reason"].item() == ""
    np.testing.assert_allclose(predicted["horizon"], 8.0)


def test_that_persistence_rests_and_an_unstable_map_escapes(made):
    states = made["points"].values
    training = Training(Dataset(states, states), np.eye(3))
    still = prediction.predict(Persistence().fit(training, xr.Dataset(), np.random.default_rng(0)), made)
    assert still["left_reason"].item() == "fixed point"
    growing = prediction.predict(PointModel(lambda u: 1.1 * u, np.eye(3), 3), made)
    assert growing["left_reason"].item() == "escaped"
    largest = np.abs(made["trace_truth"].values[0]).max()
    n_steps = np.ceil(np.log(dynamics.ESCAPED / largest) / np.log(1.1))
    assert growing["left_time"].item() == pytest.approx(0.01 * n_steps)
    assert np.isnan(growing["long"].values[-1]).all()


def test_that_a_failed_tuning_goes_through_as_unknown(made):
    predicted = prediction.predict(unknown(3, 3), made)
    assert np.isnan(predicted["mean"]).all()
    assert predicted["left_time"].item() == pytest.approx(0.01)


def outcomes(*models, made, failure=()):
    """Predictions of several repeats, with what a tuning says of itself."""
    predicted = [prediction.predict(model, made).merge(predict_intervals(model, made)) for model in models]
    found = xr.concat(predicted, dim="repeat")
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


CASE, SEED = "noise0.0001", 1


def listed(name, role, **features):
    """Random features of a run, untuned in that role."""
    block = {"kind": "random_features", "features": {"rank": 4, **features}}
    block |= {"tuning": None} if role == "rf_untuned" else {}
    return Listed(name, f"the {name}", role, EMULATORS.read(block).plain())


EMULATED = {
    "process": Listed("process", "GP", "gp", {"kind": "gp"}),
    "tuned": listed("tuned", "rf"),
    "raw": listed("raw", "rf_untuned", prior={"amplitude": [0.0, 2.0], "log_scale": [-1.0, 1.5]}),
}


@pytest.fixture(scope="module")
def stored(made, yardstick, tmp_path_factory):
    """Data, truth, predictions, analyses and times of a few integrators, one of whose tunings failed."""
    folder, found = tmp_path_factory.mktemp("stored"), []

    def keep(stage, result, emulator=""):
        path = folder / f"{stage}-{emulator}.nc"
        storage.save(result, path, settings={}, seed=SEED)
        found.append(Stored(stage, CASE, SEED, emulator, [str(path)]))

    keep("data", made)
    keep("truth", yardstick)
    for name, predicted in (
        ("raw", outcomes(PointModel(lambda u: 1.1 * u, np.eye(3), 3), made=made)),
        ("process", outcomes(true_model(), made=made)),
        ("tuned", outcomes(true_model(1e-3), unknown(3, 3), made=made, failure=("", "zero predictor"))),
    ):
        keep("predicted", predicted, name)
        found_of = analysis.analyse(made, predicted, rng=np.random.default_rng(0))
        keep("analysis", with_scores(found_of, made, predicted), name)
        n = predicted.sizes["repeat"]
        keep("times", xr.Dataset({"seconds": ("repeat", np.full(n, 2.0))}, coords={"repeat": np.arange(n)}), name)
    return found


@pytest.fixture(scope="module")
def table(stored):
    return tables.integrators_table(Results(stored, EMULATED))


def test_that_the_table_counts_failures_and_shows_departures(table):
    rows = table.set_index("emulator")
    assert list(rows.index) == ["truth", "raw", "process", "tuned"]
    assert (rows.loc["tuned", "n_retunings"], rows.loc["tuned", "n_failed"]) == (2, 1)
    assert rows.loc["tuned", "test_error_mean"] == pytest.approx(1e-3 * np.sqrt(3))
    assert rows.loc["tuned", "share_stayed"] == 1.0  # the failed one is not among them
    assert rows.loc["raw", "share_stayed"] == 0.0
    assert rows.loc["raw", "departures"] == "escaped"
    assert rows.loc["raw", "ks_x"] == 1.0
    assert rows.loc["process", "share_within_band"] == 1.0
    assert rows.loc["process", "horizon_mean"] == pytest.approx(8.0)
    assert rows.loc["process", "horizon_lyapunov_times"] == pytest.approx(8.0 * rows.loc["truth", "lyapunov_exponent"])


def test_that_a_fate_is_told_in_words(made):
    def fate(reason, time, failure=""):
        return figures._fate(xr.Dataset({"left_reason": reason, "left_time": time, "failure": failure}), made)

    assert fate("", np.nan) == "stays on the attractor for 60 time units"
    assert fate("cycle", 30.0) == "is caught in a cycle after 30.00 time units"  # beyond the trace
    assert fate("fixed point", 4.0) == "comes to rest after 4.00 time units (dashed)"
    assert fate("escaped", 0.01, "ended at the zero predictor") == "its tuning failed"


def test_that_integrators_are_drawn_with_their_names_and_fates(stored):
    figure = figures.draw_integrators(Results(stored, EMULATED))
    titles = [block.get_suptitle() for block in figure.subfigs]
    heading, titles[0] = titles[0].split("\n")
    assert heading == "noise covariance 0.0001·I; truth orange, emulator blue"
    assert titles[0].startswith("the raw (a ~ N(0, 2²), log D ~ N(-1, 1.5²)): escapes after 0.")
    assert titles[0].endswith("(dashed)")
    assert titles[1] == "GP: stays on the attractor for 60 time units"
    assert titles[2] == "the tuned: stays on the attractor for 60 time units"


def test_that_distributions_tell_how_many_stay(stored):
    def legend(name):
        shown = [one for one in stored if one.stage == "truth" or one.emulator == name]
        figure = figures.draw_distributions(Results(shown, EMULATED))
        return [text.get_text() for text in figure.legends[0].get_texts()]

    assert legend("tuned")[2] == "RF: 1 of 2 re-tunings stay"
    assert legend("raw")[3] == "1 leave the attractor"


def read_back(table, folder):
    """A table as figures get it."""
    table.to_csv(folder / "table.csv", index=False)
    return {"lorenz63_integrators": pd.read_csv(folder / "table.csv")}


def test_that_the_table_is_drawn_without_the_ranks(table, tmp_path):
    ranks = pd.concat([table, table[table["emulator"] == "tuned"].assign(emulator="seven")])
    emulators = {**EMULATED, "seven": listed("seven", "by_rank", rank=7)}
    figure = figures.draw_table(Results([], emulators, read_back(ranks, tmp_path)))
    cells = figure.axes[0].tables[0].get_celld()
    names = [cells[row, 1].get_text().get_text() for row in range(1, 1 + max(row for row, _ in cells))]
    assert names == ["truth against truth: median", "    95 % band", "the raw", "GP", "the tuned"]


def test_that_errors_are_drawn_by_rank_and_family(table, tmp_path):
    alone = figures.draw_ranks(Results([], EMULATED, read_back(table, tmp_path)))
    assert [tick.get_text() for tick in alone.axes[0].get_xticklabels()] == ["4"]
    assert alone.legends[0].get_texts()[0].get_text() == "RF, diag(D)² + UUᵀ, ours, n = 2, 1 failed"

    added = {
        "high": listed("high", "by_rank", rank=7),
        "of_the_paper": listed("of_the_paper", "by_rank", rank=7, family="perturbation"),
        "pair": listed("pair", "by_rank", rank=[3, 1]),
        "mine": listed("mine", "by_rank", rank=[2, 2], family="diagonal"),
    }
    own = table[table["emulator"] == "tuned"]
    ranks = pd.concat([table, *(own.assign(emulator=name) for name in added)])
    figure = figures.draw_ranks(Results([], {**EMULATED, **added}, read_back(ranks, tmp_path)))
    assert [[tick.get_text() for tick in axis.get_xticklabels()] for axis in figure.axes] == [
        ["4", "7"],
        ["(2,2)", "(3,1)"],
    ]
    grey = [line.get_xdata().tolist() for line in figure.axes[0].lines if line.get_color() == MUTED]
    assert grey == [[1], [1]]  # at rank 7 only, test and training
    families = [text.get_text().partition(", n")[0] for text in figure.legends[0].get_texts()]
    assert families[:3] == ["RF, diag(D)² + UUᵀ, ours", "RF, (I + USUᵀ)², as printed", "RF diagonal"]
    assert figure.legends[0].get_texts()[0].get_text().endswith("n = 2, 3 failed")


def test_that_convergence_is_drawn_for_the_papers_number_of_re_tunings(stored, tmp_path):
    misfit = np.exp(-np.arange(6.0)) * np.ones((3, 1))
    tuned = xr.Dataset({"misfit": (("repeat", "iteration"), misfit), "failure": ("repeat", ["", "", "trapped"])})
    storage.save(tuned, tmp_path / "tuned.nc", settings={}, seed=SEED)
    mine = [*stored, Stored("tuned", CASE, SEED, "tuned", [str(tmp_path / "tuned.nc")])]
    paper = {"convergence": {"F8": 4, "restarts": 2, "logarithmic": ["F8"]}}
    axis = figures.draw_convergence(Results(mine, EMULATED, {}, paper, "F8")).axes[0]
    assert axis.get_title() == "the tuned, noise covariance 0.0001·I"
    assert axis.get_yscale() == "log"
    assert "2 re-tunings, 0 failed" in [text.get_text() for text in axis.get_legend().get_texts()]
