"""Disks of a test's own: mounted where its processes alone see them, and gone with the last of these."""

from __future__ import annotations

import subprocess
from functools import cache

import pytest
from conftest import Project

ALONE = ("unshare", "--map-root-user", "--mount", "sh", "-c")


@cache
def why_not() -> str:
    """Why nothing can be mounted here; empty where it can."""
    try:
        done = subprocess.run(
            [*ALONE, "mount -t tmpfs none /mnt"], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"unshare ends with {done.returncode}"


def on_own_disk(project: Project, script: str, *arguments: str) -> str:
    """Run a shell script in which "$@" is a snakemake with these arguments, and return what it printed."""
    if why_not():
        pytest.skip(f"nothing can be mounted here: {why_not()}")
    command = project.command(*arguments)
    command["args"] = [*ALONE, script, "sh", *command["args"]]
    done = subprocess.run(**command, check=False, timeout=900)
    printed = str(done.stdout.decode())
    assert done.returncode == 0, printed
    return printed
