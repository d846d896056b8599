"""The page of a run, in one file that needs no other: pictures, style and script are inside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from rftune.report import claims, tables
from rftune.report.run import Job, elapsed
from rftune.report.verdicts import AGREED, NOT_COMPARABLE, RULES, SETTING, VERDICTS, WORSE
from rftune.workflow.stages import STAGES

FOLDER = Path(__file__).parent
PARTS = [FOLDER / name for name in ("template.html", "style.css", "script.js")]
MARKS = {"agreed": "=", "better": "▲", "worse": "▼", "not comparable": "–"}


@dataclass(frozen=True)
class Exhibit:
    """An artifact as the page shows it.

    Attributes
    ----------
    id
    experiment
    category
        The experiment as a heading.
    caption
        Path of its title and of what to see, also the caption in Snakemake's own report.
    picture, table
        Paths of png and csv; None where this run does not make them.
    absent
        Why it does not; empty where it does.
    command
        What remakes it.
    """

    id: str
    experiment: str
    category: str
    caption: str
    picture: str | None = None
    table: str | None = None
    absent: str = ""
    command: str = ""

    @property
    def is_made(self) -> bool:
        return self.picture is not None or self.table is not None


@dataclass(frozen=True)
class Run:
    """Everything about a run that is not an artifact.

    Attributes
    ----------
    preset
        Name of its folder.
    seeds
        The root seed first.
    commit
        With "+dirty" where files differed from it.
    machine
        What it ran on, by name.
    settings
        The whole config.
    jobs
    cores
        That Snakemake was given.
    """

    preset: str
    seeds: Sequence[int]
    commit: str
    machine: Mapping[str, str]
    settings: Mapping[str, Any]
    jobs: Sequence[Job]
    cores: int


@dataclass(frozen=True)
class Section:
    """An artifact on the page.

    Attributes
    ----------
    artifact
    verdicts
        On its numbers.
    settings
        Verdicts on its settings, or on those of its experiment, as `_shown`.
    jobs
        Of the whole run.
    """

    artifact: Exhibit
    verdicts: pd.DataFrame
    settings: Sequence[Mapping[str, Any]] = ()
    jobs: Sequence[Job] = ()

    @cached_property
    def _caption(self) -> tuple[str, str]:
        title, _, text = Path(self.artifact.caption).read_text(encoding="utf-8").strip().partition("\n\n")
        return title, text

    @property
    def title(self) -> str:
        return self._caption[0].strip("* ")

    @property
    def paragraphs(self) -> list[str]:
        """What to see, as HTML."""
        return [inline(text) for text in self._caption[1].split("\n\n") if text]

    @property
    def is_in_paper(self) -> bool:
        return re.fullmatch(r"[FT]\d+", self.artifact.id) is not None

    @cached_property
    def picture(self) -> str | None:
        return None if self.artifact.picture is None else data_uri(self.artifact.picture)

    @cached_property
    def table(self) -> tables.Table | None:
        return None if self.artifact.table is None else tables.read(self.artifact.table)

    @property
    def numbers(self) -> list[dict[str, Any]]:
        """Its verdicts, those that judge before those that only name."""
        judged = self.verdicts["verdict"] != NOT_COMPARABLE
        return _shown(self.verdicts[judged]) + _shown(self.verdicts[~judged])

    @property
    def own_seconds(self) -> float:
        return sum(job.seconds for job in self.jobs if job.owner == self.artifact.id)

    @property
    def experiment_seconds(self) -> float:
        return sum(job.seconds for job in self.jobs if job.owner == self.artifact.experiment)


def counts(verdicts: pd.DataFrame) -> dict[str, int]:
    """How many numbers have each verdict, settings not counted."""
    judged = verdicts.loc[verdicts["rule"] != SETTING, "verdict"]
    return {name: int((judged == name).sum()) for name in VERDICTS}


def render(artifacts: Sequence[Exhibit], verdicts: pd.DataFrame, claimed: pd.DataFrame, run: Run) -> str:
    """The page.

    Parameters
    ----------
    artifacts
        In the order of their sections, those that this run leaves out too.
    verdicts
        As read from verdicts.csv.
    claimed
        As read from claims.csv.
    run
    """
    numbers = verdicts[verdicts["rule"] != SETTING]
    settings = verdicts[verdicts["rule"] == SETTING]
    experiments = settings["id"].map({one.id: one.experiment for one in artifacts})
    sections = [
        Section(one, numbers[numbers["id"] == one.id], _stated(settings[experiments == one.experiment], one), run.jobs)
        for one in artifacts
    ]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": tables.number, "duration": tables.duration}
    return environment.get_template("template.html").render(
        style=(FOLDER / "style.css").read_text(encoding="utf-8"),
        script=(FOLDER / "script.js").read_text(encoding="utf-8"),
        sections=sections,
        made=sum(section.artifact.is_made for section in sections),
        counts=counts(verdicts),
        by_kind={kind: counts(group) for kind, group in numbers.groupby("kind", sort=False)},
        compared=int((numbers["verdict"] != NOT_COMPARABLE).sum()),
        same_settings=int((settings["verdict"] == AGREED).sum()),
        n_settings=len(settings),
        worse=_shown(numbers[numbers["verdict"] == WORSE]),
        claims=claimed.to_dict("records"),
        claim_counts={name: int((claimed["verdict"] == name).sum()) for name in claims.VERDICTS},
        rules=RULES,
        marks=MARKS,
        run=run,
        stage_times=stage_times(run.jobs),
        job_seconds=sum(job.seconds for job in run.jobs),
        elapsed=elapsed(run.jobs),
        config=yaml.safe_dump(dict(run.settings), sort_keys=False, allow_unicode=True, width=100),
    )


def stage_times(jobs: Sequence[Job]) -> list[tuple[str, int, float]]:
    """Stage, number of jobs and their seconds, for the stages that there are."""
    groups = {stage: [job.seconds for job in jobs if job.stage == stage] for stage in STAGES}
    return [(stage, len(seconds), sum(seconds)) for stage, seconds in groups.items() if seconds]


def _stated(settings: pd.DataFrame, artifact: Exhibit) -> list[dict[str, Any]]:
    """What the paper states for an artifact itself, or else for its experiment."""
    own = settings[settings["id"] == artifact.id]
    return _shown(settings if own.empty else own)


def _shown(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """Verdicts as the page shows them."""
    return [_line(row) for row in verdicts.to_dict("records")]


def _line(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A verdict with short numbers, and the difference where both are numbers."""
    paper = _cell(row["paper"], tables.quoted)
    ours = _cell(row["ours"], tables.quoted if row["rule"] == SETTING else tables.cell)
    difference = float(ours.key) - float(paper.key) if paper.is_number and ours.is_number else None
    rule, _, detail = str(row["rule"]).partition(": ")
    return {
        "id": row["id"],
        "quantity": row["quantity"],
        "kind": row["kind"],
        "paper": paper,
        "ours": ours,
        "difference": tables.cell(difference),
        "standard_error": tables.cell(row["standard_error"]),
        "rule": rule,
        "detail": detail,
        "verdict": row["verdict"],
    }


def _cell(value: Any, shown: Callable[[Any], tables.Cell]) -> tables.Cell:
    """A number of the verdicts' mixed columns, which hold words too."""
    try:
        return shown(float(value))
    except ValueError:
        return shown(value)


def inline(text: str) -> str:
    """Plain reStructuredText as HTML: ``code`` and *emphasis* alone."""
    marked = re.sub(r"``(.+?)``", r"<code>\1</code>", escape(" ".join(text.split()), quote=False))
    return re.sub(r"\*(\S(?:.*?\S)?)\*", r"<em>\1</em>", marked)


def data_uri(path: str | Path) -> str:
    """A png file as an address that holds it; an error when there is no picture in it."""
    content = Path(path).read_bytes()
    if not content.startswith(b"\x89PNG"):
        raise ValueError(f"{path} must be a png picture and is not: delete it and draw it again")
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"
