"""The Gaussian process against scikit-learn, against dense textbook twins, and at its edges."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.optimize import Bounds
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import reference_gp
from rftune.data import Array, Dataset
from rftune.regression import exact_gp as gp
from rftune.regression import gp_posterior
from rftune.regression.exact_gp import SearchSettings
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Scaling

SHAPES = [(1, 1), (2, 3), (17, 1), (63, 2), (64, 5), (65, 3), (150, 8)]  # about the panel of 64 rows


def random_problem(n_samples: int, n_inputs: int, n_outputs: int, seed: int) -> tuple[Dataset, gp.Hyperparameters]:
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((n_samples, n_inputs))
    outputs = 10.0 * np.sin(inputs @ rng.standard_normal((n_inputs, n_outputs))) + rng.standard_normal(
        (n_samples, n_outputs)
    )
    variances = np.exp(rng.normal(3.0, 1.0, n_outputs))
    lengthscales = np.exp(rng.normal(0.3, 0.5, (n_outputs, n_inputs)))
    return Dataset(inputs, outputs), gp.Hyperparameters(variances, lengthscales)


def smooth_problem(n_samples: int = 120, n_inputs: int = 3, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1.7, 1.7, (n_samples, n_inputs))
    smooth = 30.0 * np.sin(1.5 * inputs[:, 0]) + 20.0 * inputs[:, 1] ** 2
    return Dataset(inputs, (smooth - smooth.mean() + rng.standard_normal(n_samples))[:, None])


def emulate(data: Dataset, noise: float, settings: SearchSettings, rng: np.random.Generator) -> ScaledModel:
    """Scale, tune, fit."""
    scaling = Scaling.of(data, noise)
    scaled = scaling.scale(data)
    return ScaledModel(scaling, gp_posterior.fit(scaled, gp.tune(scaled, settings, rng).hyperparameters))


def log_parameters(hyperparameters: gp.Hyperparameters, output: int) -> Array:
    return np.log(np.append(hyperparameters.amplitude_variances[output], hyperparameters.lengthscales[output]))


@pytest.mark.parametrize(("n_samples", "n_inputs"), SHAPES)
def test_that_likelihood_and_gradient_equal_those_of_scikit_learn(n_samples: int, n_inputs: int) -> None:
    data, hyperparameters = random_problem(n_samples, n_inputs, 1, seed=n_samples)
    theta, output = log_parameters(hyperparameters, 0), data.outputs[:, 0]
    kernel = ConstantKernel() * RBF(np.ones(n_inputs))
    regressor = GaussianProcessRegressor(kernel, alpha=1.0, optimizer=None).fit(data.inputs, output)
    expected_value, expected_gradient = regressor.log_marginal_likelihood(theta, eval_gradient=True)

    value, gradient = gp.MarginalLikelihood(data.inputs)(output, theta)

    assert value == pytest.approx(expected_value, rel=1e-10)
    # both gradients are differences of terms of the size of the likelihood, hence the absolute part
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-8, atol=1e-10 * abs(value))


@pytest.mark.parametrize(("n_samples", "n_inputs"), SHAPES)
def test_that_gradient_equals_central_differences(n_samples: int, n_inputs: int) -> None:
    data, hyperparameters = random_problem(n_samples, n_inputs, 1, seed=n_samples)
    theta, output = log_parameters(hyperparameters, 0), data.outputs[:, 0]
    likelihood = gp.MarginalLikelihood(data.inputs)
    value, gradient = likelihood(output, theta)
    step = 1e-4
    differences = [
        (likelihood(output, theta + shift)[0] - likelihood(output, theta - shift)[0]) / (2 * step)
        for shift in step * np.eye(len(theta))
    ]
    # truncation is of order step² = 1e-8, rounding eps/step = 2e-12, both times the likelihood's size
    np.testing.assert_allclose(gradient, differences, rtol=0, atol=1e-6 * (1 + abs(value)))


def test_that_buffers_carry_nothing_from_one_evaluation_to_the_next() -> None:
    data, hyperparameters = random_problem(70, 3, 2, seed=1)
    likelihood = gp.MarginalLikelihood(data.inputs)
    first = likelihood(data.outputs[:, 0], log_parameters(hyperparameters, 0))
    likelihood(data.outputs[:, 1], log_parameters(hyperparameters, 1))
    again = likelihood(data.outputs[:, 0], log_parameters(hyperparameters, 0))
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])


def test_that_both_implementations_find_the_same_optimum() -> None:
    data, rng = smooth_problem(), np.random.default_rng(0)
    fast = gp.tune(data, SearchSettings(implementation="fast"), rng)
    sklearn = gp.tune(data, SearchSettings(implementation="sklearn"), rng)
    assert fast.converged.all()
    assert sklearn.converged.all()
    assert not fast.noise_only.any()
    np.testing.assert_allclose(fast.log_marginal_likelihood, sklearn.log_marginal_likelihood, rtol=1e-6)
    relevant = np.s_[0, :2]  # the likelihood is flat in the lengthscale of the third input, on which nothing depends
    np.testing.assert_allclose(
        fast.hyperparameters.lengthscales[relevant], sklearn.hyperparameters.lengthscales[relevant], rtol=1e-2
    )


def test_that_a_rough_function_is_not_taken_for_noise() -> None:
    rng = np.random.default_rng(3)
    inputs, weights = rng.random((600, 6)), np.arange(6) / 2
    outputs = np.prod((np.abs(4 * inputs - 2) + weights) / (1 + weights), axis=1)[:, None]
    data = Dataset(inputs, outputs + np.sqrt(1e-3) * rng.standard_normal(outputs.shape))
    tuned = gp.tune(Scaling.of(data, 1e-3).scale(data), SearchSettings(), rng)
    assert tuned.converged.all()
    assert not tuned.noise_only.any()
    assert (tuned.hyperparameters.lengthscales > 0.3).all()


def test_that_restarts_never_lower_the_likelihood_and_follow_the_rng() -> None:
    data = smooth_problem(60)
    single = gp.tune(data, SearchSettings(), np.random.default_rng(0))
    several = [gp.tune(data, SearchSettings(n_restarts=2), np.random.default_rng(5)) for _ in range(2)]
    assert several[0].log_marginal_likelihood >= single.log_marginal_likelihood
    assert several[0].n_evaluations > single.n_evaluations
    np.testing.assert_array_equal(several[0].hyperparameters.lengthscales, several[1].hyperparameters.lengthscales)


def test_that_an_exhausted_budget_is_reported() -> None:
    tuned = gp.tune(smooth_problem(60), SearchSettings(max_iterations=1), np.random.default_rng(0))
    assert not tuned.converged.any()
    assert "LIMIT" in tuned.messages[0]


@pytest.mark.parametrize(("n_samples", "n_inputs", "n_outputs"), [(1, 1, 1), (30, 2, 1), (90, 4, 3)])
def test_that_posterior_equals_the_textbook(n_samples: int, n_inputs: int, n_outputs: int) -> None:
    data, hyperparameters = random_problem(n_samples, n_inputs, n_outputs, seed=7)
    points = np.random.default_rng(8).standard_normal((40, n_inputs))
    fitted = gp_posterior.fit(data, hyperparameters)
    prediction = fitted.predict(points)
    for output, prior in enumerate(hyperparameters.covariances()):
        kernel = partial(
            reference_gp.squared_exponential, variance=prior.amplitude_variance, lengthscales=prior.lengthscales
        )
        mean, covariance = reference_gp.posterior(kernel, data.inputs, data.outputs[:, output], points)
        np.testing.assert_allclose(prediction.mean[:, output], mean, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(
            prediction.covariance[:, output, output], np.diagonal(covariance), rtol=1e-10, atol=1e-10
        )
    off_diagonal = prediction.covariance[:, ~np.eye(n_outputs, dtype=bool)]
    assert not off_diagonal.any()
    np.testing.assert_array_equal(fitted.mean(points), prediction.mean)


def test_that_blocks_do_not_change_the_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    data, hyperparameters = random_problem(50, 3, 2, seed=2)
    points = np.random.default_rng(3).standard_normal((33, 3))
    fitted = gp_posterior.fit(data, hyperparameters)
    whole = fitted.predict(points)
    monkeypatch.setattr(gp_posterior, "_PREDICTION_ELEMENTS", 400)  # blocks of eight rows
    parts = fitted.predict(points)
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-10, atol=1e-10)


def test_that_correlated_noise_gives_the_vector_valued_process_with_kernel_a_diag_k_at() -> None:
    rng = np.random.default_rng(11)
    data, hyperparameters = random_problem(40, 2, 3, seed=11)
    root = rng.standard_normal((3, 3))
    noise = root @ root.T + 0.1 * np.eye(3)
    data = Dataset(3.0 + 2.0 * data.inputs, 5.0 + data.outputs)
    scaling = Scaling.of(data, noise)
    emulator = ScaledModel(scaling, gp_posterior.fit(scaling.scale(data), hyperparameters))
    points = 3.0 + 2.0 * rng.standard_normal((6, 2))

    prediction = emulator.predict(points)

    mean, covariance = reference_gp.vector_posterior(
        scaling.scale_inputs(data.inputs),
        data.outputs - scaling.output_mean,
        noise,
        scaling.factor,
        hyperparameters.amplitude_variances,
        hyperparameters.lengthscales,
        scaling.scale_inputs(points),
    )
    np.testing.assert_allclose(prediction.mean, mean + scaling.output_mean, rtol=1e-9, atol=1e-9)
    pointwise = np.einsum("iaib->iab", covariance)
    np.testing.assert_allclose(prediction.covariance, pointwise, rtol=1e-9, atol=1e-9)


def test_that_samples_have_the_joint_posterior_mean_and_covariance() -> None:
    data, hyperparameters = random_problem(12, 1, 2, seed=4)
    points = np.array([[-2.5], [0.0], [0.1], [0.1], [3.0]])  # a duplicate makes the covariance singular
    n_draws = 20_000
    draws = gp_posterior.fit(data, hyperparameters).sample(points, n_draws, np.random.default_rng(5))
    assert draws.shape == (n_draws, 5, 2)
    for output, prior in enumerate(hyperparameters.covariances()):
        kernel = partial(
            reference_gp.squared_exponential, variance=prior.amplitude_variance, lengthscales=prior.lengthscales
        )
        mean, covariance = reference_gp.posterior(kernel, data.inputs, data.outputs[:, output], points)
        std = np.sqrt(np.diagonal(covariance))
        # five standard errors; that of a covariance is at most √2 σ_i σ_j / √n
        assert (np.abs(draws[:, :, output].mean(axis=0) - mean) < 5 * std / np.sqrt(n_draws)).all()
        error = np.abs(np.cov(draws[:, :, output].T) - covariance)
        assert (error < 5 * np.sqrt(2 / n_draws) * np.outer(std, std)).all()
    np.testing.assert_allclose(draws[:, 2], draws[:, 3], atol=1e-5)
    assert abs(np.corrcoef(draws[:, 0].T)[0, 1]) < 5 / np.sqrt(n_draws)


def test_that_same_rng_gives_same_sample() -> None:
    data, hyperparameters = random_problem(12, 1, 2, seed=4)
    fitted = gp_posterior.fit(data, hyperparameters)
    one, two = (fitted.sample(data.inputs, 2, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_that_far_from_the_data_the_prior_returns() -> None:
    data, hyperparameters = random_problem(20, 2, 2, seed=5)
    prediction = gp_posterior.fit(data, hyperparameters).predict(np.full((1, 2), 1e6))
    np.testing.assert_array_equal(prediction.mean, 0.0)
    np.testing.assert_array_equal(prediction.covariance[0], np.diag(hyperparameters.amplitude_variances))


@pytest.mark.parametrize("implementation", ["fast", "sklearn"])
def test_that_a_constant_output_survives_and_is_reported(implementation: str) -> None:
    data = smooth_problem(40)
    data = Dataset(data.inputs, np.column_stack([np.full(40, 7.0), data.outputs]))
    scaling = Scaling.of(data, 1.0)
    settings = SearchSettings(implementation=implementation)
    tuned = gp.tune(scaling.scale(data), settings, np.random.default_rng(0))
    np.testing.assert_array_equal(tuned.noise_only, [True, False])
    emulator = ScaledModel(scaling, gp_posterior.fit(scaling.scale(data), tuned.hyperparameters))
    np.testing.assert_allclose(emulator.mean(data.inputs)[:, 0], 7.0, atol=1e-12)


def test_that_a_constant_input_survives() -> None:
    data = smooth_problem(40)
    data = Dataset(np.column_stack([data.inputs, np.full(40, 2.0)]), data.outputs)
    emulator = emulate(data, 1.0, SearchSettings(), np.random.default_rng(0))
    assert np.isfinite(emulator.predict(data.inputs).std).all()


def test_that_duplicate_inputs_survive() -> None:
    data = smooth_problem(40)
    repeated = Dataset(np.repeat(data.inputs, 3, axis=0), np.repeat(data.outputs, 3, axis=0))
    emulator = emulate(repeated, 1.0, SearchSettings(), np.random.default_rng(0))
    prediction = emulator.predict(data.inputs)
    assert np.isfinite(prediction.mean).all()
    assert (prediction.std < 1.0).all()  # three observations with unit noise each


def test_that_emulator_recovers_nearly_noiseless_data() -> None:
    data = smooth_problem(60)
    clean = Dataset(data.inputs, np.sin(data.inputs[:, :1]) + 100.0)
    emulator = emulate(clean, 1e-8, SearchSettings(), np.random.default_rng(0))
    np.testing.assert_allclose(emulator.mean(clean.inputs), clean.outputs, atol=5e-4)


def test_that_inputs_are_unmutated() -> None:
    data, hyperparameters = random_problem(30, 2, 1, seed=6)
    inputs, outputs, points = data.inputs.copy(), data.outputs.copy(), np.ones((3, 2))
    theta = log_parameters(hyperparameters, 0)
    gp.MarginalLikelihood(data.inputs)(data.outputs[:, 0], theta)
    gp.tune(data, SearchSettings(max_iterations=2), np.random.default_rng(0))
    fitted = gp_posterior.fit(data, hyperparameters)
    first = fitted.predict(points)
    fitted.sample(points, 1, np.random.default_rng(0))
    np.testing.assert_array_equal(fitted.predict(points).covariance, first.covariance)
    np.testing.assert_array_equal(data.inputs, inputs)
    np.testing.assert_array_equal(data.outputs, outputs)
    np.testing.assert_array_equal(points, np.ones((3, 2)))
    np.testing.assert_array_equal(theta, log_parameters(hyperparameters, 0))


def test_that_an_indefinite_matrix_is_a_clear_error() -> None:
    data = Dataset(np.linspace(0, 1, 50)[:, None], np.ones((50, 1)))
    with pytest.raises(np.linalg.LinAlgError, match="lower its upper bound"):
        gp_posterior.fit(data, gp.Hyperparameters(np.array([1e25]), np.array([[100.0]])))


@pytest.mark.parametrize("implementation", ["fast", "sklearn"])
def test_that_an_indefinite_start_is_a_clear_error(implementation: str) -> None:
    data = Dataset(np.linspace(0, 1, 50)[:, None], np.ones((50, 1)))
    settings = SearchSettings(
        implementation=implementation, amplitude_variance_bounds=(1e19, 1e20), lengthscale_bounds=(50.0, 100.0)
    )
    with pytest.raises(np.linalg.LinAlgError, match="lower its upper bound"):
        gp.tune(data, settings, np.random.default_rng(0))


def test_that_the_search_steps_back_from_failures() -> None:
    def objective(theta: Array) -> tuple[float, Array]:
        if theta[0] > 1.0:
            raise np.linalg.LinAlgError
        return float(50 * theta[0] - 100 * theta[0] ** 4), np.array([50 - 400 * theta[0] ** 3])

    result = gp._climb(objective, np.array([-3.0]), Bounds([-4.0], [8.0]), SearchSettings(max_iterations=100))
    assert result.x[0] == pytest.approx(0.5, abs=1e-4)


def test_that_bad_data_are_refused() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        emulate(Dataset([[0.0], [np.nan]], [[0.0], [1.0]]), 1.0, SearchSettings(), np.random.default_rng(0))
    data, hyperparameters = random_problem(10, 2, 1, seed=0)
    fitted = gp_posterior.fit(data, hyperparameters)
    with pytest.raises(ValueError, match="must be finite"):
        fitted.predict(np.array([[0.0, np.inf]]))
    with pytest.raises(ValueError, match=r"\(n_samples, 2\)"):
        fitted.mean(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="n_draws"):
        fitted.sample(np.zeros((4, 2)), 0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="lengthscales"):
        gp_posterior.fit(Dataset(np.zeros((3, 4)), np.zeros((3, 1))), hyperparameters)
    with pytest.raises(ValueError, match="logarithms"):
        gp.Hyperparameters(np.array([-1.0]), np.ones((1, 2)))
    with pytest.raises(ValueError, match="amplitude_variances"):
        gp.Hyperparameters(np.ones(2), np.ones((1, 2)))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"implementation": "slow"}, "implementation"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"n_restarts": -1}, "n_restarts"),
        ({"lengthscale_bounds": (0.0, 1.0)}, "lengthscale_bounds.0"),
        ({"lengthscale_bounds": (0.1, np.inf)}, "lengthscale_bounds.1"),
        ({"time_limit": 0.0}, "time_limit"),
    ],
)
def test_that_bad_settings_are_refused_by_name(change: dict[str, object], field: str) -> None:
    with pytest.raises(ValidationError, match=rf"(?m)^{field}\b"):
        SearchSettings().but(**change)


@pytest.mark.parametrize("name", ["lengthscale_bounds", "amplitude_variance_bounds"])
def test_that_bounds_in_the_wrong_order_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=rf"{name} must be \[low, high\] with low < high; got \[2\.0, 1\.0\]"):
        SearchSettings().but(**{name: (2.0, 1.0)})


def test_that_a_time_limit_ends_the_search_and_says_so():
    tuned = gp.tune(smooth_problem(60), SearchSettings(time_limit=1e-9), np.random.default_rng(0))
    assert tuned.messages[0].startswith(gp.TIME_LIMIT)
    assert not tuned.converged.any()
    unlimited = gp.tune(smooth_problem(60), SearchSettings(time_limit=1e6), np.random.default_rng(0))
    assert not unlimited.messages[0].startswith(gp.TIME_LIMIT)
    assert unlimited.n_evaluations[0] > tuned.n_evaluations[0]
