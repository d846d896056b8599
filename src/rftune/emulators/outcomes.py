"""What a tuning leaves behind: hyperparameters with their history as labelled arrays, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from rftune.data import OUTCOME


@dataclass(frozen=True, eq=False)
class Tuned:
    """Outcome of `tune`: ``result`` is the same for the same seed, ``timing`` (in seconds) is not."""

    result: xr.Dataset
    timing: xr.Dataset


def side_by_side(parts: Sequence[Tuned]) -> Tuned:
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
    return Tuned(merged.result, times.sum("output", skipna=False))


def labelled(
    variables: Mapping[str, Any],
    seconds: float,
    failure: str = "",
    n_restarts: int = 0,
    n_failed_members: int = 0,
    objective_ratio: float = np.nan,
) -> Tuned:
    """Results and time of a tuning, with what it says of itself (`data.OUTCOME`)."""
    said = {
        "failure": ((), np.array(failure, dtype=object)),
        "n_restarts": ((), n_restarts),
        "n_failed_members": ((), n_failed_members),
        "objective_ratio": ((), objective_ratio),
    }
    result = xr.Dataset({**variables, **said})
    return Tuned(result, xr.Dataset({"seconds": ((), seconds)}))
