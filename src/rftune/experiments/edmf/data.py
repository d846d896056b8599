"""Training and test points of the emulators: the runs of a calibration, by the suite's own simulator or from a file.

The simulator is compiled; who only looks at the settings does not wait for it.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import xarray as xr
from pydantic import model_validator

from rftune.data import Array, Dataset
from rftune.experiments.base import DataSettings
from rftune.experiments.edmf import archive
from rftune.experiments.edmf.calibration import Iterates, calibrate
from rftune.experiments.edmf.parameters import SIMULATED, Parameters
from rftune.experiments.edmf.scenarios import Scenarios
from rftune.experiments.protocol import pack_data
from rftune.settings import Field, Settings
from rftune.tuning.optimisers.eki import EnsembleKalmanInversion

if TYPE_CHECKING:
    from rftune.experiments.edmf.column import Simulator


Bound = Annotated[float, Field(ge=-archive.LARGEST, le=archive.LARGEST)]


class ParameterSettings(Settings):
    """A parameter of the simulator."""

    bounds: tuple[Bound, Bound] = Field(description="[low, high], physical")
    prior_mean: float = Field(description="physical value at the mean of the unconstrained prior")


class EDMFData(DataSettings):
    """Runs of a calibration, of which the last ensemble is the test set."""

    source: str | None = Field(None, description="handed on from beside this block; leave it out")
    parameters: dict[str, ParameterSettings] = Field(
        min_length=1,
        description="the parameters that are inferred, in the order of all results; one that is set to null is none of "
        "them",
    )
    truth: dict[str, float] = Field(description="parameters behind the observation; not used with a file")
    n_scenarios: int = Field(ge=1, description="outputs of the simulator")
    n_members: int = Field(ge=2, description="members of the calibration's ensemble")
    n_iterations: int = Field(ge=2, description="ensembles that are run, the last one for testing")
    step_size: float = Field(gt=0, description="Δt of the calibration")
    n_realisations: int = Field(ge=2, description="runs at the truth behind the noise covariance")
    inflation: float = Field(
        ge=0,
        description="standard deviation, relative to each output, that is added to the simulator's own variability",
    )

    @model_validator(mode="after")
    def _check_parameters(self) -> Self:
        names, prior = set(self.parameters), self.prior
        if self.source is not None:
            return self
        if names != set(SIMULATED):
            raise ValueError(
                f"the simulator has the parameters {', '.join(SIMULATED)}; got {', '.join(sorted(names))}: "
                f"other parameters need a source"
            )
        if set(self.truth) != names:
            raise ValueError(f"truth must name each of the parameters; got {', '.join(sorted(self.truth))}")
        prior.unconstrain(self.true_parameters[None])
        return self

    @property
    def prior(self) -> Parameters:
        return Parameters(
            names=tuple(self.parameters),
            bounds=np.array([entry.bounds for entry in self.parameters.values()], dtype=np.float64),
            prior_mean=np.array([entry.prior_mean for entry in self.parameters.values()], dtype=np.float64),
        )

    @property
    def true_parameters(self) -> Array:
        """Physical, (n_parameters,); the prior mean where nothing is known."""
        return np.array([self.truth.get(name, entry.prior_mean) for name, entry in self.parameters.items()])

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        n_inputs = len(self.parameters)
        if self.source is None:
            return self.n_members * (self.n_iterations - 1), n_inputs, self.n_scenarios
        iterates = archive.read(self.source, self.prior).iterates
        return int(np.count_nonzero(iterates.succeeded[:-1])), n_inputs, iterates.outputs.shape[2]

    def make(self, rng: np.random.Generator) -> xr.Dataset:
        """Runs of all iterations but the last as training data; all runs as prediction points.

        Inputs are unconstrained. The noise covariance is that of the observation, and what emulators are told of the
        noise of the runs.
        """
        if self.source is not None:
            stored = archive.read(self.source, self.prior)
            return _packed(self, stored.iterates, stored.observation, stored.noise_covariance)
        from rftune.experiments.edmf import column, scenarios

        conditions = scenarios.design(self.n_scenarios, rng)
        simulator = column.Simulator(conditions)
        theta = simulator_order(self.prior, self.true_parameters[None])
        path = simulator.mean(theta)[0]
        variance = noise_variances(conditions, theta, path, self, rng)
        observation = path + np.sqrt(variance) * rng.standard_normal(len(path))
        iterates = calibrate(
            lambda u: simulator.mean(simulator_order(self.prior, self.prior.constrain(u))),
            observation,
            np.diag(variance),
            self.prior.unconstrained_mean,
            EnsembleKalmanInversion(n_members=self.n_members, step="constant", step_size=self.step_size),
            self.n_iterations,
            rng,
        )
        packed = _packed(self, iterates, observation, np.diag(variance))
        return packed.assign({f"scenario_{name}": values for name, values in _stored(conditions).items()})


def noise_variances(
    conditions: Scenarios, theta: Array, path: Array, settings: EDMFData, rng: np.random.Generator
) -> Array:
    """Variance of each observed path, (n_scenarios,): its own variability, and the inflation.

    Scenarios fluctuate independently, so the covariance is diagonal.
    """
    from rftune.experiments.edmf import column

    realisations = [
        column.Simulator(conditions.fluctuate(stream)).mean(theta)[0] for stream in rng.spawn(settings.n_realisations)
    ]
    variability: Array = np.var(realisations, axis=0, ddof=1)
    return variability + (settings.inflation * path) ** 2


def simulator_order(prior: Parameters, physical: Array) -> Array:
    """Columns in the order of the simulator's parameters."""
    return physical[:, [prior.names.index(name) for name in SIMULATED]]


def simulator_of(data: xr.Dataset, n_workers: int = 1) -> Simulator:
    """The simulator behind a data file of the suite's own, run on so many threads."""
    from rftune.experiments.edmf import column

    stored = {field.name: data[f"scenario_{field.name}"].values for field in fields(Scenarios)}
    return column.Simulator(Scenarios(**stored), n_workers=n_workers)


def has_simulator(data: xr.Dataset) -> bool:
    return "scenario_wind" in data


def prior_of(data: xr.Dataset) -> Parameters:
    """The parameters behind a data file."""
    names = tuple(str(name) for name in data["parameter"].values)
    return Parameters(names, data["bounds"].values, data["prior_mean"].values)


def _packed(settings: EDMFData, iterates: Iterates, observation: Array, noise_covariance: Array) -> xr.Dataset:
    inputs, outputs, iteration = iterates.runs()
    is_test = iteration == len(iterates.inputs) - 1
    known = settings.source is None
    prior = settings.prior
    return pack_data(
        Dataset(inputs[~is_test], outputs[~is_test]),
        noise_covariance,
        inputs,
        outputs,
        is_test=("point", is_test),
        iteration=("point", iteration),
        observation=("output", observation),
        parameter=("input", np.array(prior.names, dtype=object)),
        bounds=(("input", "end"), prior.bounds),
        prior_mean=("input", prior.prior_mean),
        true_parameters=("input", settings.true_parameters if known else np.full(len(prior.names), np.nan)),
        n_failed_runs=((), iterates.n_failed),
    )


def _stored(conditions: Scenarios) -> dict[str, Any]:
    def dims(values: Array) -> tuple[str, ...]:
        return ("output",) if values.ndim == 1 else ("forcing", "wave", "output")

    values = {field.name: getattr(conditions, field.name) for field in fields(Scenarios)}
    return {name: (dims(entry), entry) for name, entry in values.items()}
