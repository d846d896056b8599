"""Random features as some of the `emulators`: for all outputs together, for each alone, with a rank that is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import xarray as xr

from rftune.analysis import metrics
from rftune.data import Array, Dataset, Model
from rftune.emulators import outcomes
from rftune.emulators import per_output as separate
from rftune.emulators.outcomes import TunedEmulator
from rftune.features import drawn as features
from rftune.features.distribution import Draw, Normal, Priors, Rank, Structure, make_structure
from rftune.regression import weight_space as regression
from rftune.regression.scaled import ScaledModel
from rftune.scaling import Scaling
from rftune.tuning import loop as tuning
from rftune.tuning import objective
from rftune.tuning.loop import Progress
from rftune.tuning.optimisers import eki


@dataclass(frozen=True)
class RandomFeatures:
    """Random feature regression, tuned by ensemble Kalman inversion or left at the mean of the initial ensemble.

    Attributes
    ----------
    structure, rank, priors, draw, separable, max_rank
        See `structures.make_structure`.
    tuning
        See `tuning.Settings`.
    n_features_predict
        M', the number of features for prediction; None for as many as in tuning.
    n_features_pool
        Number of features drawn, of which the M' with the largest coefficients are kept; None draws M'.
    tuned
        False for the untuned emulator.
    """

    structure: str
    rank: Rank
    priors: Priors
    tuning: tuning.Settings
    n_features_predict: int | None = None
    n_features_pool: int | None = None
    tuned: bool = True
    draw: Draw = field(default_factory=Draw)
    separable: bool = False
    max_rank: int | None = None

    def __post_init__(self) -> None:
        if self.n_features_predict is not None and self.n_features_predict < 1:
            raise ValueError(f"n_features_predict must be at least 1; got {self.n_features_predict}")
        if self.n_features_pool is not None and self.n_features_pool < self._n_predict:
            raise ValueError(
                f"n_features_pool must be at least n_features_predict, {self._n_predict}, or null; "
                f"got {self.n_features_pool}"
            )

    @property
    def _n_predict(self) -> int:
        return self.n_features_predict or self.tuning.objective.n_features

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        self._structure(n_inputs, n_outputs)
        self.tuning.objective.fold_size(n_samples)
        if self.structure == "sparse" and self.tuning.objective.precision == "float32":
            raise ValueError(
                "float32 is unsafe with sparse features, many of which are constant, so that their Gram matrix is "
                "nearly singular: use precision float64"
            )

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        structure = self._structure(data.n_inputs, data.n_outputs)
        if not self.tuned:
            untuned = tuning.initial_mean(structure, self.tuning.n_members, rng)
            return outcomes.labelled(outcomes.parameter_variables(structure, untuned), seconds=0.0)
        scaled = Scaling.of(data, noise).scale(data)
        found = tuning.tune(scaled, structure, self.tuning, rng, n_workers, progress)
        return outcomes.of_tuning(found, structure, self.tuning.n_iterations)

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        scaling = Scaling.of(data, noise)
        scaled = scaling.scale(data)
        drawn = features.draw(
            self._structure(data.n_inputs, data.n_outputs),
            tuned["parameters"].values,
            self.n_features_pool or self._n_predict,
            scaled.outputs.var(axis=0),
            rng,
            self.tuning.objective.outputs,
            self.tuning.objective.feature_map,
        )
        if self.n_features_pool is not None:
            drawn = regression.strongest(drawn, scaled, 1.0, self._n_predict)
        return ScaledModel(scaling, regression.fit(drawn, scaled, noise=1.0))

    def n_parameters(self, n_inputs: int, n_outputs: int) -> int:
        """Number of hyperparameters for data of this size."""
        return self._structure(n_inputs, n_outputs).n_parameters

    def _structure(self, n_inputs: int, n_outputs: int) -> Structure:
        blocks = n_outputs if self.tuning.objective.outputs == "native" else 1
        return make_structure(
            self.structure, n_inputs, blocks, self.rank, self.priors, self.draw, self.separable, self.max_rank
        )


@dataclass(frozen=True)
class SeparateOutputs:
    """A scalar emulator of its own, with hyperparameters of its own, for every whitened output.

    Attributes
    ----------
    scalar
        Settings of each.
    """

    scalar: RandomFeatures

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        self.scalar.check(n_samples, n_inputs, 1)

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        parts = separate.columns(Scaling.of(data, noise).scale(data))
        streams = rng.spawn(len(parts))
        return outcomes.side_by_side(
            [
                self.scalar.tune(part, np.eye(1), stream, n_workers, progress)
                for part, stream in zip(parts, streams, strict=True)
            ]
        )

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        scaling = Scaling.of(data, noise)
        parts = separate.columns(scaling.scale(data))
        models = [
            self.scalar.fit(part, np.eye(1), tuned.isel(output=output), stream)
            for output, (part, stream) in enumerate(zip(parts, rng.spawn(len(parts)), strict=True))
        ]
        return ScaledModel(scaling, separate.Separate(models))


@dataclass(frozen=True)
class ChosenRank:
    """Random features whose rank is chosen on a validation split of the training data.

    Every candidate is tuned on the rest of the data; the one with the smallest error on the split, in noise units, is
    tuned again on all of them.

    Attributes
    ----------
    base
        Settings but for the rank; the split is as large as one of its folds.
    candidates
        Ranks, simplest first: the first of equals is taken.
    """

    base: RandomFeatures
    candidates: tuple[Rank, ...]

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        n_rest = n_samples - self.base.tuning.objective.fold_size(n_samples)
        for rank in self.candidates:
            replace(self.base, rank=rank).check(n_rest, n_inputs, n_outputs)

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        split_rng, final_rng, *streams = rng.spawn(2 + 2 * len(self.candidates))
        order = split_rng.permutation(data.n_samples)
        n_split = self.base.tuning.objective.fold_size(data.n_samples)
        split, rest = (Dataset(data.inputs[rows], data.outputs[rows]) for rows in (order[:n_split], order[n_split:]))
        errors, seconds = [], 0.0
        for rank, tune_rng, fit_rng in zip(self.candidates, streams[::2], streams[1::2], strict=True):
            candidate = replace(self.base, rank=rank)
            tuned = candidate.tune(rest, noise, tune_rng, n_workers, progress)
            seconds += tuned.timing["seconds"].item()
            mean = candidate.fit(rest, noise, tuned.result, fit_rng).mean(split.inputs)
            scaling = Scaling.of(data, noise)
            error = metrics.mean_error_norm(scaling.scale_outputs(mean), scaling.scale_outputs(split.outputs))
            errors.append(np.inf if tuned.result["failure"].item() else error)
        chosen = int(np.argmin(errors))
        final = replace(self.base, rank=self.candidates[chosen]).tune(data, noise, final_rng, n_workers, progress)
        return self._outcome(final, chosen, errors, seconds, data)

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        chosen = replace(self.base, rank=self.candidates[int(tuned["chosen"])])
        n_parameters = chosen.n_parameters(data.n_inputs, data.n_outputs)
        return chosen.fit(data, noise, tuned.isel(parameter=slice(n_parameters)), rng)

    def _outcome(
        self, final: TunedEmulator, chosen: int, errors: list[float], seconds: float, data: Dataset
    ) -> TunedEmulator:
        """The final tuning with the choice beside it, in arrays whose sizes do not depend on the choice."""
        longest = max(
            replace(self.base, rank=rank).n_parameters(data.n_inputs, data.n_outputs) for rank in self.candidates
        )
        own = [name for name in final.result if str(name).startswith("tuned_")]
        padding = longest - final.result.sizes["parameter"]
        result = final.result.drop_vars(own).pad(parameter=(0, padding), constant_values=np.nan)
        result["chosen"] = ((), chosen)
        result["candidate_error"] = ("candidate", errors)
        return TunedEmulator(result, final.timing.assign(seconds=final.timing["seconds"] + seconds))


def from_options(options: Mapping[str, Any]) -> RandomFeatures | SeparateOutputs | ChosenRank:
    """Settings from a block of the config without its kind, see `emulators.from_config`."""
    if options["objective"]["outputs"] == "separate":
        native = {**options["objective"], "outputs": "native"}
        return SeparateOutputs(_random_features({**options, "objective": native}))
    candidates = options["rank_candidates"]
    if candidates is None:
        return _random_features(options)
    return ChosenRank(_random_features(options), tuple(_rank(candidate) for candidate in candidates))


def _rank(value: Any) -> Rank:
    return tuple(value) if isinstance(value, list) else value


def _random_features(options: Mapping[str, Any]) -> RandomFeatures:
    prior = options["prior"]
    own = {setting.name for setting in fields(tuning.Settings)} - {"objective", "eki"}
    return RandomFeatures(
        structure=options["structure"],
        rank=_rank(options["rank"]),
        priors=Priors(
            amplitude=Normal(*prior["amplitude"]),
            log_scale=Normal(*prior["log_scale"]),
            log_strength=Normal(*prior["log_strength"]),
            loading_std=prior["loading_std"],
            active_inputs=prior["active_inputs"],
            inclusion_std=prior["inclusion_std"],
        ),
        tuning=tuning.Settings(
            objective=objective.Settings(n_features=options.get("n_features", 1), **options["objective"]),
            eki=eki.Settings(**options.get("eki", {})),
            **{name: options[name] for name in own if name in options},
        ),
        n_features_predict=options.get("n_features_predict"),
        n_features_pool=options.get("n_features_pool"),
        tuned=options["tuned"],
        draw=Draw(**options["draw"]),
        separable=options["separable"],
        max_rank=options["max_rank"],
    )
