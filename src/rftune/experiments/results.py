"""Stored results as tables, figures and verdicts see them: loaded, chosen by what they are, never by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from rftune import storage
from rftune.data import Array
from rftune.emulators.listed import Listed
from rftune.experiments.protocol import load_repeats


@dataclass(frozen=True)
class Stored:
    """A stored result, whole or in chunks of repeats, and what it belongs to; data belong to no emulator."""

    stage: str
    case: str
    seed: int
    emulator: str
    paths: Sequence[str]

    @cached_property
    def loaded(self) -> xr.Dataset:
        return storage.load(self.paths[0]) if len(self.paths) == 1 else load_repeats(self.paths)

    @property
    def plain(self) -> list[Any]:
        """Its fields, as a job is told of it."""
        return [self.stage, self.case, self.seed, self.emulator, self.paths]

    @property
    def place(self) -> tuple[str, int]:
        return self.case, self.seed

    @property
    def key(self) -> tuple[str, int, str]:
        return self.case, self.seed, self.emulator


@dataclass(frozen=True)
class Results:
    """What an artifact asked for.

    Attributes
    ----------
    stored
    emulators
        Of the experiment, by name.
    tables
        Tables that were made before, by id.
    paper
        What the paper prints, by artifact: config/paper_values.yaml.
    artifact
        Which artifact it is that asked.
    """

    stored: Sequence[Stored] = ()
    emulators: Mapping[str, Listed] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    paper: Mapping[str, Any] = field(default_factory=dict)
    artifact: str = ""

    @classmethod
    def told(
        cls,
        stored: Sequence[Sequence[Any]],
        emulators: Sequence[Sequence[Any]],
        tables: Mapping[str, str],
        paper: Mapping[str, Any],
        artifact: str,
    ) -> Results:
        """From what a job is told: fields of `Stored` and `Listed`, and paths of tables."""
        return cls(
            [Stored(*entry) for entry in stored],
            {entry[0]: Listed(*entry) for entry in emulators},
            {name: pd.read_csv(path) for name, path in tables.items()},
            paper,
            artifact,
        )

    def all(self, stage: str, role: str | None = None, case: str | None = None) -> list[Stored]:
        """Results of a stage: those of an emulator in a role (None: of all), in a case (None: in all)."""
        return list(self._chosen(stage, role, case))

    def one(self, stage: str, role: str | None = None, case: str | None = None) -> xr.Dataset:
        """The first of `all`."""
        return next(self._chosen(stage, role, case)).loaded

    @property
    def root_seed(self) -> int:
        """The seed that everything is run with; results at further seeds come after it."""
        return self.stored[0].seed

    def emulator(self, role: str) -> Listed:
        """The emulator in a role."""
        return next(entry for entry in self.emulators.values() if entry.role == role)

    def label(self, emulator: str) -> str:
        """What to call an emulator, or a row of a table that is none."""
        return self.emulators[emulator].label if emulator in self.emulators else emulator

    def _chosen(self, stage: str, role: str | None, case: str | None) -> Iterator[Stored]:
        for one in self.stored:
            plays = role is None or (one.emulator != "" and self.emulators[one.emulator].role == role)
            if one.stage == stage and plays and case in (None, one.case):
                yield one


def succeeded(analysis: xr.Dataset) -> NDArray[np.bool_]:
    """Which re-tunings ended well; the others are counted and not averaged, (n_repeats,)."""
    good: NDArray[np.bool_] = analysis["failure"].values == ""
    return good


def counts(analysis: xr.Dataset) -> dict[str, int]:
    """How many re-tunings there are, how many attempts failed (a restart is one), and how many ensemble members."""
    n_restarts = int(analysis["n_restarts"].sum())
    return {
        "n_retunings": analysis.sizes["repeat"],
        "n_failed": n_restarts + int(np.count_nonzero(~succeeded(analysis))),
        "n_restarts": n_restarts,
        "n_failed_members": int(analysis["n_failed_members"].sum()),
    }


def mean_and_spread(values: Array) -> dict[str, float]:
    """Mean, standard deviation and standard error; no spread from a single value, nothing from none."""
    if len(values) == 0:
        return {"mean": np.nan, "std": np.nan, "standard_error": np.nan}
    std = float(values.std(ddof=1)) if len(values) > 1 else np.nan
    return {"mean": float(values.mean()), "std": std, "standard_error": std / np.sqrt(len(values))}


def spreads(analysis: xr.Dataset, *names: str) -> dict[str, float]:
    """`mean_and_spread` of some numbers per re-tuning, over those that ended well, as <name>_mean and so on."""
    good = succeeded(analysis)
    return {
        f"{name}_{key}": value for name in names for key, value in mean_and_spread(analysis[name].values[good]).items()
    }


def mean_or_nan(values: Array) -> Array:
    """Mean over the first axis; NaN where there is no value."""
    return np.asarray(values.mean(axis=0)) if len(values) else np.full(values.shape[1:], np.nan)


def percentiles(values: Array) -> Array:
    """5, 50 and 95 % over the first axis, (3, ...); NaN where there is no value."""
    if len(values) == 0:
        return np.full((3, *values.shape[1:]), np.nan)
    return np.percentile(values, [5, 50, 95], axis=0)
