"""One file per score: a number of every re-tuning beside its errors, in analyses and in the tables of sweeps.

A file has ``score(mean, truth)``, of an emulator's mean and the truth at the test points, both (n_points, n_outputs).
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from rftune.data import Array


def modules() -> list[str]:
    """Full names of the scores' modules."""
    return [f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)]


def scores(mean: Array, truth: Array) -> dict[str, float]:
    """Every score by the name of its file."""
    return {name.rpartition(".")[2]: float(import_module(name).score(mean, truth)) for name in modules()}
