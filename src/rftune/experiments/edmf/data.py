"""Training and test points of the emulators: the runs of a calibration, by the suite's own simulator or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import xarray as xr

from rftune.data import Array, Dataset
from rftune.experiments.edmf import archive, column, scenarios
from rftune.experiments.edmf.calibration import Iterates, calibrate
from rftune.experiments.edmf.parameters import Parameters
from rftune.experiments.edmf.scenarios import Scenarios
from rftune.experiments.protocol import pack_data
from rftune.tuning.optimisers import eki

CASES = ("surrogate", "file")


@dataclass(frozen=True)
class Settings:
    """Attributes
    ----------
    source
        Path of a file with the runs of a calibration, see `archive`; None for the simulator of the suite.
    parameters
        Name, bounds and prior mean of each, in the order of all results.
    truth
        Parameters behind the observation, by name; not used with a file.
    n_scenarios
        Outputs of the simulator.
    n_members, n_iterations
        Ensembles that are run, the last of which is the test set.
    step_size
        Δt of the calibration.
    n_realisations
        Runs at the truth behind the noise covariance.
    inflation
        Standard deviation that is added to the simulator's own variability, relative to each output.
    """

    source: str | None
    parameters: Mapping[str, Mapping[str, Any]]
    truth: Mapping[str, float]
    n_scenarios: int
    n_members: int
    n_iterations: int
    step_size: float
    n_realisations: int
    inflation: float

    def __post_init__(self) -> None:
        names = set(self.parameters)
        if self.source is None and names != set(column.PARAMETERS):
            raise ValueError(
                f"the simulator has the parameters {', '.join(column.PARAMETERS)}; got {', '.join(sorted(names))}: "
                f"other parameters need a source"
            )
        if self.source is None and set(self.truth) != names:
            raise ValueError(f"truth must name each of the parameters; got {', '.join(sorted(self.truth))}")
        self.prior.unconstrain(self.true_parameters[None])

    @property
    def prior(self) -> Parameters:
        return Parameters.of(self.parameters)

    @property
    def true_parameters(self) -> Array:
        """Physical, (n_parameters,); the prior mean where nothing is known."""
        return np.array([self.truth.get(name, entry["prior_mean"]) for name, entry in self.parameters.items()])


def is_case(name: str) -> bool:
    return name in CASES


def cases(block: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """One case: the simulator of the suite, or the file that the config names."""
    name = CASES[0] if block["source"] is None else CASES[1]
    return {name: {**block["data"], "source": block["source"]}}


def shape(settings: Settings) -> tuple[int, int, int]:
    """Numbers of training samples, inputs and outputs."""
    n_inputs = len(settings.parameters)
    if settings.source is None:
        return settings.n_members * (settings.n_iterations - 1), n_inputs, settings.n_scenarios
    iterates = archive.read(settings.source, settings.prior).iterates
    _, outputs, iteration = iterates.runs()
    return int(np.count_nonzero(iteration < len(iterates.inputs) - 1)), n_inputs, outputs.shape[1]


def make_data(settings: Settings, rng: np.random.Generator) -> xr.Dataset:
    """Runs of all iterations but the last as training data; all runs as prediction points, the last ones for testing.

    Inputs are unconstrained. The noise covariance is that of the observation, and what emulators are told of the noise
    of the runs.
    """
    if settings.source is not None:
        stored = archive.read(settings.source, settings.prior)
        return _packed(settings, stored.iterates, stored.observation, stored.noise_covariance)
    conditions = scenarios.design(settings.n_scenarios, rng)
    simulator = column.Simulator(conditions)
    theta = simulator_order(settings.prior, settings.true_parameters[None])
    path = simulator.mean(theta)[0]
    variance = noise_variances(conditions, theta, path, settings, rng)
    observation = path + np.sqrt(variance) * rng.standard_normal(len(path))
    iterates = calibrate(
        lambda u: simulator.mean(simulator_order(settings.prior, settings.prior.constrain(u))),
        observation,
        np.diag(variance),
        settings.prior.unconstrained_mean,
        settings.n_members,
        settings.n_iterations,
        eki.Settings(step="constant", step_size=settings.step_size),
        rng,
    )
    packed = _packed(settings, iterates, observation, np.diag(variance))
    return packed.assign({f"scenario_{name}": values for name, values in _stored(conditions).items()})


def noise_variances(
    conditions: Scenarios, theta: Array, path: Array, settings: Settings, rng: np.random.Generator
) -> Array:
    """Variance of each observed path, (n_scenarios,): its own variability, and the inflation.

    Scenarios fluctuate independently, so the covariance is diagonal.
    """
    realisations = [
        column.Simulator(conditions.fluctuate(stream)).mean(theta)[0] for stream in rng.spawn(settings.n_realisations)
    ]
    variability: Array = np.var(realisations, axis=0, ddof=1)
    return variability + (settings.inflation * path) ** 2


def simulator_order(prior: Parameters, physical: Array) -> Array:
    """Columns in the order of the simulator's parameters."""
    return physical[:, [prior.names.index(name) for name in column.PARAMETERS]]


def simulator_of(data: xr.Dataset) -> column.Simulator:
    """The simulator behind a data file of the suite's own."""
    stored = {field.name: data[f"scenario_{field.name}"].values for field in fields(Scenarios)}
    return column.Simulator(Scenarios(**stored))


def has_simulator(data: xr.Dataset) -> bool:
    return "scenario_wind" in data


def prior_of(data: xr.Dataset) -> Parameters:
    """The parameters behind a data file."""
    names = tuple(str(name) for name in data["parameter"].values)
    return Parameters(names, data["bounds"].values, data["prior_mean"].values)


def _packed(settings: Settings, iterates: Iterates, observation: Array, noise_covariance: Array) -> xr.Dataset:
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
