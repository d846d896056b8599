"""Features and regression against dense Gaussian process algebra with the same kernel."""

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from reference import add_kind, draw_features, feature_value, gp_posterior, kernel_matrix, make_structure, rbf
from rftune.data import Dataset
from rftune.regression import weight_space as regression
from rftune.scaling import noise_factor


def problem(outputs, n_inputs=2, n_outputs=2, n_features=7, n_samples=9, seed=0):
    rng = np.random.default_rng(seed)
    structure = make_structure("lowrank", n_inputs, n_outputs if outputs == "native" else 1, 1)
    parameters = 0.5 * rng.standard_normal(structure.n_parameters)
    drawn = draw_features(structure, parameters, n_features, rng.uniform(0.5, 2.0, n_outputs), rng, outputs)
    data = Dataset(rng.standard_normal((n_samples, n_inputs)), rng.standard_normal((n_samples, n_outputs)))
    return drawn, data, rng


def noise_of(kind, n_outputs, rng):
    if kind == "scalar":
        return 0.3
    if kind == "diagonal":
        return rng.uniform(0.1, 1.0, n_outputs)
    root = rng.standard_normal((n_outputs, n_outputs + 1))
    return root @ root.T


SHAPES = [(1, 1, 5, 12), (2, 2, 7, 9), (3, 3, 40, 6), (2, 4, 3, 8)]
FORMS = [(outputs, noise) for outputs in ("native", "shared") for noise in ("scalar", "diagonal", "full")]


def as_covariance(noise, n_outputs):
    noise = np.asarray(noise)
    return noise * np.eye(n_outputs) if noise.ndim == 0 else np.diag(noise) if noise.ndim == 1 else noise


def dense(drawn, data, noise, points):
    covariance = as_covariance(noise, data.n_outputs)
    factor, _ = noise_factor(covariance)
    return gp_posterior(
        kernel_matrix(drawn, points, points, factor),
        kernel_matrix(drawn, points, data.inputs, factor),
        kernel_matrix(drawn, data.inputs, data.inputs, factor),
        data.outputs,
        covariance,
    )


@pytest.mark.parametrize("outputs", ["native", "shared"])
def test_that_features_are_the_printed_formula(outputs):
    drawn, data, _ = problem(outputs)
    values = drawn.evaluate(data.inputs).reshape(data.n_samples, drawn.n_blocks, drawn.n_features)
    expected = [[feature_value(drawn, x, m) for m in range(drawn.n_features)] for x in data.inputs]
    np.testing.assert_allclose(values, np.transpose(expected, (0, 2, 1)), atol=1e-13)


@pytest.mark.parametrize(("outputs", "noise_kind"), FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_that_regression_equals_dense_gp_algebra(outputs, noise_kind, shape):
    n_inputs, n_outputs, n_features, n_samples = shape
    drawn, data, rng = problem(outputs, n_inputs, n_outputs, n_features, n_samples, seed=sum(shape))
    noise = noise_of(noise_kind, n_outputs, rng)
    fitted = regression.fit(drawn, data, noise)
    points = rng.standard_normal((4, n_inputs))
    mean, covariance = dense(drawn, data, noise, points)
    prediction = fitted.predict(points)
    np.testing.assert_allclose(prediction.mean.ravel(), mean, atol=1e-10)
    np.testing.assert_allclose(fitted.mean(points), prediction.mean, atol=1e-13)
    for index, block in enumerate(prediction.covariance):
        rows = slice(index * n_outputs, (index + 1) * n_outputs)
        np.testing.assert_allclose(block, covariance[rows, rows], atol=1e-10)


@pytest.mark.parametrize("outputs", ["native", "shared"])
def test_that_badly_scaled_noise_changes_nothing(outputs):
    """In units that differ by 1e12 the answer is the one of unit scales, in those units."""
    drawn, data, rng = problem(outputs)
    noise = noise_of("full", 2, rng)
    units = np.array([1e-6, 1e6])
    points = rng.standard_normal((3, 2))
    # A native prior is in physical units and is scaled along; a shared one is in units of the noise.
    scaled = replace(drawn, amplitude=drawn.amplitude * units**2) if outputs == "native" else drawn
    expected = regression.fit(drawn, data, noise).predict(points)
    other = Dataset(data.inputs, data.outputs * units)
    prediction = regression.fit(scaled, other, noise * np.outer(units, units)).predict(points)
    np.testing.assert_allclose(prediction.mean / units, expected.mean, rtol=1e-9)
    np.testing.assert_allclose(prediction.covariance / np.outer(units, units), expected.covariance, rtol=1e-9)


@pytest.mark.parametrize("outputs", ["native", "shared"])
def test_that_function_draws_have_the_posteriors_joint_moments(outputs):
    drawn, data, rng = problem(outputs)
    noise = noise_of("full", 2, rng)
    points = rng.standard_normal((3, 2))
    mean, covariance = dense(drawn, data, noise, points)
    n_draws = 40_000
    draws = regression.fit(drawn, data, noise).sample(points, n_draws, rng).reshape(n_draws, -1)
    variances = np.diagonal(covariance)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variances / n_draws)).all()
    tolerance = 5 * np.sqrt((covariance**2 + np.outer(variances, variances)) / n_draws)
    assert (np.abs(np.cov(draws.T) - covariance) < tolerance).all()


def rms_distances_to_rbf(numbers, n_repeats=24):
    """Root mean square distances of the RF posterior's mean and variance from the RBF GP's, by number of features."""
    rng = np.random.default_rng(3)
    structure = make_structure("diagonal", 2, 1)
    scales, amplitude = np.array([0.8, 1.3]), 2.0
    parameters = structure.unconstrain({"amplitude": np.array(amplitude / 2.0), "scales": scales})
    data = Dataset(rng.standard_normal((15, 2)), rng.standard_normal((15, 1)))
    points = rng.standard_normal((20, 2))
    mean, covariance = gp_posterior(
        rbf(points, points, scales, amplitude),
        rbf(points, data.inputs, scales, amplitude),
        rbf(data.inputs, data.inputs, scales, amplitude),
        data.outputs,
        np.array([[0.2]]),
    )
    distances = []
    for n_features in numbers:
        errors = []
        for _ in range(n_repeats):
            drawn = draw_features(structure, parameters, n_features, np.ones(1), rng)
            prediction = regression.fit(drawn, data, 0.2).predict(points)
            errors.append([prediction.mean[:, 0] - mean, prediction.covariance[:, 0, 0] - np.diagonal(covariance)])
        distances.append(np.sqrt(np.mean(np.square(errors), axis=(0, 2))))
    return np.array(distances)


def test_that_the_rbf_gp_is_reached_at_the_monte_carlo_rate():
    numbers = np.array([250, 1000, 4000])
    distances = rms_distances_to_rbf(numbers)
    slopes = np.polyfit(np.log(numbers), np.log(distances), 1)[0]
    # 24 repeats of 20 correlated points leave about 10 % error in each distance, 0.05 in a slope over a factor 16.
    assert (np.abs(slopes + 0.5) < 0.15).all()


def test_that_the_tuned_distribution_is_redrawn_with_any_number_of_features():
    structure = make_structure("lowrank", 2, 3, 2)
    rng = np.random.default_rng(0)
    for n_features in (1, 5, 200):
        drawn = draw_features(structure, structure.prior_mean, n_features, np.ones(3), rng)
        assert drawn.evaluate(np.zeros((4, 2))).shape == (12, n_features)


def test_that_amplitude_is_twice_the_variance_at_the_prior_mean():
    structure = make_structure("diagonal", 2, 1)
    drawn = draw_features(structure, structure.prior_mean, 3, np.array([1.0, 4.0]), np.random.default_rng(0), "shared")
    np.testing.assert_allclose(drawn.amplitude, [2.0, 8.0])


@pytest.mark.parametrize("outputs", ["native", "shared"])
def test_that_a_constant_output_column_survives(outputs):
    rng = np.random.default_rng(0)
    structure = make_structure("diagonal", 2, 2 if outputs == "native" else 1)
    data = Dataset(rng.standard_normal((10, 2)), np.column_stack([np.zeros(10), rng.standard_normal(10)]))
    drawn = draw_features(structure, structure.prior_mean, 8, data.outputs.var(axis=0), rng, outputs)
    prediction = regression.fit(drawn, data, 1.0).predict(data.inputs)
    assert np.isfinite(prediction.mean).all()
    assert np.isfinite(prediction.covariance).all()


@pytest.mark.parametrize("outputs", ["native", "shared"])
def test_that_covariances_are_positive_semidefinite_and_inputs_untouched(outputs):
    drawn, data, rng = problem(outputs, n_features=30)
    points = rng.standard_normal((5, 2))
    before = points.copy()
    covariance = regression.fit(drawn, data, 1e-6).predict(points).covariance
    assert np.linalg.eigvalsh(covariance).min() > -1e-12
    np.testing.assert_array_equal(points, before)


@pytest.mark.parametrize("outputs", ["native", "shared"])
def test_that_noiseless_data_are_recovered(outputs):
    drawn, data, _ = problem(outputs, n_features=200, n_samples=6)
    if outputs == "shared":  # whose amplitude is in units of the noise
        drawn = replace(drawn, amplitude=drawn.amplitude / 1e-8)
    fitted = regression.fit(drawn, data, 1e-8)
    np.testing.assert_allclose(fitted.mean(data.inputs), data.outputs, atol=1e-5)


def test_that_blocks_of_rows_change_no_digit(monkeypatch):
    drawn, data, rng = problem("native", n_features=20)
    fitted = regression.fit(drawn, data, 0.1)
    points = rng.standard_normal((50, 2))
    whole = fitted.predict(points)
    monkeypatch.setattr(regression, "BLOCK_ROWS", 16)
    np.testing.assert_allclose(fitted.predict(points).mean, whole.mean, atol=1e-14)
    np.testing.assert_allclose(fitted.predict(points).covariance, whole.covariance, atol=1e-14)


def test_that_mismatches_are_named():
    drawn, data, _ = problem("native")
    with pytest.raises(ValueError, match="for 2 outputs; the data have 1"):
        regression.fit(drawn, Dataset(data.inputs, data.outputs[:, :1]), 1.0)
    with pytest.raises(ValueError, match=r"inputs must be \(n_samples, 2\)"):
        regression.fit(drawn, data, 1.0).mean(np.ones((3, 5)))
    structure = make_structure("diagonal", 2, 1)
    with pytest.raises(ValueError, match="native features for 3 outputs need a structure with 3; got 1"):
        draw_features(structure, structure.prior_mean, 4, np.ones(3), np.random.default_rng(0))


SIGMOID = dedent(
    """
    import numpy as np
    from rftune.features.feature_map import FeatureMap

    class Sigmoid(FeatureMap):
        def draw_biases(self, size, rng):
            return rng.standard_normal(size)

        def evaluate(self, inputs, weights, biases, scales, out=None):
            return scales / (1.0 + np.exp(-(inputs @ weights + biases)))
    """
)


def test_that_a_feature_map_is_added_with_one_file(monkeypatch, tmp_path):
    add_kind(monkeypatch, tmp_path, "rftune.features.maps", "sigmoid", SIGMOID)
    structure = make_structure("diagonal", 2, 1)
    rng = np.random.default_rng(0)
    drawn = draw_features(structure, structure.prior_mean, 50, np.ones(1), rng, feature_map="sigmoid")
    data = Dataset(rng.standard_normal((20, 2)), rng.standard_normal((20, 1)))
    assert regression.fit(drawn, data, 0.1).mean(data.inputs).shape == (20, 1)


@pytest.mark.parametrize("outputs", ["native", "shared"])
def test_that_a_subset_of_features_has_their_values(outputs):
    drawn, data, _ = problem(outputs)
    kept = np.array([1, 4, 5])
    np.testing.assert_array_equal(drawn.subset(kept).evaluate(data.inputs), drawn.evaluate(data.inputs)[:, kept])
    np.testing.assert_array_equal(drawn.subset(kept).amplitude, drawn.amplitude)


@pytest.mark.parametrize("outputs", ["native", "shared"])
def test_that_the_strongest_features_are_those_that_made_the_data(outputs):
    """Data that are a sum of three of the features, which others cannot replace: few features, many samples."""
    drawn, _, rng = problem(outputs, n_features=7)
    inputs = 3.0 * rng.standard_normal((200, 2))
    made_of = np.array([0, 3, 6])
    weights = np.zeros((7, 1 if outputs == "native" else 2))
    weights[made_of] = 5.0
    values = (drawn.evaluate(inputs) @ weights).reshape(200, 2)
    kept = regression.strongest(drawn, Dataset(inputs, values), 1e-4, 3)
    np.testing.assert_array_equal(kept.weights, drawn.subset(made_of).weights)


def test_that_the_two_solutions_agree_where_the_gram_matrix_can_be_formed():
    rng = np.random.default_rng(3)
    whitened, outputs = 30.0 * rng.standard_normal((40, 12)), rng.standard_normal(40)
    expected = regression.solve_native(whitened.T @ whitened, whitened.T @ outputs)
    for value, twin in zip(regression.solve_collinear(whitened, outputs), expected, strict=True):
        np.testing.assert_allclose(value, twin, rtol=1e-11, atol=1e-11)


def test_that_a_fit_survives_features_whose_gram_matrix_is_lost_to_rounding():
    """Nearly linear features of a huge amplitude, as tunings on smooth maps with little noise find them."""
    structure = make_structure("diagonal", 2, 1)
    rng = np.random.default_rng(0)
    drawn = draw_features(structure, np.array([26.0, -6.0, -7.0]), 300, np.array([1e6]), rng)
    inputs = rng.standard_normal((200, 2))
    line = 1e3 * (inputs @ [[1.0], [-2.0]])
    gram = drawn.evaluate(inputs).T @ drawn.evaluate(inputs)
    with pytest.raises(np.linalg.LinAlgError, match="positive semidefinite"):
        regression.solve_native(gram, gram[:, 0])
    model = regression.fit(drawn, Dataset(inputs, line + rng.standard_normal((200, 1))), 1.0)
    points = rng.standard_normal((50, 2))
    predicted = model.predict(points)
    np.testing.assert_allclose(predicted.mean, 1e3 * (points @ [[1.0], [-2.0]]), atol=3.0)
    assert (predicted.covariance >= 0).all()


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_that_few_rows_and_many_features_have_the_same_coefficients_by_either_road(n_outputs):
    rng = np.random.default_rng(3)
    data = Dataset(rng.standard_normal((12, 2)), rng.standard_normal((12, n_outputs)))
    structure = make_structure("lowrank", 2, n_outputs, 1)
    drawn = draw_features(structure, structure.prior_mean, 60, np.ones(n_outputs), rng)
    root = rng.standard_normal((n_outputs, n_outputs))
    noise = 0.1 * np.eye(n_outputs) + root @ root.T
    primal = regression.fit(drawn, data, noise).coefficients
    dual = regression.solve_dual(*regression._whitened(drawn, data, noise_factor(noise)[1]))
    np.testing.assert_allclose(dual, primal, rtol=1e-8, atol=1e-10)
    kept = regression.strongest(drawn, data, noise, 10)
    np.testing.assert_array_equal(
        kept.biases[:10], drawn.biases[np.sort(np.argsort(-np.abs(primal), kind="stable")[:10])]
    )
