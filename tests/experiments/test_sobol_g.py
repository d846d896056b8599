"""The Sobol-G experiment: closed forms, data, tables and figures."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from rftune import storage
from rftune.emulators.listed import Listed
from rftune.experiments.base import experiment
from rftune.experiments.protocol import with_scores
from rftune.experiments.results import Results, Stored
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


def listed(name, label, role, n_features=300):
    """An emulator of random features."""
    blocks = {"features": {"family": {"name": "lowrank"}}, "tuning": {"n_features": n_features}}
    return Listed(name, label, role, {"kind": "random_features", **blocks, "prediction": {"n_features": 1000}})


EMULATORS = {
    "fast_gp": Listed("fast_gp", "GP, fast", "gp", {"kind": "gp"}),
    "gp_sklearn": Listed("gp_sklearn", "GP, scikit-learn", "gp_sklearn", {"kind": "gp"}),
    "one": listed("one", "RF lowrank, 1 worker", "rf_serial"),
    "all": listed("all", "RF lowrank, all workers", "rf_parallel"),
    "lowrank": listed("lowrank", "RF lowrank", "rf"),
    "sparse": listed("sparse", "RF sparse", "sparse"),
    "few": listed("few", "few", "by_features", 25),
    "many": listed("many", "many", "by_features", 50),
    "odd": listed("odd", "odd", "by_features", 33),
    "own": listed("own", "one's own", ""),
}


def settings(d):
    return data.SobolGData(n_inputs=d, noise_variance=1e-3, n_train_per_input=10, n_base=16)


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


def block(dimensions, **roles):
    """Settings of the experiment with emulators in some roles."""
    return experiment("sobol_g").Settings(
        dimensions=dimensions,
        data={"noise_variance": 1e-3, "n_train_per_input": 10, "n_base": 16},
        analysis={"n_bootstrap": 2},
        truth={"n_bootstrap": 2},
        repeats=1,
        emulators={name: {"kind": "gp", "role": role} for name, role in roles.items()},
    )


def test_that_a_case_is_a_dimension():
    sobol_g = experiment("sobol_g")
    assert sobol_g.cases(block([3, 10], own="gp")) == {"d3": settings(3), "d10": settings(10)}
    assert sobol_g.is_case("d10")
    assert not sobol_g.is_case("standard")
    assert settings(6).shape == (60, 6, 1)


@pytest.mark.parametrize(
    ("dimensions", "roles", "left_out"),
    [
        ([3, 6], {"own": "gp", "few": "by_features"}, set()),
        ([3], {"own": "gp", "few": "by_features"}, {"T4"}),
        ([6], {"own": "rf_serial"}, {"T4"}),
        ([6], {"few": "by_features"}, {"T3"}),
    ],
)
def test_that_tables_of_roles_that_nobody_plays_are_left_out(dimensions, roles, left_out):
    sobol_g = experiment("sobol_g")
    made = {one.id for one in sobol_g.artifacts_of(block(dimensions, **roles))}
    assert {one.id for one in sobol_g.artifacts} - made == left_out


def test_that_more_training_points_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_train must be between 1 and the design's 128 rows; got 3000"):
        data.SobolGData(n_inputs=3, noise_variance=1e-3, n_train_per_input=1000, n_base=16)


def predictions(made, n_repeats, failure=""):
    noise = 0.05 * np.random.default_rng(2).standard_normal((n_repeats, made.sizes["point"], 1))
    fresh = np.tile(made["fresh_truth"].values + 0.05, (n_repeats, 1, 1))
    failures = np.array([""] * n_repeats, dtype=object)
    failures[-1] = failure
    return xr.Dataset(
        {
            "mean": (("repeat", "point", "output"), made["truth"].values + noise),
            "judged_mean": (("repeat", "judged", "output"), fresh),
            "judged_std": (("repeat", "judged", "output"), np.full(fresh.shape, 0.05)),
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
    found = []

    def store(stage, d, emulator, result):
        path = folder / f"d{d}-{emulator}-{stage}.nc"
        storage.save(result, path, settings={}, seed=1)
        found.append(Stored(stage, f"d{d}", 1, emulator, [str(path)]))

    for d in (3, 6):
        made = settings(d).make(np.random.default_rng(d))
        store("data", d, "", made)
        store("truth", d, "", analysis.analyse_truth(made, 4, np.random.default_rng(0)))
        for index, name in enumerate(EMULATORS):
            stopped = "time limit of 1 s reached" if (d, name) == (6, "gp_sklearn") else ""
            predicted = predictions(made, 3, stopped)
            timing = xr.Dataset(
                {
                    "seconds": ("repeat", (index + 1.0) * np.array([1.0, 2.0, 3.0])),
                    "fit_seconds": ("repeat", np.full(3, 0.5)),
                    "peak_memory_mb": ("repeat", [100.0, 300.0, 200.0]),
                },
                coords={"repeat": [0, 1, 2]},
            )
            store("predicted", d, name, predicted)
            analysed = analysis.analyse(made, predicted, 4, np.random.default_rng(0))
            store("analysis", d, name, with_scores(analysed, made, predicted))
            store("times", d, name, timing)
        tuned = xr.Dataset(
            {
                "tuned_inclusion": (("repeat", "entry"), np.tile(np.linspace(0.9, 0.1, d), (2, 1))),
                "failure": ("repeat", np.array(["", ""], dtype=object)),
            },
            coords={"repeat": [0, 1]},
        )
        store("tuned", d, "sparse", tuned)
    return found


@pytest.fixture
def results(stored):
    paper = {"T3": PAPER_T3, "T4": PAPER_T4, "convergence": {"sobol_g_normalised_objective": 0.1}}
    return Results(stored, EMULATORS, {}, paper)


def with_tables(results):
    made = {
        "T3": tables.timing_table(results),
        "T4": tables.features_table(results),
        "sobol_g_accuracy": tables.accuracy_table(results),
    }
    return replace(results, tables=made)


def text_of(picture):
    """Cells of a rendered table by row and column."""
    return {place: cell.get_text().get_text() for place, cell in picture.axes[0].tables[0].get_celld().items()}


def column_of(picture, column):
    return [text for (row, place), text in sorted(text_of(picture).items()) if place == column and row]


def test_that_times_are_tuning_and_fit_and_ratios_are_within_a_dimension(results):
    table = tables.timing_table(results).set_index(["dimension", "emulator"])
    assert table.loc[(3, "fast_gp"), "seconds_mean"] == pytest.approx(2.5)
    assert table.loc[(3, "fast_gp"), "times_rf_serial"] == pytest.approx(2.5 / 6.5)
    assert table.loc[(6, "one"), "times_rf_parallel"] == pytest.approx(6.5 / 8.5)
    assert table.loc[(6, "fast_gp"), "paper_seconds"] == 309
    assert table.loc[(3, "fast_gp"), "peak_memory_mb"] == 300
    assert not table.loc[(6, "gp_sklearn"), "finished"]
    assert table["finished"].sum() == 7
    assert set(table.index.get_level_values("emulator")) == {"fast_gp", "gp_sklearn", "one", "all"}


def test_that_the_features_table_has_the_papers_rows_at_six_dimensions(results):
    table = tables.features_table(results)
    assert table["emulator"].tolist() == ["few", "odd", "many", "fast_gp"]
    assert table["n_features"].tolist() == [25, 33, 50, np.inf]
    printed = table[table["emulator"] != "odd"]
    assert printed["paper_seconds"].tolist() == [7, 13, 320]
    assert printed["paper_test_error"].tolist() == [0.004687, 0.004069, 0.002827]
    assert table.set_index("emulator").loc["odd", [name for name in table if name.startswith("paper")]].isna().all()
    # predictions are off by noise of std .05 at 224 - 60 test points; ‖·‖/n = .05/√n, its own error 1/√(2n)
    n_test = 16 * 14 - 60
    np.testing.assert_allclose(table["test_error"], 0.05 / np.sqrt(n_test), rtol=5 / np.sqrt(2 * n_test))


def test_that_the_accuracy_table_lists_failures_and_leaves_them_out(results):
    table = tables.accuracy_table(results).set_index(["dimension", "emulator"])
    failed = table.loc[(6, "gp_sklearn")]
    assert (failed["n_retunings"], failed["n_failed"]) == (3, 1)
    kept = results.one("analysis", "gp_sklearn", "d6").isel(repeat=[0, 1])
    assert failed["relative_rmse_mean"] == pytest.approx(kept["relative_rmse"].values.mean())
    error = np.abs(kept["total"].values.mean(axis=0) - data.analytic_indices(6)[1]).max()
    assert failed["total_error"] == pytest.approx(error)
    assert (3, "truth") in table.index


def test_that_figures_are_drawn_from_stored_results(results):
    figure = figures.draw_indices(results)
    assert len(figure.axes) == 4
    assert [axis.get_title() for axis in figure.axes[:2]] == ["RF lowrank, 3 re-tunings", "RF sparse, 3 re-tunings"]
    figure = figures.draw_slices(results)
    assert len(figure.axes) == 18
    assert [figure.axes[column].get_title() for column in (1, 4, 7)] == ["truth", "RF lowrank", "RF sparse"]
    made = with_tables(results)
    for draw in (figures.draw_times, figures.draw_features, figures.draw_accuracy):
        assert draw(made).axes[0].tables


def test_that_rendered_tables_have_a_line_per_emulator_called_by_its_label(results):
    made = with_tables(results)
    assert column_of(figures.draw_times(made), 1)[:4] == [EMULATORS[name].label for name in list(EMULATORS)[:4]]
    assert column_of(figures.draw_features(made), 0)[::2] == ["25", "33", "50", "GP, fast"]
    shown = ["GP, fast", "GP, scikit-learn", "RF lowrank", "RF sparse", "one's own"]
    assert column_of(figures.draw_accuracy(made), 1) == 2 * ["truth on the design", *shown]


def test_that_a_time_and_its_ratios_are_lower_bounds_where_the_limit_was_reached(results):
    lines = text_of(figures.draw_times(with_tables(results)))
    assert [lines[2, column] for column in (2, 4, 5)] == ["4.5 (2.0)", "0.69", "0.53"]
    assert [lines[6, column] for column in (2, 4, 5)] == ["> 4.5 (2.0)", "> 0.69", "> 0.53"]


def test_that_the_text_beside_the_times_says_who_is_faster(results):
    made = with_tables(results)
    assert "“GP, fast” is the faster choice at d = 3, 6." in figures._who_is_faster(made)
    table = made.tables["T3"]
    table.loc[(table["dimension"] == 6) & (table["emulator"] == "fast_gp"), "times_rf_serial"] = 2.0
    text = figures._who_is_faster(made)
    assert "“GP, fast” is the faster choice at d = 3." in text
    assert "“RF lowrank, 1 worker” is the faster choice at d = 6." in text


def test_that_learned_inclusion_is_drawn_beside_the_total_indices(results):
    medians = figures.draw_inclusion(results).axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(medians, [0.9, 0.5, 0.1])


def test_that_a_group_in_which_all_failed_is_shown_empty(results, tmp_path):
    failed = results.one("analysis", "rf", "d6").copy(deep=True)
    failed["failure"].values[:] = "ended at the zero predictor"
    storage.save(failed, tmp_path / "failed.nc", settings={}, seed=1)
    lost = [
        replace(one, paths=[str(tmp_path / "failed.nc")])
        if (one.stage, one.emulator) == ("analysis", "lowrank")
        else one
        for one in results.stored
        if one.case == "d6"
    ]
    own = replace(results, stored=lost)
    row = tables.accuracy_table(own).set_index("emulator").loc["lowrank"]
    assert (row["n_failed"], row["n_retunings"]) == (3, 3)
    assert np.isnan(row["relative_rmse_mean"])
    assert np.isnan(row["total_error"])
    assert figures.draw_indices(own).axes[0].get_title() == "RF lowrank, 0 re-tunings"
    whole = [one for one in results.stored if one.case == "d3"]
    assert (
        figures.draw_indices(replace(own, stored=[*whole, *lost])).axes[0].get_title()
        == "RF lowrank, 0 to 3 re-tunings"
    )
