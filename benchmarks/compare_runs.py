"""Whether two runs have the same digits: python benchmarks/compare_runs.py results/one results/other.

Every array of every stored result is compared bit by bit, tables and verdicts line by line in any order; what is
measured with a clock is left out. For a change of the code that must not change a result.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import xarray as xr

# Stored results and columns of tables that hold times.
TIMED_FILES = ("timing-", "times-")
TIMED_TABLES = ("T1.csv", "T3.csv")
TIMED_COLUMNS = ("seconds", "memory", "_ms", "likelihood")


def differences(one: Path, other: Path) -> tuple[list[str], int, int]:
    """What differs, and how many arrays and lines were compared."""
    found, n_arrays, n_lines = [], 0, 0
    names = {folder: {str(path.relative_to(folder)) for path in _files(folder)} for folder in (one, other)}
    found += [f"only in one of the runs: {name}" for name in sorted(names[one] ^ names[other])]
    for name in sorted(names[one] & names[other]):
        if name.endswith(".nc"):
            n_arrays += _compare_arrays(name, one, other, found)
        else:
            n_lines += _compare_lines(name, one, other, found)
    return found, n_arrays, n_lines


def _files(folder: Path) -> list[Path]:
    stored = [path for path in folder.rglob("*.nc") if not path.name.startswith(TIMED_FILES)]
    tables = [path for path in (folder / "tables").glob("*.csv") if path.name not in TIMED_TABLES]
    return [*stored, *tables, folder / "verdicts.csv"]


def _compare_arrays(name: str, one: Path, other: Path, found: list[str]) -> int:
    with (
        xr.open_dataset(one / name, engine="h5netcdf") as first,
        xr.open_dataset(other / name, engine="h5netcdf") as second,
    ):
        found += [f"{name}: only in one of the runs: {array}" for array in {*first.variables} ^ {*second.variables}]
        shared = sorted(map(str, {*first.variables} & {*second.variables}))
        found += [f"{name}: {array}" for array in shared if not _same(first[array].values, second[array].values)]
    return len(shared)


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    return first.tolist() == second.tolist() if first.dtype == object else first.tobytes() == second.tobytes()


def _compare_lines(name: str, one: Path, other: Path, found: list[str]) -> int:
    first, second = (_untimed((folder / name).read_text(encoding="utf-8").splitlines()) for folder in (one, other))
    found += [f"{name}: only in one of the runs: {line}" for line in sorted({*first} ^ {*second})]
    found += [f"{name}: {len(first)} and {len(second)} lines"] if len(first) != len(second) else []
    if first != second and sorted(first) == sorted(second):
        print(f"{name}: the same lines in another order")
    return len(first)


def _untimed(lines: list[str]) -> list[str]:
    """Lines without the verdicts on times and the columns of times."""
    if lines[0].startswith("id,quantity,kind"):
        return [line for line in lines if ",time," not in line]
    kept = [place for place, name in enumerate(lines[0].split(",")) if not any(word in name for word in TIMED_COLUMNS)]
    rows = [line.split(",") for line in lines]
    return [",".join(row[place] for place in kept if place < len(row)) for row in rows]


def main(one: str, other: str) -> int:
    found, n_arrays, n_lines = differences(Path(one), Path(other))
    print(f"{n_arrays} arrays and {n_lines} lines of tables and verdicts compared, {len(found)} differ")
    print(*found[:50], sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
