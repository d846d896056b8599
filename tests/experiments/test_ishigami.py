"""The Ishigami experiment: closed forms, data, analysis, table and figures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from rftune import storage
from rftune.emulators.listed import Listed
from rftune.experiments.ishigami import analysis, data, figures, tables
from rftune.experiments.protocol import load_repeats, training_set, with_scores
from rftune.experiments.results import Results, Stored

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = data.IshigamiData(a=7.0, b=0.1, noise_variance=0.01, n_train=60, n_base=64)
FEATURES = {"kind": "random_features", "features": {"family": {"name": "lowrank"}}}
EMULATORS = {
    "gp": Listed("gp", "GP", "gp", {"kind": "gp"}),
    "untuned": Listed("untuned", "RF untuned", "rf_untuned", {**FEATURES, "tuning": None}),
    "lowrank": Listed("lowrank", "RF lowrank", "rf", {**FEATURES, "tuning": {"n_features": 150}}),
}
PAPER = {
    "quantities": ["V1", "V2", "V3", "TV1", "TV2", "TV3"],
    "analytic": [0.314, 0.442, 0.0, 0.557, 0.442, 0.244],
    "empirical": [0.313, 0.442, -0.006, 0.562, 0.442, 0.245],
    "gp": [0.309, 0.451, -0.007, 0.550, 0.459, 0.235],
    "rf": [0.308, 0.453, -0.007, 0.537, 0.498, 0.223],
    "rf_std": [0.024, 0.023, 0.005, 0.026, 0.038, 0.022],
}


@pytest.fixture(scope="module")
def made():
    return SETTINGS.make(np.random.default_rng(0))


def test_that_the_function_has_sine_squared():
    points = np.array([[np.pi / 2, np.pi / 2, 0.0], [np.pi / 2, 0.0, 2.0], [0.0, -np.pi / 2, 1.0]])
    np.testing.assert_allclose(data.ishigami(points, 7.0, 0.1), [8.0, 2.6, 7.0])


def test_that_the_analytic_indices_are_integrals_of_the_function():
    """Against Gauss-Legendre quadrature, exact to rounding for this function."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    nodes, weights = np.pi * nodes, weights / 2
    grid = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = data.ishigami(grid, 7.0, 0.1).reshape(40, 40, 40)

    def mean(array, axes):
        for axis in sorted(axes, reverse=True):
            array = np.tensordot(array, weights, (axis, 0))
        return array

    def variance(array):
        axes = range(array.ndim)
        return mean(array**2, axes) - mean(array, axes) ** 2

    first, total = data.analytic_indices(7.0, 0.1)
    for i in range(3):
        others = [j for j in range(3) if j != i]
        assert first[i] == pytest.approx(variance(mean(values, others)) / variance(values), abs=1e-10)
        assert total[i] == pytest.approx(1 - variance(mean(values, [i])) / variance(values), abs=1e-10)


def test_that_the_analytic_indices_round_to_the_papers():
    np.testing.assert_allclose(np.concatenate(data.analytic_indices(7.0, 0.1)), PAPER["analytic"], atol=6e-4)


def test_that_training_data_are_noisy_rows_of_the_design(made):
    training = training_set(made)
    rows = made["train_rows"].values
    assert len(set(rows.tolist())) == training.data.n_samples == 60
    np.testing.assert_array_equal(training.data.inputs, made["points"].values[rows])
    residual = training.data.outputs - made["truth"].values[rows]
    # χ² with 60 degrees of freedom: five standard deviations of the sample variance
    assert abs(residual.var() / 0.01 - 1) < 5 * np.sqrt(2 / 60)
    np.testing.assert_array_equal(training.noise, [[0.01]])
    assert made["points"].shape == (64 * 8, 3)


def test_that_too_many_training_points_are_refused():
    with pytest.raises(ValueError, match="n_train must be between 1 and the design's 512 rows; got 600"):
        data.IshigamiData(a=7.0, b=0.1, noise_variance=0.01, n_train=600, n_base=64)


def predictions_like(made, deviations):
    truth = made["truth"].values
    mean = np.stack([truth + deviation for deviation in deviations])
    shifts = [float(np.mean(deviation)) for deviation in deviations]
    judged = np.stack([made["fresh_truth"].values + shift for shift in shifts])
    n = len(deviations)
    return xr.Dataset(
        {
            "mean": (("repeat", "point", "output"), mean),
            "judged_mean": (("repeat", "judged", "output"), judged),
            "judged_std": (("repeat", "judged", "output"), np.ones(judged.shape)),
            "failure": ("repeat", np.array([""] * n, dtype=object)),
            "n_restarts": ("repeat", np.zeros(n, dtype=int)),
            "n_failed_members": ("repeat", np.full(n, 2)),
            "objective_ratio": ("repeat", np.ones(n)),
        },
        coords={"repeat": np.arange(n)},
    )


def test_that_a_perfect_emulator_has_the_empirical_indices_and_no_error(made):
    result = analysis.analyse(made, predictions_like(made, [0.0]), 10, np.random.default_rng(0))
    truth = analysis.analyse_truth(made, 10, np.random.default_rng(0))
    np.testing.assert_allclose(result["first"].values[0], truth["empirical_first"].values, rtol=1e-12)
    np.testing.assert_allclose(result["total"].values[0], truth["empirical_total"].values, rtol=1e-12)
    assert result["relative_rmse"].values[0] == 0.0


def test_that_errors_are_relative_to_the_truths_spread(made):
    result = analysis.analyse(made, predictions_like(made, [2.0]), 10, np.random.default_rng(0))
    test = np.setdiff1d(np.arange(512), made["train_rows"].values)
    assert result["relative_rmse"].values[0] == pytest.approx(2.0 / made["truth"].values[test].std())


def test_that_a_failed_or_nearly_constant_emulator_has_no_indices(made):
    """A tuning caught at the zero predictor leaves a function that varies by rounding."""
    flat = predictions_like(made, [5.0 - made["truth"].values + 1e-15 * np.arange(512)[:, None]])
    assert np.isnan(analysis.analyse(made, flat, 10, np.random.default_rng(0))["first"]).all()
    failed = predictions_like(made, [0.0, np.nan])
    failed["failure"].values[1] = "ended at the zero predictor"
    result = analysis.analyse(made, failed, 10, np.random.default_rng(0))
    assert np.isfinite(result["first"].values[0]).all()
    assert np.isnan(result["first"].values[1]).all()


def test_that_a_constant_emulator_has_no_indices(made):
    constant = predictions_like(made, [-made["truth"].values])
    result = analysis.analyse(made, constant, 10, np.random.default_rng(0))
    assert np.isnan(result["first"]).all()


@pytest.fixture
def stored(made, tmp_path):
    """Stored data, analyses of three emulators with three repeats of which one failed, predictions and a tuning."""

    def store(stage, emulator, result):
        path = tmp_path / f"{emulator}-{stage}.nc"
        storage.save(result, path, settings={}, seed=1)
        return Stored(stage, "standard", 1, emulator, [str(path)])

    truth = analysis.analyse_truth(made, 10, np.random.default_rng(0))
    found = [store("truth", "", truth), store("data", "", made)]
    for name in EMULATORS:
        noise = np.random.default_rng(1).standard_normal((3, 512, 1))
        predictions = predictions_like(made, list(0.1 * noise))
        predictions["failure"].values[2] = "ended at the zero predictor" if name == "lowrank" else ""
        predictions["n_restarts"].values[1] = 1
        found.append(store("predicted", name, predictions))
        analysed = analysis.analyse(made, predictions, 10, np.random.default_rng(0))
        found.append(store("analysis", name, with_scores(analysed, made, predictions)))
    misfit = np.array([[4.0, 2.0, 1.0], [8.0, 4.0, 4.0]])
    tuned = xr.Dataset(
        {"misfit": (("repeat", "iteration"), misfit), "failure": ("repeat", np.array(["", "x"], dtype=object))},
        coords={"repeat": [0, 1]},
    )
    return [*found, store("tuned", "lowrank", tuned)]


@pytest.fixture
def results(stored):
    return Results(stored, EMULATORS, {}, {"T2": PAPER}, "T2")


def test_that_the_table_counts_failures_and_leaves_them_out(results):
    table = tables.indices_table(results)
    row = table[(table["source"] == "lowrank") & (table["quantity"] == "TV2")].iloc[0]
    kept = results.one("analysis", role="rf")["total"].values[:2, 1]
    assert (row["n_retunings"], row["n_failed"], row["n_restarts"]) == (3, 2, 1)  # a restart is a failed attempt
    assert row["mean"] == pytest.approx(kept.mean())
    assert row["std"] == pytest.approx(kept.std(ddof=1))
    assert row["standard_error"] == pytest.approx(kept.std(ddof=1) / np.sqrt(2))
    assert (row["paper_mean"], row["paper_std"]) == (0.498, 0.038)
    assert set(table["source"]) == {"analytic", "empirical", "gp", "untuned", "lowrank"}


def test_that_the_papers_rows_stand_beside_emulators_of_their_kind(results):
    first = tables.indices_table(results).groupby("source").first()
    assert first.loc["gp", "paper_mean"] == 0.309
    assert np.isnan(first.loc["gp", "paper_std"])
    assert (first.loc["lowrank", "paper_mean"], first.loc["lowrank", "paper_std"]) == (0.308, 0.024)
    assert np.isnan(first.loc["untuned", "paper_mean"]), "the paper prints tuned ones alone"


def test_that_seeds_are_pooled_beside_each_of_them(results):
    again = [replace(one, seed=2) for one in results.stored if one.stage in ("truth", "analysis")]
    several = replace(results, stored=[*results.stored, *(one for one in again if one.emulator != "untuned")])
    table = tables.indices_table(several)
    assert table["seed"].unique().tolist() == [1, 2, "all"]
    assert table[table["seed"] == "all"].set_index(["source", "quantity"])["std"]["gp", "V1"] == 0.0
    lines = text_of(figures.draw_table(replace(several, tables={"T2": table})))
    assert lines.count("GP") == 3
    assert lines.count("RF untuned") == 2, "it is not run at the further seed"
    assert lines.count("analytic") == 1, "it is the same for all seeds"


def text_of(picture):
    return [cell.get_text().get_text() for cell in picture.axes[0].tables[0].get_celld().values()]


def test_that_slices_are_drawn_of_truth_and_emulators_in_their_roles(results):
    slices = figures.draw_slices(results)
    assert len(slices.axes) == 12
    assert [axis.get_xlabel() for axis in slices.axes[-3:]] == ["$x_1$", "$x_2$", "$x_3$"]
    names = [axis.get_ylabel().partition("\n")[0] for axis in slices.axes[::3]]
    assert names == ["truth", "RF untuned", "GP, tuned", "RF lowrank, tuned"]


def test_that_convergence_is_drawn_without_failed_re_tunings_in_the_median(results):
    paper = yaml.safe_load((ROOT / "config/paper_values.yaml").read_text(encoding="utf-8"))
    axis = figures.draw_convergence(replace(results, paper=paper, artifact="F7")).axes[0]
    np.testing.assert_array_equal(axis.lines[0].get_ydata(), [1.0, 0.5, 0.25])
    np.testing.assert_array_equal(axis.lines[2].get_ydata(), [1.0, 0.5, 0.25])  # the median leaves the failed one out


def test_that_the_table_is_drawn_from_its_csv(results, tmp_path):
    tables.indices_table(results).to_csv(tmp_path / "T2.csv", index=False)
    texts = text_of(figures.draw_table(replace(results, tables={"T2": pd.read_csv(tmp_path / "T2.csv")})))
    assert "0.498 (.038)" in texts
    assert "2/3" in texts
    assert {"empirical, truth on the design", "RF untuned", "RF lowrank"} < set(texts)


def test_that_chunks_come_back_in_the_order_of_repeats(tmp_path):
    for first in (2, 0):
        chunk = xr.Dataset({"x": ("repeat", [first, first + 1])}, coords={"repeat": [first, first + 1]})
        storage.save(chunk, tmp_path / f"{first}.nc", settings={}, seed=1)
    merged = load_repeats([tmp_path / "2.nc", tmp_path / "0.nc"])
    assert merged["x"].values.tolist() == merged["repeat"].values.tolist() == [0, 1, 2, 3]


def test_that_a_table_is_plain_csv(results, tmp_path):
    tables.indices_table(results).to_csv(tmp_path / "t.csv", index=False)
    assert len(pd.read_csv(tmp_path / "t.csv")) == 2 * 6 + 3 * 9


def test_that_fresh_points_are_uniform_and_judge_the_intervals(made):
    fresh = made["fresh_points"].values
    assert fresh.shape == (2000, 3)
    assert (np.abs(fresh) <= np.pi).all()
    assert np.abs(fresh.mean(axis=0)).max() < 5 * np.pi / np.sqrt(3 * 2000)
    assert not set(map(tuple, fresh)) & set(map(tuple, made["points"].values))
    np.testing.assert_array_equal(made["fresh_truth"].values[:, 0], data.ishigami(fresh, 7.0, 0.1))
    predictions = predictions_like(made, [0.0, 1.5, 2.0])
    found = with_scores(analysis.analyse(made, predictions, 10, np.random.default_rng(0)), made, predictions)
    # with standard deviation 1 the 90 % intervals reach 1.64 to both sides
    np.testing.assert_array_equal(found["coverage"], [1.0, 1.0, 0.0])
    truth = made["fresh_truth"].values
    np.testing.assert_allclose(found["fresh_rmse"], np.array([0.0, 1.5, 2.0]) / truth.std())


@pytest.fixture
def with_choices(stored, made, tmp_path):
    """The same, and an RF that differs in the number of folds."""
    settings = {"n_features": 15, "validation_fraction": 0.2, "n_folds": 2}
    emulators = {
        "lowrank": Listed("lowrank", "RF", "rf", {**FEATURES, "tuning": settings}),
        "alone": Listed("alone", "alone", "choice", {**FEATURES, "tuning": {**settings, "n_folds": 1}}),
    }
    own = [one for one in stored if one.emulator in ("", "lowrank")]
    again = [replace(one, emulator="alone") for one in own if one.emulator == "lowrank"]
    return Results([*own, *again], emulators, {}, {"T2": PAPER}, "ishigami_choices")


def test_that_choices_are_compared_with_the_rf_by_what_they_change(with_choices, tmp_path):
    table = tables.choices_table(with_choices)
    assert table["choice"].tolist() == ["tuning.n_folds"] * 2
    assert table[["value", "emulator"]].to_numpy().tolist() == [[1, "alone"], [2, "lowrank"]]
    n_data = {1: 12 + 2, 2: 2 * (12 + 2)}  # a fifth of 60 samples, and two rows that regularise
    for _, row in table.iterrows():
        assert row["objective_first_mean"] == pytest.approx(4.0 / n_data[row["value"]])
        assert row["objective_ratio"] == pytest.approx(0.25)  # of the re-tuning that did not fail
    assert set(tables.indices_table(with_choices)["source"]) == {"analytic", "empirical", "lowrank"}
    table.to_csv(tmp_path / "t.csv", index=False)
    drawn = figures.draw_choices(replace(with_choices, tables={"ishigami_choices": pd.read_csv(tmp_path / "t.csv")}))
    assert [tick.get_text() for tick in drawn.axes[2].get_xticklabels()] == ["1", "2"]
