"""Random feature regression: for all outputs together, for each alone, with a rank that is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import xarray as xr
from pydantic import model_validator

from rftune import memory
from rftune.analysis import metrics
from rftune.data import Array, Dataset, Model
from rftune.emulators import outcomes
from rftune.emulators.base import ScaledEmulator, Task, Training
from rftune.emulators.outcomes import Tuned
from rftune.emulators.per_output import SideBySide, columns
from rftune.features.distribution import Structure
from rftune.features.settings import FeatureSettings
from rftune.regression import refinement, weight_space
from rftune.regression.scaled import ScaledModel
from rftune.regression.selection import SelectionName
from rftune.settings import Field, Settings
from rftune.tuning import loop


class PredictionSettings(Settings):
    """The features that predict; their distribution is the tuned one."""

    n_features: int = Field(500, ge=1, description="M', features for prediction")
    pool: int | None = Field(
        None, ge=1, description="features that are drawn and of which the best M' are kept; null draws M'"
    )
    selection: SelectionName = Field(
        "strongest", description="of a pool: by coefficients in a fit of all; or one after the other, by what each adds"
    )
    n_steps: int = Field(0, ge=0, le=10_000, description="gradient steps that refine frequencies and phases")

    @model_validator(mode="after")
    def _check_pool(self) -> Self:
        if self.pool is not None and self.pool < self.n_features:
            raise ValueError(f"pool must be at least n_features, {self.n_features}, or null; got {self.pool}")
        return self

    def check(self, n_rows: int) -> None:
        """Raise a ValueError where features at so many rows of data, or their Gram matrix, cannot fit into memory."""
        drawn, name = (self.n_features, "n_features") if self.pool is None else (self.pool, "pool")
        order = min(drawn, max(self.n_features, n_rows))  # of a pool the system is the smaller of two
        memory.check(drawn * n_rows + order**2, f"prediction with {drawn} features", f"lower prediction.{name}")


class RandomFeatures(ScaledEmulator):
    """Random feature regression, its hyperparameters tuned or left at the mean of some draws of the prior."""

    features: FeatureSettings = Field(FeatureSettings(), description="the features and the prior of their distribution")
    tuning: loop.TuningSettings | None = Field(
        loop.TuningSettings(), description="how their hyperparameters are found; null: untuned"
    )
    prediction: PredictionSettings = Field(PredictionSettings(), description="the features that predict")

    @model_validator(mode="after")
    def _check_candidates(self) -> Self:
        if self.features.rank_candidates is not None and self.tuning is None:
            raise ValueError("rank_candidates are judged by their tuning: leave them out where tuning is null")
        return self

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        composite = self._composite()
        if composite is not None:
            return composite.check(n_samples, n_inputs, n_outputs)
        self.features.structure(n_inputs, n_outputs)
        self._check_prediction()
        self.prediction.check(n_samples * (n_outputs if self.features.outputs == "native" else 1))
        if self.tuning is None:
            return None
        self.tuning.check(n_samples, n_outputs)
        if self.tuning.precision == "float32" and not self.features.family.float32_is_safe:
            raise ValueError(
                f"float32 is unsafe with {self.features.family.kind_name()} features, whose Gram matrix is nearly "
                f"singular: use precision float64"
            )
        return None

    def _check_prediction(self) -> None:
        """Only native cosine features are pursued or refined."""
        is_plain = self.prediction.n_steps == 0 and self.prediction.selection == "strongest"
        if not is_plain and (self.features.outputs == "shared" or not self.features.map.is_cosine):
            raise ValueError(
                f"selection pursuit and n_steps are for native features of the map fourier; got "
                f"{self.features.outputs} features of the map {self.features.map.kind_name()}: leave them out"
            )

    def tune(self, task: Task) -> Tuned:
        composite = self._composite()
        return super().tune(task) if composite is None else composite.tune(task)

    def fit(self, training: Training, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        composite = self._composite()
        return super().fit(training, tuned, rng) if composite is None else composite.fit(training, tuned, rng)

    def tune_scaled(self, scaled: Dataset, task: Task) -> Tuned:
        structure = self.features.structure(scaled.n_inputs, scaled.n_outputs)
        if self.tuning is None:
            draws = task.rng.standard_normal((self.features.untuned_draws, structure.n_parameters))
            mean = (structure.prior_mean + structure.prior_std * draws).mean(axis=0)
            return outcomes.labelled(_parameter_variables(structure, mean), seconds=0.0)
        found = loop.tune(scaled, self.features, self.tuning, task.rng, task.n_workers, task.progress)
        return _outcome(found, structure, self.tuning.n_iterations)

    def fit_scaled(self, scaled: Dataset, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        drawn = self.features.sample(
            self.features.structure(scaled.n_inputs, scaled.n_outputs),
            tuned["parameters"].values,
            self.prediction.pool or self.prediction.n_features,
            scaled.outputs.var(axis=0),
            rng,
        )
        if self.prediction.pool is not None and self.prediction.selection == "strongest":
            drawn = weight_space.strongest(drawn, scaled, 1.0, self.prediction.n_features)
        elif self.prediction.pool is not None:
            drawn = refinement.pursued(drawn, scaled, self.prediction.n_features)
        if self.prediction.n_steps:
            drawn = refinement.refined_draw(drawn, scaled, self.prediction.n_steps)
        return weight_space.fit(drawn, scaled, noise=1.0)

    def _as_while_tuning(self) -> RandomFeatures:
        """The same with as many features for prediction as while tuning."""
        n_features = self.prediction.n_features if self.tuning is None else self.tuning.n_features
        return self.but(prediction=PredictionSettings(n_features=n_features))

    def _n_parameters(self, data: Dataset) -> int:
        """Number of hyperparameters for data of this size."""
        return self.features.structure(data.n_inputs, data.n_outputs).n_parameters

    def _composite(self) -> PerOutput | ChosenRank | None:
        """What it is made of, where it is more than one emulator."""
        if self.features.outputs == "separate":
            return PerOutput(self.but(features=self.features.but(outputs="native")))
        if self.features.rank_candidates is not None:
            ranks = [self.features.but(rank=rank, rank_candidates=None) for rank in self.features.rank_candidates]
            return ChosenRank([self.but(features=features) for features in ranks])
        return None


@dataclass(frozen=True)
class PerOutput:
    """An emulator of its own, with hyperparameters of its own, for every whitened output.

    Attributes
    ----------
    scalar
        Settings of each.
    """

    scalar: RandomFeatures

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        self.scalar.check(n_samples, n_inputs, 1)

    def tune(self, task: Task) -> Tuned:
        parts = _per_output(task.training)
        streams = zip(parts, task.rng.spawn(len(parts)), strict=True)
        return outcomes.side_by_side(
            [self.scalar.tune(replace(task, training=part, rng=stream)) for part, stream in streams]
        )

    def fit(self, training: Training, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        parts = _per_output(training)
        streams = enumerate(zip(parts, rng.spawn(len(parts)), strict=True))
        models = [self.scalar.fit(part, tuned.isel(output=output), stream) for output, (part, stream) in streams]
        return ScaledModel(training.scaling(), SideBySide(models))


@dataclass(frozen=True)
class ChosenRank:
    """Candidates of which the best on a validation split of the training data is taken.

    Every candidate is tuned on the rest of the data; the one with the smallest error on the split, in noise units, is
    tuned again on all of them. The split is as large as one of its folds.

    Attributes
    ----------
    candidates
        Simplest first: the first of equals is taken.
    """

    candidates: Sequence[RandomFeatures]

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        for candidate in self.candidates:
            candidate.check(n_samples - self._n_split(n_samples), n_inputs, n_outputs)

    def tune(self, task: Task) -> Tuned:
        split_rng, final_rng, *streams = task.rng.spawn(2 + 2 * len(self.candidates))
        split, rest = self._split(task.training, split_rng)
        errors, seconds = [], 0.0
        for candidate, tune_rng, fit_rng in zip(self.candidates, streams[::2], streams[1::2], strict=True):
            tuned = candidate.tune(replace(task, training=rest, rng=tune_rng))
            seconds += tuned.timing["seconds"].item()
            mean = candidate._as_while_tuning().fit(rest, tuned.result, fit_rng).mean(split.inputs)
            scaling = task.training.scaling()
            error = metrics.mean_error_norm(scaling.scale_outputs(mean), scaling.scale_outputs(split.outputs))
            errors.append(np.inf if tuned.result["failure"].item() else error)
        chosen = int(np.argmin(errors))
        final = self.candidates[chosen].tune(replace(task, rng=final_rng))
        return self._outcome(final, chosen, errors, seconds, task.training.data)

    def fit(self, training: Training, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        chosen = self.candidates[int(tuned["chosen"])]
        n_parameters = chosen._n_parameters(training.data)
        return chosen.fit(training, tuned.isel(parameter=slice(n_parameters)), rng)

    def _n_split(self, n_samples: int) -> int:
        tuning = self.candidates[0].tuning
        assert tuning is not None, "untuned features have no candidates"
        return tuning.fold_size(n_samples)

    def _split(self, training: Training, rng: np.random.Generator) -> tuple[Dataset, Training]:
        """Data that judge, and the rest to learn from."""
        data = training.data
        order, n_split = rng.permutation(data.n_samples), self._n_split(data.n_samples)
        split, rest = (Dataset(data.inputs[rows], data.outputs[rows]) for rows in (order[:n_split], order[n_split:]))
        return split, Training(rest, training.noise)

    def _outcome(self, final: Tuned, chosen: int, errors: list[float], seconds: float, data: Dataset) -> Tuned:
        """The final tuning with the choice beside it, in arrays whose sizes do not depend on the choice."""
        longest = max(candidate._n_parameters(data) for candidate in self.candidates)
        own = [name for name in final.result if str(name).startswith("tuned_")]
        padding = longest - final.result.sizes["parameter"]
        result = final.result.drop_vars(own).pad(parameter=(0, padding), constant_values=np.nan)
        result["chosen"] = ((), chosen)
        result["candidate_error"] = ("candidate", errors)
        return Tuned(result, final.timing.assign(seconds=final.timing["seconds"] + seconds))


def _per_output(training: Training) -> list[Training]:
    """The whitened data of each output alone."""
    return [Training(part, np.eye(1)) for part in columns(training.scaling().scale(training.data))]


def _parameter_variables(structure: Structure, parameters: Array) -> dict[str, Any]:
    """The unconstrained vector, and its constrained values by name ("tuned_scales", ...)."""
    values = {f"tuned_{name}": value for name, value in structure.constrain(parameters).items()}
    named = {key: (tuple(f"{key}_{axis}" for axis in range(np.ndim(value))), value) for key, value in values.items()}
    return {"parameters": ("parameter", parameters), **named}


def _outcome(found: loop.Found, structure: Structure, n_iterations: int) -> Tuned:
    """The outcome of one tuning of random features, with the history of its ensemble."""
    history = found.history

    def padded(values: Array, length: int) -> Array:
        """A run that stopped early has NaN where there was no iteration."""
        return np.pad(values.astype(np.float64), (0, length - len(values)), constant_values=np.nan)

    variables = {
        **_parameter_variables(structure, found.parameters),
        "misfit": ("iteration", padded(history.misfit, n_iterations + 1)),
        "spread": ("iteration", padded(history.spread, n_iterations + 1)),
        "step": ("update", padded(history.step, n_iterations)),
        "failed_members": ("update", padded(history.n_failed, n_iterations)),
        "signal_share": ((), found.signal_share),
    }
    tuned = outcomes.labelled(
        variables,
        found.seconds,
        found.failure,
        n_restarts=found.n_restarts,
        n_failed_members=int(history.n_failed.sum()),
        objective_ratio=float(history.misfit[-1] / history.misfit[0]) if history.misfit[0] > 0 else np.nan,
    )
    tuned.timing["update_seconds"] = ("update", padded(history.seconds, n_iterations))
    return tuned
