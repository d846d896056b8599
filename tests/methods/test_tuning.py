"""Tuning: finds better hyperparameters, tells when it failed, and gives the same digits on any number of workers."""

import numpy as np
import pytest

from rftune.data import Dataset
from rftune.features.distribution import Normal, Priors, make_structure
from rftune.scaling import Scaling
from rftune.tuning import loop as tuning
from rftune.tuning.loop import Settings, tune
from rftune.tuning.objective import Settings as ObjectiveSettings
from rftune.tuning.optimisers import eki


def scaled_problem(n_samples=60):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-2, 2, (n_samples, 2))
    outputs = np.sin(3 * inputs[:, :1]) + 0.05 * rng.standard_normal((n_samples, 1))
    data = Dataset(inputs, outputs)
    return Scaling.of(data, 0.05**2).scale(data)


def settings_with(n_members=12, n_iterations=5, **options):
    objective = ObjectiveSettings(n_features=30, noise_draws=10)
    return Settings(objective, n_members, n_iterations, **options)


def run(seed=1, structure=None, n_workers=1, **options):
    structure = structure or make_structure("diagonal", 2, 1)
    return tune(scaled_problem(), structure, settings_with(**options), np.random.default_rng(seed), n_workers)


def test_that_tuning_learns_which_input_matters():
    tuned = run(n_iterations=10)
    scales = make_structure("diagonal", 2, 1).constrain(tuned.parameters)["scales"]
    assert scales[0] > 3 * scales[1]  # the function oscillates in the first input and ignores the second
    assert tuned.history.misfit[-1] < 0.7 * tuned.history.misfit[0]
    assert tuned.failure == ""
    assert tuned.n_restarts == 0


def test_that_workers_change_no_digit():
    one, two = run(n_workers=1), run(n_workers=2)
    np.testing.assert_array_equal(one.parameters, two.parameters)
    np.testing.assert_array_equal(one.history.misfit, two.history.misfit)
    assert one.signal_share == two.signal_share


def test_that_the_seed_decides():
    np.testing.assert_array_equal(run(seed=1).parameters, run(seed=1).parameters)
    assert (run(seed=1).parameters != run(seed=2).parameters).any()


def test_that_the_history_tells_every_iteration():
    calls = []
    structure = make_structure("diagonal", 2, 1)
    rng = np.random.default_rng(0)
    tuned = tune(scaled_problem(), structure, settings_with(), rng, progress=lambda *args: calls.append(args))
    history = tuned.history
    assert len(history.misfit) == len(history.spread) == 6
    assert len(history.step) == len(history.n_failed) == len(history.seconds) == 5
    assert history.means.shape == (6, structure.n_parameters)
    assert [iteration for iteration, *_ in calls] == [1, 2, 3, 4, 5]
    assert calls[0][1:] == (1.0, 0)
    np.testing.assert_array_equal(tuned.parameters, history.means[-1])
    assert history.seconds.sum() < tuned.seconds


def test_that_the_zero_predictor_is_seen_restarted_and_reported():
    trapped = make_structure("diagonal", 2, 1, priors=Priors(amplitude=Normal(-40.0, 0.1)))
    tuned = run(structure=trapped, max_restarts=2)
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
    tuned = tune(data, make_structure("diagonal", 2, 1), settings_with(), np.random.default_rng(0))
    assert tuned.failure == ""


def test_that_a_final_time_ends_the_run():
    tuned = run(n_iterations=50, eki=eki.Settings(final_time=1.0))
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
        raise eki.EnsembleCollapse("no member survived")

    monkeypatch.setattr(eki, "step", collapse)
    tuned = run(max_restarts=0)
    assert tuned.failure == "no member survived"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_members": 1}, "n_members must be at least 2; got 1"),
        ({"n_iterations": 0}, "n_iterations must be at least 1; got 0"),
        ({"plateau_patience": 0}, "plateau_patience must be at least 1 or null; got 0"),
        ({"max_restarts": -1}, "max_restarts must be at least 0; got -1"),
    ],
)
def test_that_impossible_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        settings_with(**options)
