"""How figures look and are saved."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from PIL import Image

from rftune import storage

mpl.use("Agg")

# The paper's colours: truth orange, data red, emulator blue.
TRUTH, DATA, EMULATOR, MUTED = "#e07b00", "#c8102e", "#1f5fa8", "#6b6b6b"
# Of what is drawn beside these.
FURTHER = ("#3a9a5b", "#8a4fb0", "#00868b", "#a0522d")

DPI = 160

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


def cell(mean: float, std: float = np.nan, decimals: int = 3) -> str:
    """A number with its standard deviation in brackets, as the paper prints them; a dash for none."""
    if not np.isfinite(mean):
        return "–"
    text = f"{mean:.{decimals}f}" if abs(mean) >= 0.5 * 10.0**-decimals else "0"
    return f"{text} ({std:.{decimals}f})".replace("(0.", "(.") if np.isfinite(std) else text


@dataclass(frozen=True)
class Line:
    """One line of a rendered table."""

    cells: Sequence[str]
    quoted: bool = False  # from the paper: grey
    ends_group: bool = False  # a rule below


def group(lines: Sequence[Line]) -> list[Line]:
    """The same lines with a rule below the last."""
    return [*lines[:-1], replace(lines[-1], ends_group=True)]


def failures(row: pd.Series) -> str:
    """How many attempts failed of how many re-tunings; nothing for a row that is not tuned."""
    counts = row[["n_failed", "n_retunings"]]
    return "" if counts.isna().any() else f"{int(counts['n_failed'])}/{int(counts['n_retunings'])}"


def width_of(texts: Iterable[str]) -> float:
    """Inches of a column that holds the longest of some texts."""
    return 0.3 + 0.065 * max(map(len, texts))


def table_figure(header: Sequence[str], lines: Sequence[Line], widths: Sequence[float], note: str) -> Figure:
    """A table as a picture: the first text column left, numbers right, the note below.

    Parameters
    ----------
    header
    lines
    widths
        Of the columns, in inches.
    note
        What the brackets and the groups mean.
    """
    width, height = sum(widths), 0.22 * (len(lines) + 1)
    wrapped = textwrap.wrap(note, int(17 * width), break_on_hyphens=False)
    below = 0.25 + 0.14 * len(wrapped)
    with style(), mpl.rc_context({"figure.constrained_layout.use": False}):
        figure = plt.figure(figsize=(width + 0.3, height + below + 0.1))
        whole = height + below + 0.1
        frame = (0.15 / (width + 0.3), below / whole, width / (width + 0.3), height / whole)
        axis = figure.add_axes(frame)
        axis.axis("off")
        table = axis.table(
            cellText=[line.cells for line in lines],
            colLabels=header,
            bbox=Bbox.from_bounds(0, 0, 1, 1),
            cellLoc="right",
            colLoc="right",
            colWidths=[part / width for part in widths],
        )
        table.auto_set_font_size(False)
        table.set_fontsize(8.5)
        for (row, column), box in table.get_celld().items():
            line = lines[row - 1] if row else None
            box.visible_edges = "B" if line is None or line.ends_group else ""
            box.set_linewidth(0.7 if line is None else 0.4)
            if column == 1:
                box.get_text().set_horizontalalignment("left")
            if line is not None and line.quoted:
                box.get_text().set_color(MUTED)
        figure.text(frame[0], 0.1 / whole, "\n".join(wrapped), fontsize=7.5, color=MUTED, va="bottom")
    return figure


def convergence_figure(
    misfit: NDArray[np.float64], failed: NDArray[np.bool_], stagnation: float, logarithmic: bool = False
) -> Figure:
    """Misfit against iteration, the first value normalised to one: a line per re-tuning and their median.

    Parameters
    ----------
    misfit : (n_retunings, n_iterations + 1)
    failed : (n_retunings,)
        Drawn in red and left out of the median.
    stagnation
        Iteration at which the paper's curves stop falling; not marked where ours are shorter.
    logarithmic
        Scale of the ordinate.
    """
    normalised = misfit / misfit[:, :1]
    iterations = np.arange(misfit.shape[1])
    with style():
        figure, axis = plt.subplots(figsize=(5.2, 3.4))
        for curve, is_failed in zip(normalised, failed, strict=True):
            axis.plot(iterations, curve, color=DATA if is_failed else EMULATOR, lw=0.8, alpha=0.4)
        if not failed.all():
            axis.plot(iterations, np.median(normalised[~failed], axis=0), color="black", lw=1.8, label="median")
        runs = "re-tuning" if len(failed) == 1 else "re-tunings"
        axis.plot([], [], color=EMULATOR, lw=0.8, alpha=0.6, label=f"{len(failed)} {runs}, {failed.sum()} failed")
        if stagnation <= iterations[-1]:
            axis.axvline(stagnation, color=MUTED, lw=0.8, ls=":", label="the paper's curves stop falling")
        axis.set(xlabel="EKI iteration", ylabel="objective, first value = 1", xlim=(0, iterations[-1]))
        axis.set_yscale("log") if logarithmic else axis.set_ylim(0, None)
        axis.xaxis.set_major_locator(MultipleLocator(2))
        axis.legend()
    return figure


def save(figure: Figure, paths: Sequence[str | Path]) -> None:
    """Write a figure in the formats of the paths' suffixes, without time stamps, and close it."""
    for path in map(Path, paths):
        record = {"CreationDate": None} if path.suffix == ".pdf" else {"Software": None}
        with storage.atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=DPI, metadata=record)
            if path.suffix == ".png":
                _shrink(temporary)
    plt.close(figure)


def _shrink(path: Path) -> None:
    """Give a png file a palette of 256 colours, a third of its size.

    Of Pillow's palettes this one has the smallest largest error: no rare colour, as of a few red points, is lost.
    """
    with Image.open(path) as drawn:
        palette = drawn.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    palette.save(path, format="PNG", optimize=True, dpi=(DPI, DPI))
