"""An emulator of one's own runs: `fit` makes it, `load` reads one that was saved."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rftune import provenance
from rftune.data import Array, Dataset
from rftune.fitting import columns, model_file, posterior, sensitivity, training, validation
from rftune.fitting.columns import Columns
from rftune.fitting.lineup import line_up
from rftune.fitting.noise import replicates, stated
from rftune.fitting.posterior import Posterior
from rftune.fitting.threads import one_thread
from rftune.fitting.training import Trained
from rftune.fitting.validation import Validation
from rftune.inference.mcmc import Progress
from rftune.progress import progress_bar
from rftune.seeding import rng_for

_STEPS = 1000  # of the bar
_DESCRIBED = 60  # letters beside it
_FULLY_LISTED = 50  # columns whose numbers a card has one by one
BUDGET = 60.0  # estimated seconds of the race, unless the user says otherwise


@dataclass(frozen=True, eq=False)
class FittedEmulator:
    """An emulator of a simulator, or of any function, learned from runs of it.

    It takes inputs as an array, a data frame or an xarray data set, and gives results in the form of the outputs that
    it was fitted to.

    Attributes
    ----------
    trained
        The surrogate, its left-out predictions, the table of the race and what the user should know.
    inputs, outputs
        The runs that it was fitted to.
    card
        What a reader of the file should know: data, settings, versions, validation.
    """

    trained: Trained
    inputs: Columns
    outputs: Columns
    card: Mapping[str, Any]

    @property
    def race(self) -> pd.DataFrame:
        """A row for every contender: its scores at left-out runs, and whether it was chosen."""
        return self.trained.race

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, a sentence each."""
        return self.trained.notes

    @property
    def bounds(self) -> Array:
        """Range of every input in the runs, (n_inputs, 2)."""
        return np.stack([self.inputs.values.min(axis=0), self.inputs.values.max(axis=0)], axis=1)

    @property
    def noise_std(self) -> pd.Series:
        """Standard deviation of the noise by output, stated or learned."""
        return pd.Series(np.sqrt(self.trained.surrogate.output_noise_variances), index=list(self.outputs.names))

    def predict(self, x: Any, return_std: bool = False, return_cov: bool = False, noise: bool = False) -> Any:
        """Mean of the function at some inputs, and how sure it is.

        Parameters
        ----------
        x
            Inputs: an array with their columns in order, or columns by name.
        return_std
            Return standard deviations too.
        return_cov
            Return covariances of the outputs at each point too, (n_points, n_outputs, n_outputs).
        noise
            Whether standard deviations and covariances are those of new data, noise included, not the function's.
        """
        points = columns.like("inputs", x, self.inputs.names)
        surrogate = self.trained.surrogate
        with one_thread():
            if return_cov:
                prediction = surrogate.predict(points.values)
                added = surrogate.noise_covariance if noise else 0.0
                return self._in_form(prediction.mean, points), prediction.covariance + added
            if not return_std:
                return self._in_form(surrogate.mean(points.values), points)
            mean, std = surrogate.predict_std(points.values, noise)
        return self._in_form(mean, points), self._in_form(std, points)

    def predict_frame(self, x: Any, noise: bool = False) -> pd.DataFrame:
        """Inputs, means and standard deviations ("y", "y_std") as the columns of one table."""
        points = columns.like("inputs", x, self.inputs.names)
        with one_thread():
            mean, std = self.trained.surrogate.predict_std(points.values, noise)
        names = [*self.inputs.names, *self.outputs.names, *(f"{name}_std" for name in self.outputs.names)]
        return pd.DataFrame(np.concatenate([points.values, mean, std], axis=1), index=points.runs, columns=names)

    @property
    def output_variables(self) -> list[str]:
        """Names of the outputs in a file: of a field that of the whole."""
        blocks = self.outputs.form.blocks
        return [block.name for block in blocks] if blocks else list(self.outputs.names)

    def sample(self, x: Any, n_draws: int = 1, seed: int = 0) -> Array:
        """Functions that the emulator holds possible, drawn at some inputs, (n_draws, n_points, n_outputs)."""
        points = columns.like("inputs", x, self.inputs.names)
        with one_thread():
            return self.trained.surrogate.sample(points.values, n_draws, rng_for(seed, "own data", "draws"))

    def sensitivity(self, bounds: Any = None, n_base: int = sensitivity.N_BASE, seed: int = 0) -> pd.DataFrame:
        """Sobol indices of every output with 90 % intervals, for inputs that are uniform between bounds.

        Parameters
        ----------
        bounds
            [low, high] for every input in order, or by name for some; the range of the runs for the others.
        n_base
            Points of the design's base, a power of two.
        seed
        """
        checked = sensitivity.bounds_of(bounds, self.inputs.names, self.bounds)
        rng = rng_for(seed, "own data", "sensitivity")
        names = self.inputs.names, self.outputs.names
        with one_thread():
            return sensitivity.sobol_indices(self.trained.surrogate, *names, checked, n_base, rng)

    def main_effects(self, bounds: Any = None, seed: int = 0) -> pd.DataFrame:
        """The mean of every output over all other inputs, against each input, with 90 % bands."""
        checked = sensitivity.bounds_of(bounds, self.inputs.names, self.bounds)
        rng = rng_for(seed, "own data", "main effects")
        names = self.inputs.names, self.outputs.names
        with one_thread():
            return sensitivity.main_effects(self.trained.surrogate, *names, checked, rng)

    def validate(self, inputs: Any = None, outputs: Any = None) -> Validation:
        """How well runs are predicted that it has not seen: its own, each left out, or others.

        Parameters
        ----------
        inputs, outputs
            Runs that it was not fitted to; none for its own.
        """
        surrogate, runs = self.trained.surrogate, Dataset(self.inputs.values, self.outputs.values)
        groups = replicates(runs.inputs, runs.outputs).groups
        with one_thread():
            if inputs is None and outputs is None:
                of_runs = validation.baselines(runs, groups, surrogate.projection)
                mean, std = self.trained.left_out_mean, self.trained.left_out_std
                noises = surrogate.output_noise_variances
                return Validation(self.inputs, self.outputs, mean, std, noises, of_runs, self.card["left_out"])
            if inputs is None or outputs is None:
                raise ValueError("other runs need both inputs and outputs; got one of them")
            points = columns.like("inputs", inputs, self.inputs.names)
            observed = columns.like("outputs", outputs, self.outputs.names)
            columns.check_same_runs(points, observed)
            mean, std = surrogate.predict_std(points.values, noise=True)
            of_runs = validation.baselines(runs, groups, surrogate.projection, points.values)
        noises = surrogate.output_noise_variances
        return Validation(points, observed, mean, std, noises, of_runs, "runs that it was not fitted to")

    def infer(
        self,
        observation: Any,
        noise: Any = None,
        bounds: Any = None,
        n_steps: int = posterior.N_STEPS,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Posterior:
        """Inputs that agree with an observation, by Markov chains with the emulator, error bars and all.

        Parameters
        ----------
        observation
            An observed value of every output, in order or by name.
        noise
            Variance of the observation's noise, one for each output (also by name), or its covariance; None for that of
            the runs.
        bounds
            Between which the prior is uniform, see `sensitivity`.
        n_steps
            Kept steps of all chains together.
        seed
        progress
            Called with the phase, its steps so far and at most.
        """
        surrogate, names = self.trained.surrogate, self.outputs.names
        observed = posterior.observation_of(observation, names)
        known = stated(noise, names)
        if known is None:
            known = surrogate.output_noise_variances
        elif np.isnan(known).any():
            raise ValueError("the noise of the observation must be stated for every output, or for none")
        checked = sensitivity.bounds_of(bounds, self.inputs.names, self.bounds)
        settings = posterior.settings_for(len(self.inputs.names), n_steps)
        return posterior.sample(surrogate, self.inputs.names, checked, observed, known, settings, seed, progress)

    def save(self, path: str | Path) -> None:
        """Write everything to one netCDF file."""
        model_file.save(self.trained, self.inputs, self.outputs, self.card, path)

    def _in_form(self, values: Array, points: Columns) -> Any:
        return self.outputs.form.restore(values, self.outputs.names, points.runs)


def fit(
    inputs: Any,
    outputs: Any,
    *,
    noise: Any = None,
    emulators: Sequence[str] | None = None,
    budget: float = BUDGET,
    components: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> FittedEmulator:
    """Make an emulator of some runs, with nothing to set: a race decides between kinds of emulators.

    Parameters
    ----------
    inputs
        A row per run: an array, a data frame, a mapping of columns, or an xarray data set.
    outputs
        The same; one output may be a vector or a series, and an xarray variable with further dimensions is a field.
    noise
        Variance of the outputs' noise, one for each (also by name), or its covariance; 0 for a simulator without noise;
        None to learn it.
    emulators
        Who takes part in the race, see `lineup.CONTENDERS`; None for all.
    budget
        Estimated seconds of the race. What takes part follows from it and from the sizes, not from a clock: the same
        budget gives the same emulator on any machine.
    components
        How many combinations of the outputs are emulated; None for each output alone, or of more than ten outputs as
        many combinations as stand above the noise.
    seed
    progress
        Whether a bar is shown, at a terminal.
    """
    taken_in, learned = columns.read("inputs", inputs), columns.read("outputs", outputs)
    if not (isinstance(budget, int | float) and 0 < budget < np.inf):
        raise ValueError(f"budget must be a positive number of seconds; got {budget!r}")
    settings = {
        "noise": _plain(noise),
        "emulators": None if emulators is None else list(emulators),
        "budget": float(budget),
        "components": components,
        "seed": seed,
    }
    training.check(taken_in, learned)
    with one_thread(), progress_bar(_STEPS, "race") if progress else nullcontext() as bar:

        def step(what: str, share: float) -> None:
            if bar is not None:
                bar.set_description(what[:_DESCRIBED])
                bar.update(round(share * _STEPS) - bar.n)

        chosen = partial(line_up, emulators)
        trained = training.train(taken_in, learned, noise, chosen, float(budget), components, seed, step)
    return made(trained, taken_in, learned, settings)


def made(trained: Trained, inputs: Columns, outputs: Columns, settings: Mapping[str, Any]) -> FittedEmulator:
    """An emulator with its card."""
    bare = FittedEmulator(trained, inputs, outputs, {"left_out": trained.method})
    with one_thread():
        return replace(bare, card=_card(bare, settings))


def load(path: str | Path) -> FittedEmulator:
    """Read an emulator from the file that `FittedEmulator.save` wrote."""
    return FittedEmulator(*model_file.load(path))


def _card(emulator: FittedEmulator, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a reader of the file should know."""
    race = emulator.race
    chosen = race[race["status"] == "chosen"]
    validated = emulator.validate()
    scored = validated.scores
    return {
        "made_with": provenance.versions(),
        "n_runs": len(emulator.inputs),
        "inputs": _ranges(emulator.inputs),
        "outputs": _ranges(emulator.outputs),
        "data_sha256": _digest(emulator.inputs, emulator.outputs),
        "settings": dict(settings),
        "chosen": dict(zip(chosen["component"], chosen["emulator"], strict=True)),
        "left_out": emulator.trained.method,
        "validation": scored.set_index("output").to_dict("index") if len(scored) <= _FULLY_LISTED else _mean(scored),
        "verdict": validated.verdict(),
        "notes": list(emulator.notes),
    }


def _ranges(given: Columns) -> dict[str, list[float]]:
    low, high = given.values.min(axis=0).tolist(), given.values.max(axis=0).tolist()
    ranges = {name: list(pair) for name, pair in zip(given.names, zip(low, high, strict=True), strict=True)}
    return ranges if len(ranges) <= _FULLY_LISTED else {f"all {len(ranges)}": [min(low), max(high)]}


def _mean(scored: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Scores of many outputs as their mean."""
    return {f"mean of {len(scored)}": {str(k): float(v) for k, v in scored.drop(columns="output").mean().items()}}


def _digest(*tables: Columns) -> str:
    """A hash of names and numbers, by which a reader knows the data again."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update("\x1f".join(table.names).encode())
        digest.update(np.ascontiguousarray(table.values, dtype="<f8").tobytes())
    return digest.hexdigest()


def _plain(noise: Any) -> Any:
    """The noise as json can write it."""
    if isinstance(noise, Mapping):
        return {str(name): entry if entry is None else float(entry) for name, entry in noise.items()}
    return noise if noise is None else np.asarray(noise, dtype=object).tolist()
