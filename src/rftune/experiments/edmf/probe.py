"""Read variables of an HDF5 file and do nothing with them, as a process of its own (`archive` starts it).

At some damaged files HDF5 never ends, or ends the process; whoever lets this process go first notices.
"""

from __future__ import annotations

import io
import math
import sys

import h5py


def main(path: str, most: int, names: list[str]) -> None:
    """Read what has at most so many entries; the file is that of a path, or the standard input (-)."""
    with h5py.File(io.BytesIO(sys.stdin.buffer.read()) if path == "-" else path, "r") as file:
        for name in names:
            stored = file.get(name)
            if isinstance(stored, h5py.Dataset) and math.prod(stored.shape) <= most:
                dict(stored.attrs)
                [axis[0].name for axis in stored.dims if len(axis)]
                stored[...]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
