"""What a tuning leaves behind: hyperparameters with their history as labelled arrays, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from rftune.data import OUTCOME, Array

if TYPE_CHECKING:
    from rftune.features.distribution import Structure
    from rftune.tuning import loop as tuning


@dataclass(frozen=True, eq=False)
class TunedEmulator:
    """Outcome of `tune`: ``result`` is the same for the same seed, ``timing`` (in seconds) is not."""

    result: xr.Dataset
    timing: xr.Dataset


def parameter_variables(structure: Structure, parameters: Array) -> dict[str, Any]:
    """The unconstrained vector, and its constrained values by name ("tuned_scales", ...)."""
    values = {f"tuned_{name}": value for name, value in structure.constrain(parameters).items()}
    named = {key: (tuple(f"{key}_{axis}" for axis in range(np.ndim(value))), value) for key, value in values.items()}
    return {"parameters": ("parameter", parameters), **named}


def of_tuning(found: tuning.Tuned, structure: Structure, n_iterations: int) -> TunedEmulator:
    """The outcome of one tuning of random features, with the history of its ensemble."""
    history = found.history

    def padded(values: Array, length: int) -> Array:
        """A run that stopped early has NaN where there was no iteration."""
        return np.pad(values.astype(np.float64), (0, length - len(values)), constant_values=np.nan)

    variables = {
        **parameter_variables(structure, found.parameters),
        "misfit": ("iteration", padded(history.misfit, n_iterations + 1)),
        "spread": ("iteration", padded(history.spread, n_iterations + 1)),
        "step": ("update", padded(history.step, n_iterations)),
        "failed_members": ("update", padded(history.n_failed, n_iterations)),
        "signal_share": ((), found.signal_share),
    }
    tuned = labelled(
        variables,
        found.seconds,
        found.failure,
        n_restarts=found.n_restarts,
        n_failed_members=int(history.n_failed.sum()),
        objective_ratio=float(history.misfit[-1] / history.misfit[0]) if history.misfit[0] > 0 else np.nan,
    )
    tuned.timing["update_seconds"] = ("update", padded(history.seconds, n_iterations))
    return tuned


def side_by_side(parts: Sequence[TunedEmulator]) -> TunedEmulator:
    """Outcomes of scalar tunings as one: arrays with an output dimension, misfits and times added up."""
    arrays = xr.concat([part.result.drop_vars(OUTCOME) for part in parts], dim="output", join="exact")
    said = {name: np.array([part.result[name].item() for part in parts]) for name in OUTCOME}
    ratio = np.nan
    if "misfit" in arrays:
        first = arrays["misfit"].values[:, 0]
        ratio = float(np.nansum(said["objective_ratio"] * first) / first.sum())  # NaN for a constant output
        arrays["misfit"] = arrays["misfit"].sum("output", skipna=False)
    failures = [f"output {output}: {failure}" for output, failure in enumerate(said["failure"]) if failure]
    merged = labelled(
        {str(name): values for name, values in arrays.data_vars.items()},
        seconds=0.0,
        failure="; ".join(failures),
        n_restarts=int(said["n_restarts"].sum()),
        n_failed_members=int(said["n_failed_members"].sum()),
        objective_ratio=ratio,
    )
    times = xr.concat([part.timing for part in parts], dim="output", join="exact")
    return TunedEmulator(merged.result, times.sum("output", skipna=False))


def labelled(
    variables: Mapping[str, Any],
    seconds: float,
    failure: str = "",
    n_restarts: int = 0,
    n_failed_members: int = 0,
    objective_ratio: float = np.nan,
) -> TunedEmulator:
    """Results and time of a tuning, with what it says of itself (`data.OUTCOME`)."""
    said = {
        "failure": ((), np.array(failure, dtype=object)),
        "n_restarts": ((), n_restarts),
        "n_failed_members": ((), n_failed_members),
        "objective_ratio": ((), objective_ratio),
    }
    result = xr.Dataset({**variables, **said})
    return TunedEmulator(result, xr.Dataset({"seconds": ((), seconds)}))
