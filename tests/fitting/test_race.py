"""The race: who takes part, who wins, how sure the winner is."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from rftune.data import Dataset
from rftune.fitting import race
from rftune.fitting.contenders import Contender, Fit, LeftOut, Problem
from rftune.fitting.gaussian_processes import ExactGP
from rftune.fitting.least_squares import LeastSquares
from rftune.fitting.lineup import CONTENDERS, line_up


@dataclass(frozen=True)
class Oracle(Contender):
    """Knows the outputs up to an error; in the tests its cost and its width can be chosen."""

    name: str
    title: str = "an oracle"
    error: float = 0.1
    width: float = 0.1
    cost: float = 1.0
    is_approximate: bool = False
    learns_noise: bool = False

    def seconds(self, n_samples, n_inputs):
        return self.cost

    def fit(self, problem, rng):
        return Fit(LeastSquares("constant", "", 0).fit(problem, rng).model, 1e-6)

    def left_out(self, problem, fit, rng):
        output = problem.data.outputs[:, 0]
        errors = self.error * np.random.default_rng(len(self.name)).standard_normal(len(output))
        n = len(output)
        return LeftOut(output - errors, np.full(n, self.width**2), np.full(n, 1e-6), "known")


@dataclass(frozen=True)
class Broken(Oracle):
    def fit(self, problem, rng):
        raise ArithmeticError("it broke")


def problem(n=400):
    rng = np.random.default_rng(0)
    return Problem(Dataset(rng.standard_normal((n, 2)), rng.standard_normal((n, 1))), None, np.arange(n))


def run(*contenders, budget=100.0, check=False, n=400):
    said = []
    result = race.run(
        problem(n), contenders, budget, np.random.default_rng(1), lambda *step: said.append(step), check=check
    )
    return result, result.table.set_index("emulator")["status"].to_dict(), said


def test_that_the_best_at_left_out_runs_wins():
    result, status, said = run(Oracle("poor", error=0.3), Oracle("good", error=0.1), Oracle("bad", error=0.5))
    assert (result.winner, status["good"], status["bad"]) == ("good", "chosen", "")
    assert [seconds for _, seconds in said] == [0.0, 1.0, 2.0]
    assert result.table["crps"].between(0.0, 1.0).all()


def test_that_among_equals_the_first_wins():
    """As good as equal: the second is better by less than the standard error of the difference."""
    assert run(Oracle("a", error=0.1), Oracle("b", error=0.1))[0].winner == "a"
    assert run(Oracle("b", error=0.1), Oracle("a", error=0.1))[0].winner == "b"
    assert run(Oracle("a", error=0.1), Oracle("long name", error=0.099))[0].winner == "a"
    assert run(Oracle("a", error=0.1), Oracle("b", error=0.09))[0].winner == "b"


def test_that_who_is_beyond_the_budget_stays_out_but_one_always_runs():
    result, status, _ = run(Oracle("dear", cost=1e6), Oracle("cheap", cost=1.0), budget=10.0)
    assert (result.winner, status["cheap"]) == ("dear", "beyond the budget: it would take some 1 s")
    _, status, _ = run(Oracle("cheap"), Oracle("dear", cost=20.0), Oracle("last"), budget=10.0)
    assert (status["dear"], status["last"]) == ("beyond the budget: it would take some 20 s", "")


def test_that_who_comes_to_nothing_is_named():
    _, status, _ = run(Broken("broken"), Oracle("whole"))
    assert status == {"broken": "came to nothing: it broke", "whole": "chosen"}
    with pytest.raises(ValueError, match=r"no emulator could be fitted to these 400 runs .broken: came to nothing"):
        run(Broken("broken"))


def test_that_approximate_emulators_pay_for_being_too_sure():
    result, _, _ = run(Oracle("sure", error=0.5, width=0.01, is_approximate=True))
    np.testing.assert_allclose(result.component.misfit_variance, 0.25, rtol=0.3)
    assert run(Oracle("sure", error=0.5, width=0.01))[0].component.misfit_variance == 0.0


@pytest.mark.parametrize(("error", "width"), [(0.2, 0.1), (0.1, 0.1), (0.1, 0.2)])
def test_that_error_bars_are_drawn_towards_the_errors(error, width):
    """By the ratio of the two, to a power that is 0.8 at 400 runs."""
    errors = error * np.random.default_rng(0).standard_normal(400)
    left_out = LeftOut(np.zeros(400), np.full(400, width**2), np.zeros(400), "")
    np.testing.assert_allclose(race._widening(errors, left_out), (error / width) ** 0.8, rtol=0.15)


def test_that_the_winner_is_checked_by_folds_where_the_budget_allows_it():
    checked = run(LeastSquares("linear", "", 1), check=True)[0].left_out
    assert checked.method == "10 folds, everything tuned again"
    kept = run(replace(Oracle("dear"), cost=90.0), check=True)[0].left_out
    assert kept.method == "known"


def test_that_a_constant_component_needs_no_race():
    task = replace(problem(), data=Dataset(problem().data.inputs, np.full((400, 1), 3.0)))
    result = race.run(task, [Broken("broken")], 1.0, np.random.default_rng(0), lambda *_: None)
    assert result.winner == "constant"
    np.testing.assert_allclose(result.component.model.mean(task.data.inputs), 3.0)


def test_that_the_line_up_is_as_large_as_the_budget():
    everyone = line_up(None, 300, 4, 60.0)
    assert [contender.name for contender in everyone] == list(CONTENDERS)
    processes = [contender for contender in line_up(None, 3000, 4, 60.0) if isinstance(contender, ExactGP)]
    assert all(200 < contender.n_tune < 3000 for contender in processes)
    assert all(contender.n_tune == 200 for contender in line_up(["ard"], 3000, 4, 1e-3))
    assert [contender.name for contender in line_up(["quadratic", "ard"], 300, 4, 60.0)] == ["quadratic", "ard"]


def test_that_unknown_contenders_are_named():
    with pytest.raises(ValueError, match=r"emulators must be among constant, .*; got 'anvoa'; did you mean 'anova'"):
        line_up(["anvoa"], 300, 4, 60.0)
    with pytest.raises(ValueError, match="at least one emulator must take part"):
        line_up([], 300, 4, 60.0)
