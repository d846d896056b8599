"""Whether an emulator can be believed: its predictions of runs that it has not seen, in numbers and in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rftune.data import Array, Dataset
from rftune.fitting import scores
from rftune.fitting.columns import Columns
from rftune.fitting.contenders import Problem
from rftune.fitting.least_squares import LeastSquares
from rftune.fitting.projection import Projection

LEVELS = np.linspace(0.05, 0.95, 19)  # of the calibration curve
_LEVEL = 0.95  # of a quadratic's score, above which a better one hardly is
_TOO_NARROW, _A_LITTLE_NARROW, _TOO_WIDE = 0.75, 0.84, 0.97  # coverages of the 90 % intervals
_USES = (  # up to an error, relative to the spread of the function
    (0.01, "standing in for the simulator", "differences below {error}"),
    (0.05, "predictions, sensitivity indices and calibration", "differences below {error}"),
    (0.2, "sensitivity indices and a first calibration", "predictions that have to be close"),
    (0.6, "telling which inputs matter, and in which direction", "predictions"),
    (np.inf, "nothing yet", "predictions: they are hardly better than the mean of the runs"),
)
_THIRDS = ("the lower third", "the middle third", "the upper third")
_NOTICED_EXCESS = 1.5  # of a mean square error in a third of an input's range, over that elsewhere
_LEAST_IN_THIRD = 8  # runs
_CLEARLY = 3.0  # standard deviations


@dataclass(frozen=True, eq=False)
class Validation:
    """Predictions of runs that were not learned from.

    Attributes
    ----------
    inputs, observed
        The runs.
    predicted, std : (n_runs, n_outputs)
        Of data, noise included.
    noise_variance : (n_outputs,)
    baselines
        By name the mean and standard deviation of simpler predictions of the same runs.
    method
        How the runs were left out, in words.
    """

    inputs: Columns
    observed: Columns
    predicted: Array
    std: Array
    noise_variance: Array
    baselines: dict[str, tuple[Array, Array]]
    method: str

    @property
    def errors(self) -> Array:
        """Observed less predicted, (n_runs, n_outputs)."""
        return self.observed.values - self.predicted

    @property
    def standardised(self) -> Array:
        """Errors in standard deviations, (n_runs, n_outputs)."""
        return self.errors / np.maximum(self.std, np.finfo(np.float64).tiny)

    @property
    def runs(self) -> pd.DataFrame:
        """A row per run and output."""
        names = [self.observed.run(row) for row in range(len(self.observed))]
        n_outputs = len(self.observed.names)
        return pd.DataFrame(
            {
                "run": np.repeat(names, n_outputs),
                "output": np.tile(self.observed.names, len(names)),
                "observed": self.observed.values.ravel(),
                "predicted": self.predicted.ravel(),
                "std": self.std.ravel(),
                "standardised_error": self.standardised.ravel(),
            }
        )

    @property
    def scores(self) -> pd.DataFrame:
        """A row per output: errors relative to its spread, coverage of intervals, CRPS beside simpler predictions."""
        spread = _spread(self.observed.values)
        square = np.mean(self.errors**2, axis=0)
        own = scores.crps(self.errors, self.std).mean(axis=0)
        table = {
            "output": list(self.observed.names),
            "relative_rmse": np.sqrt(square) / spread,
            "error_of_function": self._error_of_function(square),
            "noise_std": np.sqrt(self.noise_variance),
            **{f"coverage_{round(100 * p)}": scores.coverage(self.errors, self.std, p) for p in scores.LEVELS},
            "crps": own,
        }
        for name, (mean, std) in self.baselines.items():
            table[f"crps_{name}"] = scores.crps(self.observed.values - mean, std).mean(axis=0)
        return pd.DataFrame(table)

    def _error_of_function(self, square: Array) -> Array:
        """Error of the mean relative to the spread of the function, both without noise; infinite where that is all.

        By the errors, less what is noise in them, or by what the emulator itself expects, whichever is larger.
        """
        expected = np.mean(self.std**2, axis=0) - self.noise_variance
        error = np.maximum(np.maximum(square - self.noise_variance, expected), 0.0)
        signal = np.maximum(self.observed.values.var(axis=0) - self.noise_variance, np.finfo(np.float64).tiny)
        nothing = scores.nothing_learned(self.observed.values, self.errors)
        return np.where(nothing, np.inf, np.sqrt(error / signal))

    @property
    def calibration(self) -> pd.DataFrame:
        """Share of the runs inside their intervals, by what the intervals promise."""
        inside = [float(np.mean(scores.coverage(self.errors, self.std, level))) for level in LEVELS]
        return pd.DataFrame({"promised": LEVELS, "found": inside})

    def worst(self, n: int = 10) -> pd.DataFrame:
        """The runs that are predicted worst, by their largest standardised error."""
        table = self.runs
        order = table["standardised_error"].abs().sort_values(ascending=False, kind="stable").index
        return table.loc[order].drop_duplicates("run").head(n).reset_index(drop=True)

    @property
    def can_be_trusted(self) -> bool:
        """Whether something was learned of every output, and error bars are not far too narrow."""
        table = self.scores
        return bool(np.isfinite(table["error_of_function"]).all() and table["coverage_90"].mean() >= _TOO_NARROW)

    def verdict(self) -> list[str]:
        """Good for what, not good for what, and where to add runs."""
        return [*self._of_uses(), *self._of_intervals(), *self._of_places()]

    def _of_uses(self) -> Iterator[str]:
        table = self.scores
        errors = table["error_of_function"].to_numpy()
        uses = [next(use for use in _USES if error <= use[0]) for error in errors]
        for use in dict.fromkeys(uses):
            members = [place for place, other in enumerate(uses) if other == use]
            names = _listed([self.observed.names[place] for place in members])
            size = _percent(errors[members].max())
            of = f"an error of {size}" if len(members) == 1 else f"errors up to {size}"
            whose = "its" if len(members) == 1 else "their"
            ends = f", with {of} of {whose} spread" if np.isfinite(errors[members]).all() else ""
            yield f"{names}: good for {use[1]}{ends}; not good for {use[2].format(error='that')}."
        if "crps_quadratic" in table:
            is_level = (table["crps"] > _LEVEL * table["crps_quadratic"]) & np.isfinite(errors)
            if is_level.any():
                yield f"For {_listed(table.loc[is_level, 'output'].tolist())} a quadratic by least squares is as good."

    def _of_intervals(self) -> Iterator[str]:
        coverage = self.scores["coverage_90"].to_numpy()
        mean = float(coverage.mean())
        if mean < _TOO_NARROW:
            judged = "are too narrow to be relied on"
        elif mean < _A_LITTLE_NARROW:
            judged = "are a little narrow"
        elif mean > _TOO_WIDE:
            judged = "are on the safe side"
        else:
            judged = "can be believed"
        yield f"Its error bars {judged}: the 90 % intervals hold {100 * mean:.0f} % of the runs."

    def _of_places(self) -> Iterator[str]:
        """Where among the inputs errors are largest."""
        squares = np.mean((self.errors / _spread(self.observed.values)) ** 2, axis=1)
        excess, place, third = max(self._excesses(squares), default=(0.0, 0, 0))
        if excess < _NOTICED_EXCESS:
            yield "Errors are of one size over the range of every input: add runs anywhere, if they have to be smaller."
            return
        edges = np.quantile(self.inputs.values[:, place], [0.0, 1 / 3, 2 / 3, 1.0])
        yield (
            f"Errors are largest in {_THIRDS[third]} of {self.inputs.names[place]}, {edges[third]:.3g} to "
            f"{edges[third + 1]:.3g}: their mean square is {excess:.2g} times that elsewhere. Add runs there."
        )

    def _excesses(self, squares: Array) -> Iterator[tuple[float, int, int]]:
        """Of every third of an input's range that clearly has larger errors: by how much, the input, the third.

        Clearly: the sum of the ranks of its squared errors is three standard deviations above that of any runs.
        """
        n_runs = len(squares)
        ranks = np.argsort(np.argsort(squares, kind="stable"), kind="stable")
        for place, values in enumerate(self.inputs.values.T):
            thirds = np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values)
            for third in range(len(_THIRDS)):
                inside = thirds == third
                n_inside = int(inside.sum())
                if not _LEAST_IN_THIRD <= n_inside <= n_runs - _LEAST_IN_THIRD:
                    continue
                expected, std = n_inside * (n_runs - 1) / 2, np.sqrt(n_inside * (n_runs - n_inside) * (n_runs + 1) / 12)
                elsewhere = squares[~inside].mean()
                if ranks[inside].sum() > expected + _CLEARLY * std and elsewhere > 0.0:
                    yield float(squares[inside].mean() / elsewhere), place, third


def baselines(
    runs: Dataset, groups: NDArray[np.intp], projection: Projection, points: Array | None = None
) -> dict[str, tuple[Array, Array]]:
    """Predictions by the mean of the runs and, where there are enough, by a quadratic.

    Parameters
    ----------
    runs
        That are learned from.
    groups : (n_runs,)
        See `contenders.Problem`.
    projection
        Least squares are fitted to components, as the emulator is.
    points : (n_points, n_inputs)
        What is predicted; None for each run from the others.

    Returns
    -------
    dict
        Mean and standard deviation of data, (n_points, n_outputs) each, by name.
    """
    found = {}
    for contender in (LeastSquares("constant", "", 0), LeastSquares("quadratic", "", 2)):
        if contender.obstacle(runs.n_samples, runs.n_inputs):
            continue
        columns = projection.components(runs.outputs).T
        problems = [Problem(Dataset(runs.inputs, column[:, None]), None, groups) for column in columns]
        parts = [_least_squares(contender, problem, points) for problem in problems]
        mean, variance = (np.column_stack(part) for part in zip(*parts, strict=True))
        spread = projection.variance(variance) + projection.lost_variance
        found[contender.name] = (projection.outputs(mean), np.sqrt(spread))
    return found


def _least_squares(contender: LeastSquares, problem: Problem, points: Array | None) -> tuple[Array, Array]:
    """Mean and variance of data at points, or at each run from the others, (n_points,) each."""
    rng = np.random.default_rng(0)  # least squares draw nothing
    fit = contender.fit(problem, rng)
    if points is None:
        left_out = contender.left_out(problem, fit, rng)
        return left_out.mean, left_out.variance + left_out.noise_variance
    prediction = fit.model.predict(points)
    return prediction.mean[:, 0], prediction.covariance[:, 0, 0] + fit.noise_variance


def _spread(outputs: Array) -> Array:
    """Standard deviation of each output; 1 where it is constant."""
    spread = outputs.std(axis=0)
    return np.where(spread > 0.0, spread, 1.0)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1.0 else f"{share:.2g} times"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
