"""Stratified masks: every subset as often as expected, and weights that give back the inclusion probabilities."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rftune.features.masks import stratified_masks

INCLUSION = np.array([0.4, 0.05, 0.2])
SUBSETS = [np.array(subset) for subset in product([False, True], repeat=3) if any(subset)]


def weight(subset: np.ndarray, inclusion: np.ndarray = INCLUSION) -> float:
    return float(np.prod(np.where(subset, inclusion, 1.0 - inclusion)))


@pytest.mark.parametrize("n_masks", [1, 7, 1000])
def test_that_every_subset_comes_as_often_as_expected_rounded(n_masks: int) -> None:
    masks, _ = stratified_masks(INCLUSION, n_masks, np.random.default_rng(0))
    roots = np.array([np.sqrt(weight(subset)) for subset in SUBSETS])
    expected = n_masks * roots / roots.sum()
    counts = np.array([(masks == subset).all(axis=1).sum() for subset in SUBSETS])
    assert counts.sum() == n_masks  # none is empty
    # a share of the unit interval covers between its length less one and its length plus one of the strata
    assert (np.abs(counts - expected) < 2.0).all()


def test_that_weights_make_up_for_the_draw() -> None:
    n_masks = 100_000
    masks, weights = stratified_masks(INCLUSION, n_masks, np.random.default_rng(0))
    for subset in SUBSETS:
        own = (masks == subset).all(axis=1)
        assert weights[own].sum() / n_masks == pytest.approx(weight(subset), abs=2 * weights[own].max() / n_masks)
        np.testing.assert_allclose(weights[own], weights[own][0], rtol=1e-12)


@pytest.mark.parametrize("inclusion", [np.ones(3), np.array([1.0, 0.0, 0.5]), np.array([0.0, 0.0, 1e-12])])
def test_that_certain_and_impossible_inputs_are_respected(inclusion: np.ndarray) -> None:
    masks, weights = stratified_masks(inclusion, 50, np.random.default_rng(1))
    assert masks[:, inclusion == 1.0].all()
    assert not masks[:, inclusion == 0.0].any()
    assert masks.any(axis=1).all()
    assert np.isfinite(weights).all()
    assert weights.mean() == pytest.approx(1.0 - np.prod(1.0 - inclusion), rel=0.05)


def test_that_many_inputs_leave_no_mask_empty() -> None:
    masks, weights = stratified_masks(np.full(50, 1e-4), 3000, np.random.default_rng(2))
    assert masks.any(axis=1).all()
    assert np.isfinite(weights).all()


def test_that_no_input_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="at least must be positive"):
        stratified_masks(np.zeros(2), 3, np.random.default_rng(0))
