"""What ``import rftune`` offers: names with docstrings, and an example that runs."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

import rftune


def test_that_the_example_of_the_package_runs() -> None:
    failed, tried = doctest.testmod(rftune)
    assert (failed, tried > 5) == (0, True)


@pytest.mark.parametrize("name", rftune.__all__)
def test_that_a_public_name_is_there_and_explained(name: str) -> None:
    thing = getattr(rftune, name)
    assert (thing.__doc__ or type(thing).__doc__ or "").strip()


def test_that_the_names_are_written_once_more_and_the_same() -> None:
    """Type checkers need the imports, Python the places."""
    assert set(rftune.__all__) == set(rftune._PLACES) == set(dir(rftune))
    assert 12 <= len(rftune.__all__) <= 24


def test_that_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(AttributeError, match="rftune has no 'Emulator'; its public names are Dataset, EMULATORS"):
        _ = rftune.Emulator


def test_that_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, rftune; assert not {'numpy', 'pydantic', 'xarray'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
