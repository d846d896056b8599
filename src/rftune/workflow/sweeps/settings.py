"""A sweep's file and the csv beside it: what they may say, and how they are read."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import ValidationError, model_validator

from rftune.experiments.base import Count
from rftune.paths import FilePath
from rftune.settings import Different, Field, Printable, Settings
from rftune.workflow.config import ConfigError
from rftune.workflow.messages import UNREADABLE, among, sentences, short, why_unreadable, without_end

Values = Mapping[str, Any]
MOST_POINTS = 10_000  # of a run of a sweep: more could not be planned


class SweepRun(Settings):
    """What is varied of one emulator."""

    experiment: str = Field(description="whose data and stages")
    emulator: str = Field(description="the config's emulator whose settings are varied")
    cases: Annotated[tuple[str, ...], Field(min_length=1), Different] | None = Field(
        None, description="the only cases; all if left out"
    )
    settings: dict[str, Any] = Field({}, description="fixed for every point, by dotted name")
    grid: dict[str, tuple[Any, ...]] | None = Field(
        None,
        min_length=1,
        description="values of every varied setting by dotted name (data.noise_variance is one of the data); all "
        "combinations are run",
    )
    table: FilePath | None = Field(
        None, description="csv file beside the sweep's, a column per varied setting, a line per point"
    )
    columns: Annotated[tuple[str, ...], Field(min_length=1), Different] | None = Field(
        None, description="the columns of the table to use; all if left out"
    )

    @model_validator(mode="before")
    @classmethod
    def _lists_of_values(cls, block: Any) -> Any:
        if isinstance(block, Mapping) and isinstance(block.get("grid"), Mapping):
            grid = {name: tuple(v) if isinstance(v, list) else v for name, v in block["grid"].items()}
            return {**block, "grid": grid}
        return block

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.grid is None) == (self.table is None):
            raise ValueError("must have either a grid or a table (csv of combinations) of settings to vary")
        for name, values in (self.grid or {}).items():
            if not values or len({text(value) for value in values}) < len(values):
                expected = f"the values of {short(name)} must be a list of different ones, at least one"
                raise ValueError(f"{expected}; got {short(list(values))}")
        return self


class SweepSettings(Settings):
    """A sweep's file."""

    title: Annotated[str, Field(min_length=1, max_length=120), Printable] = Field(description="heading of the picture")
    repeats: Count = Field(description="re-tunings of every point; no more than the experiment's")
    repeats_per_job: Count = Field(description="repeats that share one job")
    runs: tuple[SweepRun, ...] = Field(min_length=1, description="what is varied, experiment by experiment")


def text(value: Any) -> str:
    """A value as paths, tables and axes show it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "x".join(map(text, value)) if isinstance(value, list | tuple) else str(value)


def refuse(path: Path, problems: Sequence[str]) -> None:
    """Raise a `ConfigError` where a sweep's file has problems."""
    if problems:
        raise ConfigError.of(f"the sweep {path}", problems)


def read(path: Path) -> SweepSettings:
    """A sweep's file."""
    try:
        block = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UNREADABLE as error:
        why = why_unreadable(error)
        raise ConfigError(f"no sweep can be read at {path} ({why}): name a file of config/sweeps") from None
    if endless := without_end(block):
        refuse(path, [f"the sweep: {endless}"])
    try:
        return SweepSettings.model_validate(block)
    except ValidationError as error:
        problems = sentences(error, SweepSettings, block, lambda _: "the sweep")
    raise ConfigError.of(f"the sweep {path}", problems)


def combinations(run: SweepRun, path: Path, n_points: int | None) -> list[dict[str, Any]]:
    """The varied settings of every point of a run, or of the first so many, by their full names."""
    found = _of_table(run, path) if run.grid is None else _of_grid(run.grid, n_points)
    if len(found[:n_points]) > MOST_POINTS:
        n_combinations = len(found) if run.grid is None else prod(map(len, run.grid.values()))
        refuse(path, [f"a run of a sweep must have at most {MOST_POINTS} points; got {n_combinations}"])
    return found[:n_points]


def _of_grid(grid: Mapping[str, Sequence[Any]], n_points: int | None) -> list[dict[str, Any]]:
    """As many combinations as are asked for, and no more than show that there are too many."""
    shown = islice(product(*grid.values()), min(n_points or MOST_POINTS + 1, MOST_POINTS + 1))
    return [dict(zip(grid, values, strict=True)) for values in shown]


def _of_table(run: SweepRun, path: Path) -> list[dict[str, Any]]:
    table = path.parent / str(run.table)
    header, *rows = _lines(table, path) or [[]]
    named = run.columns or header
    problems = [f"{table} has no column {short(name)}; it has {among(header)}" for name in named if name not in header]
    problems += [f"{table} has two columns {short(name)}" for name in dict.fromkeys(header) if header.count(name) > 1]
    problems += [
        f"{table}, line {line}: {len(header)} values are expected, as many as column names, none of them empty "
        f"(write null for none); got {short(', '.join(row))}"
        for line, row in enumerate(rows, start=2)
        if len(row) != len(header) or "" in row
    ]
    if not rows:
        problems.append(f"{table} must have a line of setting names and at least one line of values")
    refuse(path, problems)
    found = [dict(zip(header, map(_cell, row), strict=True)) for row in rows]
    return [{name: row[name] for name in named} for row in found]


def _lines(table: Path, path: Path) -> list[list[str]]:
    """The lines of a csv that are not empty, in cells."""
    try:
        with table.open(newline="", encoding="utf-8") as stream:
            return [row for row in csv.reader(stream) if row]
    except csv.Error as error:
        raise ConfigError(f"the sweep {path}: {table} cannot be read ({error})") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the sweep {path}: {table} cannot be read ({why_unreadable(error)})") from None


def _cell(cell: str) -> Any:
    """A cell of a csv, read as a config would read it; 1e-3 is a number, too, and what is no yaml is text."""
    try:
        value = yaml.safe_load(cell)
        return float(value) if isinstance(value, str) else value
    except UNREADABLE:
        return cell
