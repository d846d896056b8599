"""The cloud experiment: parameters, calibration, archives, posteriors and what is made of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml
from matplotlib.table import Table
from scipy import stats

import edmf_file
from rftune import storage
from rftune.data import Model, Prediction
from rftune.emulators.base import Task
from rftune.emulators.kinds.constant import Constant
from rftune.emulators.kinds.gp import GaussianProcess
from rftune.experiments.base import experiment
from rftune.experiments.edmf import (
    analysis,
    archive,
    calibration,
    data,
    figures,
    prediction,
    sampling,
    tables,
    verdicts,
)
from rftune.experiments.edmf.claims import CLAIMS
from rftune.experiments.edmf.data import EDMFData
from rftune.experiments.edmf.parameters import Parameters
from rftune.experiments.protocol import predict_intervals, stack_repeats, training_set, with_scores
from rftune.experiments.results import Listed, Results, Stored
from rftune.inference import chains, discrepancy, mcmc
from rftune.inference.settings import SamplingSettings
from rftune.report import style
from rftune.report.claims import judged
from rftune.report.text import literal
from rftune.report.verdicts import Evidence
from rftune.seeding import rng_for
from rftune.tuning.optimisers.eki import EnsembleKalmanInversion

PAPER = yaml.safe_load((Path(__file__).resolve().parents[2] / "config/paper_values.yaml").read_text(encoding="utf-8"))

PARAMETERS = {
    "entrainment_factor": {"bounds": [0.0, 1.0], "prior_mean": 0.13},
    "detrainment_factor": {"bounds": [0.0, 1.0], "prior_mean": 0.51},
    "tke_ed_coeff": {"bounds": [0.01, 1.0], "prior_mean": 0.14},
    "tke_diss_coeff": {"bounds": [0.01, 1.0], "prior_mean": 0.22},
    "static_stab_coeff": {"bounds": [0.01, 1.0], "prior_mean": 0.40},
}
TRUTH = {name: 1.3 * entry["prior_mean"] for name, entry in PARAMETERS.items()}
SMALL = {
    "source": None,
    "parameters": PARAMETERS,
    "truth": TRUTH,
    "n_scenarios": 4,
    "n_members": 12,
    "n_iterations": 3,
    "step_size": 0.3,
    "n_realisations": 6,
    "inflation": 0.1,
}
REAL = os.environ.get("RFTUNE_EDMF_DATA")
needs_real_data = pytest.mark.skipif(not REAL, reason="RFTUNE_EDMF_DATA does not name the public EDMF data file")


@pytest.fixture(scope="module")
def surrogate() -> xr.Dataset:
    return EDMFData(**SMALL).make(rng_for(1, "edmf"))


def process_of(data: xr.Dataset) -> Model:
    """A fitted Gaussian process."""
    training, process = training_set(data), GaussianProcess()
    tuned = process.tune(Task(training, rng_for(1)))
    return process.fit(training, tuned.result, rng_for(1))


def parameters(entries: dict[str, dict]) -> Parameters:
    bounds, means = ([entry[key] for entry in entries.values()] for key in ("bounds", "prior_mean"))
    return Parameters(tuple(entries), np.array(bounds), np.array(means))


class Parabola:
    """A model with known mean and covariance."""

    def predict(self, inputs):
        mean = np.column_stack([inputs.sum(axis=1), (inputs**2).sum(axis=1)])
        covariance = np.array([[0.5, 0.2], [0.2, 0.4]]) * (1 + inputs[:, 0] ** 2)[:, None, None]
        return Prediction(mean, covariance)


# Parameters


def test_that_physical_and_unconstrained_parameters_map_onto_each_other():
    prior = parameters(PARAMETERS)
    unconstrained = np.random.default_rng(0).normal(size=(20, 5))
    physical = prior.constrain(unconstrained)
    low, high = prior.bounds.T
    assert ((physical > low) & (physical < high)).all()
    np.testing.assert_allclose(prior.unconstrain(physical), unconstrained, rtol=1e-9)
    np.testing.assert_allclose(prior.constrain(prior.unconstrained_mean[None])[0], prior.prior_mean, rtol=1e-12)


def test_that_the_prior_is_a_unit_normal_about_its_mean():
    prior = parameters(PARAMETERS)
    points = np.random.default_rng(0).normal(size=(6, 5))
    exact = stats.multivariate_normal(prior.unconstrained_mean, np.eye(5)).logpdf(points)
    np.testing.assert_allclose(np.diff(prior.log_prior(points)), np.diff(exact), rtol=1e-10)


def test_that_values_outside_their_bounds_are_named():
    prior = parameters(PARAMETERS)
    with pytest.raises(ValueError, match=r"tke_ed_coeff must lie strictly between .* got 0.01 in row 0"):
        prior.unconstrain(np.array([[0.1, 0.5, 0.01, 0.2, 0.4]]))
    with pytest.raises(ValueError, match=r"the prior mean of a must lie between its bounds 0, 1; got 1\.5"):
        parameters({"a": {"bounds": [0, 1], "prior_mean": 1.5}})


# Calibration


def test_that_calibration_of_a_linear_model_approaches_its_posterior():
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(6, 2))
    noise = 0.2 * np.eye(6)
    observation = matrix @ np.array([0.7, -0.4]) + 0.1 * rng.normal(size=6)
    # ten updates of Δt = .1 assimilate the data once
    iterates = calibration.calibrate(
        lambda u: u @ matrix.T,
        observation,
        noise,
        np.zeros(2),
        EnsembleKalmanInversion(n_members=400, step="constant", step_size=0.1, inflation=0.0),
        n_iterations=11,
        rng=rng,
    )
    precision = np.eye(2) + matrix.T @ np.linalg.solve(noise, matrix)
    mean = np.linalg.solve(precision, matrix.T @ np.linalg.solve(noise, observation))
    std = np.sqrt(np.diagonal(np.linalg.inv(precision)))
    # four standard errors of the ensemble's mean, and of its standard deviation
    assert (np.abs(iterates.inputs[-1].mean(axis=0) - mean) < 4 * std / np.sqrt(400)).all()
    np.testing.assert_allclose(iterates.inputs[-1].std(axis=0), std, rtol=4 / np.sqrt(2 * 400))


def test_that_failed_runs_are_left_out_and_counted():
    outputs = np.ones((2, 3, 4))
    outputs[0, 1, 2] = np.nan
    iterates = calibration.Iterates(np.arange(12.0).reshape(2, 3, 2), outputs)
    inputs, kept, iteration = iterates.runs()
    assert iterates.n_failed == 1
    assert kept.shape == (5, 4)
    np.testing.assert_array_equal(iteration, [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(inputs[:2], [[0, 1], [4, 5]])


# Data


def test_that_the_last_iteration_is_the_test_set(surrogate):
    assert EDMFData(**SMALL).shape == (24, 5, 4)
    training = training_set(surrogate)
    assert training.data.inputs.shape == (24, 5)
    assert training.noise.shape == (4, 4)
    np.testing.assert_array_equal(surrogate["points"].values[~surrogate["is_test"].values], training.data.inputs)
    assert int(surrogate["is_test"].sum()) == 12


def test_that_the_stored_scenarios_give_the_simulator_back(surrogate):
    prior = data.prior_of(surrogate)
    physical = data.simulator_order(prior, prior.constrain(surrogate["points"].values[:3]))
    np.testing.assert_array_equal(data.simulator_of(surrogate).mean(physical), surrogate["truth"].values[:3])


def test_that_the_noise_is_variability_plus_inflation(surrogate):
    inflated = EDMFData(**{**SMALL, "inflation": 0.5}).make(rng_for(1, "edmf"))
    theta = data.simulator_order(data.prior_of(surrogate), surrogate["true_parameters"].values[None])
    path = data.simulator_of(surrogate).mean(theta)[0]
    grown = np.diagonal(inflated["noise_covariance"].values - surrogate["noise_covariance"].values)
    np.testing.assert_allclose(grown, (0.5**2 - 0.1**2) * path**2, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"truth": {}}, "truth must name each of the parameters"),
        ({"parameters": {"a": {"bounds": [0, 1], "prior_mean": 0.5}}}, "other parameters need a source"),
        ({"truth": {**TRUTH, "tke_ed_coeff": 2.0}}, "tke_ed_coeff must lie strictly between"),
    ],
)
def test_that_settings_of_the_simulator_are_checked(change, message):
    with pytest.raises(ValueError, match=message):
        EDMFData(**{**SMALL, **change})


def test_that_there_is_one_case():
    edmf = experiment("edmf")
    entries = {"data": {name: entry for name, entry in SMALL.items() if name != "source"}, "likelihood": {}}
    entries |= {"sampling": {}, "repeats": 1, "emulators": {"gp": {"kind": "gp"}}}
    own, file = (edmf.Settings(**entries, source=source) for source in (None, "runs.nc"))
    assert edmf.cases(own) == {"surrogate": EDMFData(**SMALL)}
    assert edmf.cases(file) == {"file": EDMFData(**{**SMALL, "source": "runs.nc"})}
    assert [edmf.is_case(name) for name in ("surrogate", "file", "other")] == [True, True, False]
    left_out = {one.id for one in edmf.artifacts_of(own)} - {one.id for one in edmf.artifacts_of(file)}
    assert left_out == {"edmf_truth_posterior", "F6", "F11", "F12"}
    why = {one.id: edmf.left_out(one, file) for one in edmf.artifacts}
    assert why["T6"] == ""
    assert why["F6"] == "no emulator has the role gp or rf_nonseparable_1"
    assert why["F12"] == "no emulator has the role rf_untuned or gp or rf_nonseparable_1 or rf_separable_5_1"
    assert why["edmf_truth_posterior"].startswith("a file has no simulator")


# Archives


AB = parameters({name: {"bounds": [0.0, 1.0], "prior_mean": 0.5} for name in ("a", "b")})


@pytest.mark.parametrize("fill", [np.nan, 9.969209968386869e36])
def test_that_columns_are_bound_by_name_and_failed_runs_left_out(tmp_path, fill):
    edmf_file.write(tmp_path / "runs.nc", fill=fill)
    physical, outputs = (edmf_file.values(tmp_path / "runs.nc", f"particle_diags/{name}") for name in ("phi", "g_full"))
    stored = archive.read(str(tmp_path / "runs.nc"), AB)
    inputs, kept, iteration = stored.iterates.runs()
    assert stored.iterates.n_failed == 1
    assert len(kept) == 14  # three iterations of five, less one
    np.testing.assert_allclose(AB.constrain(inputs)[0], physical[0, ::-1, 0], rtol=1e-12)  # a, b; the file has b, a
    np.testing.assert_array_equal(kept[0], outputs[0, :, 0])
    np.testing.assert_array_equal(np.bincount(iteration), [5, 4, 5])


def settings_of_file(path: Path, *names: str) -> EDMFData:
    entries = {name: {"bounds": [0.0, 1.0], "prior_mean": 0.5} for name in names}
    return EDMFData(**{**SMALL, "source": str(path), "parameters": entries})


def test_that_a_file_of_any_size_becomes_training_data(tmp_path):
    edmf_file.write(tmp_path / "runs.nc", n_outputs=7)
    settings = settings_of_file(tmp_path / "runs.nc", "a", "b")
    made = settings.make(np.random.default_rng(0))
    assert settings.shape == (9, 2, 7)
    assert training_set(made).data.inputs.shape == (9, 2)
    assert int(made["n_failed_runs"]) == 1
    assert np.isnan(made["true_parameters"]).all()
    assert sampling.log_posterior_of_truth(made) is None


@needs_real_data
def test_that_the_public_data_are_read_as_they_are():
    settings = EDMFData(**{**SMALL, "source": REAL})
    made = settings.make(np.random.default_rng(0))
    assert settings.shape == (450, 5, 42)
    assert made.sizes["point"] == 500
    assert list(made["parameter"].values) == list(PARAMETERS)
    np.testing.assert_allclose(made["noise_covariance"].values, np.eye(42), atol=1e-7)
    # the calibration drove entrainment down and detrainment up from their priors
    final = data.prior_of(made).constrain(made["points"].values[made["is_test"].values]).mean(axis=0)
    assert final[0] == pytest.approx(0.076, abs=0.001)
    assert final[1] == pytest.approx(0.683, abs=0.001)


def analysed(made: xr.Dataset, predictions: xr.Dataset, *more: Any) -> xr.Dataset:
    """An analysis as it is stored."""
    return with_scores(analysis.analyse(made, predictions, *more), made, predictions)


def constant_predictions(made: xr.Dataset) -> xr.Dataset:
    """Predictions of the training mean, with what a tuning says of itself."""
    constant = Constant().fit(training_set(made), xr.Dataset(), np.random.default_rng(0))
    said = {"failure": "", "n_restarts": 0, "n_failed_members": 0, "objective_ratio": np.nan}
    predicted = stack_repeats([prediction.predict(constant, made).merge(predict_intervals(constant, made))], [0])
    return predicted.assign({name: ("repeat", [value]) for name, value in said.items()})


@needs_real_data
def test_that_the_training_mean_of_the_public_data_scores_as_known():
    made = EDMFData(**{**SMALL, "source": REAL}).make(np.random.default_rng(0))
    found = analysis.analyse(made, constant_predictions(made), np.random.default_rng(0))
    assert float(found["test_error"][0]) == pytest.approx(11.35, abs=0.005)
    assert float(found["training_error"][0]) == pytest.approx(16.88, abs=0.005)


# Posteriors


def two_outputs() -> xr.Dataset:
    return xr.Dataset(
        {
            "observation": ("output", [0.5, 1.5]),
            "noise_covariance": (("output", "other_output"), [[0.3, 0.1], [0.1, 0.2]]),
            "parameter": ("input", np.array(["a", "b"], dtype=object)),
            "bounds": (("input", "end"), [[0.0, 1.0], [0.0, 1.0]]),
            "prior_mean": ("input", [0.5, 0.3]),
            "true_parameters": ("input", [0.4, 0.4]),
        }
    )


def test_that_the_log_posterior_has_the_emulators_covariance_in_it():
    known, model = two_outputs(), Parabola()
    points = np.random.default_rng(0).normal(size=(5, 2))
    predicted = model.predict(points)
    prior = stats.multivariate_normal(data.prior_of(known).unconstrained_mean, np.eye(2)).logpdf(points)
    likelihood = [
        stats.multivariate_normal(mean, covariance + known["noise_covariance"].values).logpdf(known["observation"])
        for mean, covariance in zip(predicted.mean, predicted.covariance, strict=True)
    ]
    found = sampling.log_posterior(model, known)(points)
    np.testing.assert_allclose(np.diff(found), np.diff(prior + likelihood), rtol=1e-9)


def test_that_the_log_posterior_may_have_the_misfit_at_the_latest_training_runs_in_it(surrogate):
    training, model = training_set(surrogate), process_of(surrogate)
    latest = sampling.latest_runs(surrogate, 1)
    np.testing.assert_array_equal(latest.inputs, training.data.inputs[-12:])
    np.testing.assert_array_equal(latest.outputs, training.data.outputs[-12:])
    np.testing.assert_array_equal(sampling.latest_runs(surrogate, 9).inputs, training.data.inputs)
    points = surrogate["points"].values[:5]
    misfit = discrepancy.covariance(model, latest, training.noise)
    widened = surrogate.assign(noise_covariance=surrogate["noise_covariance"] + misfit)
    found = sampling.log_posterior(model, surrogate, misfit_ensembles=1)(points)
    np.testing.assert_allclose(found, sampling.log_posterior(model, widened)(points), rtol=1e-12)
    assert (found != sampling.log_posterior(model, surrogate)(points)).all()


def test_that_the_simulators_posterior_has_the_simulator_in_it(surrogate):
    density = sampling.log_posterior_of_truth(surrogate)
    points = surrogate["points"].values[:4]
    misfit = (surrogate["observation"].values - surrogate["truth"].values[:4]) ** 2
    expected = -0.5 * np.sum(misfit / np.diagonal(surrogate["noise_covariance"].values), axis=1)
    expected += data.prior_of(surrogate).log_prior(points)
    np.testing.assert_allclose(density(points), expected, rtol=1e-10)


def test_that_a_likelihood_is_timed(surrogate):
    assert 0 < prediction.measure(process_of(surrogate), surrogate)["likelihood_seconds"] < 1


def stored_chain(samples: np.ndarray) -> xr.Dataset:
    """A chain of samples (n, n_parameters) of one walker."""
    scalars = {"acceptance": 0.25, "jump_acceptance": 0.4, "burn_in": 10, "converged": True}
    vectors = dict.fromkeys(("rhat", "ess_bulk", "ess_tail", "autocorrelation_time"), np.ones(samples.shape[1]))
    return xr.Dataset(
        {
            "samples": (("step", "walker", "input"), samples[:, None, :]),
            **{name: ((), value) for name, value in scalars.items()},
            **{name: ("input", value) for name, value in vectors.items()},
        }
    )


def test_that_distances_are_from_the_simulators_posterior_in_prior_standard_deviations():
    known = two_outputs()
    rng = np.random.default_rng(0)
    own, shifted = rng.normal(size=(4000, 2)), rng.normal([1.0, 0.0], 1.0, (4000, 2))
    found = analysis._posterior_summary(stored_chain(shifted), known, stored_chain(own), np.random.default_rng(1))
    # the mean of |cos| over directions in the plane is 2/π
    assert float(found["posterior_distance"]) == pytest.approx(2 / np.pi, abs=0.04)
    np.testing.assert_array_equal(found["posterior_covered"], [1.0, 1.0])
    far = analysis._posterior_summary(stored_chain(shifted + 9), known, stored_chain(own), np.random.default_rng(1))
    np.testing.assert_array_equal(far["posterior_covered"], [0.0, 0.0])


def read_back(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """A table as figures and verdicts get it."""
    table.to_csv(path, index=False)
    return pd.read_csv(path)


def test_that_emulators_are_compared_also_where_nothing_was_sampled(tmp_path):
    """As a data file has it when every emulator is `sampled: false`."""
    truth = xr.Dataset({"prior_distance": np.nan, "prior_covered": ("input", np.full(2, np.nan))})
    once = {
        name: ("repeat", [value]) for name, value in (("training_error", 4.6), ("test_error", 9.6), ("coverage", 0.9))
    }
    once |= {"failure": ("repeat", [""]), "n_restarts": ("repeat", [0]), "n_failed_members": ("repeat", [0])}
    times = {"seconds": ("repeat", [20.0]), "likelihood_seconds": ("repeat", [0.002])}
    stored = []
    for stage, results in {"truth": truth, "analysis": xr.Dataset(once), "times": xr.Dataset(times)}.items():
        storage.save(results, tmp_path / f"{stage}.nc", settings={}, seed=1)
        stored.append(Stored(stage, "file", 1, "" if stage == "truth" else "gp", [str(tmp_path / f"{stage}.nc")]))
    emulators = {"gp": Listed("gp", "GP", "gp", {"kind": "gp"})}
    table = tables.emulators_table(Results(stored, emulators))
    assert table["n_converged"].isna().all()
    shown = {"T6": read_back(table, tmp_path / "T6.csv")}
    assert figures.draw_emulators(Results([], emulators, shown)) is not None
    assert figures.draw_distances(Results([], emulators, shown)) is not None


MINE = r"$\mine$"  # which matplotlib would take for a formula, and a wrong one


@pytest.fixture
def of_a_file(tmp_path):
    """Stored results of a file with one of the paper's parameters and another one, and of two emulators.

    One of them is in no role, and its chain has not converged.
    """
    names, found = (MINE, "entrainment_factor"), []
    edmf_file.write(tmp_path / "runs.nc", names=names, n_outputs=7)
    made = settings_of_file(tmp_path / "runs.nc", *names).make(np.random.default_rng(0))

    def keep(stage, result, emulator=""):
        path = tmp_path / f"{stage}-{emulator}.nc"
        storage.save(result, path, settings={}, seed=1)
        found.append(Stored(stage, "file", 1, emulator, [str(path)]))

    keep("data", made)
    keep("posterior", xr.Dataset())
    keep("truth", analysis.analyse_truth(made, xr.Dataset(), np.random.default_rng(1)))
    for emulator, converged in (("process", True), ("another", False)):
        chain = stored_chain(np.random.default_rng(2).normal(size=(400, 2))).assign(converged=converged)
        sure = chain.assign(samples=0.5 * chain["samples"])
        posteriors = stack_repeats([xr.concat([chain, sure], pd.Index(["ours", "printed"], name="likelihood"))], [0])
        rng, predictions = np.random.default_rng(3), constant_predictions(made)
        keep("posterior", posteriors, emulator)
        keep("analysis", analysed(made, predictions, rng, posteriors, xr.Dataset()), emulator)
        keep("times", xr.Dataset({name: ("repeat", [1.0]) for name in ("seconds", "likelihood_seconds")}), emulator)
    emulators = {"process": Listed("process", "GP", "gp", {"kind": "gp"})}
    emulators |= {"another": Listed("another", "something else", "", {"kind": "constant"})}
    results = Results(found, emulators, {}, PAPER)
    made_tables = {"T5": tables.parameters_table(results), "T6": tables.emulators_table(results)}
    return replace(results, tables={id: read_back(table, tmp_path / id) for id, table in made_tables.items()})


def test_that_a_file_with_other_parameters_and_emulators_ends_in_tables(of_a_file):
    bounds = of_a_file.tables["T5"].set_index("parameter")
    assert list(bounds.index) == [MINE, "entrainment_factor"]
    assert np.isnan(bounds.loc[MINE, "paper_prior_mean"])
    assert bounds.loc["entrainment_factor", "paper_prior_mean"] == 0.13
    assert {"posterior_process", "posterior_another"} <= set(bounds)
    rows = of_a_file.tables["T6"].set_index("emulator")
    assert list(rows.index) == ["prior", "process", "another"]
    assert rows.loc["process", "paper_test_error"] == PAPER["T6"]["gp"][2]
    assert np.isnan(rows.loc["another", "paper_test_error"])


def test_that_posteriors_with_the_papers_likelihood_stand_beside_ours(of_a_file):
    row = of_a_file.tables["T6"].set_index("emulator").loc["process"]
    assert row["posterior_width"] == pytest.approx(1.0, abs=0.1)
    assert row["printed_posterior_width"] == pytest.approx(0.5 * row["posterior_width"])
    assert row["printed_n_converged"] == 1
    assert of_a_file.tables["T6"].set_index("emulator").loc["prior", "posterior_width"] == 1.0


def test_that_the_papers_likelihood_has_no_misfit_and_no_jumps():
    ours = SamplingSettings(n_walkers=10, jump_every=2)
    assert list(sampling.variants(ours, 2, False)) == ["ours"]
    both = sampling.variants(ours, 2, True)
    assert both["ours"] == (2, ours)
    assert both["printed"] == (0, ours.but(jump_every=0))


def texts_of(table: Table) -> list[list[str]]:
    cells = table.get_celld()
    n_rows, n_columns = (1 + max(place) for place in zip(*cells, strict=True))
    return [[cells[row, column].get_text().get_text() for column in range(n_columns)] for row in range(n_rows)]


def test_that_a_file_with_other_parameters_and_emulators_ends_in_figures(of_a_file):
    table = figures.draw_parameters(of_a_file)
    table.canvas.draw()
    shown = texts_of(table.axes[0].tables[0])
    assert shown[0][2:] == [literal(MINE), "entrainment_factor"]
    assert [row[1] for row in shown[-2:]] == ["GP", "something else"]
    assert shown[4][2:] == ["–", "0.13"]  # the paper's prior means
    names = [row[1] for row in texts_of(figures.draw_emulators(of_a_file).axes[0].tables[0])]
    assert names == ["emulator", "prior", "GP", "something else"]
    figure = figures.draw_posterior(of_a_file)
    legend = figure.subfigs[0].legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["GP", "something else: not converged"]
    assert [line.get_color() for line in legend.get_lines()] == [style.TRUTH, style.EMULATOR]
    assert figure.subfigs[0].axes[-1].get_xlabel() == "entrainment\nfactor"
    assert figure.subfigs[0].axes[2].get_xlabel() == literal(MINE)
    figure.canvas.draw()


def test_that_a_file_with_other_parameters_and_emulators_ends_in_verdicts(of_a_file):
    found = verdicts.compare(Evidence(of_a_file.tables, of_a_file.emulators), PAPER)
    assert {line.quantity.partition(",")[0] for line in found if line.id == "T5"} == {"entrainment_factor"}
    named = [line.quantity for line in found if line.id == "T6" and line.rule.startswith("not compared")]
    rows = [name.rpartition(", ")[2] for name in named]
    assert rows == [*["GP"] * 4, "untuned RF", "separable RF", "nonseparable RF"]
    unplayed = next(line for line in found if line.quantity == "all numbers, separable RF")
    assert unplayed.rule == "not compared: no emulator has the role rf_separable_5_1"
    said = [
        line for line in judged(CLAIMS, Evidence(of_a_file.tables, of_a_file.emulators)) if line["artifact"] == "F12"
    ]
    assert {line["verdict"] for line in said} == {"not decided"}
    assert "there is no simulator, whose own posterior is the yardstick" in {line["ours"] for line in said}
    unknown = Evidence({"T5": of_a_file.tables["T5"].iloc[:1]}, of_a_file.emulators)
    assert verdicts.compare(unknown, PAPER) == []


def test_that_the_prior_is_measured_beside_the_posterior():
    known = two_outputs()
    own = np.random.default_rng(0).normal(size=(4000, 2)) * 0.1
    found = analysis.analyse_truth(known, stored_chain(own), np.random.default_rng(1))
    assert 0.3 < float(found["prior_distance"]) < 1.5
    np.testing.assert_allclose(found["posterior_std"], own.std(axis=0))
    without = analysis.analyse_truth(known, xr.Dataset(), np.random.default_rng(1))
    assert np.isnan(without["prior_distance"])
    assert "posterior_mean" not in without


# Interrupted chains


def test_that_a_checkpoint_belongs_to_its_inputs(tmp_path):
    inputs = xr.Dataset({"x": ("n", [1.0, 2.0]), "name": ("n", np.array(["a", "b"], dtype=object))})
    source = chains.Source(str(tmp_path / "part"), (1, "a"), [inputs], [{"rank": 1}])
    assert source.key() == chains.Source(source.path, (1, "a"), [inputs.copy()], [{"rank": 1}]).key()
    for changed in (
        chains.Source(source.path, (1, "a"), [inputs], [{"rank": 2}]),
        chains.Source(source.path, (1, "a"), [inputs.assign(x=inputs.x + 1)], [{"rank": 1}]),
    ):
        assert changed.key() != source.key()


def test_that_an_interrupted_chain_goes_on_to_the_same_digits(tmp_path, monkeypatch):
    monkeypatch.setattr(mcmc, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    settings = SamplingSettings(n_walkers=6, n_steps=600, min_burn_in=120, max_burn_in=120, block=60)
    start = np.random.default_rng(0).normal(size=(6, 2))

    def density(points):
        return -0.5 * np.sum(points**2, axis=1)

    calls = iter(range(50))

    def killed(points):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return density(points)

    def source(name):
        return chains.Source(str(tmp_path / name), (1, "a"), [xr.Dataset({"x": 1.0})], [{"rank": 1}])

    with pytest.raises(KeyboardInterrupt):
        chains.sampled(killed, start, settings, source("killed"))
    assert source("killed").checkpoint.is_file()
    resumed = chains.sampled(density, start, settings, source("killed"))
    assert resumed.identical(chains.sampled(density, start, settings, source("undisturbed")))


def test_that_one_parameter_is_enough_to_start_from(tmp_path):
    edmf_file.write(tmp_path / "runs.nc", names=("a",))
    made = settings_of_file(tmp_path / "runs.nc", "a").make(np.random.default_rng(0))
    assert sampling.start(made, 6, np.random.default_rng(0)).shape == (6, 1)


def test_that_walkers_start_around_the_last_ensemble(surrogate):
    start = sampling.start(surrogate, 4000, np.random.default_rng(0))
    last = surrogate["points"].values[surrogate["is_test"].values]
    standard_error = start.std(axis=0) / np.sqrt(4000)
    assert (np.abs(start.mean(axis=0) - last.mean(axis=0)) < 5 * standard_error).all()
