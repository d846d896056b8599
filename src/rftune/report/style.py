"""How figures look and are saved."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
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


class Column(NamedTuple):
    """A column of a rendered table: its heading, its width in inches, its text in a row of the csv (`line`)."""

    heading: str
    width: float
    text: Callable[[pd.Series], str] = lambda row: ""


def number(name: str, decimals: int = 3, spread: str = "") -> Callable[[pd.Series], str]:
    """The text of a column: a number of the row, with its standard deviation where that has a name."""
    return lambda row: cell(row[name], row[spread] if spread else np.nan, decimals)


def at_seeds(frame: pd.DataFrame, keys: Sequence[str], name: str, decimals: int, width: float) -> list[Column]:
    """A column for each further seed of a frame: a number of the same row there; rows are told apart by some keys."""
    found = []
    for seed in frame["seed"].unique()[1:]:
        there = frame[frame["seed"] == seed].set_index(list(keys))[name].to_dict()

        def text(row: pd.Series, there: dict[Any, float] = there) -> str:
            return cell(there.get(tuple(row[key] for key in keys), np.nan), decimals=decimals)

        found.append(Column(f"seed {seed}", width, text))
    return found


def line(columns: Sequence[Column], row: pd.Series) -> Line:
    """A row of a csv as a line."""
    return Line([column.text(row) for column in columns])


def line_of(columns: Sequence[Column], cells: Mapping[str, str], quoted: bool = False) -> Line:
    """A line of a few cells, by the headings above them."""
    return Line([cells.get(column.heading, "") for column in columns], quoted)


def table_figure(columns: Sequence[Column], lines: Sequence[Line], note: str) -> Figure:
    """A table as a picture: the first text column left, numbers right, the note below.

    Parameters
    ----------
    columns
    lines
    note
        What the brackets and the groups mean.
    """
    width, height = sum(column.width for column in columns), 0.22 * (len(lines) + 1)
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
            colLabels=[column.heading for column in columns],
            bbox=Bbox.from_bounds(0, 0, 1, 1),
            cellLoc="right",
            colLoc="right",
            colWidths=[column.width / width for column in columns],
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
