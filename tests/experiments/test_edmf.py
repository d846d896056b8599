"""The cloud experiment: parameters, calibration, archives, posteriors and what is made of them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import h5netcdf
import numpy as np
import pytest
import xarray as xr
from scipy import stats

from rftune import storage
from rftune.data import Prediction
from rftune.emulators import base as emulators
from rftune.emulators.kinds import gp as gaussian_process
from rftune.experiments.edmf import analysis, archive, calibration, data, figures, prediction, sampling, tables
from rftune.experiments.edmf.parameters import Parameters
from rftune.experiments.protocol import stack_repeats, training_set
from rftune.experiments.results import Stored
from rftune.inference import chains, mcmc
from rftune.inference import discrepancy as misfit
from rftune.seeding import rng_for
from rftune.tuning.optimisers import eki

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
    return data.make_data(data.Settings(**SMALL), rng_for(1, "edmf"))


class Parabola:
    """A model with known mean and covariance."""

    def predict(self, inputs):
        mean = np.column_stack([inputs.sum(axis=1), (inputs**2).sum(axis=1)])
        covariance = np.array([[0.5, 0.2], [0.2, 0.4]]) * (1 + inputs[:, 0] ** 2)[:, None, None]
        return Prediction(mean, covariance)


# Parameters


def test_that_physical_and_unconstrained_parameters_map_onto_each_other():
    prior = Parameters.of(PARAMETERS)
    unconstrained = np.random.default_rng(0).normal(size=(20, 5))
    physical = prior.constrain(unconstrained)
    low, high = prior.bounds.T
    assert ((physical > low) & (physical < high)).all()
    np.testing.assert_allclose(prior.unconstrain(physical), unconstrained, rtol=1e-9)
    np.testing.assert_allclose(prior.constrain(prior.unconstrained_mean[None])[0], prior.prior_mean, rtol=1e-12)


def test_that_the_prior_is_a_unit_normal_about_its_mean():
    prior = Parameters.of(PARAMETERS)
    points = np.random.default_rng(0).normal(size=(6, 5))
    exact = stats.multivariate_normal(prior.unconstrained_mean, np.eye(5)).logpdf(points)
    np.testing.assert_allclose(np.diff(prior.log_prior(points)), np.diff(exact), rtol=1e-10)


def test_that_values_outside_their_bounds_are_named():
    prior = Parameters.of(PARAMETERS)
    with pytest.raises(ValueError, match=r"tke_ed_coeff must lie strictly between .* got 0.01 in row 0"):
        prior.unconstrain(np.array([[0.1, 0.5, 0.01, 0.2, 0.4]]))
    with pytest.raises(ValueError, match=r"the prior mean of a must lie between its bounds 0, 1; got 1\.5"):
        Parameters.of({"a": {"bounds": [0, 1], "prior_mean": 1.5}})


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
        n_members=400,
        n_iterations=11,
        settings=eki.Settings(step="constant", step_size=0.1, inflation=0.0),
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
    assert data.shape(data.Settings(**SMALL)) == (24, 5, 4)
    training, noise = training_set(surrogate)
    assert training.inputs.shape == (24, 5)
    assert noise.shape == (4, 4)
    np.testing.assert_array_equal(surrogate["points"].values[~surrogate["is_test"].values], training.inputs)
    assert int(surrogate["is_test"].sum()) == 12


def test_that_the_stored_scenarios_give_the_simulator_back(surrogate):
    prior = data.prior_of(surrogate)
    physical = data.simulator_order(prior, prior.constrain(surrogate["points"].values[:3]))
    np.testing.assert_array_equal(data.simulator_of(surrogate).mean(physical), surrogate["truth"].values[:3])


def test_that_the_noise_is_variability_plus_inflation(surrogate):
    inflated = data.make_data(data.Settings(**{**SMALL, "inflation": 0.5}), rng_for(1, "edmf"))
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
        data.Settings(**{**SMALL, **change})


# Archives


def write_archive(path: Path, names=("b", "a"), n_outputs=3, fill=None) -> tuple[np.ndarray, np.ndarray]:
    """Four iterations of five members, the last without outputs; columns in the order of ``names``."""
    rng = np.random.default_rng(0)
    physical, outputs = rng.uniform(0.1, 0.9, (4, len(names), 5)), rng.normal(size=(4, n_outputs, 5))
    outputs[3] = np.nan
    outputs[1, 0, 2] = np.nan if fill is None else fill
    with h5netcdf.File(path, "w") as file:
        runs, reference = file.create_group("particle_diags"), file.create_group("reference")
        runs.dimensions = {"iteration": 4, "param": len(names), "particle": 5, "out_full": n_outputs}
        runs.create_variable("param", ("param",), data=np.array(names, dtype="S8"))
        runs.create_variable("phi", ("iteration", "param", "particle"), data=physical)
        runs.create_variable("g_full", ("iteration", "out_full", "particle"), data=outputs)
        reference.dimensions = {"out_full": n_outputs, "other": n_outputs}
        reference.create_variable("y_full", ("out_full",), data=np.arange(float(n_outputs)))
        reference.create_variable("Gamma_full", ("out_full", "other"), data=np.eye(n_outputs))
    return physical, outputs


AB = Parameters.of({name: {"bounds": [0.0, 1.0], "prior_mean": 0.5} for name in ("a", "b")})


@pytest.mark.parametrize("fill", [None, 9.969209968386869e36])
def test_that_columns_are_bound_by_name_and_failed_runs_left_out(tmp_path, fill):
    physical, outputs = write_archive(tmp_path / "runs.nc", fill=fill)
    stored = archive.read(str(tmp_path / "runs.nc"), AB)
    inputs, kept, iteration = stored.iterates.runs()
    assert stored.iterates.n_failed == 1
    assert len(kept) == 14  # three iterations of five, less one
    np.testing.assert_allclose(AB.constrain(inputs)[0], physical[0, ::-1, 0], rtol=1e-12)  # a, b; the file has b, a
    np.testing.assert_array_equal(kept[0], outputs[0, :, 0])
    np.testing.assert_array_equal(np.bincount(iteration), [5, 4, 5])


def test_that_a_zip_archive_is_read_like_the_file_in_it(tmp_path):
    write_archive(tmp_path / "runs.nc")
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as packed:
        packed.write(tmp_path / "runs.nc", "folder/runs.nc")
    inside, plain = (archive.read(str(tmp_path / name), AB) for name in ("runs.zip", "runs.nc"))
    np.testing.assert_array_equal(inside.iterates.inputs, plain.iterates.inputs)


def test_that_a_file_that_cannot_be_used_says_why(tmp_path):
    with pytest.raises(ValueError, match=r"no file at .*: edmf.source must be the path"):
        archive.read(str(tmp_path / "absent.nc"), AB)
    (tmp_path / "text.nc").write_text("not netCDF")
    with pytest.raises(ValueError, match="must be a netCDF file with groups"):
        archive.read(str(tmp_path / "text.nc"), AB)
    write_archive(tmp_path / "other.nc", names=("b", "c"))
    with pytest.raises(ValueError, match=r"has the parameters b, c; edmf.data.parameters names a, b"):
        archive.read(str(tmp_path / "other.nc"), AB)


def test_that_a_file_of_any_size_becomes_training_data(tmp_path):
    write_archive(tmp_path / "runs.nc", n_outputs=7)
    settings = data.Settings(
        **{
            **SMALL,
            "source": str(tmp_path / "runs.nc"),
            "parameters": {name: {"bounds": [0.0, 1.0], "prior_mean": 0.5} for name in ("a", "b")},
        }
    )
    made = data.make_data(settings, np.random.default_rng(0))
    assert data.shape(settings) == (9, 2, 7)
    assert training_set(made)[0].inputs.shape == (9, 2)
    assert int(made["n_failed_runs"]) == 1
    assert np.isnan(made["true_parameters"]).all()
    assert sampling.log_posterior_of_truth(made) is None


@needs_real_data
def test_that_the_public_data_are_read_as_they_are():
    settings = data.Settings(**{**SMALL, "source": REAL})
    made = data.make_data(settings, np.random.default_rng(0))
    assert data.shape(settings) == (450, 5, 42)
    assert made.sizes["point"] == 500
    assert list(made["parameter"].values) == list(PARAMETERS)
    np.testing.assert_allclose(made["noise_covariance"].values, np.eye(42), atol=1e-7)
    # the calibration drove entrainment down and detrainment up from their priors
    final = data.prior_of(made).constrain(made["points"].values[made["is_test"].values]).mean(axis=0)
    assert final[0] == pytest.approx(0.076, abs=0.001)
    assert final[1] == pytest.approx(0.683, abs=0.001)


@needs_real_data
def test_that_the_training_mean_of_the_public_data_scores_as_known():
    made = data.make_data(data.Settings(**{**SMALL, "source": REAL}), np.random.default_rng(0))
    training, noise = training_set(made)
    constant = emulators.Baseline("constant").fit(training, noise, xr.Dataset(), np.random.default_rng(0))
    predicted = stack_repeats([prediction.predict(constant, made)], [0])
    said = {"failure": "", "n_restarts": 0, "n_failed_members": 0, "objective_ratio": np.nan}
    predicted = predicted.assign({name: ("repeat", [value]) for name, value in said.items()})
    found = analysis.analyse(made, predicted, np.random.default_rng(0))
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
    training, noise = training_set(surrogate)
    process = gaussian_process.GaussianProcess()
    model = process.fit(training, noise, process.tune(training, noise, rng_for(1)).result, rng_for(1))
    latest = sampling.latest_runs(surrogate, 1)
    np.testing.assert_array_equal(latest.inputs, training.inputs[-12:])
    np.testing.assert_array_equal(latest.outputs, training.outputs[-12:])
    np.testing.assert_array_equal(sampling.latest_runs(surrogate, 9).inputs, training.inputs)
    points = surrogate["points"].values[:5]
    widened = surrogate.assign(noise_covariance=surrogate["noise_covariance"] + misfit.covariance(model, latest, noise))
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
    training, noise = training_set(surrogate)
    model = gaussian_process.GaussianProcess()
    fitted = model.fit(training, noise, model.tune(training, noise, np.random.default_rng(0)).result, None)
    assert 0 < prediction.measure(fitted, surrogate)["likelihood_seconds"] < 1


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


def test_that_emulators_are_compared_also_where_nothing_was_sampled(tmp_path):
    """As a data file has it when every emulator is `sampled: false`."""
    truth = xr.Dataset({"prior_distance": np.nan, "prior_covered": ("input", np.full(2, np.nan))})
    once = {name: ("repeat", [value]) for name, value in (("training_error", 4.6), ("test_error", 9.6))}
    once |= {"failure": ("repeat", [""]), "n_restarts": ("repeat", [0]), "n_failed_members": ("repeat", [0])}
    times = {"seconds": ("repeat", [20.0]), "likelihood_seconds": ("repeat", [0.002])}
    stored = {"truth": truth, "gp": xr.Dataset(once), "times": xr.Dataset(times)}
    for name, results in stored.items():
        storage.save(results, tmp_path / f"{name}.nc", settings={}, seed=1)
    sources = [[Stored("file", 1, "gp", [str(tmp_path / f"{name}.nc")])] for name in stored]
    table = tables.emulators_table(*sources, paper={})
    assert table["n_converged"].isna().all()
    table.to_csv(tmp_path / "T6.csv", index=False)
    assert figures.draw_emulators([str(tmp_path / "T6.csv")]) is not None


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
    settings = mcmc.Settings(n_walkers=6, n_steps=600, min_burn_in=120, max_burn_in=120, block=60)
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


def test_that_walkers_start_around_the_last_ensemble(surrogate):
    start = sampling.start(surrogate, 4000, np.random.default_rng(0))
    last = surrogate["points"].values[surrogate["is_test"].values]
    standard_error = start.std(axis=0) / np.sqrt(4000)
    assert (np.abs(start.mean(axis=0) - last.mean(axis=0)) < 5 * standard_error).all()
