"""One-step errors and long-time statistics of every repeat of an integrator; the yardstick of truth against truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from rftune import storage
from rftune.analysis import dynamics, metrics
from rftune.data import Array
from rftune.experiments.lorenz63.data import Lorenz63Data
from rftune.experiments.protocol import OUTCOME

N_BINS = 80
# Of each state: what the figures show, wider than the attractor.
RANGES = np.array([[-25.0, 25.0], [-32.0, 32.0], [0.0, 55.0]])
PAIRS_PER_BATCH = 20  # 20 pairs of trajectories of 100,000 steps are 100 MB


def analyse(data: xr.Dataset, predictions: xr.Dataset, rng: np.random.Generator) -> xr.Dataset:
    """Errors, marginal densities and their distances from the truth's, horizons, departures.

    Parameters
    ----------
    data
        Of `Lorenz63Data.make`.
    predictions
        Of `prediction.predict`, with a repeat dimension.
    """
    is_test = data["is_test"].values
    means, truth = predictions["mean"].values, data["truth"].values
    long_truth, long = data["long_truth"].values, predictions["long"].values
    distances = np.array([[_distances(run[:, i], long_truth[:, i]) for i in range(3)] for run in long])
    variables: dict[str, Any] = {
        "training_error": ("repeat", [metrics.mean_error_norm(m[~is_test], truth[~is_test]) for m in means]),
        "test_error": ("repeat", [metrics.mean_error_norm(m[is_test], truth[is_test]) for m in means]),
        "ks": (("repeat", "output"), distances[:, :, 0]),
        "wasserstein": (("repeat", "output"), distances[:, :, 1]),
        "density": (("repeat", "output", "bin"), np.stack([densities(run) for run in long])),
        "horizon": predictions["horizon"],
        "left_reason": predictions["left_reason"],
        "left_time": predictions["left_time"],
        **{name: predictions[name] for name in OUTCOME},
    }
    return xr.Dataset(variables, coords={"repeat": predictions["repeat"]})


def analyse_truth(data: xr.Dataset, n_pairs: int, rng: np.random.Generator) -> xr.Dataset:
    """Density of the truth, its Lyapunov exponent, and distances between true trajectories from nearby starts.

    Parameters
    ----------
    data
    n_pairs
        Pairs of true trajectories whose starts, on the attractor, differ by 1e-6.
    rng
    """
    settings = Lorenz63Data(**storage.settings_of(data))
    long_truth = data["long_truth"].values
    distances = _nearby_distances(settings, long_truth, n_pairs, rng)
    exponent = dynamics.lyapunov_exponent(
        settings.integrator(), long_truth[-1], settings.n_steps(settings.long_time), settings.time_step
    )
    return xr.Dataset(
        {
            "density": (("output", "bin"), densities(long_truth)),
            "edges": (("output", "edge"), np.linspace(RANGES[:, 0], RANGES[:, 1], N_BINS + 1, axis=1)),
            "pair_ks": (("pair", "output"), distances[:, :, 0]),
            "pair_wasserstein": (("pair", "output"), distances[:, :, 1]),
            "ks_band": ("output", np.quantile(distances[:, :, 0], 0.95, axis=0)),
            "wasserstein_band": ("output", np.quantile(distances[:, :, 1], 0.95, axis=0)),
            "lyapunov_exponent": ((), exponent),
        }
    )


def densities(states: Array) -> Array:
    """Histogram of each state, before an escape, as a density over `RANGES`, (3, N_BINS); zero without any state.

    Values beyond a range count in the total, so that a density integrates to the share inside.
    """
    finite = states[np.isfinite(states).all(axis=1)]
    widths = np.diff(RANGES, axis=1)[:, 0] / N_BINS
    counts = np.stack([np.histogram(finite[:, i], N_BINS, tuple(RANGES[i]))[0] for i in range(3)])
    return np.asarray(counts / (max(len(finite), 1) * widths[:, None]))


def _distances(values: Array, truth: Array) -> tuple[float, float]:
    """KS and Wasserstein distance of a marginal; the largest there are, 1 and infinity, after an escape."""
    if not np.isfinite(values).all():
        return 1.0, np.inf
    return metrics.ks_distance(values, truth), metrics.wasserstein_distance(values, truth)


def _nearby_distances(settings: Lorenz63Data, long_truth: Array, n_pairs: int, rng: np.random.Generator) -> Array:
    """KS and Wasserstein distances of each marginal between the trajectories of a pair, (n_pairs, 3, 2)."""
    step, n_steps = settings.integrator(), settings.n_steps(settings.long_time)
    starts = long_truth[rng.integers(len(long_truth), size=n_pairs)]
    shifts = rng.standard_normal(starts.shape)
    others = starts + 1e-6 * shifts / np.linalg.norm(shifts, axis=1, keepdims=True)
    found = []
    for first in range(0, n_pairs, PAIRS_PER_BATCH):
        batch = slice(first, first + PAIRS_PER_BATCH)
        runs = dynamics.iterate(step, np.concatenate([starts[batch], others[batch]]), n_steps)[
            :, :: settings.keep_every
        ]
        half = len(runs) // 2
        for one, other in zip(runs[:half], runs[half:], strict=True):
            found.append([_distances(one[:, i], other[:, i]) for i in range(3)])
    return np.array(found)
