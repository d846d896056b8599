"""Features in the place of all data: Nyström features; cosine features drawn, chosen, refined; each against a twin."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pydantic import ValidationError

import reference_gp
from rftune.data import Array, Dataset
from rftune.emulators.base import EMULATORS
from rftune.features.drawn import Features
from rftune.features.settings import FeatureSettings
from rftune.regression import cosine_basis, feature_posterior, gp_posterior, weight_space
from rftune.regression.cosine_basis import CosineBasis
from rftune.regression.covariances import Hyperparameters, covariance
from rftune.regression.gp_fit import GP_FITS
from rftune.regression.nystrom import NystromBasis, greedy_points
from rftune.regression.refinement import CosineFeatures, penalised_error, pursued, refined, refined_draw
from rftune.regression.selection import SELECTIONS, pursuit, strongest

NAMES = list(cosine_basis.TAILS)
HYPERPARAMETERS = Hyperparameters(
    np.array([40.0, 9.0]), [[0.8, 1.5, 1.0]] * 2, [[0.6, 0.3, 0.1], [1.0, 0.2, 0.5]], [0.5, 2.0], "matern52"
)


def problem(n_samples: int = 60, n_outputs: int = 2) -> Dataset:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((n_samples, 3))
    outputs = np.column_stack([8.0 * np.sin(2.0 * inputs[:, 0] + k) + inputs[:, 1] ** 2 for k in range(n_outputs)])
    outputs += rng.standard_normal(outputs.shape)
    return Dataset(inputs, outputs - outputs.mean(axis=0))


def cosines(n_features: int, n_blocks: int = 1, seed: int = 1) -> CosineFeatures:
    """Some cosine features of three inputs, half of their frequencies zero."""
    rng = np.random.default_rng(seed)
    n_columns = n_blocks * n_features
    weights = np.where(rng.random((3, n_columns)) < 0.5, rng.standard_normal((3, n_columns)), 0.0)
    return CosineFeatures(weights, rng.uniform(0, 6, n_columns), rng.uniform(0.5, 1.5, n_columns), n_blocks)


def test_that_nystrom_features_on_all_points_are_the_exact_process() -> None:
    data, points = problem(), np.random.default_rng(3).standard_normal((25, 3))
    exact = gp_posterior.fit(data, HYPERPARAMETERS)
    for points_are in ("random", "greedy"):
        fit = GP_FITS.read({"name": "nystrom", "n_features": 60, "points": points_are})
        prediction = fit.fit(data, HYPERPARAMETERS, np.random.default_rng(0)).predict(points)
        np.testing.assert_allclose(prediction.mean, exact.mean(points), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(prediction.covariance, exact.predict(points).covariance, rtol=1e-6, atol=1e-7)


def test_that_nystrom_features_are_the_subset_of_regressors_with_the_prior_returned() -> None:
    """Mean k_Z (σ²K_ZZ + K_ZX K_XZ)⁻¹ K_ZX y; to the variance σ² k_Z (…)⁻¹ k_Zᵀ what Z leaves of the prior is added."""
    data, points = problem(n_outputs=1), np.random.default_rng(3).standard_normal((25, 3))
    prior = covariance("matern32", 30.0, np.array([0.7, 1.1, 2.0]), np.array([0.5, 0.9, 0.2]))
    noise, chosen = 0.7, data.inputs[::4]
    basis = NystromBasis.of(prior, chosen)
    found = feature_posterior.fit((basis,), data, np.array([noise])).predict(points)
    kernel = partial(
        reference_gp.anova, variance=30.0, lengthscales=prior.lengthscales, inclusion=prior.inclusion, name="matern32"
    )
    inner, cross, new = kernel(chosen, chosen), kernel(chosen, data.inputs), kernel(points, chosen)
    system = noise * inner + cross @ cross.T
    np.testing.assert_allclose(found.mean, new @ np.linalg.solve(system, cross @ data.outputs), rtol=1e-8, atol=1e-8)
    explained = np.einsum("ij,ij->i", new, np.linalg.solve(inner, new.T).T)
    variance = noise * np.einsum("ij,ij->i", new, np.linalg.solve(system, new.T).T) + 30.0 - explained
    np.testing.assert_allclose(found.covariance[:, 0, 0], variance, rtol=1e-8, atol=1e-8)


def test_that_points_on_top_of_each_other_are_one() -> None:
    data = problem(20, 1)
    twice = np.vstack([data.inputs, data.inputs])
    prior = covariance("squared_exponential", 1e6, np.ones(3), np.array([0.5, 0.5, 0.5]))
    assert NystromBasis.of(prior, twice).points.shape == (20, 3)
    assert len(greedy_points(prior, twice, 40)) == 20


def test_that_greedy_points_are_those_of_largest_conditional_variance() -> None:
    inputs = problem(40, 1).inputs
    prior = covariance("matern52", 5.0, np.array([0.7, 1.1, 2.0]), np.array([0.5, 0.9, 0.2]))
    kernel = prior.matrix(inputs, inputs)
    chosen: list[int] = []
    for found in greedy_points(prior, inputs, 12):
        explained = kernel[:, chosen] @ np.linalg.solve(kernel[np.ix_(chosen, chosen)], kernel[chosen])
        left = np.diagonal(kernel - explained)
        assert left[found] == pytest.approx(left.max(), rel=1e-10)
        chosen.append(int(found))
    assert len(set(chosen)) == 12


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("masks", ["stratified", "independent"])
def test_that_products_of_drawn_features_average_to_the_kernel(masks: str, name: str) -> None:
    prior = covariance(name, 7.0, np.array([0.7, 1.1, 2.0]), np.array([0.3, 0.9, 0.2]))
    inputs = problem(6, 1).inputs
    n_draws, n_features = 400, 500
    rng = np.random.default_rng(0)
    products = []
    for _ in range(n_draws):
        phi = cosine_basis.draw(prior, n_features, masks, rng).evaluate(inputs)
        products.append(phi @ phi.T)
    constant = 7.0 * np.prod(1.0 - prior.inclusion) if masks == "stratified" else 0.0
    error = np.mean(products, axis=0) - (prior.matrix(inputs, inputs) - constant)
    assert (np.abs(error) < 5 * np.std(products, axis=0) / np.sqrt(n_draws)).all()


def test_that_feature_posterior_is_bayesian_linear_regression() -> None:
    data, noises = problem(), np.array([0.5, 3.0])
    bases = (CosineBasis(cosines(15, seed=1)), CosineBasis(cosines(9, seed=2)))
    points = np.random.default_rng(4).standard_normal((7, 3))
    model = feature_posterior.fit(bases, data, noises)
    prediction = model.predict(points)
    for output, basis in enumerate(bases):
        features = basis.features
        phi, new = (features.scales * np.cos(x @ features.weights + features.phases) for x in (data.inputs, points))
        precision = phi.T @ phi / noises[output] + np.eye(phi.shape[1])
        mean = new @ np.linalg.solve(precision, phi.T @ data.outputs[:, output] / noises[output])
        np.testing.assert_allclose(prediction.mean[:, output], mean, rtol=1e-10, atol=1e-10)
        variance = np.diagonal(new @ np.linalg.solve(precision, new.T))
        np.testing.assert_allclose(prediction.covariance[:, output, output], variance, rtol=1e-10)
    waves = model.waves()
    assert waves is not None
    np.testing.assert_allclose(waves.mean(points), prediction.mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(model.mean(points), prediction.mean)


@pytest.mark.parametrize("name", ["nystrom", "fourier"])
def test_that_draws_have_the_mean_and_covariance_of_the_prediction(name: str) -> None:
    data, points = problem(), np.array([[0.0, 0.0, 0.0], [3.0, -3.0, 1.0], [3.0, -3.0, 1.0]])
    fit = GP_FITS.read({"name": name, "n_features": 12})
    model = fit.fit(data, HYPERPARAMETERS, np.random.default_rng(0))
    prediction, n_draws = model.predict(points), 20_000
    draws = model.sample(points, n_draws, np.random.default_rng(1))
    assert draws.shape == (n_draws, 3, 2)
    assert (np.abs(draws.mean(axis=0) - prediction.mean) < 5 * prediction.std / np.sqrt(n_draws)).all()
    np.testing.assert_allclose(draws.std(axis=0), prediction.std, rtol=5 / np.sqrt(2 * n_draws))
    np.testing.assert_allclose(draws[:, 1], draws[:, 2], atol=1e-5)


def test_that_collinear_features_are_solved_all_the_same() -> None:
    data = problem(40, 1)
    features = CosineFeatures(np.full((3, 30), 1e-9), np.linspace(0, 1, 30), np.full(30, 1e7))
    model = feature_posterior.fit((CosineBasis(features),), data, np.ones(1))
    assert np.isfinite(model.predict(data.inputs).std).all()


def test_that_pursuit_takes_what_lowers_the_penalised_error_most() -> None:
    rng = np.random.default_rng(0)
    phi, y = rng.standard_normal((30, 12)), 3.0 * rng.standard_normal(30)

    def error(kept: list[int]) -> float:
        some = phi[:, kept]
        return float(y @ np.linalg.solve(some @ some.T + np.eye(30), y))

    chosen: list[int] = []
    for _ in range(5):
        rest = [m for m in range(12) if m not in chosen]
        chosen.append(min(rest, key=lambda m: error([*chosen, m])))
        np.testing.assert_array_equal(pursuit(phi, y, len(chosen)), sorted(chosen))
    np.testing.assert_array_equal(pursuit(phi, y, 12), np.arange(12))


@pytest.mark.parametrize("n_rows", [8, 40])
def test_that_the_strongest_contribute_most_to_a_fit_of_all(n_rows: int) -> None:
    rng = np.random.default_rng(0)
    phi, y = rng.standard_normal((n_rows, 12)) * rng.uniform(0.1, 3.0, 12), rng.standard_normal(n_rows)
    weights = np.linalg.solve(phi.T @ phi + np.eye(12), phi.T @ y)
    order = np.argsort(-np.linalg.norm(phi * weights, axis=0))
    np.testing.assert_array_equal(strongest(phi, y, 4), np.sort(order[:4]))


@pytest.mark.parametrize("n_blocks", [1, 2])
def test_that_the_penalised_error_and_its_gradient_are_right(n_blocks: int) -> None:
    rng = np.random.default_rng(0)
    features, inputs = cosines(7, n_blocks), rng.standard_normal((11, 3))
    outputs = 5.0 * rng.standard_normal(11 * n_blocks)

    def value(changed: CosineFeatures) -> float:
        return penalised_error(changed, inputs, outputs)[0]

    # rows of a sample lie together: the value of block b is that of its own columns
    columns = features.scales * np.cos(inputs @ features.weights + features.phases)
    phi = columns.reshape(11, n_blocks, 7).reshape(-1, 7)
    dense = 0.5 * outputs @ np.linalg.solve(phi @ phi.T + np.eye(len(phi)), outputs)
    error, of_weights, of_phases = penalised_error(features, inputs, outputs)
    assert error == pytest.approx(dense, rel=1e-10)
    step = 1e-5
    for index in np.ndindex(of_weights.shape):
        shift = np.zeros_like(of_weights)
        shift[index] = step
        up, down = (value(CosineFeatures(features.weights + s * shift, *rest(features))) for s in (1, -1))
        assert of_weights[index] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-6)
    for index in range(len(of_phases)):
        shift = np.zeros_like(of_phases)
        shift[index] = step
        up, down = (
            value(CosineFeatures(features.weights, features.phases + s * shift, features.scales, n_blocks))
            for s in (1, -1)
        )
        assert of_phases[index] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-6)


def rest(features: CosineFeatures) -> tuple[Array, Array, int]:
    return features.phases, features.scales, features.n_blocks


def test_that_refined_features_fit_better_and_keep_their_masks() -> None:
    data, features = problem(80, 1), cosines(20)
    before = penalised_error(features, data.inputs, data.outputs[:, 0])[0]
    few, many = (refined(features, data.inputs, data.outputs[:, 0], n_steps) for n_steps in (2, 20))
    errors = [penalised_error(after, data.inputs, data.outputs[:, 0])[0] for after in (few, many)]
    assert before > 1.5 * errors[0] > 1.5 * errors[1]
    np.testing.assert_array_equal(many.weights == 0.0, features.weights == 0.0)
    np.testing.assert_array_equal(many.scales, features.scales)


def test_that_constant_outputs_leave_features_as_they_are() -> None:
    features = cosines(5)
    same = refined(features, problem(10, 1).inputs, np.zeros(10), 5)
    np.testing.assert_array_equal(same.weights, features.weights)


@pytest.mark.parametrize("selection", list(SELECTIONS))
def test_that_a_fourier_fit_follows_its_generator_and_its_settings(selection: str) -> None:
    data = problem(50, 1)
    block = {"name": "fourier", "n_features": 20, "pool": 80, "selection": selection, "n_steps": 3}
    hyperparameters = Hyperparameters([40.0], [[0.8, 1.5, 1.0]], [[0.6, 0.3, 0.1]], [0.5], "matern52")

    def means(seed: int, **changed: object) -> Array:
        fit = GP_FITS.read({**block, **changed})
        return fit.fit(data, hyperparameters, np.random.default_rng(seed)).mean(data.inputs)

    np.testing.assert_array_equal(means(0), means(0))
    assert (means(0) != means(1)).any()
    errors = [
        np.linalg.norm(means(0, **changed) - data.outputs)
        for changed in ({}, {"n_steps": 0}, {"n_steps": 0, "pool": None})
    ]
    assert errors[0] < errors[1] < errors[2]


def test_that_noise_in_other_units_changes_nothing() -> None:
    """Data, prior and noise times 3: the same features, chosen and refined alike."""
    data = problem(50, 1)
    larger = Dataset(data.inputs, 3.0 * data.outputs)
    fit = GP_FITS.read({"name": "fourier", "n_features": 20, "pool": 80})
    kernels = [
        Hyperparameters([40.0 * s], [[0.8, 1.5, 1.0]], [[0.6, 0.3, 0.1]], [0.5 * s], "matern52") for s in (1.0, 9.0)
    ]
    one, other = (
        fit.fit(d, h, np.random.default_rng(0)).predict(data.inputs)
        for d, h in zip((data, larger), kernels, strict=True)
    )
    np.testing.assert_allclose(3.0 * one.mean, other.mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(3.0 * one.std, other.std, rtol=1e-6)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_that_a_draw_is_pursued_and_refined_towards_the_data(n_outputs: int) -> None:
    data, rng = problem(60, n_outputs), np.random.default_rng(0)
    settings = FeatureSettings(family="sparse")
    structure = settings.structure(3, n_outputs)
    variance = data.outputs.var(axis=0)
    pool = settings.sample(structure, structure.prior_mean, 100, variance, rng)

    def error(drawn: Features) -> float:
        phi = drawn.evaluate(data.inputs) / np.sqrt(drawn.n_features)
        y = data.outputs.ravel()
        return float(y @ np.linalg.solve(phi @ phi.T + np.eye(len(y)), y))

    kept = pursued(pool, data, 20)
    better = refined_draw(kept, data, 5)
    assert kept.n_features == better.n_features == 20
    assert error(better) < error(kept) < error(pool.subset(np.arange(20)))
    np.testing.assert_array_equal(better.weights == 0.0, kept.weights == 0.0)
    assert weight_space.fit(better, data, 1.0).mean(data.inputs).shape == data.outputs.shape


@pytest.mark.parametrize("prediction", [{"n_steps": 3}, {"pool": 600, "selection": "pursuit"}])
def test_that_shared_features_are_not_refined(prediction: dict[str, object]) -> None:
    block = {"kind": "random_features", "features": {"outputs": "shared"}, "prediction": prediction}
    with pytest.raises(ValueError, match="for native features of the map fourier; got shared features"):
        EMULATORS.read(block).check(100, 3, 2)


def test_that_a_small_pool_is_refused() -> None:
    with pytest.raises(ValidationError, match="pool must be at least n_features, 50"):
        GP_FITS.read({"name": "fourier", "n_features": 50, "pool": 20})
