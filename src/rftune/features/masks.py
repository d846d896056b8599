"""Masks of sparse features, drawn so that rare but useful subsets of inputs are there too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rftune.data import Array


def stratified_masks(inclusion: Array, n_masks: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Array]:
    """Masks of non-empty subsets S of inputs, in proportion to √w_S, and weights that make up for it.

    Where every input is in with a probability of its own, independently, S has the weight w_S = Π π Π (1 - π). Small
    probabilities make most masks empty, and an empty one is a constant feature. Here S is drawn in proportion to √w_S,
    the empty set never, and every subset comes as often as expected, rounded up or down. Averages over masks with the
    weights have the expectation of w_S over the non-empty subsets.

    Parameters
    ----------
    inclusion : (n_inputs,)
        π; one of them at least is positive.
    n_masks
    rng

    Returns
    -------
    masks : (n_masks, n_inputs)
    weights : (n_masks,)
        w_S over the probability of the draw.
    """
    if not (inclusion > 0.0).any():
        raise ValueError("of the inclusion probabilities one at least must be positive: without inputs nothing varies")
    root_in, root_out = np.sqrt(inclusion), np.sqrt(1.0 - inclusion)
    probabilities = root_in / (root_in + root_out)
    non_empty = 1.0 - np.prod(1.0 - probabilities)
    # Bits of a mask are read from a number as in arithmetic coding: numbers that are evenly spread give every subset
    # its share. The last share of the unit interval is that of the empty set.
    positions = non_empty * (np.arange(n_masks) + rng.random(n_masks)) / n_masks
    masks = np.zeros((n_masks, len(inclusion)), dtype=np.bool_)
    weights = np.full(n_masks, non_empty)
    for k, probability in enumerate(probabilities):
        is_in = positions < probability
        masks[:, k] = is_in
        # π over its probability, or 1 - π over that of the contrary
        weights *= np.where(is_in, root_in[k], root_out[k]) * (root_in[k] + root_out[k])
        positions[is_in] /= probability
        positions[~is_in] = (positions[~is_in] - probability) / (1.0 - probability)
    return masks, weights
