"""The Sobol-G experiment: closed forms, data, tables and figures."""

import numpy as np
import pytest
import xarray as xr

from rftune import storage
from rftune.experiments.results import Stored
from rftune.experiments.sobol_g import analysis, data, figures, tables

PAPER_T3 = {
    "dimensions": [3, 6],
    "gp": [16, 309],
    "rf_serial": [46, 65],
    "rf_8_threads": [12, 23],
}
PAPER_T4 = {
    "n_features": [25, 50],
    "seconds": [7, 13],
    "training_error": [0.01442, 0.01128],
    "test_error": [0.004687, 0.004069],
    "gp": {"seconds": 320, "training_error": 0.000358, "test_error": 0.002827},
}


def settings(d):
    return data.Settings(n_inputs=d, noise_variance=1e-3, n_train_per_input=10, n_base=16)


def test_that_the_function_divides_by_one_plus_a():
    points = np.array([[0.0, 0.5, 1.0], [0.5, 0.0, 0.0]])
    # |4x-2| is 2, 0, 2 and a is 0, 1/2, 1
    np.testing.assert_allclose(data.sobol_g(points), [2 * (0.5 / 1.5) * (3 / 2), 0.0])


@pytest.mark.parametrize("d", [3, 6])
def test_that_the_analytic_indices_are_integrals_of_the_function(d):
    """The function is a product, so every conditional variance is one of one-dimensional moments, by quadrature."""
    nodes = (np.arange(200_000) + 0.5) / 200_000
    a = data.coefficients(d)[:, None]
    factors = (np.abs(4 * nodes - 2) + a) / (1 + a)
    np.testing.assert_allclose(factors.mean(axis=1), 1.0, rtol=1e-9)
    v = factors.var(axis=1)
    variance = np.prod(1 + v) - 1
    first, total = data.analytic_indices(d)
    np.testing.assert_allclose(first, v / variance, rtol=1e-8)
    np.testing.assert_allclose(total, [v[i] * np.prod(1 + np.delete(v, i)) / variance for i in range(d)], rtol=1e-8)
    assert (np.diff(total) < 0).all()


def test_that_a_case_is_a_dimension():
    block = {"dimensions": [3, 10], "data": {"n_base": 16}}
    assert data.cases(block) == {"d3": {"n_base": 16, "n_inputs": 3}, "d10": {"n_base": 16, "n_inputs": 10}}
    assert data.shape(settings(6)) == (60, 6, 1)


def test_that_more_training_points_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_train must be between 1 and the design's 128 rows; got 3000"):
        data.Settings(n_inputs=3, noise_variance=1e-3, n_train_per_input=1000, n_base=16)


def predictions(made, n_repeats, failure=""):
    noise = 0.05 * np.random.default_rng(2).standard_normal((n_repeats, made.sizes["point"], 1))
    failures = np.array([""] * n_repeats, dtype=object)
    failures[-1] = failure
    return xr.Dataset(
        {
            "mean": (("repeat", "point", "output"), made["truth"].values + noise),
            "failure": ("repeat", failures),
            "n_restarts": ("repeat", np.zeros(n_repeats, dtype=int)),
            "n_failed_members": ("repeat", np.zeros(n_repeats, dtype=int)),
            "objective_ratio": ("repeat", np.full(n_repeats, 0.5)),
        },
        coords={"repeat": np.arange(n_repeats)},
    )


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Data, analyses and timings of a few emulators in two dimensions, one of them stopped by its time limit."""
    folder = tmp_path_factory.mktemp("sobol_g")

    def save(result, name):
        storage.save(result, folder / f"{name}.nc", settings={}, seed=1)
        return [str(folder / f"{name}.nc")]

    sources = {"data": [], "truths": [], "analyses": [], "timings": [], "predictions": []}
    names = ("gp", "gp_sklearn", "rf_serial", "rf_parallel", "lowrank", "sparse", "m25", "m50")
    for d in (3, 6):
        made = data.make_data(settings(d), np.random.default_rng(d))
        sources["data"].append(Stored(f"d{d}", 1, "", save(made, f"d{d}")))
        truth = analysis.analyse_truth(made, 4, np.random.default_rng(0))
        sources["truths"].append(Stored(f"d{d}", 1, "", save(truth, f"truth{d}")))
        for index, name in enumerate(names):
            stopped = "time limit of 1 s reached" if (d, name) == (6, "gp_sklearn") else ""
            predicted = predictions(made, 3, stopped)
            result = analysis.analyse(made, predicted, 4, np.random.default_rng(0))
            seconds = (index + 1.0) * np.array([1.0, 2.0, 3.0])
            timing = xr.Dataset(
                {
                    "seconds": ("repeat", seconds),
                    "fit_seconds": ("repeat", np.full(3, 0.5)),
                    "peak_memory_mb": ("repeat", [100.0, 300.0, 200.0]),
                },
                coords={"repeat": [0, 1, 2]},
            )
            for kind, stage in (("analyses", result), ("timings", timing), ("predictions", predicted)):
                sources[kind].append(Stored(f"d{d}", 1, name, save(stage, f"d{d}-{name}-{kind}")))
    return sources


def three(stored):
    return stored["truths"], stored["analyses"], stored["timings"]


def test_that_times_are_tuning_and_fit_and_ratios_are_within_a_dimension(stored):
    table = tables.timing_table(*three(stored), PAPER_T3).set_index(["dimension", "emulator"])
    assert table.loc[(3, "gp"), "seconds_mean"] == pytest.approx(2.5)
    assert table.loc[(3, "gp"), "times_rf_serial"] == pytest.approx(2.5 / 6.5)
    assert table.loc[(6, "rf_serial"), "times_rf_parallel"] == pytest.approx(6.5 / 8.5)
    assert table.loc[(6, "gp"), "paper_seconds"] == 309
    assert table.loc[(3, "gp"), "peak_memory_mb"] == 300
    assert not table.loc[(6, "gp_sklearn"), "finished"]
    assert table["finished"].sum() == 7
    assert set(table.index.get_level_values("emulator")) == {"gp", "gp_sklearn", "rf_serial", "rf_parallel"}


def test_that_the_features_table_has_the_papers_rows_at_six_dimensions(stored):
    table = tables.features_table(*three(stored), PAPER_T4)
    assert table["emulator"].tolist() == ["m25", "m50", "gp"]
    assert table["n_features"].tolist() == [25, 50, np.inf]
    assert table["paper_seconds"].tolist() == [7, 13, 320]
    assert table["paper_test_error"].tolist() == [0.004687, 0.004069, 0.002827]
    # predictions are off by noise of std .05 at 224 - 60 test points; ‖·‖/n = .05/√n, its own error 1/√(2n)
    n_test = 16 * 14 - 60
    np.testing.assert_allclose(table["test_error"], 0.05 / np.sqrt(n_test), rtol=5 / np.sqrt(2 * n_test))


def test_that_the_accuracy_table_lists_failures_and_leaves_them_out(stored):
    table = tables.accuracy_table(*three(stored), {}).set_index(["dimension", "emulator"])
    failed = table.loc[(6, "gp_sklearn")]
    assert (failed["n_retunings"], failed["n_failed"]) == (3, 1)
    source = next(s for s in stored["analyses"] if (s.case, s.emulator) == ("d6", "gp_sklearn"))
    kept = source.load().isel(repeat=[0, 1])
    assert failed["relative_rmse_mean"] == pytest.approx(kept["relative_rmse"].values.mean())
    error = np.abs(kept["total"].values.mean(axis=0) - data.analytic_indices(6)[1]).max()
    assert failed["total_error"] == pytest.approx(error)
    assert (3, "truth") in table.index


def test_that_figures_are_drawn_from_stored_results(stored, tmp_path):
    def paths(kind, emulator):
        return [s.paths[0] for s in stored[kind] if s.emulator == emulator]

    data_paths = paths("data", "")
    figure = figures.draw_indices(paths("truths", ""), paths("analyses", "lowrank"), paths("analyses", "sparse"))
    assert len(figure.axes) == 4
    assert figure.axes[0].get_title() == "RF lowrank, 3 re-tunings"
    figure = figures.draw_slices(data_paths, paths("predictions", "lowrank"), paths("predictions", "sparse"))
    assert len(figure.axes) == 18
    for name, make, draw in (
        ("T3", lambda: tables.timing_table(*three(stored), PAPER_T3), figures.draw_times),
        ("T4", lambda: tables.features_table(*three(stored), PAPER_T4), figures.draw_features),
        ("accuracy", lambda: tables.accuracy_table(*three(stored), {}), figures.draw_accuracy),
    ):
        make().to_csv(tmp_path / f"{name}.csv", index=False)
        assert draw([str(tmp_path / f"{name}.csv")]).axes[0].tables


def test_that_the_text_beside_the_times_says_who_is_faster(stored):
    table = tables.timing_table(*three(stored), PAPER_T3)
    assert "The fast GP is the faster choice at d = 3, 6." in figures._who_is_faster(table)
    table.loc[(table["dimension"] == 6) & (table["emulator"] == "gp"), "times_rf_serial"] = 2.0
    text = figures._who_is_faster(table)
    assert "The fast GP is the faster choice at d = 3." in text
    assert "RF with one worker is the faster choice at d = 6." in text


def test_that_learned_inclusion_is_drawn_beside_the_total_indices(stored, tmp_path):
    tuned = {}
    for d in (3, 6):
        inclusion = np.tile(np.linspace(0.9, 0.1, d), (2, 1))
        result = xr.Dataset(
            {
                "tuned_inclusion": (("repeat", "entry"), inclusion),
                "failure": ("repeat", np.array(["", ""], dtype=object)),
            },
            coords={"repeat": [0, 1]},
        )
        storage.save(result, tmp_path / f"t{d}.nc", settings={}, seed=1)
        tuned[f"d{d}"] = [str(tmp_path / f"t{d}.nc")]
    figure = figures.draw_inclusion([s.paths[0] for s in stored["truths"]], **tuned)
    medians = figure.axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(medians, [0.9, 0.5, 0.1])


def test_that_a_group_in_which_all_failed_is_shown_empty(stored, tmp_path):
    source = next(s for s in stored["analyses"] if (s.case, s.emulator) == ("d6", "lowrank"))
    failed = source.load()
    failed["failure"].values[:] = "ended at the zero predictor"
    storage.save(failed, tmp_path / "failed.nc", settings={}, seed=1)
    path = [str(tmp_path / "failed.nc")]
    row = tables.accuracy_table([stored["truths"][1]], [Stored("d6", 1, "lowrank", path)], stored["timings"], {}).iloc[
        1
    ]
    assert (row["n_failed"], row["n_retunings"]) == (3, 3)
    assert np.isnan(row["relative_rmse_mean"])
    assert np.isnan(row["total_error"])
    assert figures.draw_indices(stored["truths"][1].paths, path, path).axes[0].get_title() == "RF lowrank, 0 re-tunings"
