"""The objective against its dense definition, and the paper's identities."""

import os
import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn import covariance

from reference import draw_features, forward_map, kernel_matrix, make_structure
from rftune.data import Dataset
from rftune.features import kernels
from rftune.features.settings import FeatureSettings
from rftune.regression import held_out
from rftune.regression import weight_space as regression
from rftune.scaling import noise_factor
from rftune.tuning.objective import Objective, ObjectiveSettings, Workspace, ledoit_wolf

needs_compiled = pytest.mark.skipif(kernels.fold_products is None, reason="numba is missing or switched off")


def problem(n_outputs=1, n_samples=20, seed=0, outputs="native", n_features=6, **options):
    rng = np.random.default_rng(seed)
    data = Dataset(rng.standard_normal((n_samples, 2)), 2.0 * rng.standard_normal((n_samples, n_outputs)))
    settings = ObjectiveSettings(n_features=n_features, **options)
    return Objective(data, FeatureSettings(family="lowrank", rank=1, outputs=outputs), settings, rng)


@pytest.mark.parametrize("outputs", ["native", "shared"])
@pytest.mark.parametrize("rows", ["full", "validation"])
@pytest.mark.parametrize(("n_outputs", "n_folds", "n_features"), [(1, 2, 6), (1, 5, 30), (3, 2, 6), (3, 1, 40)])
def test_that_the_forward_map_equals_its_dense_definition(outputs, rows, n_outputs, n_folds, n_features):
    objective = problem(n_outputs, outputs=outputs, rows=rows, n_folds=n_folds, n_features=n_features)
    parameters = 0.3 * np.random.default_rng(1).standard_normal(objective.structure.n_parameters)
    drawn = objective.draw_features(parameters, np.random.default_rng(2))
    values = objective.evaluate(parameters, np.random.default_rng(2))
    assert values.shape == objective.target.shape == (objective.n_data,)
    np.testing.assert_allclose(values, forward_map(objective, drawn), atol=1e-9)


@pytest.mark.parametrize("outputs", ["native", "shared"])
@pytest.mark.parametrize("noise_kind", ["scalar", "full"])
def test_that_the_papers_identities_hold(outputs, noise_kind):
    """logdet(K_M + B_Σ) = N logdet Σ + logdet(G + I), and the data term of empirical Bayes splits in β and residual."""
    rng = np.random.default_rng(5)
    n_outputs, n_samples, n_features = 3, 8, 10
    root = rng.standard_normal((n_outputs, n_outputs + 1))
    noise = 0.4 * np.eye(n_outputs) if noise_kind == "scalar" else root @ root.T
    structure = make_structure("lowrank", 2, n_outputs if outputs == "native" else 1, 1)
    drawn = draw_features(structure, structure.prior_mean, n_features, np.array([0.5, 1.0, 2.0]), rng, outputs)
    data = Dataset(rng.standard_normal((n_samples, 2)), rng.standard_normal((n_samples, n_outputs)))
    fitted = regression.fit(drawn, data, noise)
    factor, inverse = noise_factor(noise)
    system = kernel_matrix(drawn, data.inputs, data.inputs, factor) + np.kron(np.eye(n_samples), noise)
    if outputs == "native":
        logdet = 2 * np.log(np.diagonal(fitted.chol_lower)).sum()
    else:
        logdet = -np.log(fitted.shrinkage).sum()
    dense_logdet = np.linalg.slogdet(system)[1] - n_samples * np.linalg.slogdet(noise)[1]
    assert logdet == pytest.approx(dense_logdet, abs=1e-8)
    residual = (data.outputs - fitted.mean(data.inputs)) @ inverse.T
    empirical_bayes = np.sum(fitted.coefficients**2) / n_features + np.sum(residual**2)
    target = data.outputs.ravel()
    assert empirical_bayes == pytest.approx(target @ np.linalg.solve(system, target), abs=1e-8)


def test_that_folds_are_disjoint_and_of_the_stated_size():
    objective = problem(n_samples=23, n_folds=3, validation_fraction=0.2)
    rows = [row for fold in objective.folds for row in range(23)[fold]]
    assert len(rows) == len(set(rows)) == 3 * 4


def test_that_the_observation_holds_the_validation_outputs_and_two_zeros():
    objective = problem(n_outputs=2, n_samples=10, n_folds=2)
    first = objective.target[: objective.fold_rows]
    np.testing.assert_array_equal(first[:-2], objective.data.outputs[:2].ravel())
    np.testing.assert_array_equal(first[-2:], 0)
    expected = objective.data.outputs[:4].ravel()
    np.testing.assert_array_equal(objective.validation_part(objective.target), expected)


def test_that_gamma_is_ledoit_wolf_at_the_prior_mean_plus_the_identity():
    objective = problem(noise_draws=12)
    blocks = objective.noise_covariances(np.random.default_rng(7))
    draws = [objective.evaluate(objective.structure.prior_mean, rng) for rng in np.random.default_rng(7).spawn(12)]
    size = objective.fold_rows
    for k, block in enumerate(blocks):
        expected = covariance.ledoit_wolf(np.stack(draws)[:, k * size : (k + 1) * size])[0] + np.eye(size)
        np.testing.assert_allclose(block, expected, rtol=1e-10)
        assert np.linalg.eigvalsh(block).min() >= 1 - 1e-9


@pytest.mark.parametrize(("n_draws", "n_rows"), [(2, 3), (5, 1), (20, 60), (100, 7)])
def test_that_the_shrunk_covariance_is_scikit_learns(n_draws, n_rows):
    rng = np.random.default_rng(n_draws)
    draws = 5.0 + rng.standard_normal((n_draws, n_rows)) * rng.uniform(0.1, 3.0, n_rows)
    np.testing.assert_allclose(ledoit_wolf(draws), covariance.ledoit_wolf(draws)[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(ledoit_wolf(np.ones((4, n_rows))), 0.0)


def test_that_a_reused_workspace_changes_no_digit():
    objective = problem(n_outputs=2, n_samples=40)
    workspace = Workspace(objective)
    parameters = objective.structure.prior_mean
    fresh = [objective.evaluate(parameters, np.random.default_rng(seed)) for seed in range(3)]
    reused = [objective.evaluate(parameters, np.random.default_rng(seed), workspace) for seed in range(3)]
    np.testing.assert_array_equal(fresh, reused)


@needs_compiled
@pytest.mark.parametrize("outputs", ["native", "shared"])
@pytest.mark.parametrize("rows", ["full", "validation"])
@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-12), ("float32", 2e-5)])
@pytest.mark.parametrize(
    ("n_outputs", "n_folds", "n_samples"), [(1, 2, 60), (1, 1, 60), (3, 4, 60), (3, 5, 60), (1, 2, 3000)]
)
def test_that_the_compiled_evaluation_is_numpys_to_rounding(
    outputs, rows, precision, tolerance, n_outputs, n_folds, n_samples
):
    objective = problem(
        n_outputs, n_samples, outputs=outputs, rows=rows, n_folds=n_folds, n_features=37, precision=precision
    )
    workspace = Workspace(objective)
    drawn = objective.draw_features(objective.structure.prior_mean, np.random.default_rng(3))
    compiled = objective._without_lock(drawn, workspace)
    plain = objective._plainly(drawn, workspace)
    np.testing.assert_allclose(compiled, plain, rtol=0, atol=tolerance * np.abs(plain).max())
    np.testing.assert_array_equal(
        objective.evaluate(objective.structure.prior_mean, np.random.default_rng(3)), compiled
    )


def test_that_without_numba_numpy_evaluates(monkeypatch):
    monkeypatch.setattr(kernels, "fold_products", None)
    objective = problem(n_outputs=2, n_samples=40)
    drawn = objective.draw_features(objective.structure.prior_mean, np.random.default_rng(3))
    values = objective.evaluate(objective.structure.prior_mean, np.random.default_rng(3))
    np.testing.assert_array_equal(values, objective._plainly(drawn, Workspace(objective)))


@needs_compiled
def test_that_numpy_decides_where_the_compiled_solve_fails(monkeypatch):
    objective = problem(outputs="shared", n_outputs=2, n_samples=40)
    drawn = objective.draw_features(objective.structure.prior_mean, np.random.default_rng(3))
    monkeypatch.setattr(held_out, "held_out_shared", lambda *_: False)
    values = objective.evaluate(objective.structure.prior_mean, np.random.default_rng(3))
    np.testing.assert_array_equal(values, objective._plainly(drawn, Workspace(objective)))


@needs_compiled
def test_that_a_process_that_compiles_has_the_digits_of_one_that_loads(tmp_path):
    code = """
import numpy
from rftune.data import Dataset
from rftune.features import kernels
from rftune.features.settings import FeatureSettings
from rftune.tuning.objective import Objective, ObjectiveSettings
rng = numpy.random.default_rng(0)
data = Dataset(rng.standard_normal((90, 3)), rng.standard_normal((90, 2)))
digits = ""
for outputs in ("native", "shared"):
    for precision in ("float64", "float32"):
        settings = ObjectiveSettings(n_features=37, precision=precision)
        objective = Objective(data, FeatureSettings(family="diagonal", outputs=outputs), settings, rng)
        digits += objective.evaluate(objective.structure.prior_mean, rng).tobytes().hex()
print(digits, sum(kernels.fold_products.stats.cache_hits.values()))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "RFTUNE_NUMBA": "1"}
    compiling, loading = (
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
        for _ in range(2)
    )
    digits, n_loaded = zip(*(process.stdout.split() for process in (compiling, loading)), strict=True)
    assert n_loaded == ("0", "2")
    assert digits[0] == digits[1]


def test_that_float32_agrees_to_its_precision_and_is_refused_where_unsafe():
    pair = [problem(n_samples=50, precision=precision) for precision in ("float64", "float32")]
    values = [o.evaluate(o.structure.prior_mean, np.random.default_rng(0)) for o in pair]
    np.testing.assert_allclose(values[1], values[0], atol=1e-4)
    assert (values[1] != values[0]).any()
    rng = np.random.default_rng(0)
    data = Dataset(rng.standard_normal((20, 2)), 1e3 * rng.standard_normal((20, 1)))
    with pytest.raises(ValueError, match=r"float32 is unsafe here: .* use precision float64"):
        Objective(data, pair[0].features, ObjectiveSettings(n_features=5, precision="float32"), rng)


def test_that_overflowing_parameters_give_nan_and_no_crash():
    objective = problem()
    parameters = objective.structure.prior_mean + 800.0
    assert np.isnan(objective.evaluate(parameters, np.random.default_rng(0))).all()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"n_features": 0}, "n_features"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"validation_fraction": 0.0}, "validation_fraction"),
        ({"n_folds": 0}, "n_folds"),
        ({"noise_draws": 1}, "noise_draws"),
    ],
)
def test_that_impossible_settings_are_refused_by_name(options, field):
    with pytest.raises(ValidationError, match=rf"(?m)^{field}\b"):
        ObjectiveSettings(**options)


def test_that_folds_that_overlap_are_refused():
    with pytest.raises(ValidationError, match=r"folds must not overlap: .* got 6 × 0\.2"):
        ObjectiveSettings(n_folds=6)


def test_that_too_few_samples_for_a_fold_are_named():
    with pytest.raises(ValueError, match=r"4 samples are too few for validation folds of 20% .* at least 5 samples"):
        problem(n_samples=4)
