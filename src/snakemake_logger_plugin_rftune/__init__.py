"""`snakemake --logger rftune`: at a terminal a bar per stage, a total and the time left, instead of a scroll of lines.

Snakemake finds this package by its name. It shows what the Snakefile tells it to expect (`LogHandler.expect`) as jobs
begin and end, and says errors above the bars. Where there is no terminal, and in a dry run, it prints Snakemake's own
lines. The log in ``.snakemake/log`` is whole in any case, and is named at the end.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from logging import ERROR, LogRecord
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from .run import Expected, Run, Stage, spoken

# Tells jobs that what they print would tear the bars: it belongs in their logs.
WATCHED = "RFTUNE_WATCHED"
# What else Snakemake says that somebody at a terminal wants to know: lines that begin so.
SAID = ("Nothing to be done", "Terminating", "Will exit", "Waiting", "waiting for")
BAR_WIDTH = 20
LOG_NAMED = "Complete log(s): "


class LogHandler(LogHandlerBase):
    """Bars at a terminal, plain lines elsewhere."""

    def __post_init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.is_watched = self.console.is_terminal and not self.common_settings.dryrun
        self.run = Run()
        self.live = Live(get_renderable=self._bars, console=self.console, refresh_per_second=2)
        self.log = ""
        if self.is_watched:
            os.environ[WATCHED] = "1"

    def expect(self, jobs: Iterable[tuple[int, str, float]], n_cores: int) -> None:
        """Take in every job that will be run: its number, its stage, and the seconds that it may take."""
        self.run.expect([Expected(*job) for job in jobs], n_cores, time.monotonic())
        if self.is_watched and self.run.stages:
            self.live.start()

    def emit(self, record: LogRecord) -> None:
        """Show a record."""
        if self.is_watched:
            self._watch(record)
        elif text := self.format(record):
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the last state of the bars on the screen, and say where the log is."""
        self.live.stop()
        if self.log:
            self._say(f"The whole log: {self.log}")
            self.log = ""
        super().close()

    def _watch(self, record: Any) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            self.run.begin(record.jobid, _name(record), time.monotonic())
        elif event == LogEvent.JOB_FINISHED:
            self.run.end(record.job_id)
        elif event == LogEvent.JOB_ERROR:
            self.run.end(record.jobid, failed=True)
            self._say(_failure(record))
        elif record.levelno >= ERROR:
            self._say(self.format(record))
        elif event is None and record.getMessage().startswith(SAID):
            self._say(record.getMessage())
        elif event is None and record.getMessage().startswith(LOG_NAMED):
            self.log = os.path.relpath(record.getMessage().removeprefix(LOG_NAMED))

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def _bars(self) -> Table:
        now = time.monotonic()
        rows = [_row(stage, self.run.running(stage.name)) for stage in self.run.stages.values()]
        times = f"{spoken(self.run.elapsed(now))} gone"
        if self.run.running():
            times += f", about {spoken(self.run.left(now))} left"
        share = self.run.share(now)
        rows.append(("total", share, f"{100 * share:.0f} %", times))
        table = Table.grid(padding=(0, 1))
        widths = [max(len(name) for name, *_ in rows), max(len(numbers) for _, _, numbers, _ in rows)]
        for width in (widths[0], BAR_WIDTH, widths[1]):
            table.add_column(width=width, no_wrap=True)
        room = max(self.console.width - sum(widths) - BAR_WIDTH - 4, 1)  # a line that wraps would not be cleared
        table.add_column(width=room, no_wrap=True, overflow="ellipsis")
        for name, done, numbers, text in rows:
            table.add_row(name, ProgressBar(total=1.0, completed=done, width=BAR_WIDTH), numbers, text)
        return table

    @property
    def writes_to_stream(self) -> bool:
        return True

    @property
    def writes_to_file(self) -> bool:
        return False

    @property
    def has_filter(self) -> bool:
        return self.is_watched  # `--quiet` hides lines, and bars need every event

    @property
    def has_formatter(self) -> bool:
        return False

    @property
    def needs_rulegraph(self) -> bool:
        return False


def _row(stage: Stage, running: Sequence[str]) -> tuple[str, float, str, str]:
    """Name, share, numbers, and what is at work."""
    numbers = f"{stage.done}/{stage.total}" + (f", {stage.failed} failed" if stage.failed else "")
    return stage.name, stage.done / stage.total, numbers, ", ".join(running)


def _name(record: Any) -> str:
    """What a job is called: its wildcards, or its rule where it has none."""
    return " ".join(map(str, record.wildcards.values())) if record.wildcards else str(record.rule_name)


def _failure(record: Any) -> str:
    """One sentence on a failed job: the end of its own log."""
    said, log = "", next(iter(record.log or ()), "")
    with suppress(OSError, IndexError):
        said = Path(log).read_text(encoding="utf-8", errors="replace").rstrip().splitlines()[-1]
    return f"{record.rule_name} failed: {said or 'it left no word'}" + (f"\n(details in {log})" if log else "")
