"""The page of a validation, in one file that needs no other: in the look of the report, whose style it shares."""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jinja2
import pandas as pd
import yaml

from rftune import storage
from rftune.fitting import figures
from rftune.fitting.emulator import FittedEmulator
from rftune.fitting.validation import Validation
from rftune.report import style, tables

FOLDER = Path(__file__).parent
_REPORT = Path(tables.__file__).parent
_LISTED = 60  # rows of a table, which may have one for every output
_NAMED = 3  # outputs in the title
_SECTIONS = {
    "predictions": "Predicted and observed",
    "calibration": "Error bars",
    "errors": "Errors against inputs",
    "sensitivity": "What matters",
    "race": "The race",
    "card": "Card",
}
_NAMES = {  # of columns, where the words are not those of the table
    "relative_rmse": "error of data",
    "error_of_function": "error of function",
    "noise_std": "noise",
    "crps": "CRPS",
    "crps_constant": "… of the mean",
    "crps_quadratic": "… of a quadratic",
    "std": "standard deviation",
    "standardised_error": "error / standard deviation",
    **{f"coverage_{level}": f"coverage {level} %" for level in (50, 80, 90, 95)},
    **{f"{index}_{end}": f"{index}, {end}" for index in ("first", "total") for end in ("low", "high")},
}


@dataclass(frozen=True)
class _Table:
    """Cells of a table, and which columns are numbers."""

    columns: list[str]
    numeric: list[str]
    rows: list[list[tables.Cell]]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> _Table:
        """The first rows of a table."""
        numeric = [str(name) for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
        cells = [[tables.cell(value) for value in row] for row in frame.head(_LISTED).itertuples(index=False)]
        return cls([str(name) for name in frame], numeric, cells)


def check_path(path: Path) -> None:
    """Raise a ValueError, before any work, where no page could be written."""
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"a page is an .html file; got {path.name!r}")


def write(emulator: FittedEmulator, validated: Validation, path: str | Path, seed: int = 0) -> None:
    """Draw and write the page of a validation.

    Parameters
    ----------
    emulator
    validated
        Of its own runs, or of others.
    path
    seed
        Of the designs behind Sobol indices and main effects.
    """
    check_path(Path(path))
    content = render(emulator, validated, seed)
    with storage.atomic_path(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


def render(emulator: FittedEmulator, validated: Validation, seed: int) -> str:
    """The page."""
    indices = emulator.sensitivity(seed=seed)
    effects = emulator.main_effects(seed=seed)
    drawn: dict[str, figures.Drawing] = {
        "predictions": partial(figures.predictions, validated),
        "errors": partial(figures.errors, validated),
        "indices": partial(figures.indices, indices),
        "effects": partial(figures.main_effects, effects),
    }
    single = {"calibration": figures.calibration(validated), "standardised": figures.standardised(validated)}
    names = validated.observed.names
    shown = names if len(names) <= _NAMED else names[: _NAMED - 1]
    rest = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html").render(
        style=(_REPORT / "style.css").read_text(encoding="utf-8"),
        script=(_REPORT / "script.js").read_text(encoding="utf-8"),
        outputs=", ".join(shown) + rest,
        n_outputs=len(names),
        many=len(names) > figures.MOST_PANELS,
        method=f"rftune · {len(validated.observed)} runs · {validated.method}",
        sections=list(_SECTIONS.items()),
        verdict=[_unbroken(sentence) for sentence in validated.verdict()],
        notes=[_unbroken(note) for note in emulator.notes],
        tiles=_tiles(validated),
        pictures={name: _data_uri(figure) for name, figure in single.items()}
        | {name: _data_uri(draw()) for name, draw in drawn.items()},
        narrow={name: _data_uri(draw(n_columns=1)) for name, draw in drawn.items()},
        scores=_Table.of(_scores(validated)),
        worst=_Table.of(validated.worst()),
        indices=_Table.of(indices),
        race=_Table.of(emulator.race.drop(columns=["title", "planned_seconds"])),
        titles=dict(zip(emulator.race["emulator"], emulator.race["title"], strict=True)),
        names=_NAMES,
        card=yaml.safe_dump(dict(emulator.card), sort_keys=False, allow_unicode=True, width=100),
    )


def _tiles(validated: Validation) -> list[tuple[str, str, str]]:
    """Name, number and what it is of."""
    table = validated.scores
    error, coverage = table["relative_rmse"].mean(), table["coverage_90"].mean()
    skill = 1.0 - table["crps"].sum() / table["crps_constant"].sum()
    found = [
        ("runs", str(len(validated.observed)), f"of {len(validated.inputs.names)} inputs"),
        ("error, of the output’s spread", f"{100 * error:.2g} %", ""),
        ("runs inside 90 % intervals", f"{100 * coverage:.0f} %", ""),
        ("better than the mean, by CRPS", f"{100 * skill:.3g} %", ""),
    ]
    if "crps_quadratic" in table:
        skill = 1.0 - table["crps"].sum() / table["crps_quadratic"].sum()
        found.append(("better than a quadratic", f"{100 * skill:.3g} %", ""))
    return found


def _scores(validated: Validation) -> pd.DataFrame:
    """The scores that a page has room for, the worst output first."""
    table = validated.scores.drop(columns=["coverage_50", "coverage_95"])
    return table.sort_values("relative_rmse", ascending=False, kind="stable")


def _unbroken(sentence: str) -> str:
    """Numbers stay on one line with their unit."""
    return sentence.replace(" %", "\u00a0%")


def _data_uri(figure: figures.Drawn) -> str:
    """A figure as an address that holds its picture; it is closed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.png"
        style.save(figure, [path])
        return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
