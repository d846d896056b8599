"""Where a result comes from: the versions and the commit of its record."""

from __future__ import annotations

import os
import subprocess
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import rftune

PACKAGE_ROOT = Path(__file__).resolve().parent
RECORDED_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "SALib", "emcee", "xarray")


def versions() -> dict[str, str]:
    """Versions of rftune and of the packages that can change a digit."""
    found = {name: _version(name) for name in RECORDED_PACKAGES}
    return {"rftune": rftune.__version__, **found, "RFTUNE_NUMBA": os.environ.get("RFTUNE_NUMBA", "1")}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


@lru_cache(maxsize=1)
def git_commit() -> str:
    """Commit of the source tree, with "+dirty" when files differ from it; "unknown" outside a checkout.

    Results do not count: a run that makes the kept ones again is not dirty by its own work.
    """

    def git(*arguments: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(PACKAGE_ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", ":(top,exclude)results")
        return git("rev-parse", "HEAD") + ("+dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
