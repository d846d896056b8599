"""The compiled inner loop against textbook formulas.

Tolerances: cosines to the documented absolute error, sums of n terms to n rounding errors of the sum of their sizes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rftune.features import kernels, products

EPS = {np.float64: np.finfo(np.float64).eps, np.float32: np.finfo(np.float32).eps}
COSINE_ERROR = {np.float64: 5e-16, np.float32: 1.5e-7}
PASSES = [
    pytest.param(kernels.cosine_numpy, id="numpy"),
    pytest.param(
        kernels.cosine_numba, id="numba", marks=pytest.mark.skipif(kernels.cosine_numba is None, reason="no numba")
    ),
]
needs_numba = pytest.mark.skipif(kernels.cosine_numba is None, reason="numba is missing or switched off")
each_pass = pytest.mark.parametrize("cosine", PASSES)
each_type = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def cosine_of(cosine, arguments):
    """Apply a pass to a vector of arguments with zero phase and unit amplitude."""
    values = np.array(arguments)[None, :]
    cosine(values, np.zeros(values.shape[1], values.dtype), np.ones(values.shape[1], values.dtype))
    return values[0]


def adversarial(dtype):
    """Arguments where range reduction goes wrong first, and ordinary ones."""
    rng = np.random.default_rng(0)
    multiples = np.arange(-700_000, 700_001, 7, dtype=np.float64) * (np.pi / 2)
    near = multiples.astype(dtype)
    spread = [rng.uniform(-scale, scale, 20_000).astype(dtype) for scale in (1e-8, 1.0, 10.0, 1e3, 1e6, 2**20)]
    limit = dtype(kernels.ARGUMENT_LIMIT[np.dtype(dtype)])
    edges = [0.0, -0.0, np.finfo(dtype).tiny, -np.finfo(dtype).tiny, limit, -limit, np.nextafter(limit, dtype(0))]
    return np.concatenate([near, np.nextafter(near, dtype(0)), *spread, np.array(edges, dtype)])


def exact_cosine(arguments):
    """Cosine in extended precision: the C library reduces a long double argument exactly."""
    return np.cos(arguments.astype(np.longdouble))


def textbook(inputs, frequencies, phases, amplitude):
    return amplitude * np.cos(inputs @ frequencies + phases)


def problem(n, d, k, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((n, d)).astype(dtype),
        rng.standard_normal((d, k)),
        rng.uniform(0.0, 2.0 * np.pi, k),
        rng.uniform(0.5, 2.0, k),
    )


@each_pass
@each_type
def test_that_cosine_is_accurate_over_adversarial_arguments(cosine, dtype):
    arguments = adversarial(dtype)
    assert np.abs(cosine_of(cosine, arguments) - exact_cosine(arguments)).max() < COSINE_ERROR[dtype]


@each_pass
@each_type
def test_that_cosine_is_accurate_beyond_the_limit_of_the_polynomial(cosine, dtype):
    limit = dtype(kernels.ARGUMENT_LIMIT[np.dtype(dtype)])
    rng = np.random.default_rng(1)
    huge = np.concatenate([rng.uniform(-1e9, 1e9, 999), 10.0 ** rng.uniform(6, 18, 999), [1e30, -1e37]]).astype(dtype)
    arguments = np.concatenate([huge, [np.nextafter(limit, dtype(np.inf))], rng.uniform(-9, 9, 99)]).astype(dtype)
    assert np.abs(cosine_of(cosine, arguments) - exact_cosine(arguments)).max() < COSINE_ERROR[dtype]


@each_pass
@each_type
def test_that_nan_and_infinity_give_nan_and_leave_their_neighbours_alone(cosine, dtype):
    arguments = np.linspace(-20.0, 20.0, 37).astype(dtype)
    spoiled = arguments.copy()
    spoiled[[3, 17, 36]] = np.nan, np.inf, -np.inf
    result, expected = cosine_of(cosine, spoiled), cosine_of(cosine, arguments)
    assert np.isnan(result[[3, 17, 36]]).all()
    untouched = np.isfinite(spoiled)
    np.testing.assert_array_equal(result[untouched], expected[untouched])


@each_pass
@each_type
def test_that_cosine_of_either_zero_is_the_same_and_one_to_rounding(cosine, dtype):
    positive, negative = cosine_of(cosine, np.array([0.0, -0.0], dtype))
    assert positive == negative
    assert abs(positive - 1.0) <= EPS[dtype]


@needs_numba
@each_type
def test_that_compiled_pass_equals_numpy_to_rounding(dtype):
    rng = np.random.default_rng(2)
    arguments = rng.uniform(-100.0, 100.0, (50, 61)).astype(dtype)
    phases, amplitude = rng.uniform(0, 6, 61).astype(dtype), rng.uniform(0.1, 3.0, 61).astype(dtype)
    compiled, plain = arguments.copy(), arguments.copy()
    kernels.cosine_numba(compiled, phases, amplitude)
    kernels.cosine_numpy(plain, phases, amplitude)
    assert np.abs(compiled - plain).max() < 3.0 * 2.0 * COSINE_ERROR[dtype]


@each_pass
@each_type
@pytest.mark.parametrize("n_columns", [1, 7, 64, 203])
def test_that_digits_do_not_depend_on_how_rows_are_split_nor_on_alignment(cosine, dtype, n_columns):
    rng = np.random.default_rng(3)
    arguments = rng.uniform(-50.0, 50.0, (41, n_columns)).astype(dtype)
    arguments[5, 0] = 1e8  # a row that needs the C library
    phases, amplitude = rng.uniform(0, 6, n_columns).astype(dtype), rng.uniform(0.1, 3.0, n_columns).astype(dtype)
    whole = arguments.copy()
    cosine(whole, phases, amplitude)
    for rows in (1, 2, 16, 40):
        store = np.empty(arguments.size + 1, dtype)
        shifted = store[1:].reshape(arguments.shape)  # off the alignment of a fresh array
        shifted[...] = arguments
        for start in range(0, 41, rows):
            cosine(shifted[start : start + rows], phases, amplitude)
        np.testing.assert_array_equal(shifted, whole)


@needs_numba
@each_type
def test_that_compiled_digits_do_not_depend_on_the_column(dtype):
    """The vectorised body and its remainder loop round alike."""
    arguments = np.random.default_rng(4).uniform(-1e3, 1e3, 101).astype(dtype)
    one_by_one = [cosine_of(kernels.cosine_numba, arguments[j : j + 1])[0] for j in range(101)]
    np.testing.assert_array_equal(cosine_of(kernels.cosine_numba, arguments), one_by_one)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 70),
    d=st.integers(1, 9),
    k=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    single=st.booleans(),
)
def test_that_features_equal_the_textbook_formula(n, d, k, seed, single):
    dtype = np.float32 if single else np.float64
    inputs, frequencies, phases, amplitude = problem(n, d, k, seed, dtype)
    result = kernels.fourier_features(inputs, frequencies, phases, amplitude)
    expected = textbook(inputs.astype(np.float64), frequencies, phases, amplitude)
    # rounding of the argument: of each product and partial sum, and of the frequencies and phases
    argument_error = (d + 3) * (np.abs(inputs) @ np.abs(frequencies) + phases) * EPS[dtype]
    assert result.dtype == dtype
    assert (np.abs(result - expected) <= 2.0 * (argument_error + 2.0 * COSINE_ERROR[dtype])).all()


def test_that_a_scalar_amplitude_serves_all_columns():
    inputs, frequencies, phases, _ = problem(10, 3, 7)
    result = kernels.fourier_features(inputs, frequencies, phases, 0.5)
    np.testing.assert_array_equal(result, kernels.fourier_features(inputs, frequencies, phases, np.full(7, 0.5)))


def test_that_out_is_filled_returned_and_decides_the_type():
    arguments = problem(10, 3, 7)
    for dtype in (np.float64, np.float32):
        out = np.full((10, 7), np.nan, dtype)
        assert kernels.fourier_features(*arguments, out) is out
        np.testing.assert_allclose(out, textbook(*arguments), atol=50 * EPS[dtype])


@pytest.mark.parametrize(
    "out", [np.empty((10, 8)), np.empty((7, 10)).T, np.empty((10, 14))[:, ::2], np.empty((10, 7), dtype=np.int64)]
)
def test_that_an_unsuitable_out_is_refused_with_the_remedy(out):
    with pytest.raises(ValueError, match=r"out must be .* \(10, 7\).*pass np.empty"):
        kernels.fourier_features(*problem(10, 3, 7), out)


def test_that_any_layout_and_read_only_inputs_are_handled_and_left_alone():
    arguments = problem(10, 3, 7)
    expected = kernels.fourier_features(*arguments)
    strided = [np.repeat(array, 2, axis=-1)[..., ::2] for array in arguments]
    fortran = [np.asfortranarray(array) for array in arguments]
    for layout in (strided, fortran):
        copies = [array.copy() for array in layout]
        for array in layout:
            array.flags.writeable = False
        np.testing.assert_array_equal(kernels.fourier_features(*layout), expected)
        for array, copy in zip(layout, copies, strict=True):
            np.testing.assert_array_equal(array, copy)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 300), k=st.integers(1, 40), seed=st.integers(0, 2**32 - 1), single=st.booleans())
def test_that_gram_is_the_product_and_exactly_symmetric(n, k, seed, single):
    dtype = np.float32 if single else np.float64
    features = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, k)).astype(dtype)
    out = np.full((k, k), np.nan, dtype)
    wide = features.astype(np.float64)
    bound = n * EPS[dtype] * (np.abs(wide).T @ np.abs(wide))  # of any order of summation
    for layout in (features, np.asfortranarray(features), np.repeat(np.repeat(features, 2, 0), 2, 1)[::2, ::2]):
        assert products.gram(layout, out) is out
        assert (np.abs(out - wide.T @ wide) <= bound).all()
        np.testing.assert_array_equal(out, out.T)


def segment_products(arguments, targets, samples, buffer):
    """Products over some samples; vector-valued features when there are more targets than samples."""
    inputs, frequencies, phases, amplitude = arguments
    n_features, rows = buffer.shape[1], len(targets) // len(inputs)

    def evaluate(x, out):
        wide = out.reshape(len(x), -1)
        return kernels.fourier_features(x, frequencies, phases, amplitude, wide).reshape(-1, n_features)

    return products.products(evaluate, inputs[samples], targets[samples.start * rows : samples.stop * rows], buffer)


@each_type
@pytest.mark.parametrize(
    ("n", "n_blocks", "n_buffer"), [(40, 1, 40), (40, 1, 7), (40, 3, 10), (40, 3, 120), (2500, 1, 2500)]
)
def test_that_products_equal_those_of_the_whole_feature_matrix(dtype, n, n_blocks, n_buffer):
    n_features = 11
    arguments = problem(n, 4, n_blocks * n_features, dtype=dtype)
    targets = np.random.default_rng(5).uniform(-1.0, 1.0, (n * n_blocks, 2)).astype(dtype)
    buffer = np.full((n_buffer, n_features), np.nan, dtype)
    result = segment_products(arguments, targets, slice(0, n), buffer)
    phi = kernels.fourier_features(*arguments).reshape(-1, n_features)
    tolerance = {"rtol": 0, "atol": 4.0 * len(phi) * 20 * EPS[dtype]}  # features ≤ 2, argument errors ≤ 20 eps
    wide = phi.astype(np.float64)
    assert result.gram.dtype == result.projected.dtype == np.float64
    np.testing.assert_allclose(result.gram, wide.T @ wide, **tolerance)
    np.testing.assert_allclose(result.projected, wide.T @ targets, **tolerance)
    if n_buffer == len(phi):
        np.testing.assert_allclose(buffer, phi, rtol=0, atol=40 * EPS[dtype])


def test_that_fold_products_add_up_and_leave_the_training_part_when_subtracted():
    n, folds = 50, [slice(0, 10), slice(10, 20), slice(20, 50)]
    arguments = problem(n, 4, 11)
    targets = np.random.default_rng(6).standard_normal((n, 1))
    parts = [segment_products(arguments, targets, fold, np.empty((16, 11))) for fold in folds]
    training = parts[0] + parts[1] + parts[2] - parts[1]
    phi, kept = kernels.fourier_features(*arguments), np.r_[0:10, 20:50]
    np.testing.assert_allclose(training.gram, phi[kept].T @ phi[kept], rtol=0, atol=1e-12)
    np.testing.assert_allclose(training.projected, phi[kept].T @ targets[kept], rtol=0, atol=1e-12)


def test_that_no_samples_have_zero_products():
    result = products.products(lambda x, out: out, np.empty((0, 3)), np.empty((0, 2)), np.empty((5, 4)))
    np.testing.assert_array_equal(result.gram, np.zeros((4, 4)))
    np.testing.assert_array_equal(result.projected, np.zeros((4, 2)))


def test_that_targets_and_buffer_of_the_wrong_length_are_refused():
    for n_targets, n_buffer in ((7, 10), (20, 3)):
        with pytest.raises(ValueError, match="targets must have the same number of rows"):
            products.products(lambda x, out: out, np.ones((5, 3)), np.ones((n_targets, 1)), np.ones((n_buffer, 4)))


def test_that_threads_give_the_same_digits_as_serial_evaluation():
    members = [problem(300, 5, 60, seed) for seed in range(12)]
    targets = np.random.default_rng(7).standard_normal((300, 1))

    def member(arguments):
        return segment_products(arguments, targets, slice(0, 300), np.empty((64, 60)))

    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(member, members))
    for serial, result in zip(map(member, members), threaded, strict=True):
        np.testing.assert_array_equal(result.gram, serial.gram)
        np.testing.assert_array_equal(result.projected, serial.projected)


PROBE = """
import numpy as np
from rftune.features import kernels, products
x = kernels.fourier_features(np.full((2, 3), 0.5), np.ones((3, 9)), np.ones(9))
assert np.allclose(x, np.cos(2.5), rtol=0, atol=1e-15)
import sys
print(kernels.cosine_numba is None, kernels.cosine_pass is kernels.cosine_numpy, "numba" in sys.modules)
"""


def probe(**environment):
    run = subprocess.run(
        [sys.executable, "-c", PROBE], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return run.stdout.split()


def test_that_the_environment_selects_the_numpy_pass_without_importing_numba():
    assert probe(RFTUNE_NUMBA="0") == ["True", "True", "False"]


@needs_numba
def test_that_an_unwritable_cache_directory_does_not_prevent_compilation():
    assert probe(RFTUNE_NUMBA="1", NUMBA_CACHE_DIR=os.devnull + "/cache") == ["False", "False", "True"]
