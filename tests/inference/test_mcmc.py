"""Posterior sampling against closed forms, across interruptions, and at its edges."""

from __future__ import annotations

from functools import partial
from typing import get_args

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from rftune.inference import diagnostics as convergence
from rftune.inference import mcmc, proposals
from rftune.inference.settings import SamplingSettings
from rftune.seeding import rng_for

MOVES = get_args(SamplingSettings.model_fields["move"].annotation)
WAYS = (*MOVES, "jumps")  # Metropolis with every second step a jump
# Many walkers make few steps each, which is fast for Metropolis; ensemble moves cost emcee time for every walker.
FAST = SamplingSettings(n_walkers=50, n_steps=40_000, block=5000)
# Short runs whose chains nobody looks at: 20 steps of 6 walkers per block, at most 4 blocks of burn-in, 3 kept.
TINY = SamplingSettings(n_walkers=6, n_steps=300, min_burn_in=240, max_burn_in=480, block=120)
JUMPING = FAST.but(jump_every=2)


def rng_of_block(block, seed=1):
    return rng_for(seed, "sample", block)


class Gaussian:
    """A correlated normal density, and draws of a start that is wider."""

    def __init__(self, n_parameters, seed=0):
        rng = np.random.default_rng(seed)
        root = rng.standard_normal((n_parameters, n_parameters))
        self.covariance = root @ root.T / n_parameters + 0.1 * np.eye(n_parameters)
        self.mean = np.arange(n_parameters, dtype=float)
        self.precision = np.linalg.inv(self.covariance)

    def __call__(self, x):
        return -0.5 * np.einsum("ni,ij,nj->n", x - self.mean, self.precision, x - self.mean)

    def start(self, n_walkers, width=3.0):
        return width * np.random.default_rng(1).standard_normal((n_walkers, len(self.mean)))


class Interrupted:
    """A density that counts its calls and stops the run at one of them."""

    def __init__(self, density, at_call=np.inf):
        self.density, self.at_call, self.n_calls = density, at_call, 0

    def __call__(self, x):
        self.n_calls += 1
        if self.n_calls == self.at_call:
            raise KeyboardInterrupt
        return self.density(x)


def run(density, start, settings=TINY, seed=1, **arguments):
    return mcmc.sample(density, start, settings, partial(rng_of_block, seed=seed), **arguments)


def settings_of(move):
    if move == "metropolis":
        return FAST
    if move == "jumps":
        return JUMPING
    return FAST.but(move=move, n_steps=15_000, min_burn_in=10_000, max_burn_in=10_000)


def assert_same(one, other):
    assert one.burn_in == other.burn_in
    np.testing.assert_equal([one.acceptance, one.jump_acceptance], [other.acceptance, other.jump_acceptance])
    assert one.n_undefined == other.n_undefined
    for name in ("samples", "log_density", "proposal_covariance"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.fixture(scope="module")
def gaussian():
    return Gaussian(5)


@pytest.fixture(scope="module")
def chains(gaussian):
    """One chain of each move, of the correlated Gaussian."""
    return {move: run(gaussian, gaussian.start(50), settings_of(move)) for move in WAYS}


@pytest.mark.parametrize("move", WAYS)
def test_that_moments_of_a_gaussian_are_met_within_their_monte_carlo_error(move, gaussian, chains):
    chain = chains[move]
    diagnostics = convergence.diagnose(chain, SamplingSettings())
    samples = chain.samples.reshape(-1, 5)
    std = np.sqrt(np.diag(gaussian.covariance))
    # Five standard errors. Squares of a normal chain decorrelate no slower than its values, so the size that holds
    # for the mean holds for the covariance, whose elements have variance (C_ii C_jj + C_ij²) / size.
    size = diagnostics.ess_bulk.min()
    assert (np.abs(samples.mean(axis=0) - gaussian.mean) < 5 * std / np.sqrt(size)).all()
    error = np.sqrt((np.outer(std, std) ** 2 + gaussian.covariance**2) / size)
    assert (np.abs(np.cov(samples.T) - gaussian.covariance) < 5 * error).all()
    assert size > 150  # the test has power
    np.testing.assert_array_equal(chain.log_density, gaussian(samples).reshape(-1, 50))


@pytest.mark.parametrize("move", WAYS)
def test_that_a_bounded_density_is_sampled_up_to_its_bounds(move):
    # x ~ Exp(1), y ~ U(0, 2), independent: x's distribution function is 1 - exp(-x), y's is y/2
    def density(points):
        x, y = points.T
        return np.where((x > 0) & (y > 0) & (y < 2), -x, -np.inf)

    settings = settings_of(move)
    chain = run(density, np.random.default_rng(1).uniform(-0.5, 2.0, (50, 2)), settings)
    size = convergence.diagnose(chain, settings).ess_bulk.min()
    samples = chain.samples.reshape(-1, 2)
    uniform = np.column_stack([1 - np.exp(-samples[:, 0]), samples[:, 1] / 2])
    assert ((uniform > 0) & (uniform < 1)).all()
    for level in (0.02, 0.25, 0.5, 0.75, 0.98):  # shares of a chain are known to √(p(1-p)/size)
        share = (uniform < level).mean(axis=0)
        assert (np.abs(share - level) < 5 * np.sqrt(level * (1 - level) / size)).all()
    assert size > 150


def test_that_a_banana_has_its_moments():
    # x ~ N(0, 1), y | x ~ N(x² - 1, ½²): y has mean 0, variance ¼ + var x² = 2.25, and E[y x²] = E[(x² - 1) x²] = 2
    def density(points):
        x, y = points.T
        return -0.5 * x**2 - 2 * (y - x**2 + 1) ** 2

    chain = run(density, np.random.default_rng(1).standard_normal((50, 2)), FAST.but(max_burn_in=30_000))
    x, y = chain.samples.reshape(-1, 2).T
    size = convergence.diagnose(chain, FAST).ess_bulk.min()
    for values, exact in ((x, 0.0), (y, 0.0), (x**2, 1.0), (y**2, 2.25), (y * x**2, 2.0)):
        error = 5 * values.std() / np.sqrt(size)
        assert abs(values.mean() - exact) < error
    assert size > 300


def test_that_metropolis_learns_the_shape_and_the_scale_of_the_target(gaussian, chains):
    chain = chains["metropolis"]
    # 20 % is the band in which burn-in may end; the last adaptation brings the acceptance nearer
    assert chain.acceptance == pytest.approx(0.25, rel=0.2)
    scale = np.sqrt(np.trace(chain.proposal_covariance @ gaussian.precision) / 5)
    assert scale == pytest.approx(2.38 / np.sqrt(5), rel=0.3)  # the theory's for many dimensions and 23 %
    ratio = np.linalg.eigvals(chain.proposal_covariance @ gaussian.precision).real / scale**2
    # The recent half of the burn-in holds 10 000 steps at least, about 600 effective ones, whose covariance has
    # eigenvalues within 1 ± 2 √(5/600) = 1 ± 0.18 of the target's.
    assert (np.abs(ratio - 1) < 0.25).all()
    assert FAST.min_burn_in <= chain.burn_in < FAST.max_burn_in


def test_that_jumps_leave_the_random_walk_its_acceptance_and_mix_better(chains):
    walking, jumping = chains["metropolis"], chains["jumps"]
    assert jumping.acceptance == pytest.approx(0.25, rel=0.2)
    assert jumping.jump_acceptance > 0.3
    assert np.isnan(walking.jump_acceptance)
    sizes = [convergence.diagnose(chain, FAST).ess_bulk.min() for chain in (walking, jumping)]
    assert sizes[1] > 2 * sizes[0]


def test_that_jumps_cross_between_modes_in_their_proportions():
    # 0.3 N(-6, 1) + 0.7 N(6, 1): a random walk of either width crosses once in some e^18 steps
    def density(points):
        x = points[:, 0]
        return np.logaddexp(np.log(0.3) - 0.5 * (x + 6) ** 2, np.log(0.7) - 0.5 * (x - 6) ** 2)

    start = np.random.default_rng(1).choice([-6.0, 6.0], (50, 1)) + np.random.default_rng(2).standard_normal((50, 1))
    settings = JUMPING.but(max_burn_in=20_000)
    chain = run(density, start, settings)
    crossings = np.count_nonzero(np.diff(np.sign(chain.samples[:, :, 0]), axis=0))
    assert crossings > 1000
    size = convergence.diagnose(chain, settings).ess_bulk[0]
    assert abs((chain.samples > 0).mean() - 0.7) < 5 * np.sqrt(0.21 / size)


def test_that_jumps_are_drawn_around_all_walkers_at_all_times(monkeypatch):
    seen = []
    monkeypatch.setattr(proposals, "KernelDensity", lambda points, shape: seen.append(points) or _Nowhere())

    class _Nowhere:
        def draw(self, n_draws, rng):
            return np.full((n_draws, 2), 1e6)

        def log(self, points):
            return np.zeros(len(points))

    settings = JUMPING.but(n_walkers=10, n_steps=100, min_burn_in=20_000, max_burn_in=20_000, block=2000)
    walker = np.arange(10.0)

    def flat(points):  # within a cell of each walker's own, so that a point tells whose it is
        return np.where(np.abs(points[:, 0] - walker) < 0.4, 0.0, -np.inf)

    start = np.column_stack([walker, np.random.default_rng(0).standard_normal(10)])
    run(flat, start, settings)
    owners = np.rint(seen[-1][:, 0])
    assert len(owners) == 1000
    for tenth in np.split(owners, 10):
        np.testing.assert_array_equal(np.unique(tenth), walker)


def test_that_jumps_are_drawn_from_the_density_that_they_are_weighed_by():
    points = np.random.default_rng(0).standard_normal((300, 2)) @ [[1.0, 0.5], [0.0, 0.3]]
    shape = np.cov(points.T)
    ours = proposals.KernelDensity(points, shape)
    scale = 300 ** (-1 / 3) * shape
    where = np.random.default_rng(1).standard_normal((20, 2))
    trusted = np.log(np.mean([stats.multivariate_t(point, scale, df=3).pdf(where) for point in points], axis=0))
    np.testing.assert_allclose(np.diff(ours.log(where)), np.diff(trusted), rtol=1e-9)
    draws = ours.draw(2000, np.random.RandomState(2))
    for axis in (0, 1):

        def distribution(x, axis=axis):
            return stats.t.cdf((x[:, None] - points[:, axis]) / np.sqrt(scale[axis, axis]), df=3).mean(axis=1)

        assert stats.kstest(draws[:, axis], distribution).pvalue > 1e-3


@pytest.mark.parametrize("width", [1e-3, 100.0])
@pytest.mark.parametrize("acceptance", [0.25, 0.5])
def test_that_the_acceptance_is_reached_from_a_start_of_the_wrong_width(gaussian, width, acceptance):
    settings = FAST.but(acceptance=acceptance, n_steps=10_000)
    chain = run(gaussian, gaussian.mean + gaussian.start(50, width), settings)
    assert chain.acceptance == pytest.approx(acceptance, rel=0.2)
    assert chain.burn_in < settings.max_burn_in


@pytest.mark.parametrize("move", ["stretch", "differential_evolution"])
def test_that_ensemble_moves_have_no_proposal_covariance(move, chains):
    assert np.isnan(chains[move].proposal_covariance).all()


def test_that_walkers_propose_independently():
    # emcee's own GaussianMove would add one increment to all of them
    seen = []

    def flat(points):
        seen.append(points.copy())
        return np.zeros(len(points))

    run(flat, Gaussian(2).start(6), TINY.but(n_steps=1200))
    increments = np.diff(seen[-200:], axis=0)[:, :, 0]  # a flat density accepts everything
    correlation = np.corrcoef(increments.T) - np.eye(6)
    assert np.abs(correlation).max() < 5 / np.sqrt(199)


def test_that_a_full_chain_is_long_enough(chains):
    # The default 100 000 steps are to give 1000 effective ones; these chains have 40 000.
    diagnostics = convergence.diagnose(chains["metropolis"], SamplingSettings())
    assert diagnostics.ess_bulk.min() > 400
    assert diagnostics.ess_tail.min() > 400
    relaxed = convergence.diagnose(chains["metropolis"], SamplingSettings(max_rhat=1.05))
    assert relaxed.converged
    assert relaxed.reason == ""


def ar1_chain(φ, n_steps=4000, n_walkers=10, shift=0.0):
    """Independent stationary autoregressions as a chain of one parameter; half of the walkers shifted."""
    rng = np.random.default_rng(3)
    x = np.empty((n_steps, n_walkers))
    x[0] = rng.standard_normal(n_walkers)
    for step in range(1, n_steps):
        x[step] = φ * x[step - 1] + np.sqrt(1 - φ**2) * rng.standard_normal(n_walkers)
    x[:, ::2] += shift
    return mcmc.Chain(x[:, :, None], np.zeros_like(x), 0, 1.0, np.nan, 0, np.eye(1))


def test_that_diagnostics_of_an_autoregression_are_those_of_its_closed_form():
    # τ = (1 + φ) / (1 - φ) = 19 for φ = 0.9, estimated with a relative error of about √(2 (2 · 5 + 1) τ / 40000) = 10 %
    diagnostics = convergence.diagnose(ar1_chain(0.9), SamplingSettings())
    np.testing.assert_allclose(diagnostics.autocorrelation_time, 19, rtol=0.3)
    np.testing.assert_allclose(diagnostics.ess_bulk, 40_000 / 19, rtol=0.3)
    # halves of 2000 steps have means of variance τ / 2000, so R-hat ≈ √(1 + 19/2000)
    np.testing.assert_allclose(diagnostics.rhat, np.sqrt(1 + 19 / 2000), atol=0.004)


def test_that_chains_in_two_places_have_not_converged():
    # variance within 1, between the halves of the walkers ¼ shift² = 1: R-hat ≈ √2
    diagnostics = convergence.diagnose(ar1_chain(0.0, shift=2.0), SamplingSettings())
    np.testing.assert_allclose(diagnostics.rhat, np.sqrt(2), rtol=0.1)
    assert not diagnostics.converged
    assert "R-hat above 1.01: 1.4" in diagnostics.reason
    assert "(parameter 0)" in diagnostics.reason


def test_that_a_bimodal_density_whose_walkers_are_stuck_is_flagged():
    def density(points):
        return np.logaddexp(-50 * ((points - 10) ** 2).sum(1), -50 * ((points + 10) ** 2).sum(1))

    start = np.sign(np.arange(50) % 2 - 0.5)[:, None] * 10 + 0.1 * np.random.default_rng(1).standard_normal((50, 2))
    settings = FAST.but(n_steps=5000, max_burn_in=20_000)
    chain = run(density, start, settings)
    diagnostics = convergence.diagnose(chain, settings)
    assert chain.burn_in == 20_000
    assert not diagnostics.converged
    assert diagnostics.reason.startswith("R-hat above 1.01")


def test_that_a_short_chain_is_flagged(gaussian):
    settings = FAST.but(n_steps=2000, max_rhat=2.0)
    diagnostics = convergence.diagnose(run(gaussian, gaussian.start(50), settings), settings)
    assert not diagnostics.converged
    assert diagnostics.reason.startswith("bulk ESS below 1000")
    assert "R-hat" not in diagnostics.reason


def test_that_walkers_that_never_move_are_flagged():
    start = Gaussian(2).start(6)
    chain = run(lambda x: np.where((x[:, None] == start).all(2).any(1), 0.0, -np.inf), start)
    diagnostics = convergence.diagnose(chain, TINY)
    assert chain.acceptance == 0
    assert not diagnostics.converged
    assert "R-hat above 1.01" in diagnostics.reason


def test_that_a_chain_too_short_for_diagnostics_is_flagged():
    start = Gaussian(2).start(6)
    settings = TINY.but(n_steps=12)
    diagnostics = convergence.diagnose(run(Gaussian(2), start, settings), settings)
    assert not diagnostics.converged


@pytest.mark.parametrize(
    ("move", "jump_every", "at_call"),  # at the start, in the burn-in, among the kept steps
    [
        *(("metropolis", 0, 1), ("metropolis", 0, 30), ("metropolis", 0, 115)),
        *(("metropolis", 3, 50), ("metropolis", 3, 115), ("stretch", 0, 75), ("differential_evolution", 0, 240)),
    ],
)
def test_that_an_interrupted_chain_goes_on_to_the_same_digits(move, jump_every, at_call, tmp_path, monkeypatch):
    monkeypatch.setattr(mcmc, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)

    def density_with_holes(x):
        return np.where(np.sin(5 * x[:, 0]) > 0.9, np.nan, density(x))

    density = Gaussian(2)
    settings, start = TINY.but(move=move, jump_every=jump_every), Gaussian(2).start(6, 1.0)
    undisturbed = Interrupted(density_with_holes)
    expected = run(undisturbed, start, settings)
    assert undisturbed.n_calls > at_call
    path = tmp_path / "state.nc"
    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(density_with_holes, at_call), start, settings, checkpoint=path, key="a")
    resumed = Interrupted(density_with_holes)
    assert_same(run(resumed, start, settings, checkpoint=path, key="a"), expected)
    assert expected.n_undefined > 0
    # all blocks before the interrupted one are done
    calls_per_block = 20 if move == "metropolis" else 40
    assert resumed.n_calls <= undisturbed.n_calls - (at_call - 2) // calls_per_block * calls_per_block


def test_that_a_finished_checkpoint_is_the_result(tmp_path):
    density, start = Interrupted(Gaussian(2)), Gaussian(2).start(6)
    path = tmp_path / "new folder" / "state.nc"
    first = run(density, start, checkpoint=path)
    density.n_calls = 0
    assert_same(run(density, start, checkpoint=path), first)
    assert density.n_calls == 0
    assert [file.name for file in path.parent.iterdir()] == ["state.nc"]


def truncated(path):
    path.write_bytes(path.read_bytes()[:-5000])


def emptied(path):
    path.write_bytes(b"")


def garbled(path):
    content = bytearray(path.read_bytes())
    content[8:600] = bytes(592)
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", [truncated, emptied, garbled])
def test_that_a_damaged_checkpoint_is_replaced(damage, tmp_path):
    path, start = tmp_path / "state.nc", Gaussian(2).start(6)
    first = run(Gaussian(2), start, checkpoint=path)
    damage(path)
    assert_same(run(Gaussian(2), start, checkpoint=path), first)
    finished = Interrupted(Gaussian(2))
    assert_same(run(finished, start, checkpoint=path), first)
    assert finished.n_calls == 0


@pytest.mark.parametrize(
    "other",
    [{"key": "b"}, {"settings": TINY.but(n_steps=240)}, {"seed": 2}, {"start": Gaussian(2).start(6, 2.0)}],
    ids=lambda other: next(iter(other)),
)
def test_that_the_checkpoint_of_another_run_is_ignored(other, tmp_path):
    path = tmp_path / "state.nc"
    run(Gaussian(2), Gaussian(2).start(6), checkpoint=path, key="a")
    arguments = {"start": Gaussian(2).start(6), "key": "a", **other}
    assert_same(run(Gaussian(2), checkpoint=path, **arguments), run(Gaussian(2), **arguments))


def test_that_checkpoints_of_a_fast_run_are_rare(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(mcmc, "_save", lambda state, path, identity: saved.append(state.block))
    run(Gaussian(2), Gaussian(2).start(6), checkpoint=tmp_path / "state.nc")
    assert len(saved) == 1


@pytest.mark.parametrize("move", MOVES)
def test_that_the_generators_determine_the_chain(move):
    start, settings = Gaussian(2).start(6), TINY.but(move=move)
    one = run(Gaussian(2), start, settings)
    np.random.seed(5)  # noqa: NPY002 - the global state, which emcee reads, must have no part in it
    assert_same(run(Gaussian(2), start, settings), one)
    assert not np.isin(run(Gaussian(2), start, settings, seed=2).samples, one.samples).any()


def test_that_steps_are_counted_over_all_walkers():
    told = []
    settings = TINY.but(n_steps=301, max_burn_in=240)
    chain = run(Gaussian(2), Gaussian(2).start(6), settings, progress=lambda *args: told.append(args))
    assert chain.samples.shape == (51, 6, 2)
    assert chain.log_density.shape == (51, 6)
    assert chain.burn_in == 240
    burn_in, kept = [("burn-in", n, 240) for n in (120, 240)], [("sampling", n, 301) for n in (120, 240, 306)]
    assert told == burn_in + kept


def test_that_burn_in_can_be_left_out():
    start = Gaussian(2).start(6)
    chain = run(Gaussian(2), start, TINY.but(min_burn_in=0, max_burn_in=0))
    assert chain.burn_in == 0
    np.testing.assert_allclose(chain.proposal_covariance, 2.38**2 / 2 * np.cov(start.T))


def test_that_one_parameter_is_sampled():
    chain = run(lambda x: -0.5 * x[:, 0] ** 2, np.random.default_rng(1).standard_normal((50, 1)), FAST)
    size = convergence.diagnose(chain, FAST).ess_bulk[0]
    assert abs(chain.samples.mean()) < 5 / np.sqrt(size)
    assert abs(chain.samples.var() - 1) < 5 * np.sqrt(2 / size)


def test_that_walkers_of_zero_density_join_the_others():
    start = Gaussian(2).start(6)
    start[1], start[4] = [100, 0], [0, 100]
    density = Gaussian(2)
    seen = []

    def with_bounds(x):
        seen.append(x)
        return np.where(x[:, 0] > 50, np.nan, np.where(x[:, 1] > 50, -np.inf, density(x)))

    chain = run(with_bounds, start)
    assert np.isfinite(chain.log_density).all()
    assert chain.n_undefined >= 1


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("n_positive", [0, 2])
def test_that_a_start_without_density_is_refused(move, n_positive):
    start = Gaussian(2).start(6)
    density = Interrupted(lambda x: np.where(np.arange(len(x)) < n_positive, 0.0, -np.inf))
    with pytest.raises(ValueError, match=f"finite at {n_positive} of 6 rows of start"):
        run(density, start, TINY.but(move=move))
    assert density.n_calls == 1


def test_that_a_degenerate_start_is_refused():
    start = Gaussian(2).start(6)
    start[:, 1] = 1 - 2 * start[:, 0]
    with pytest.raises(ValueError, match="lie in a plane"):
        run(Gaussian(2), start)
    start[:, 1] = 3.0
    with pytest.raises(ValueError, match="lie in a plane"):
        run(Gaussian(2), start)


@pytest.mark.parametrize(
    ("shape", "settings", "expected"),
    [
        ((5, 2), TINY, r"n_walkers = 6 as in the settings.*got shape \(5, 2\)"),
        ((6, 6), TINY, "at least 7 for 6 parameters with move 'metropolis'"),
        ((6, 4), TINY.but(move="stretch"), "at least 8 for 4 parameters with move 'stretch'"),
        ((6,), TINY, "start must be"),
    ],
)
def test_that_the_shape_of_the_start_is_checked(shape, settings, expected):
    with pytest.raises(ValueError, match=expected):
        run(lambda x: np.zeros(len(x)), np.random.default_rng(1).standard_normal(shape), settings)


@pytest.mark.parametrize(
    ("density", "expected"),
    [
        (lambda x: x, r"it made \(6, 2\) of \(6, 2\): vectorise"),
        (lambda x: 0.0, r"it made \(\) of \(6, 2\)"),
        (lambda x: np.full(len(x), np.inf), "log_density must be below inf; it is inf at"),
    ],
)
def test_that_the_density_is_checked(density, expected):
    with pytest.raises(ValueError, match=expected):
        run(density, Gaussian(2).start(6))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"move": "walk"}, "move"),
        ({"n_walkers": 1}, "n_walkers"),
        ({"n_steps": 0}, "n_steps"),
        ({"n_steps": 1e5}, "n_steps"),
        ({"min_burn_in": -1}, "min_burn_in"),
        ({"jump_every": -1}, "jump_every"),
        ({"acceptance": 0.0}, "acceptance"),
        ({"acceptance": np.nan}, "acceptance"),
        ({"max_rhat": 1.0}, "max_rhat"),
        ({"max_rhat": "1.01"}, "max_rhat"),
        ({"min_ess": -5.0}, "min_ess"),
    ],
)
def test_that_wrong_settings_are_refused_by_name(changes, field):
    with pytest.raises(ValidationError, match=rf"(?m)^{field}\b"):
        TINY.but(**changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"max_burn_in": 10}, "max_burn_in must be at least min_burn_in 240; got 10"),
        ({"block": 59}, "block must be at least 10 steps of each of 6 walkers; got 59"),
        ({"jump_every": 2, "min_burn_in": 0, "max_burn_in": 0}, "jumps are drawn from the burn-in"),
        ({"jump_every": 1}, "jump_every must be 0, for no jumps, or at least 2"),
    ],
)
def test_that_settings_must_fit_each_other(changes, expected):
    with pytest.raises(ValidationError, match=expected):
        TINY.but(**changes)
