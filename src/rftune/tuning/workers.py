"""Threads that evaluate an objective, with the same digits for any number of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.random import Generator
from threadpoolctl import threadpool_limits

from rftune.data import Array
from rftune.tuning.objective import Objective, Workspace


class EnsembleMap(Protocol):
    """Evaluates many points."""

    def __call__(self, points: Array, rng: Generator) -> Array:
        """G at points (n_points, n_parameters), as (n_points, n_data), each with a generator spawned in order."""
        ...


class Workers:
    """Threads with a workspace each, between which the points of an ensemble are shared out.

    A thread takes the next point when it is done with one, and the generator that belongs to it, so that which thread
    evaluates a point changes no digit. Only the draw of the features needs Python's lock.
    """

    def __init__(self, objective: Objective, n_workers: int, pool: ThreadPoolExecutor) -> None:
        self.objective, self.pool = objective, pool
        self.workspaces = [Workspace(objective) for _ in range(n_workers)]

    def __call__(self, points: Array, rng: Generator) -> Array:
        return self.each(points, _spawned(rng))

    def each(self, points: Array, streams: Iterator[Generator]) -> Array:
        """As a call, with a generator for each point."""
        values = np.empty((len(points), self.objective.n_data))
        waiting, handing_out = iter(range(len(points))), Lock()

        def work(workspace: Workspace) -> None:
            while True:
                with handing_out:
                    index = next(waiting, None)
                    if index is None:
                        return
                    stream = next(streams)
                values[index] = self.objective.evaluate(points[index], stream, workspace)

        # no thread for one worker
        over_workers = map if len(self.workspaces) == 1 else self.pool.map
        for _ in over_workers(work, self.workspaces):
            pass
        return values


@contextmanager
def worker_pool(objective: Objective, n_workers: int) -> Iterator[Workers]:
    """Threads with one BLAS thread and one workspace each."""
    with threadpool_limits(1), ThreadPoolExecutor(n_workers) as pool:
        yield Workers(objective, n_workers, pool)


def _spawned(rng: Generator) -> Iterator[Generator]:
    """Children of a generator, made when they are asked for: the same as those that are spawned at once."""
    while True:
        yield rng.spawn(1)[0]
