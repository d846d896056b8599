"""BLAS and LAPACK as compiled functions call them, against NumPy."""

import numpy as np
import pytest

from rftune import lapack
from rftune.compilation import compiled
from rftune.lapack import LOWER, PLAIN, RIGHT, TRANSPOSED, gemm, gemv, ormtr, potrf, potrs, syrk, sytrd

pytestmark = pytest.mark.skipif(not lapack.AVAILABLE, reason="numba is missing or switched off")
each_type = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def _products(a, b, y, ab, aa, ay):
    n, m = a.shape
    k = b.shape[1]
    gemm(PLAIN, PLAIN, k, n, m, 1.0, b, k, a, m, 0.0, ab, k)
    syrk(LOWER, PLAIN, m, n, 1.0, a, m, 0.0, aa, m)
    gemv(PLAIN, m, n, 1.0, a, m, y, 1, 0.0, ay, 1)


def _solution(system, right, info):
    n = len(system)
    potrf(LOWER, n, system, n, info)
    if info[0] == 0:
        potrs(LOWER, n, 1, system, n, right, n, info)


def _to_tridiagonal_and_back(system, rows, diagonal, beside, scales, room, info):
    n, p = system.shape[0], rows.shape[1]
    sytrd(LOWER, n, system, n, diagonal, beside, scales, room, len(room), info)
    ormtr(RIGHT, LOWER, PLAIN, p, n, system, n, scales, rows, p, room, len(room), info)
    once = rows.copy()
    ormtr(RIGHT, LOWER, TRANSPOSED, p, n, system, n, scales, rows, p, room, len(room), info)
    return once


@each_type
def test_that_products_are_numpys(dtype):
    rng = np.random.default_rng(0)
    a, b, y = (rng.standard_normal(shape).astype(dtype) for shape in ((30, 7), (7, 5), 30))
    ab, aa, ay = (np.full(shape, np.nan, dtype) for shape in ((30, 5), (7, 7), 7))
    compiled(_products)(a, b, y, ab, aa, ay)
    tolerance = {"rtol": 0, "atol": 100 * np.finfo(dtype).eps}
    np.testing.assert_allclose(ab, a @ b, **tolerance)
    np.testing.assert_allclose(aa[np.triu_indices(7)], (a.T @ a)[np.triu_indices(7)], **tolerance)
    assert np.isnan(aa[np.tril_indices(7, -1)]).all()
    np.testing.assert_allclose(ay, a.T @ y, **tolerance)


@each_type
def test_that_systems_are_solved(dtype):
    rng = np.random.default_rng(1)
    root, right = rng.standard_normal((6, 6)), rng.standard_normal(6)
    system = root @ root.T + np.eye(6)
    found, info = right.astype(dtype), np.full(1, -1, np.int32)
    compiled(_solution)(system.astype(dtype), found, info)
    assert info[0] == 0
    np.testing.assert_allclose(found, np.linalg.solve(system, right), rtol=1e3 * np.finfo(dtype).eps)


def test_that_an_indefinite_system_is_reported():
    info = np.zeros(1, np.int32)
    compiled(_solution)(np.diag([1.0, -1.0]), np.ones(2), info)
    assert info[0] == 2


def test_that_a_tridiagonal_form_has_the_eigenvalues_and_its_rotation_is_undone():
    rng = np.random.default_rng(2)
    root, rows = rng.standard_normal((9, 9)), rng.standard_normal((9, 4))
    system, turned = root + root.T, rows.copy()
    diagonal, beside, scales, info = np.empty(9), np.empty(8), np.empty(8), np.full(1, -1, np.int32)
    once = compiled(_to_tridiagonal_and_back)(system.copy(), turned, diagonal, beside, scales, np.empty(5000), info)
    tridiagonal = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    np.testing.assert_allclose(np.linalg.eigvalsh(tridiagonal), np.linalg.eigvalsh(system), atol=1e-13)
    np.testing.assert_allclose(once.T @ tridiagonal @ once, rows.T @ system @ rows, atol=1e-12)
    np.testing.assert_allclose(turned, rows, atol=1e-14)
