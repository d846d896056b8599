"""How figures look and are saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from rftune import storage

# The paper's colours: truth orange, data red, emulator blue; checked for the common colour-vision deficiencies.
TRUTH, DATA, EMULATOR, MUTED = "#e07b00", "#c8102e", "#1f5fa8", "#6b6b6b"

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "pdf.fonttype": 42,  # text stays text
    "figure.constrained_layout.use": True,
}


@contextmanager
def style() -> Iterator[None]:
    """The look of every figure of the suite."""
    with mpl.rc_context(STYLE):
        yield


def save(figure: Figure, paths: Sequence[str | Path]) -> None:
    """Write a figure in the formats of the paths' suffixes, without time stamps, and close it."""
    for path in map(Path, paths):
        record = {"CreationDate": None} if path.suffix == ".pdf" else {"Software": None}
        with storage.atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=200, metadata=record)
    plt.close(figure)
