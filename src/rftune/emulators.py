"""The emulators that an experiment compares, each with the same two calls: tune, then fit.

`tune` looks for hyperparameters and returns them with their history as labelled arrays, ready to be stored; `fit`
conditions on the data with stored hyperparameters. Randomness, and with it a repeat, is in the generators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import xarray as xr

from rftune import eki, features, gp, objective, regression, separate, tuning
from rftune.baselines import BASELINES, check_sizes_of_persistence
from rftune.data import OUTCOME, Array, Dataset, Model
from rftune.scaling import Emulator, Scaling
from rftune.structures import Draw, Normal, Priors, Rank, Structure, make_structure
from rftune.tuning import Progress


@dataclass(frozen=True, eq=False)
class TunedEmulator:
    """Outcome of `tune`: ``result`` is the same for the same seed, ``timing`` (in seconds) is not."""

    result: xr.Dataset
    timing: xr.Dataset


class EmulatorSettings(Protocol):
    """What the config says about one emulator."""

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        """Raise a ValueError when the settings do not fit data of this size."""
        ...

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        """Hyperparameters for physical data with noise covariance ``noise`` (n_outputs, n_outputs)."""
        ...

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        """Emulator in physical coordinates with the hyperparameters of one ``result`` of `tune`."""
        ...


@dataclass(frozen=True)
class Baseline:
    """A point predictor of `baselines`, which has nothing to tune."""

    name: str

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        if self.name == "persistence":
            check_sizes_of_persistence(n_inputs, n_outputs)

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        return _outcome({}, seconds=0.0)

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        return BASELINES[self.name](data, rng)


@dataclass(frozen=True)
class GaussianProcess:
    """Exact Gaussian process with ARD lengthscales, see `gp`."""

    settings: gp.Settings = field(default_factory=gp.Settings)

    def check(self, n_samples: int, n_inputs: int, n_outputs: int) -> None:
        return None

    def tune(
        self,
        data: Dataset,
        noise: Array,
        rng: np.random.Generator,
        n_workers: int = 1,
        progress: Progress | None = None,
    ) -> TunedEmulator:
        start = perf_counter()
        tuned = gp.tune(Scaling.of(data, noise).scale(data), self.settings, rng)
        seconds = perf_counter() - start
        failure = "the likelihood sees only noise in every output" if tuned.noise_only.all() else ""
        failure = "; ".join(message for message in tuned.messages if message.startswith(gp.TIME_LIMIT)) or failure
        variables = {
            "amplitude_variances": ("output", tuned.hyperparameters.amplitude_variances),
            "lengthscales": (("output", "input"), tuned.hyperparameters.lengthscales),
            "log_marginal_likelihood": ("output", tuned.log_marginal_likelihood),
            "n_evaluations": ("output", tuned.n_evaluations),
            "optimiser_message": ("output", np.array(tuned.messages, dtype=object)),
        }
        return _outcome(variables, seconds, failure=failure)

    def fit(self, data: Dataset, noise: Array, tuned: xr.Dataset, rng: np.random.Generator) -> Model:
        scaling = Scaling.of(data, noise)
        hyperparameters = gp.Hyperparameters(tuned["amplitude_variances"].values, tuned["lengthscales"].values)
        return Emulator(scaling, gp.fit(scaling.scale(data), hyperparameters))


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
            return _outcome(_parameter_variables(structure, untuned), seconds=0.0)
        scaled = Scaling.of(data, noise).scale(data)
        outcome = tuning.tune(scaled, structure, self.tuning, rng, n_workers, progress)
        return _tuned_outcome(outcome, structure, self.tuning.n_iterations)

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
        return Emulator(scaling, regression.fit(drawn, scaled, noise=1.0))

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
        return _side_by_side(
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
        return Emulator(scaling, separate.Separate(models))


UNREAD_WHEN_UNTUNED = (
    "n_features",
    "n_iterations",
    "eki",
    "result",
    "fresh_draws",
    "plateau_patience",
    "plateau_tolerance",
    "max_restarts",
    "trap_threshold",
)


def read_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that an emulator's results depend on: an untuned one does not look at those of the tuning."""
    if config.get("tuned", True):
        return dict(config)
    read = {key: value for key, value in config.items() if key not in UNREAD_WHEN_UNTUNED}
    drawing = ("outputs", "feature_map")
    return {**read, "objective": {key: value for key, value in config["objective"].items() if key in drawing}}


def from_config(config: Mapping[str, Any]) -> EmulatorSettings:
    """Settings of one emulator from its (complete, schema-checked) block of the config."""
    options = {key: value for key, value in config.items() if key != "kind"}
    kind = config["kind"]
    if kind in BASELINES:
        return Baseline(kind, **options)
    if kind == "gp":
        for name in ("lengthscale_bounds", "amplitude_variance_bounds"):
            options[name] = tuple(options[name])
        return GaussianProcess(gp.Settings(**options))
    if kind == "random_features":
        if options["objective"]["outputs"] != "separate":
            return _random_features(options)
        return SeparateOutputs(
            _random_features({**options, "objective": {**options["objective"], "outputs": "native"}})
        )
    raise ValueError(f"kind must be one of {', '.join(BASELINES)}, gp, random_features; got {kind!r}")


def _random_features(options: Mapping[str, Any]) -> RandomFeatures:
    prior = options["prior"]
    rank = options["rank"]
    own = ("n_members", *(name for name in UNREAD_WHEN_UNTUNED if name not in ("eki", "n_features")))
    return RandomFeatures(
        structure=options["structure"],
        rank=tuple(rank) if isinstance(rank, list) else rank,
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


def _parameter_variables(structure: Structure, parameters: Array) -> dict[str, Any]:
    """The unconstrained vector, and its constrained values by name ("tuned_scales", ...)."""
    values = {f"tuned_{name}": value for name, value in structure.constrain(parameters).items()}
    named = {key: (tuple(f"{key}_{axis}" for axis in range(np.ndim(value))), value) for key, value in values.items()}
    return {"parameters": ("parameter", parameters), **named}


def _tuned_outcome(outcome: tuning.Tuned, structure: Structure, n_iterations: int) -> TunedEmulator:
    history = outcome.history

    def padded(values: Array, length: int) -> Array:
        """A run that stopped early has NaN where there was no iteration."""
        return np.pad(values.astype(np.float64), (0, length - len(values)), constant_values=np.nan)

    variables = {
        **_parameter_variables(structure, outcome.parameters),
        "misfit": ("iteration", padded(history.misfit, n_iterations + 1)),
        "spread": ("iteration", padded(history.spread, n_iterations + 1)),
        "step": ("update", padded(history.step, n_iterations)),
        "failed_members": ("update", padded(history.n_failed, n_iterations)),
        "signal_share": ((), outcome.signal_share),
    }
    tuned = _outcome(
        variables,
        outcome.seconds,
        outcome.failure,
        n_restarts=outcome.n_restarts,
        n_failed_members=int(history.n_failed.sum()),
        objective_ratio=float(history.misfit[-1] / history.misfit[0]) if history.misfit[0] > 0 else np.nan,
    )
    tuned.timing["update_seconds"] = ("update", padded(history.seconds, n_iterations))
    return tuned


def _side_by_side(parts: Sequence[TunedEmulator]) -> TunedEmulator:
    """Outcomes of scalar tunings as one: arrays with an output dimension, misfits and times added up."""
    arrays = xr.concat([part.result.drop_vars(OUTCOME) for part in parts], dim="output", join="exact")
    said = {name: np.array([part.result[name].item() for part in parts]) for name in OUTCOME}
    ratio = np.nan
    if "misfit" in arrays:
        first = arrays["misfit"].values[:, 0]
        ratio = float(np.nansum(said["objective_ratio"] * first) / first.sum())  # NaN for a constant output
        arrays["misfit"] = arrays["misfit"].sum("output", skipna=False)
    failures = [f"output {output}: {failure}" for output, failure in enumerate(said["failure"]) if failure]
    merged = _outcome(
        {str(name): values for name, values in arrays.data_vars.items()},
        seconds=0.0,
        failure="; ".join(failures),
        n_restarts=int(said["n_restarts"].sum()),
        n_failed_members=int(said["n_failed_members"].sum()),
        objective_ratio=ratio,
    )
    times = xr.concat([part.timing for part in parts], dim="output", join="exact")
    return TunedEmulator(merged.result, times.sum("output", skipna=False))


def _outcome(
    variables: Mapping[str, Any],
    seconds: float,
    failure: str = "",
    n_restarts: int = 0,
    n_failed_members: int = 0,
    objective_ratio: float = np.nan,
) -> TunedEmulator:
    outcome = {
        "failure": ((), np.array(failure, dtype=object)),
        "n_restarts": ((), n_restarts),
        "n_failed_members": ((), n_failed_members),
        "objective_ratio": ((), objective_ratio),
    }
    result = xr.Dataset({**variables, **outcome})
    return TunedEmulator(result, xr.Dataset({"seconds": ((), seconds)}))
