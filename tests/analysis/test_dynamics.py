"""Integrators, trajectories, departures, horizons and Lyapunov exponents, against closed forms and known values."""

import numpy as np
import pytest

from rftune.analysis import dynamics


def decay(states):
    return -states


def lorenz(states):
    x, y, z = states.T
    return np.column_stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("rk4", 4)])
def test_that_integrators_converge_with_their_order(method, order):
    errors = []
    for n in (20, 40):
        step = dynamics.integrator(decay, 1.0 / n, method)
        errors.append(abs(dynamics.iterate(step, np.array([[1.0]]), n)[0, -1, 0] - np.exp(-1.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_that_the_euler_step_is_the_papers():
    state = np.array([[1.0, 2.0, 3.0]])
    expected = state + 0.01 * np.array([[10.0, 1 * (28 - 3) - 2, 1 * 2 - 8 / 3 * 3]])
    np.testing.assert_allclose(dynamics.integrator(lorenz, 0.01)(state), expected, rtol=1e-15)


@pytest.mark.parametrize("bad", [{"time_step": 0.0}, {"time_step": np.nan}, {"time_step": 0.1, "method": "leapfrog"}])
def test_that_bad_integrators_are_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        dynamics.integrator(decay, **bad)


def test_that_trajectories_in_a_batch_are_those_of_single_starts():
    step = dynamics.integrator(lorenz, 0.01)
    starts = np.random.default_rng(1).standard_normal((4, 3))
    together = dynamics.iterate(step, starts, 50)
    for start, trajectory in zip(starts, together, strict=True):
        np.testing.assert_array_equal(dynamics.iterate(step, start[None], 50)[0], trajectory)
    np.testing.assert_array_equal(together[:, 0], starts)


def test_that_a_trajectory_stops_where_it_escapes_and_the_others_go_on():
    def step(states):
        assert np.isfinite(states).all()  # nothing that has escaped is evaluated
        grown = 10.0 * states
        return np.where(grown == 10.0, np.nan, grown)

    run = dynamics.iterate(step, np.array([[1e-6], [1.0], [3.0]]), 5, limit=100.0)
    np.testing.assert_allclose(run[0, :, 0], 1e-6 * 10.0 ** np.arange(6))
    assert np.isnan(run[1, 1:]).all()  # NaN at once
    np.testing.assert_allclose(run[2, :2, 0], [3.0, 30.0])
    assert np.isnan(run[2, 2:]).all()  # 300 is beyond the limit


def test_that_nothing_is_evaluated_after_all_have_escaped():
    calls = []

    def step(states):
        calls.append(len(states))
        return 2000.0 * states

    dynamics.iterate(step, np.ones((2, 1)), 50)
    assert calls == [2]


def test_that_departures_are_named_with_their_time():
    dt, scales = 0.01, np.ones(2)
    t = np.arange(8001) * dt
    chaotic = np.cumsum(np.random.default_rng(3).standard_normal((len(t), 2)), axis=0) / 20
    assert dynamics.departure(chaotic, dt, scales).reason == ""
    assert np.isnan(dynamics.departure(chaotic, dt, scales).time)

    escaped = chaotic.copy()
    escaped[700:] = np.nan
    assert dynamics.departure(escaped, dt, scales) == ("escaped", 7.0)

    resting = np.where(t[:, None] < 30, chaotic, chaotic[3000])
    assert dynamics.departure(resting, dt, scales).reason == "fixed point"
    assert dynamics.departure(resting, dt, scales).time == pytest.approx(30.0, abs=2 * dt)


@pytest.mark.parametrize("period", [1.0, 1.003, 0.7537, 4.9])
def test_that_a_cycle_is_noticed_whatever_its_period(period):
    dt = 0.01
    t = np.arange(8001) * dt
    angle = 2 * np.pi * t / period
    wandering = np.cumsum(np.random.default_rng(3).standard_normal((len(t), 2)), axis=0) / 20
    caught = np.where(t[:, None] < 40, wandering, np.column_stack([np.cos(angle), np.sin(angle)]))
    left = dynamics.departure(caught, dt, np.ones(2))
    assert left.reason == "cycle"
    assert left.time == pytest.approx(40.0, abs=period)


@pytest.mark.parametrize("rho", [160.0, 350.0])
def test_that_stable_periodic_orbits_of_lorenz_are_cycles(rho):
    def tendency(states):
        x, y, z = states.T
        return np.column_stack([10 * (y - x), x * (rho - z) - y, x * y - 8 / 3 * z])

    run = dynamics.iterate(dynamics.integrator(tendency, 0.005, "rk4"), np.array([[1.0, 5.0, 100.0]]), 20_000)[0]
    assert dynamics.departure(run, 0.005, run.std(axis=0)).reason == "cycle"


def test_that_slow_motion_is_no_cycle():
    line = np.linspace(0.0, 30.0, 8001)[:, None]  # every state is close to the one before
    assert dynamics.departure(line, 0.01, np.ones(1)).reason == ""


def test_that_the_true_attractor_is_no_cycle():
    run = dynamics.iterate(dynamics.integrator(lorenz, 0.01), np.array([[1.0, 0.0, 0.0]]), 20_000)[0]
    assert dynamics.departure(run, 0.01, run.std(axis=0)).reason == ""


def test_that_the_horizon_is_the_first_time_beyond_the_threshold():
    truth = np.zeros((3, 6, 2))
    predicted = truth.copy()
    predicted[0, 3] = [0.6, 0.8]  # norm 1 at step 3, good again afterwards
    predicted[1, 2:] = np.nan
    np.testing.assert_allclose(dynamics.horizons(predicted, truth, 0.9, 0.5), [1.5, 1.0, 2.5])


def test_that_lyapunov_exponents_are_the_known_ones():
    # The doubling map's is log 2; a shift keeps float64 from running out of bits.
    doubling = dynamics.lyapunov_exponent(lambda u: (2 * u + 1e-3 * np.sqrt(2)) % 1.0, np.array([0.3]), 500, 1.0, 1e-9)
    assert doubling == pytest.approx(np.log(2), abs=0.02)
    contracting = dynamics.lyapunov_exponent(lambda u: 0.5 * u, np.array([1.0, 1.0]), 50, 0.1)
    assert contracting == pytest.approx(np.log(0.5) / 0.1, rel=1e-6)


def test_that_lorenz_has_its_published_lyapunov_exponent():
    step = dynamics.integrator(lorenz, 0.01, "rk4")
    start = dynamics.iterate(step, np.array([[1.0, 0.0, 0.0]]), 2000)[0, -1]
    # .9056 (Sprott 2003); over 300 time units the local exponents scatter by about .03
    assert dynamics.lyapunov_exponent(step, start, 30_000, 0.01) == pytest.approx(0.9056, abs=0.09)
