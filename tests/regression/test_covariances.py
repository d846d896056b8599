"""ANOVA and ARD kernels against sums over all subsets of inputs; their likelihood, its slopes, and tuning with them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pydantic import ValidationError

import reference_gp
from rftune.data import Array, Dataset
from rftune.emulators.base import EMULATORS
from rftune.regression import covariances, exact_gp, gp_posterior, product_kernel
from rftune.regression.correlations import CORRELATIONS
from rftune.regression.covariances import Hyperparameters, Product, SquaredExponential, covariance
from rftune.regression.exact_gp import SearchSettings
from rftune.regression.marginal_likelihood import MarginalLikelihood, Prior

NAMES = list(CORRELATIONS)
SHAPES = [(1, 1), (2, 3), (63, 2), (65, 4), (130, 6)]  # about the panel of 64 rows
PRIORS = [Prior(kernel, name, noise) for kernel in ("ard", "anova") for name in NAMES for noise in ("known", "learned")]


def anova_problem(n_samples: int, n_inputs: int) -> tuple[Array, Array, Array]:
    """Inputs, an output with unit noise, and unconstrained parameters of an ANOVA kernel."""
    rng = np.random.default_rng(n_samples + n_inputs)
    inputs = rng.standard_normal((n_samples, n_inputs))
    output = 10.0 * np.sin(2.0 * inputs[:, 0]) + 3.0 * inputs[:, -1] + rng.standard_normal(n_samples)
    log_scales = rng.normal(0.3, 0.5, n_inputs)
    return inputs, output, np.concatenate([[3.0], log_scales, rng.normal(0.0, 1.5, n_inputs)])


def parameters_of(prior: Prior, parameters: Array, n_inputs: int) -> Array:
    return parameters[: prior.n_parameters(n_inputs)]


def dense(prior: Prior, parameters: Array, inputs: Array, others: Array) -> Array:
    """The kernel of unconstrained parameters, by its twin."""
    n_inputs = inputs.shape[1]
    logits = parameters[1 + n_inputs :] if prior.kernel == "anova" else np.full(n_inputs, np.inf)
    scales = np.exp(parameters[1 : 1 + n_inputs])
    inclusion = 1.0 / (1.0 + np.exp(-logits))
    return reference_gp.anova(inputs, others, np.exp(parameters[0]), scales, inclusion, prior.correlation)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n_samples", "n_inputs"), SHAPES)
def test_that_kernel_equals_the_sum_over_subsets(n_samples: int, n_inputs: int, name: str) -> None:
    inputs, _, parameters = anova_problem(n_samples, n_inputs)
    others = np.random.default_rng(0).standard_normal((9, n_inputs))
    prior = Prior("anova", name)
    kernel = prior.covariance(parameters)
    # the twin takes the Bessel function at 1e-14 where points coincide
    expected = dense(prior, parameters, inputs, others)
    np.testing.assert_allclose(kernel.matrix(inputs, others), expected, rtol=1e-12)
    upper = np.full((n_samples, n_samples), np.nan)
    kernel.fill_upper(inputs, upper)
    own = np.triu_indices(n_samples)
    np.testing.assert_allclose(upper[own], dense(prior, parameters, inputs, inputs)[own], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_that_with_every_input_in_the_anova_kernel_is_the_ard_kernel(name: str) -> None:
    inputs, output, parameters = anova_problem(65, 4)
    ard = Prior("ard", name).covariance(parameters[:5])
    scaled = np.abs(inputs[:, None, :] - inputs[None, :, :]) / ard.lengthscales
    expected = ard.amplitude_variance * np.prod(CORRELATIONS[name](scaled), axis=2)
    anova = Product(ard.amplitude_variance, ard.lengthscales, np.ones(4), name)
    np.testing.assert_allclose(anova.matrix(inputs, inputs), expected, rtol=1e-12)
    np.testing.assert_allclose(ard.matrix(inputs, inputs), expected, rtol=1e-12)
    # and so is its likelihood in the limit of logit π, with the same slopes in what both have
    both = [
        MarginalLikelihood(inputs, Prior(kernel, name))(output, theta)
        for kernel, theta in (("ard", parameters[:5]), ("anova", np.append(parameters[:5], np.full(4, 40.0))))
    ]
    assert both[0][0] == pytest.approx(both[1][0], rel=1e-10)
    np.testing.assert_allclose(both[0][1], both[1][1][:5], rtol=1e-8, atol=1e-8)


def test_that_an_input_that_is_never_in_does_not_matter() -> None:
    inputs, _, parameters = anova_problem(65, 4)
    kernel = covariance("matern52", 2.0, np.exp(parameters[1:5]), np.array([0.5, 0.0, 1.0, 0.2]))
    moved = inputs + np.array([0.0, 7.0, 0.0, 0.0])
    np.testing.assert_array_equal(kernel.matrix(inputs, moved), kernel.matrix(inputs, inputs))


def test_that_the_squared_exponential_product_takes_the_short_way() -> None:
    assert isinstance(covariance("squared_exponential", 1.0, np.ones(2), np.ones(2)), SquaredExponential)
    assert isinstance(covariance("squared_exponential", 1.0, np.ones(2), np.array([1.0, 0.9])), Product)
    assert isinstance(covariance("matern52", 1.0, np.ones(2), np.ones(2)), Product)


def test_that_both_ways_to_the_slopes_agree() -> None:
    inputs, _, parameters = anova_problem(130, 3)
    scales, weighted = np.exp(parameters[1:4]), np.random.default_rng(1).standard_normal((130, 130))
    ways = [kind(1.0, scales, np.ones(3), "squared_exponential") for kind in (SquaredExponential, Product)]
    short, long = (way.slopes(inputs, weighted) for way in ways)
    np.testing.assert_allclose(short, long, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: f"{prior.kernel}-{prior.correlation}-{prior.noise}")
@pytest.mark.parametrize(("n_samples", "n_inputs"), [(2, 3), (65, 4)])
def test_that_likelihood_equals_a_dense_normal_density(n_samples: int, n_inputs: int, prior: Prior) -> None:
    inputs, output, parameters = anova_problem(n_samples, n_inputs)
    theta = parameters_of(prior, parameters, n_inputs)
    likelihood = MarginalLikelihood(inputs, prior)
    matrix = dense(prior, theta, inputs, inputs) + np.eye(n_samples)
    noise = likelihood.noise_variance(output, theta)
    if prior.noise == "learned":
        assert noise == pytest.approx(output @ np.linalg.solve(matrix, output) / n_samples, rel=1e-10)
        for other in (0.9 * noise, 1.1 * noise):
            assert reference_gp.log_likelihood(noise * matrix, output) > reference_gp.log_likelihood(
                other * matrix, output
            )
    else:
        assert noise == 1.0
    expected = reference_gp.log_likelihood(noise * matrix, output)
    assert likelihood(output, theta)[0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: f"{prior.kernel}-{prior.correlation}-{prior.noise}")
@pytest.mark.parametrize(("n_samples", "n_inputs"), SHAPES)
def test_that_gradient_equals_central_differences(n_samples: int, n_inputs: int, prior: Prior) -> None:
    inputs, output, parameters = anova_problem(n_samples, n_inputs)
    theta = parameters_of(prior, parameters, n_inputs)
    likelihood = MarginalLikelihood(inputs, prior)
    value, gradient = likelihood(output, theta)
    step = 1e-4
    differences = [
        (likelihood(output, theta + shift)[0] - likelihood(output, theta - shift)[0]) / (2 * step)
        for shift in step * np.eye(len(theta))
    ]
    # truncation is of order step² = 1e-8, rounding eps/step = 2e-12, both times the likelihood's size
    np.testing.assert_allclose(gradient, differences, rtol=0, atol=1e-6 * (1 + abs(value)))


@pytest.mark.parametrize("name", NAMES)
def test_that_compiled_and_plain_loops_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, _, parameters = anova_problem(65, 4)
    weighted = np.random.default_rng(2).standard_normal((65, 65))
    kernel = Prior("anova", name).covariance(parameters)

    def results() -> list[Array]:
        upper = np.zeros((65, 65))
        kernel.fill_upper(inputs, upper)
        return [kernel.matrix(inputs, inputs[:7]), upper, kernel.slopes(inputs, weighted)]

    fast = results()
    monkeypatch.setattr(product_kernel, "_fill_numba", None)
    monkeypatch.setattr(product_kernel, "_slopes_numba", None)
    for compiled, plain in zip(fast, results(), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-12)


def test_that_the_exponential_is_accurate_to_rounding() -> None:
    points = np.concatenate([-np.logspace(-300, np.log10(700.0), 2001), -np.linspace(0.0, 50.0, 5001), [0.0]])
    values = np.array([product_kernel._exp_of_negative(x) for x in points])
    np.testing.assert_allclose(values, np.exp(points), rtol=4e-16)
    assert product_kernel._exp_of_negative(-1e9) < 1e-307


@pytest.mark.parametrize("name", NAMES)
def test_that_points_far_apart_leave_finite_slopes(name: str) -> None:
    inputs = np.array([[0.0], [1e6], [-1e6], [1e-3]])
    value, gradient = MarginalLikelihood(inputs, Prior("ard", name))(np.ones(4), np.zeros(2))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", NAMES)
def test_that_posterior_equals_the_textbook(name: str) -> None:
    inputs, output, parameters = anova_problem(65, 3)
    points = np.random.default_rng(8).standard_normal((40, 3))
    scales, inclusion = np.exp(parameters[1:4]), np.array([0.7, 0.2, 1.0])
    hyperparameters = Hyperparameters([20.0], [scales], [inclusion], [0.3], name)
    fitted = gp_posterior.fit(Dataset(inputs, output[:, None]), hyperparameters)
    kernel = partial(reference_gp.anova, variance=20.0, lengthscales=scales, inclusion=inclusion, name=name)
    mean, matrix = reference_gp.posterior(kernel, inputs, output, points, noise=0.3)
    prediction = fitted.predict(points)
    np.testing.assert_allclose(prediction.mean[:, 0], mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(prediction.covariance[:, 0, 0], np.diagonal(matrix), rtol=1e-8, atol=1e-8)


def additive(n_samples: int, noise: float) -> Dataset:
    """A sum of functions of the first two of four inputs, and noise of this variance."""
    rng = np.random.default_rng(3)
    inputs = rng.uniform(-1.7, 1.7, (n_samples, 4))
    smooth = 30.0 * np.sin(2.0 * inputs[:, 0]) + 20.0 * np.abs(inputs[:, 1])
    return Dataset(inputs, (smooth - smooth.mean() + np.sqrt(noise) * rng.standard_normal(n_samples))[:, None])


def test_that_tuning_an_anova_kernel_finds_the_inputs_that_matter() -> None:
    data, rng = additive(150, 1.0), np.random.default_rng(0)
    ard, anova = (exact_gp.tune(data, SearchSettings(), rng, Prior(kernel, "matern52")) for kernel in ("ard", "anova"))
    assert anova.log_marginal_likelihood[0] > ard.log_marginal_likelihood[0] + 10.0
    assert anova.converged.all()
    found = anova.hyperparameters
    # an input that does not matter is left out, or its correlation is one over the whole range of the data
    assert ((found.inclusion[0, 2:] < 0.05) | (found.lengthscales[0, 2:] > 20.0)).all()
    np.testing.assert_array_equal(ard.hyperparameters.inclusion, 1.0)


@pytest.mark.parametrize("kernel", ["ard", "anova"])
@pytest.mark.parametrize("noise", [0.25, 9.0])
def test_that_learned_noise_is_that_of_the_data(noise: float, kernel: str) -> None:
    prior = Prior(kernel, "squared_exponential", "learned")
    tuned = exact_gp.tune(additive(300, noise), SearchSettings(), np.random.default_rng(0), prior)
    # the sampling error of a variance from 300 is √(2/300) = .08; the kink of the function adds to it
    assert tuned.hyperparameters.noise_variances[0] == pytest.approx(noise, rel=0.35)
    assert not tuned.noise_only.any()


def test_that_a_learned_noise_survives_a_constant_output_and_says_so() -> None:
    data = Dataset(additive(40, 1.0).inputs, np.zeros((40, 1)))
    tuned = exact_gp.tune(data, SearchSettings(), np.random.default_rng(0), Prior(noise="learned"))
    assert np.isfinite(tuned.log_marginal_likelihood).all()
    assert tuned.noise_only.all()


def test_that_pure_noise_is_called_noise() -> None:
    rng = np.random.default_rng(1)
    data = Dataset(rng.standard_normal((80, 2)), 5.0 * rng.standard_normal((80, 1)))
    tuned = exact_gp.tune(data, SearchSettings(), rng, Prior("anova", "matern32", "learned"))
    assert tuned.noise_only.all()


def test_that_a_subset_is_enough_for_hyperparameters() -> None:
    data, prior = additive(400, 1.0), Prior("anova", "matern52")
    settings = SearchSettings(n_tune=100)
    few, again, other = (exact_gp.tune(data, settings, np.random.default_rng(seed), prior) for seed in (0, 0, 1))
    every = exact_gp.tune(data, SearchSettings(), np.random.default_rng(0), prior)
    assert abs(few.log_marginal_likelihood[0]) < 0.5 * abs(every.log_marginal_likelihood[0])
    np.testing.assert_allclose(
        few.hyperparameters.lengthscales[0, :2], every.hyperparameters.lengthscales[0, :2], rtol=0.5
    )
    np.testing.assert_array_equal(few.hyperparameters.lengthscales, again.hyperparameters.lengthscales)
    assert (few.hyperparameters.lengthscales != other.hyperparameters.lengthscales).any()
    as_many = exact_gp.tune(data, SearchSettings(n_tune=400), np.random.default_rng(0), prior)
    np.testing.assert_array_equal(as_many.hyperparameters.inclusion, every.hyperparameters.inclusion)


def test_that_bad_hyperparameters_are_refused() -> None:
    with pytest.raises(ValueError, match="not their logits"):
        Hyperparameters([1.0], [[1.0, 1.0]], [[0.5, 1.5]])
    with pytest.raises(ValueError, match="not their logarithms"):
        Hyperparameters([1.0], [[1.0]], [[0.5]], [-1.0])
    with pytest.raises(ValueError, match="inclusion"):
        Hyperparameters([1.0], [[1.0, 1.0]], [[0.5]])


def test_that_scikit_learn_is_there_for_its_own_kernel_alone() -> None:
    settings = SearchSettings(implementation="sklearn")
    with pytest.raises(ValueError, match="use fast"):
        exact_gp.tune(additive(20, 1.0), settings, np.random.default_rng(0), Prior("anova"))


@pytest.mark.parametrize("changed", [{"kernel": "anova"}, {"correlation": "matern32"}, {"noise": "learned"}])
def test_that_an_emulator_refuses_scikit_learn_for_any_other(changed: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="implementation sklearn is there for kernel ard"):
        EMULATORS.read({"kind": "gp", "tuning": {"implementation": "sklearn"}, **changed})


def test_that_panels_cover_the_upper_triangle() -> None:
    covered = np.zeros((130, 130), dtype=int)
    for rows, columns in covariances.triangle_panels(130):
        covered[rows, columns] += 1
    assert (covered[np.triu_indices(130)] == 1).all()
