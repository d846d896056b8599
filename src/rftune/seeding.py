"""One root seed, one independent generator per job."""

from __future__ import annotations

import hashlib

import numpy as np


def rng_for(root_seed: int, *labels: str | int) -> np.random.Generator:
    """Return the generator that belongs to a label path, the same in any process and any order.

    ``rng_for(seed, experiment, case, emulator, repeat, stage)`` names a job, so that the number of cores, the
    executor and the grouping of jobs change no digit.

    Parameters
    ----------
    root_seed
        Non-negative integer from the config.
    labels
        Strings and integers; ``1`` and ``"1"`` are different labels.
    """
    if isinstance(root_seed, bool) or not isinstance(root_seed, int) or root_seed < 0:
        raise ValueError(f"the root seed must be a non-negative integer; got {root_seed!r}")
    path = "\x1f".join(f"{type(label).__name__}:{label}" for label in labels)
    digest = hashlib.sha256(path.encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.default_rng(np.random.SeedSequence([root_seed, *words]))
