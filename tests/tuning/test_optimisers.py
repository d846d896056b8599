"""What every optimiser promises to the loop, on a small linear problem."""

from __future__ import annotations

import numpy as np
import pytest

from rftune.tuning.noise import BlockNoise
from rftune.tuning.optimiser import OPTIMISERS, EnsembleCollapse, Problem

N_PARAMETERS, N_DATA = 3, 6
MATRIX = np.random.default_rng(0).standard_normal((N_DATA, N_PARAMETERS))
PROBLEM = Problem(
    target=MATRIX @ np.array([2.0, -1.5, 1.0]),  # some prior standard deviations from where a search starts
    noise=BlockNoise.from_covariances([0.1 * np.eye(4), 0.2 * np.eye(2)]),
    prior_mean=np.zeros(N_PARAMETERS),
    prior_std=np.ones(N_PARAMETERS),
)

each_optimiser = pytest.mark.parametrize("optimiser", [OPTIMISERS.read(name) for name in OPTIMISERS.names()], ids=repr)


def forward(points):
    return points @ MATRIX.T


def partly_failed(points):
    """Every third evaluation is lost."""
    outputs = forward(points)
    outputs[2::3] = np.nan
    return outputs


def search(optimiser, evaluate=forward, n_iterations=15, seed=1):
    """States and infos until the last iteration or the optimiser's end."""
    rng = np.random.default_rng(seed)
    states, infos = [optimiser.start(PROBLEM, rng)], []
    for _ in range(n_iterations):
        state, info = optimiser.tell(states[-1], evaluate(optimiser.ask(states[-1])), PROBLEM, rng)
        states.append(state)
        infos.append(info)
        if info.done:
            break
    return states, infos


def misfit(optimiser, state):
    return PROBLEM.misfit(forward(optimiser.estimate(state)))


@each_optimiser
@pytest.mark.parametrize("evaluate", [forward, partly_failed])
def test_that_the_misfit_falls(optimiser, evaluate):
    states, infos = search(optimiser, evaluate)
    assert misfit(optimiser, states[-1]) < 0.1 * misfit(optimiser, states[0])
    assert infos[-1].misfit < 0.5 * infos[0].misfit
    for state, info in zip(states, infos, strict=False):  # not strict: nothing was told to the last state
        assert info.n_failed == (len(optimiser.ask(state)) // 3 if evaluate is partly_failed else 0)
        assert np.isfinite([info.misfit, info.spread]).all()


@each_optimiser
def test_that_points_and_estimates_have_the_size_of_the_problem(optimiser):
    for state in search(optimiser, n_iterations=3)[0]:
        points, estimate = optimiser.ask(state), optimiser.estimate(state)
        assert points.ndim == 2
        assert points.shape[1:] == estimate.shape == (N_PARAMETERS,)
        assert np.isfinite(points).all()
        assert np.isfinite(estimate).all()


@each_optimiser
def test_that_neither_the_state_nor_the_outputs_that_are_told_change(optimiser):
    state = search(optimiser, n_iterations=2)[0][-1]
    points, estimate = optimiser.ask(state).copy(), optimiser.estimate(state).copy()
    outputs = partly_failed(points)
    told = outputs.copy()
    one, other = (optimiser.tell(state, outputs, PROBLEM, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(outputs, told)
    np.testing.assert_array_equal(optimiser.ask(state), points)
    np.testing.assert_array_equal(optimiser.estimate(state), estimate)
    np.testing.assert_array_equal(optimiser.ask(one[0]), optimiser.ask(other[0]))
    assert one[1] == other[1]


@each_optimiser
def test_that_the_generator_decides(optimiser):
    one, same, other = (search(optimiser, n_iterations=3, seed=seed)[0][-1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(optimiser.ask(one), optimiser.ask(same))
    np.testing.assert_array_equal(optimiser.estimate(one), optimiser.estimate(same))
    assert not np.array_equal(optimiser.estimate(one), optimiser.estimate(other))


@each_optimiser
def test_that_nothing_but_failures_is_an_error_of_its_own(optimiser):
    with pytest.raises(EnsembleCollapse):
        search(optimiser, lambda points: np.full((len(points), N_DATA), np.nan))
