"""Jobs: what scripts are handed, and what a job owes the person who runs it: a log, one BLAS thread, clear errors."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from rftune import storage
from rftune.progress import logger
from rftune.seeding import rng_for


class Job:
    """A job as its script sees it, made from the object that Snakemake hands to scripts.

    Attributes
    ----------
    input, output, params, resources, config
        By the names in its rule.
    labels
        Experiment, case and emulator, those of them that it has.
    seed
        The root seed.
    """

    def __init__(self, asked: Any) -> None:
        self.input, self.output, self.params = asked.input, asked.output, asked.params
        self.resources, self.config = asked.resources, asked.config
        names = ("experiment", "case", "emulator")
        self.labels: list[str] = [asked.wildcards[name] for name in names if hasattr(asked.wildcards, name)]
        self.seed = int(asked.wildcards.get("seed", asked.params.get("seed", 0)))

    def module(self, name: str) -> Any:
        """A module of its experiment."""
        return import_module(f"rftune.experiments.{self.labels[0]}.{name}")

    def rng(self, *more: str | int) -> np.random.Generator:
        """The generator that belongs to its labels and to some more, such as a repeat and a stage."""
        return rng_for(self.seed, *self.labels, *more)

    def save(self, result: xr.Dataset, path: str, settings: Any = None) -> None:
        """Store a result with the settings that it depends on, by default all that the job was told."""
        told = self.params.settings if settings is None else settings
        storage.save(result, path, settings=told, seed=self.seed)


def perform(main: Callable[[Job], None], asked: Any) -> None:
    """Run the ``main`` of a script as the job that was asked for."""
    with job(asked.log[0]):
        main(Job(asked))


@contextmanager
def job(log_path: str | Path) -> Iterator[None]:
    """Run a block as a job: log to a file, keep BLAS to one thread, end with a clear error and exit code 1.

    One BLAS thread, whatever the number of cores, so that a result has the same digits everywhere.
    """
    # For libraries that are loaded later, such as SciPy's BLAS and scikit-learn's OpenMP: what is loaded now is limited
    # below. OpenBLAS and MKL heed their own variable before the common one.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    logging.raiseExceptions = False  # a full disk is told once, by what needed the room
    handler = logging.StreamHandler(_own_log(log_path))
    if os.environ.get("RFTUNE_WATCHED"):  # bars stand on the terminal, and another line would tear them
        os.dup2(handler.stream.fileno(), sys.stderr.fileno())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with threadpool_limits(1):
            yield
        logger.info("done")
    except Exception as error:
        logger.exception("failed")
        print(f"error: {error}\n(details in {log_path})", file=sys.stderr)
        raise SystemExit(1) from error
    finally:
        logger.removeHandler(handler)
        handler.stream.close()


def _own_log(path: str | Path) -> TextIO:
    """An empty log that is this process's alone.

    When a run is killed, its jobs may live on. The same job of the next run waits here for such a one to end, so that
    no two of them write the same results; the lock is the kernel's and goes with its process.
    """
    log = open(path, "a", encoding="utf-8")  # noqa: SIM115 (open for as long as the job lasts)
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for a job of an earlier run that still writes {path}", file=sys.stderr)
        fcntl.flock(log, fcntl.LOCK_EX)
    except OSError:
        pass  # a file system without locks
    log.truncate(0)
    return log


def use_library(source: str | Path) -> None:
    """Let the processes that this one starts import the library from a source folder."""
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(source), *(entry for entry in path if entry not in ("", str(source)))]
    )
