"""Ensemble Kalman inversion against the textbook, against pyesmda, and at its edges."""

from __future__ import annotations

import covmats
import numpy as np
import pyesmda
import pytest
from pydantic import ValidationError
from scipy.linalg import block_diag

from reference_eki import (
    eki_corrected_covariance,
    eki_covariance,
    eki_kalman_moments,
    eki_linear_posterior,
    eki_perturbed_update,
)
from rftune.tuning import optimiser
from rftune.tuning.noise import BlockNoise
from rftune.tuning.optimisers import eki
from rftune.tuning.optimisers.eki import EnsembleKalmanInversion

# (n_members, n_parameters, block sizes): fewer and more data than members, one block and several
SHAPES = [(5, 3, (12,)), (6, 9, (4, 7, 1)), (30, 4, (3, 5)), (12, 2, (1,)), (8, 5, (8,))]


def spd(n, rng):
    root = rng.standard_normal((n, n))
    return root @ root.T / n + 0.3 * np.eye(n)


class Problem:
    """A mildly nonlinear inverse problem with correlated noise in blocks."""

    def __init__(self, n_members, n_parameters, block_sizes, seed=0, nonlinearity=0.3):
        rng = np.random.default_rng(seed)
        blocks = [spd(n, rng) for n in block_sizes]
        self.covariance = block_diag(*blocks)
        self.noise = BlockNoise.from_covariances(blocks)
        self.n_data = sum(block_sizes)
        self.matrix = rng.standard_normal((self.n_data, n_parameters))
        self.nonlinearity = nonlinearity
        self.prior_mean = rng.standard_normal(n_parameters)
        self.prior_std = rng.uniform(0.5, 2.0, n_parameters)
        truth = self.prior_mean + self.prior_std * rng.standard_normal(n_parameters)
        self.target = self.forward(truth) + self.noise.sample(1, rng)[0]
        self.state = eki.init(self.prior_mean, self.prior_std, n_members, rng)

    def forward(self, u):
        return u @ self.matrix.T + self.nonlinearity * np.sin(u @ self.matrix.T)

    @property
    def known(self):
        """What the inversion knows of it."""
        return optimiser.Problem(self.target, self.noise, self.prior_mean, self.prior_std)

    def step(self, state, outputs=None, seed=1, rng=None, **settings):
        outputs = self.forward(state.ensemble) if outputs is None else outputs
        rng = np.random.default_rng(seed) if rng is None else rng
        return EnsembleKalmanInversion(**{"inflation": 0.0, **settings}).tell(state, outputs, self.known, rng)

    def run(self, n_steps, rng, **changes):
        """States and infos of up to n_steps steps, ending earlier when done."""
        states, infos = [self.state], []
        for _ in range(n_steps):
            state, info = self.step(states[-1], rng=rng, **changes)
            states.append(state)
            infos.append(info)
            if info.done:
                break
        return states, infos


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("Δt", [0.02, 1.0, 7.0])
def test_that_ensemble_space_update_equals_the_textbook_formula(shape, corrected, Δt):
    problem = Problem(*shape)
    u, g = problem.state.ensemble, problem.forward(problem.state.ensemble)
    state, info = problem.step(problem.state, step="constant", step_size=Δt, sampling_error_correction=corrected)
    # the perturbations are the generator's first draw, standard normal in whitened coordinates
    white = np.random.default_rng(1).standard_normal(g.shape)
    perturbations = white @ np.linalg.cholesky(problem.covariance).T / np.sqrt(Δt)
    expected = eki_perturbed_update(u, g, problem.target, problem.covariance, Δt, perturbations, corrected)
    # condition numbers stay below 1e5 here, so 1e-9 leaves room for eps times that
    np.testing.assert_allclose(state.ensemble, expected, rtol=1e-9, atol=1e-9)
    assert info.step == state.time == Δt


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("Δt", [0.02, 1.0, 7.0])
def test_that_transform_update_satisfies_the_kalman_equations_exactly(shape, Δt):
    problem = Problem(*shape)
    u, g = problem.state.ensemble, problem.forward(problem.state.ensemble)
    state, _ = problem.step(problem.state, update="transform", step="constant", step_size=Δt)
    mean, covariance = eki_kalman_moments(u, g, problem.target, problem.covariance, Δt)
    np.testing.assert_allclose(state.ensemble.mean(0), mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(eki_covariance(state.ensemble, state.ensemble), covariance, rtol=1e-9, atol=1e-9)


def test_that_transform_update_is_the_symmetric_root_which_moves_anomalies_least():
    # With at least as many parameters as members, the anomalies before and after determine the map between them.
    problem = Problem(5, 9, (7,))
    u = problem.state.ensemble
    state, _ = problem.step(problem.state, update="transform", step="constant")
    before, after = u - u.mean(0), state.ensemble - state.ensemble.mean(0)
    transform = after @ np.linalg.pinv(before)
    np.testing.assert_allclose(transform, transform.T, atol=1e-10)
    assert np.linalg.eigvalsh(transform).min() > -1e-10


def test_that_a_very_large_step_does_not_amplify_rounding():
    # 20 members, 3 data: 17 directions of ensemble space have no output variation; Δt = 1e12 would multiply their
    # rounding errors of 1e-16 to 1e-4 of the update. The textbook's 3 x 3 inverse is well conditioned.
    problem = Problem(20, 4, (3,))
    u, g = problem.state.ensemble, problem.forward(problem.state.ensemble)
    state, _ = problem.step(problem.state, step="constant", step_size=1e12)
    perturbations = np.random.default_rng(1).standard_normal(g.shape) @ problem.noise.chol_lower[0].T / 1e6
    expected = eki_perturbed_update(u, g, problem.target, problem.covariance, 1e12, perturbations)
    np.testing.assert_allclose(state.ensemble, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("update", ["perturbed", "transform"])
@pytest.mark.parametrize("steps", [{"step": "constant", "step_size": 0.25}, {"step": "adaptive"}])
def test_that_a_linear_problem_reaches_its_posterior_at_time_one(update, steps):
    n_members, n_repeats = 200, 30
    means, covariances = [], []
    for repeat in range(n_repeats):
        problem = Problem(2, 3, (4, 2), nonlinearity=0.0)
        rng = np.random.default_rng([7, repeat])
        problem.state = eki.init(problem.prior_mean, problem.prior_std, n_members, rng)
        states, infos = problem.run(50, rng, update=update, final_time=1.0, **steps)
        assert infos[-1].done
        assert len(infos) > 1
        means.append(states[-1].ensemble.mean(0))
        covariances.append(np.cov(states[-1].ensemble.T))
    mean, covariance = eki_linear_posterior(
        problem.matrix, problem.target, problem.covariance, problem.prior_mean, problem.prior_std
    )
    std = np.sqrt(np.diag(covariance))
    # Five Monte Carlo standard errors, estimated over independent repeats, plus the finite-ensemble bias: sample
    # covariances of J members give gains biased by O((n_parameters + 1)/J) per step, at most five of it overall.
    bias = 5 * (3 + 1) / n_members
    for sample, exact, scale in ((means, mean, std), (covariances, covariance, np.outer(std, std))):
        error = np.abs(np.mean(sample, axis=0) - exact)
        standard_error = np.std(sample, axis=0, ddof=1) / np.sqrt(n_repeats)
        assert (error < 5 * standard_error + bias * scale).all()
        assert (5 * standard_error + bias * scale < 0.25 * scale).all()  # the test has power


@pytest.mark.parametrize("final_time", [1.0, 0.3, 2.0])
def test_that_adaptive_steps_add_up_to_the_final_time(final_time):
    problem = Problem(30, 4, (6, 5))
    states, infos = problem.run(100, np.random.default_rng(3), final_time=final_time)
    assert len(infos) > 1
    assert states[-1].time == final_time
    assert sum(info.step for info in infos) == pytest.approx(final_time, rel=1e-14)
    assert [info.done for info in infos] == [False] * (len(infos) - 1) + [True]


def test_that_ten_constant_steps_of_a_tenth_make_one():
    problem = Problem(10, 2, (3,))
    states, infos = problem.run(20, np.random.default_rng(3), step="constant", step_size=0.1, final_time=1.0)
    assert len(infos) == 10
    assert states[-1].time == 1.0


def test_that_a_constant_step_is_cut_at_the_final_time():
    _, infos = Problem(10, 2, (3,)).run(20, np.random.default_rng(3), step="constant", step_size=0.4, final_time=1.0)
    np.testing.assert_allclose([info.step for info in infos], [0.4, 0.4, 0.2], rtol=1e-14)


def test_that_a_finished_run_refuses_another_step():
    problem = Problem(10, 2, (3,))
    states, _ = problem.run(1, np.random.default_rng(3), step="constant", final_time=1.0)
    with pytest.raises(ValueError, match=r"reached its final_time 1\.0: stop when info\.done"):
        problem.step(states[-1], final_time=1.0)


def test_that_without_a_final_time_the_run_never_ends():
    states, infos = Problem(10, 2, (3,)).run(60, np.random.default_rng(3))
    assert len(infos) == 60
    assert states[-1].time > 10
    assert np.isfinite([info.misfit for info in infos]).all()


@pytest.mark.parametrize("nonlinearity", [0.0, 0.3])
@pytest.mark.parametrize("binding", ["mean", "variance"])
def test_that_pyesmda_chooses_the_same_adaptive_steps(nonlinearity, binding):
    # pyesmda's inflation factors are 1/Δt, cut at total time 1. Its ensembles are replayed through our controller.
    problem = Problem(40, 3, (6, 4), nonlinearity=nonlinearity)
    if binding == "variance":  # a narrow ensemble far from data that no parameter explains: large misfits, much alike
        problem.state = eki.init(problem.prior_mean, 0.1 * problem.prior_std, 40, np.random.default_rng(2))
        problem.target = problem.target + 10 * np.linalg.svd(problem.matrix)[0][:, -1]
    whitened = problem.noise.whiten(problem.target - problem.forward(problem.state.ensemble))
    from_mean = problem.n_data / np.mean(np.sum(whitened**2, axis=1))
    judge = pyesmda.ESMDA_DMC(
        obs=problem.target,
        m_init=problem.state.ensemble.T.copy(),
        cov_obs=covmats.CovViaCholesky(np.linalg.cholesky(problem.covariance)),
        forward_model=lambda u: problem.forward(u.T).T,
        save_ensembles_history=True,
        random_state=np.random.default_rng(5),
        is_parallel_analyse_step=False,
    )
    judge.solve()
    assert judge.n_assimilations > 2
    assert np.isclose(from_mean, 1 / judge.cov_obs_inflation_factors[0]) == (binding == "mean")
    time = 0.0
    # not strict: the histories also hold the final ensemble, which has no step
    for u, g, factor in zip(judge.m_history, judge.d_history, judge.cov_obs_inflation_factors, strict=False):
        state = eki.State(ensemble=u.T, updated=u.T, time=time)
        state, info = problem.step(state, outputs=g.T, final_time=1.0)
        assert info.step == pytest.approx(1 / factor, rel=1e-10)
        time = state.time
    assert info.done


def test_that_members_that_all_fit_exactly_stay_where_they_are():
    problem = Problem(5, 2, (3,))
    state, info = problem.step(problem.state, outputs=np.tile(problem.target, (5, 1)))
    np.testing.assert_array_equal(state.ensemble, problem.state.ensemble)
    assert info.step == 1.0
    assert info.misfit < 1e-25  # the mean of equal rows rounds


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("update", ["perturbed", "transform"])
def test_that_failed_members_leave_the_update_to_the_survivors(bad, update):
    problem = Problem(8, 3, (5,))
    outputs = problem.forward(problem.state.ensemble)
    outputs[[1, 6], [0, 3]] = bad
    survived = np.array([0, 2, 3, 4, 5, 7])
    state, info = problem.step(problem.state, outputs=outputs, update=update)
    alone = eki.State(ensemble=problem.state.ensemble[survived], updated=problem.state.ensemble[survived])
    expected, expected_info = problem.step(alone, outputs=outputs[survived], update=update)
    np.testing.assert_allclose(state.ensemble[survived], expected.ensemble, rtol=1e-12)
    assert info.n_failed == 2
    assert (info.step, info.misfit) == (expected_info.step, expected_info.misfit)
    assert np.isfinite(state.ensemble).all()
    assert not np.isclose(state.ensemble[[1, 6]], problem.state.ensemble[[1, 6]]).any()


def test_that_replacements_have_the_moments_of_the_updated_survivors():
    problem = Problem(4005, 2, (3,))
    outputs = problem.forward(problem.state.ensemble)
    outputs[5:] = np.nan
    state, _ = problem.step(problem.state, outputs=outputs)
    survivors, replaced = state.ensemble[:5], state.ensemble[5:]
    covariance = eki_covariance(survivors, survivors)
    std = np.sqrt(np.diag(covariance))
    # standard errors over n = 4000 normal draws: σ/√n for a mean, at most σ_i σ_k √(2/n) for a covariance, which tells
    # 1/J from 1/(J-1) at J = 5 (25 %)
    assert (np.abs(replaced.mean(0) - survivors.mean(0)) < 5 * std / np.sqrt(4000)).all()
    assert (np.abs(np.cov(replaced.T) - covariance) < 5 * np.outer(std, std) * np.sqrt(2 / 4000)).all()


def test_that_a_single_survivor_is_kept_and_the_spread_of_the_ensemble_with_it():
    problem = Problem(2000, 2, (3,))
    outputs = np.full((2000, 3), np.nan)
    outputs[17] = problem.forward(problem.state.ensemble[17])
    state, info = problem.step(problem.state, outputs=outputs, final_time=1.0)
    np.testing.assert_array_equal(state.ensemble[17], problem.state.ensemble[17])
    assert (info.n_failed, info.step, state.time, info.done) == (1999, 0.0, 0.0, False)
    # two independent samples of 2000: relative standard error of a ratio of stds is about √(1/2000)
    ratio = state.ensemble.std(0) / problem.state.ensemble.std(0)
    assert (np.abs(ratio - 1) < 5 * np.sqrt(1 / 2000)).all()
    center = np.delete(state.ensemble, 17, axis=0).mean(0) - problem.state.ensemble[17]
    assert (np.abs(center) < 5 * problem.state.ensemble.std(0) / np.sqrt(2000)).all()


def test_that_a_collapsed_ensemble_is_an_error_of_its_own():
    problem = Problem(4, 2, (3,))
    with pytest.raises(optimiser.EnsembleCollapse, match="all 4 members failed"):
        problem.step(problem.state, outputs=np.full((4, 3), np.nan))


def test_that_inflation_adds_its_share_of_the_prior_covariance():
    problem = Problem(20000, 2, (3,))
    outputs = np.full((20000, 3), np.nan)
    outputs[:2] = problem.forward(problem.state.ensemble[:2])  # a cheap update: two survivors
    plain, _ = problem.step(problem.state, outputs=outputs, inflation=0.0)
    inflated, _ = problem.step(problem.state, outputs=outputs, inflation=0.04)
    noise = inflated.ensemble - plain.ensemble
    variance = 0.04 * problem.prior_std**2
    # standard errors over 20000 draws: √(2/n) relative for a variance, √(1/n) for a correlation and a scaled mean
    np.testing.assert_allclose(noise.var(0), variance, rtol=5 * np.sqrt(2 / 20000))
    assert abs(np.corrcoef(noise.T)[0, 1]) < 5 / np.sqrt(20000)
    assert (np.abs(noise.mean(0)) < 5 * np.sqrt(variance / 20000)).all()


def test_that_nesterov_equals_the_recursion_written_by_hand():
    problem = Problem(12, 3, (5,))
    states, _ = problem.run(6, np.random.default_rng(8), nesterov=True, step="constant", step_size=0.3)
    rng = np.random.default_rng(8)
    v = u = problem.state.ensemble
    for n in range(1, 7):
        plain, _ = problem.step(eki.State(ensemble=v, updated=v), rng=rng, step="constant", step_size=0.3)
        u, u_before = plain.ensemble, u
        v = u + (n - 1) / (n + 2) * (u - u_before)
        np.testing.assert_allclose(states[n].updated, u, rtol=1e-12)
        np.testing.assert_allclose(states[n].ensemble, v, rtol=1e-12)
    np.testing.assert_array_equal(states[-1].estimate, states[-1].updated.mean(0))


def test_that_nesterov_decreases_an_ill_conditioned_quadratic_faster():
    misfits = {}
    for nesterov in (False, True):
        problem = Problem(20, 4, (4,), nonlinearity=0.0)
        problem.matrix = np.diag([3.0, 1.0, 0.3, 0.1])
        problem.target = problem.matrix @ (problem.prior_mean + 2 * problem.prior_std)
        states, _ = problem.run(
            30, np.random.default_rng(8), update="transform", step="constant", step_size=0.1, nesterov=nesterov
        )
        misfits[nesterov] = problem.known.misfit(problem.forward(states[-1].estimate))
    assert misfits[True] < 0.5 * misfits[False]


def test_that_a_replaced_member_has_no_momentum():
    problem = Problem(8, 3, (5,))
    states, _ = problem.run(3, np.random.default_rng(8), nesterov=True)
    outputs = problem.forward(states[-1].ensemble)
    outputs[2] = np.nan
    state, _ = problem.step(states[-1], outputs=outputs, nesterov=True)
    moved = np.abs(state.ensemble - state.updated).max(axis=1) > 0
    np.testing.assert_array_equal(moved, np.arange(8) != 2)


def test_that_correction_reduces_the_error_of_sample_correlations():
    # true correlations of a tuning problem: most parameters hardly matter for a datum, a few matter much
    rng = np.random.default_rng(4)
    truth, n_members, n_repeats = np.array([0.0, 0.0, 0.0, 0.1, 0.2, 0.9]), 20, 2000
    x = rng.standard_normal((n_repeats, n_members, 1))
    y = truth * x + np.sqrt(1 - truth**2) * rng.standard_normal((n_repeats, n_members, 6))
    x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    sample = (x * y).mean(1) / (x.std(1) * y.std(1))
    raw = ((sample - truth) ** 2).mean(1)
    corrected = ((eki.shrunk_correlation(sample, n_members) - truth) ** 2).mean(1)
    gain = raw - corrected
    assert gain.mean() > 5 * gain.std() / np.sqrt(n_repeats)  # significant
    assert corrected.mean() < 0.7 * raw.mean()  # and large


def test_that_correction_keeps_perfect_correlations_and_survives_constant_columns():
    np.testing.assert_array_equal(eki.shrunk_correlation(np.array([-1.0, 0.0, 1.0]), 10), [-1.0, 0.0, 1.0])
    problem = Problem(10, 3, (4,))
    outputs = problem.forward(problem.state.ensemble)
    outputs[:, 2] = 1.5
    state, _ = problem.step(problem.state, outputs=outputs, sampling_error_correction=True)
    assert np.isfinite(state.ensemble).all()
    assert not np.array_equal(state.ensemble, problem.state.ensemble)


def test_that_correction_shrinks_and_never_flips_a_covariance():
    problem = Problem(10, 3, (4,))
    u, g = problem.state.ensemble, problem.forward(problem.state.ensemble)
    ratio = eki_corrected_covariance(u, g) / eki_covariance(u, g)
    assert (ratio > 0).all()
    assert (ratio < 1).all()


def test_that_info_describes_the_evaluated_ensemble():
    problem = Problem(10, 3, (4, 2))
    outputs = problem.forward(problem.state.ensemble)
    _, info = problem.step(problem.state)
    residual = problem.target - outputs.mean(0)
    assert info.misfit == pytest.approx(residual @ np.linalg.solve(problem.covariance, residual), rel=1e-10)
    assert info.misfit == problem.known.misfit(outputs.mean(0))
    relative = problem.state.ensemble.std(0) / problem.prior_std
    assert info.spread == pytest.approx(np.linalg.norm(relative) / np.sqrt(3), rel=1e-14)
    assert info.n_failed == 0


def test_that_the_initial_ensemble_is_the_prior():
    mean, std = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    state = eki.init(mean, std, 20000, np.random.default_rng(0))
    assert (np.abs(state.ensemble.mean(0) - mean) < 5 * std / np.sqrt(20000)).all()
    np.testing.assert_allclose(state.ensemble.std(0), std, rtol=5 * np.sqrt(1 / 40000))
    assert (state.time, state.iteration) == (0.0, 0)


def test_that_whitening_inverts_the_covariance_and_matches_its_samples():
    problem = Problem(2, 1, (3, 1, 4))
    rows = np.random.default_rng(0).standard_normal((2, 5, 8))
    white = problem.noise.whiten(rows)
    expected = np.einsum("...i,ij,...j", rows, np.linalg.inv(problem.covariance), rows)
    np.testing.assert_allclose((white**2).sum(-1), expected, rtol=1e-11)
    draws = problem.noise.whiten(problem.noise.sample(20000, np.random.default_rng(1)))
    # entries of a sample covariance of 20000 white draws: standard error at most √(2/n)
    assert np.abs(np.cov(draws.T) - np.eye(8)).max() < 5 * np.sqrt(2 / 20000)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "noise block 1 must be positive definite; it is not"),
        ([[1.0, 1.0], [1.0, 1.0 + 1e-16]], "noise block 1 must be positive definite"),
        ([[1e-8, 1e-4], [1e-4, 1.0 + 4e-16]], "noise block 1 must be positive definite"),
        ([[1.0, np.nan], [np.nan, 1.0]], "noise block 1 must be finite"),
        ([[1.0, 0.5], [0.2, 1.0]], "noise block 1 must be symmetric"),
        ([[1.0, 0.5]], "noise block 1 must be a square"),
    ],
)
def test_that_a_bad_noise_block_is_named(block, message):
    with pytest.raises(ValueError, match=message):
        BlockNoise.from_covariances([np.eye(2), np.array(block)])


def test_that_blocks_of_very_different_units_are_accepted():
    noise = BlockNoise.from_covariances([np.diag([1e-14, 1.0, 1e14])])
    np.testing.assert_allclose(noise.whiten(np.array([1e-7, 1.0, 1e7])), 1.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"n_members": 1}, "n_members"),
        ({"update": "ETKI"}, "update"),
        ({"step": "fast"}, "step"),
        ({"step_size": 0.0}, "step_size"),
        ({"step_size": "1"}, "step_size"),
        ({"final_time": -1.0}, "final_time"),
        ({"final_time": np.inf}, "final_time"),
        ({"inflation": -1e-4}, "inflation"),
        ({"inflation": np.nan}, "inflation"),
        ({"nesterov": "yes"}, "nesterov"),
        ({"sampling_error_correction": 1}, "sampling_error_correction"),
    ],
)
def test_that_wrong_settings_are_refused_by_name(changes, field):
    with pytest.raises(ValidationError, match=rf"(?m)^{field}\b"):
        EnsembleKalmanInversion(**changes)


def test_that_a_corrected_transform_is_refused():
    with pytest.raises(ValidationError, match="sampling_error_correction needs update perturbed; got transform"):
        EnsembleKalmanInversion(sampling_error_correction=True, update="transform")


def test_that_wrong_shapes_say_what_was_expected():
    problem = Problem(6, 2, (3,))
    outputs = problem.forward(problem.state.ensemble)
    with pytest.raises(ValueError, match=r"outputs must be \(n_members, n_data\) = \(6, 3\).*got shape \(3, 6\)"):
        problem.step(problem.state, outputs=outputs.T)
    with pytest.raises(ValueError, match="n_members must be at least 2"):
        eki.init(np.zeros(2), np.ones(2), 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="prior_std must be 2 finite positive numbers"):
        eki.init(np.zeros(2), np.ones(3), 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="same number of members, at least 2; got 6 and 5"):
        eki.State(ensemble=problem.state.ensemble, updated=problem.state.ensemble[:5])
    problem.prior_std = np.array([1.0, 0.0])
    with pytest.raises(ValueError, match="prior_std must be 2 finite positive numbers"):
        problem.step(problem.state)
    problem.target = np.array([1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="target must be 3 finite numbers"):
        problem.step(problem.state, outputs=outputs)
    problem.target = np.zeros(4)
    with pytest.raises(ValueError, match=r"target must be 3 finite numbers.*got shape \(4,\)"):
        problem.step(problem.state, outputs=outputs)


VARIANTS = [
    {},
    {"update": "transform"},
    {"nesterov": True},
    {"sampling_error_correction": True},
    {"step": "constant", "final_time": 5.0},
]


@pytest.mark.parametrize("changes", VARIANTS)
def test_that_inputs_are_unmutated_and_same_rng_gives_same_digits(changes):
    problem = Problem(9, 3, (4, 2))
    outputs = problem.forward(problem.state.ensemble)
    outputs[4] = np.nan
    held = [a.copy() for a in (problem.state.ensemble, outputs, problem.target, problem.prior_std)]
    runs = [problem.step(problem.state, outputs=outputs, inflation=1e-2, seed=s, **changes) for s in (1, 1, 2)]
    for before, after in zip(held, (problem.state.ensemble, outputs, problem.target, problem.prior_std), strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(runs[0][0].ensemble, runs[1][0].ensemble)
    assert runs[0][1] == runs[1][1]
    assert not np.array_equal(runs[0][0].ensemble, runs[2][0].ensemble)
    assert runs[0][0].iteration == 1


@pytest.mark.parametrize("changes", VARIANTS)
def test_that_every_variant_fits_a_solvable_problem(changes):
    # J = 60 members for 3 parameters and a linear map: the minimum of the misfit over u is known in closed form
    problem = Problem(60, 3, (4, 2), nonlinearity=0.0)
    problem.target += problem.forward(2 * problem.prior_std)  # two prior standard deviations from where EKI starts
    white = problem.noise.whiten(problem.matrix.T).T
    solution = np.linalg.lstsq(white, problem.noise.whiten(problem.target), rcond=None)[0]
    best = problem.known.misfit(problem.forward(solution))
    states, infos = problem.run(20, np.random.default_rng(2), **changes)
    final = problem.known.misfit(problem.forward(states[-1].estimate))
    assert infos[0].misfit > 2 * best + 10
    # within 1 of the optimum: u's uncertainty under the data alone costs 3 (its number of parameters) on average
    assert final < best + 1
