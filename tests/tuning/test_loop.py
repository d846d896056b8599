"""Tuning: finds better hyperparameters, tells when it failed, and gives the same digits on any number of workers."""

from textwrap import dedent

import numpy as np
import pytest
from pydantic import ValidationError

from reference import add_kind
from rftune.data import Dataset
from rftune.features.distribution import Prior
from rftune.features.settings import FeatureSettings
from rftune.scaling import Scaling
from rftune.settings import Normal
from rftune.tuning import loop as tuning
from rftune.tuning.loop import TuningSettings, tune
from rftune.tuning.objective import Objective
from rftune.tuning.optimiser import EnsembleCollapse
from rftune.tuning.optimisers.eki import EnsembleKalmanInversion
from rftune.tuning.workers import worker_pool

DIAGONAL = FeatureSettings(family="diagonal")


def scaled_problem(n_samples=60):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-2, 2, (n_samples, 2))
    outputs = np.sin(3 * inputs[:, :1]) + 0.05 * rng.standard_normal((n_samples, 1))
    data = Dataset(inputs, outputs)
    return Scaling.of(data, 0.05**2).scale(data)


def settings_with(n_members=12, n_iterations=5, final_time=None, **options):
    optimiser = {"name": "eki", "n_members": n_members, "final_time": final_time}
    return TuningSettings(n_features=30, noise_draws=10, n_iterations=n_iterations, optimiser=optimiser, **options)


def run(seed=1, features=DIAGONAL, n_workers=1, **options):
    return tune(scaled_problem(), features, settings_with(**options), np.random.default_rng(seed), n_workers)


def test_that_tuning_learns_which_input_matters():
    tuned = run(n_iterations=10)
    scales = DIAGONAL.structure(2, 1).constrain(tuned.parameters)["scales"]
    assert scales[0] > 3 * scales[1]  # the function oscillates in the first input and ignores the second
    assert tuned.history.misfit[-1] < 0.7 * tuned.history.misfit[0]
    assert tuned.failure == ""
    assert tuned.n_restarts == 0


@pytest.mark.parametrize("n_workers", [2, 4])
@pytest.mark.parametrize("result", ["final", "best"])
def test_that_workers_change_no_digit(n_workers, result):
    one, several = (run(n_workers=n, result=result, fresh_draws=3) for n in (1, n_workers))
    np.testing.assert_array_equal(one.parameters, several.parameters)
    np.testing.assert_array_equal(one.history.misfit, several.history.misfit)
    assert one.signal_share == several.signal_share


def test_that_points_have_the_generators_that_are_spawned_at_once():
    objective = Objective(scaled_problem(), DIAGONAL, settings_with(), np.random.default_rng(0))
    points = np.random.default_rng(1).standard_normal((9, objective.structure.n_parameters))
    streams = np.random.default_rng(2).spawn(9)
    expected = [objective.evaluate(*pair) for pair in zip(points, streams, strict=True)]
    with worker_pool(objective, 3) as evaluate:
        np.testing.assert_array_equal(evaluate(points, np.random.default_rng(2)), expected)


def test_that_what_goes_wrong_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(Objective, "evaluate", lambda *_: 1 / 0)
    objective = Objective(scaled_problem(), DIAGONAL, settings_with(), np.random.default_rng(0))
    with worker_pool(objective, 2) as evaluate, pytest.raises(ZeroDivisionError):
        evaluate(np.zeros((3, objective.structure.n_parameters)), np.random.default_rng(2))


def test_that_the_seed_decides():
    np.testing.assert_array_equal(run(seed=1).parameters, run(seed=1).parameters)
    assert (run(seed=1).parameters != run(seed=2).parameters).any()


def test_that_the_history_tells_every_iteration():
    calls = []
    rng = np.random.default_rng(0)
    tuned = tune(scaled_problem(), DIAGONAL, settings_with(), rng, progress=lambda *args: calls.append(args))
    history = tuned.history
    assert len(history.misfit) == len(history.spread) == 6
    assert len(history.step) == len(history.n_failed) == len(history.seconds) == 5
    assert history.means.shape == (6, DIAGONAL.structure(2, 1).n_parameters)
    assert [iteration for iteration, *_ in calls] == [1, 2, 3, 4, 5]
    assert calls[0][1:] == (1.0, 0)
    np.testing.assert_array_equal(tuned.parameters, history.means[-1])
    assert history.seconds.sum() < tuned.seconds


def test_that_the_zero_predictor_is_seen_restarted_and_reported():
    trapped = DIAGONAL.but(prior=Prior(amplitude=Normal(-40.0, 0.1)))
    tuned = run(features=trapped, max_restarts=2)
    assert tuned.failure.startswith("ended at the zero predictor")
    assert tuned.n_restarts == 2
    assert tuned.signal_share < 0.01


def test_that_a_restart_can_rescue_a_tuning(monkeypatch):
    shares = iter([0.0, 0.9])
    monkeypatch.setattr(tuning, "_signal_share", lambda *_: next(shares))
    tuned = run()
    assert (tuned.n_restarts, tuned.failure) == (1, "")


def test_that_constant_data_are_no_trap():
    data = Dataset(np.random.default_rng(0).standard_normal((30, 2)), np.zeros((30, 1)))
    tuned = tune(data, DIAGONAL, settings_with(), np.random.default_rng(0))
    assert tuned.failure == ""


def test_that_a_final_time_ends_the_run():
    tuned = run(n_iterations=50, final_time=1.0)
    assert len(tuned.history.step) < 50
    assert tuned.history.step.sum() == pytest.approx(1.0)


def test_that_a_plateau_ends_the_run_only_when_asked():
    assert len(run(n_iterations=30).history.step) == 30
    stopped = run(n_iterations=30, plateau_patience=3, plateau_tolerance=0.05)
    misfit = stopped.history.misfit[:-1]
    assert len(misfit) < 30
    assert misfit[-3:].min() > 0.95 * misfit[:-3].min()


def test_that_the_best_iterate_is_chosen_on_common_fresh_draws():
    final, best = run(n_iterations=8), run(n_iterations=8, result="best", fresh_draws=4)
    np.testing.assert_array_equal(final.history.means, best.history.means)
    assert any((best.parameters == mean).all() for mean in best.history.means)
    assert (best.parameters != best.history.means[0]).any()


def test_that_a_collapsed_ensemble_is_a_failure_with_a_reason(monkeypatch):
    def collapse(*_, **__):
        raise EnsembleCollapse("no member survived")

    monkeypatch.setattr(EnsembleKalmanInversion, "tell", collapse)
    tuned = run(max_restarts=0)
    assert tuned.failure == "no member survived"


RANDOM_SEARCH = dedent(
    """
    from typing import Any, NamedTuple
    import numpy as np
    from rftune.settings import Field
    from rftune.tuning.optimiser import EnsembleCollapse, Info, Optimiser

    class State(NamedTuple):
        points: Any
        best: Any
        misfit: float

    class RandomSearch(Optimiser[State]):
        n_points: int = Field(10, ge=1)

        def start(self, problem, rng):
            return State(self.drawn(problem, rng), problem.prior_mean, np.inf)

        def drawn(self, problem, rng):
            shape = (self.n_points, len(problem.prior_mean))
            return problem.prior_mean + problem.prior_std * rng.standard_normal(shape)

        def ask(self, state):
            return state.points

        def tell(self, state, outputs, problem, rng):
            misfits = np.array([problem.misfit(row) if np.isfinite(row).all() else np.inf for row in outputs])
            if np.isinf(misfits).all():
                raise EnsembleCollapse("no point has a finite output")
            least = int(np.argmin(misfits))
            best = (state.points[least], misfits[least]) if misfits[least] < state.misfit else state[1:]
            info = Info(best[1], problem.spread(state.points), int(np.isinf(misfits).sum()))
            return State(self.drawn(problem, rng), *best), info

        def estimate(self, state):
            return state.best
    """
)


def test_that_an_optimiser_is_added_with_one_file(monkeypatch, tmp_path):
    add_kind(monkeypatch, tmp_path, "rftune.tuning.optimisers", "random_search", RANDOM_SEARCH)
    settings = settings_with().but(optimiser={"name": "random_search", "n_points": 8}, n_iterations=12)
    tuned = tune(scaled_problem(), DIAGONAL, settings, np.random.default_rng(1))
    assert tuned.failure == ""
    assert np.isnan(tuned.history.step).all()
    assert (np.diff(tuned.history.misfit[:-1]) <= 0).all()
    assert tuned.history.misfit[-2] < 0.9 * tuned.history.misfit[0]
    scales = DIAGONAL.structure(2, 1).constrain(tuned.parameters)["scales"]
    assert scales[0] > scales[1]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"n_members": 1}, "optimiser.n_members"),
        ({"n_iterations": 0}, "n_iterations"),
        ({"fresh_draws": 0}, "fresh_draws"),
        ({"plateau_patience": 0}, "plateau_patience"),
        ({"max_restarts": -1}, "max_restarts"),
    ],
)
def test_that_impossible_settings_are_refused_by_name(options, field):
    with pytest.raises(ValidationError, match=rf"(?m)^{field}\b"):
        settings_with(**options)
