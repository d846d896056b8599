"""What somebody at a terminal sees of a run: bars, the time left, failures in a sentence, and where the log is."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from logging import ERROR, INFO, Formatter, LogRecord
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Project
from rich.console import Console
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_rftune import WATCHED, LogHandler
from snakemake_logger_plugin_rftune.run import PRIOR_SECONDS, Expected, Run, spoken

EXPECTED = [
    Expected(1, "data", 10.0),
    Expected(2, "tune", 200.0),
    Expected(3, "tune", 200.0),
    Expected(4, "table", 10.0),
]
QUIET_JOB = """
import os, sys
from rftune.workflow.jobs import job
with job(sys.argv[1]):
    os.write(2, b"a library warns")
"""


@pytest.fixture
def run() -> Run:
    made = Run()
    made.expect(EXPECTED, 2, 1000.0)
    return made


def test_that_a_run_counts_its_jobs_by_stage(run: Run) -> None:
    run.begin(1, "d6", 1000.0)
    run.end(1)
    run.begin(2, "d6 gp", 1001.0)
    run.begin(3, "d6 rf", 1002.0)
    run.end(3, failed=True)
    numbers = {name: (stage.done, stage.failed, stage.total) for name, stage in run.stages.items()}
    assert numbers == {"data": (1, 0, 1), "tune": (0, 1, 2), "table": (0, 0, 1)}
    assert (run.running("tune"), run.running(), run.running("data")) == (["d6 gp"], ["d6 gp"], [])


def test_that_jobs_which_only_collect_files_do_not_count(run: Run) -> None:
    run.begin(99, "all", 1000.0)
    run.end(99)
    assert run.running() == []
    assert run.share(1000.0) == 0.0


def test_that_the_share_is_of_the_work_and_not_of_the_jobs(run: Run) -> None:
    run.begin(1, "d6", 1000.0)
    run.end(1)
    assert run.share(1020.0) == pytest.approx(10 / 420)
    run.begin(2, "d6 gp", 1020.0)
    assert run.share(1070.0) == pytest.approx(60 / 420)
    assert run.share(9999.0) == pytest.approx((10 + 0.95 * 200) / 420), "a late job is never taken for done"
    for job in EXPECTED:
        run.begin(job.jobid, "", 1070.0)
        run.end(job.jobid)
    assert run.share(1080.0) >= 1.0


def test_that_the_time_left_follows_the_speed_of_the_run(run: Run) -> None:
    assert run.left(1000.0) == pytest.approx(420 / 2), "at first, what was measured, on two cores"
    run.begin(2, "d6 gp", 1000.0)
    run.begin(3, "d6 rf", 1000.0)
    run.end(2)
    run.end(3)
    # four times slower than on two free cores, the first minute's worth of which is believed beforehand
    left = run.left(1800.0)
    assert left == pytest.approx(20 * (800 + PRIOR_SECONDS / 2) / (400 + PRIOR_SECONDS))
    assert left > 1.5 * 20


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (95, "2 min"), (3590, "1 h 00 min"), (6300, "1 h 45 min")]
)
def test_that_times_are_said_as_one_says_them(seconds: float, text: str) -> None:
    assert spoken(seconds) == text


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """What a handler puts on a terminal of eighty columns."""
    monkeypatch.setenv(WATCHED, "")
    screen = StringIO()
    monkeypatch.setattr(
        "snakemake_logger_plugin_rftune.Console", lambda **_: Console(file=screen, force_terminal=True, width=80)
    )
    return screen


def handler(*, dryrun: bool = False) -> LogHandler:
    made = LogHandler(SimpleNamespace(dryrun=dryrun), None)
    made.setFormatter(Formatter("%(message)s"))
    return made


def record(level: int, message: str, **more: Any) -> LogRecord:
    made = LogRecord("snakemake", level, "", 0, message, None, None)
    made.__dict__.update(more)
    return made


def test_that_bars_names_and_failures_are_shown_and_nothing_else(shown: StringIO, tmp_path: Path) -> None:
    log = tmp_path / "tune.log"
    log.write_text("INFO repeat 0\nTraceback ...\nValueError: x must be positive; got -1\n", encoding="utf-8")
    watched = handler()
    watched.expect(EXPECTED, 2)
    for jobid, rule, wildcards in ((1, "data", {"case": "d6"}), (2, "tune", {"case": "d6", "emulator": "gp" * 60})):
        watched.emit(record(INFO, "", event=LogEvent.JOB_INFO, jobid=jobid, rule_name=rule, wildcards=wildcards))
    watched.emit(record(INFO, "", event=LogEvent.JOB_FINISHED, job_id=1))
    watched.live.refresh()
    watched.emit(record(INFO, "Select jobs to execute..."))
    watched.emit(record(ERROR, "", event=LogEvent.JOB_ERROR, jobid=2, rule_name="tune", log=[str(log)]))
    watched.emit(record(ERROR, "Exiting because a job execution failed.", event=LogEvent.ERROR))
    watched.emit(record(INFO, f"Complete log(s): {tmp_path / 'whole.log'}"))
    watched.close()
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()).splitlines()
    text = "\n".join(lines)
    assert re.search(r"data +━+ +1/1", text)
    assert re.search(r"tune +━+ +0/2 +d6 gpgp\S*…", text)
    assert re.search(r"tune +━+ +0/2, 1 failed", text)
    assert re.search(r"total +━+ +\d+ % +\d+ s gone, about \d+ (s|min) left", text)
    assert "tune failed: ValueError: x must be positive; got -1" in text
    assert f"(details in {log})" in text
    assert "Exiting because a job execution failed." in text
    assert "Select jobs" not in text
    assert lines[-1] == f"The whole log: {os.path.relpath(tmp_path / 'whole.log')}"
    assert all(len(line) <= 80 for line in lines if "━" in line)


def test_that_a_dry_run_prints_snakemakes_own_lines(shown: StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    plain = handler(dryrun=True)
    plain.expect(EXPECTED, 2)
    plain.emit(record(INFO, "rule tune:", event=LogEvent.JOB_INFO))
    plain.close()
    assert capsys.readouterr().err == "rule tune:\n"
    assert shown.getvalue() == ""
    assert not plain.has_filter


def test_that_a_watched_job_says_nothing_on_the_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-c", QUIET_JOB, str(tmp_path / "job.log")]
    done = subprocess.run(command, env=os.environ | {WATCHED: "1"}, capture_output=True, check=True)
    assert done.stderr == b""
    assert "a library warns" in (tmp_path / "job.log").read_text(encoding="utf-8")


def _read(terminal: int) -> bytes:
    """What a program has written to a terminal; nothing once it has ended."""
    with suppress(OSError):
        return os.read(terminal, 65536)
    return b""


def test_that_a_run_at_a_terminal_shows_bars_and_names_its_log(make_project: Callable[..., Project]) -> None:
    project = make_project({})
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    command = project.command("data_ishigami", "--cores", "1", "--logger", "rftune")
    with subprocess.Popen(**command | {"stdout": theirs, "stderr": theirs}) as process:
        os.close(theirs)
        printed = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            printed += chunk
            if not chunk:
                break
    os.close(ours)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode())
    for part in (r"data +━+ +1/1", r"check_data +━+ +0/1 +ishigami standard 2026", r"total +━+ +100 %"):
        assert re.search(part, text), text
    assert "rule data:" not in text
    log = project.root / re.search(r"The whole log: (\S+)", text)[1]
    assert "rule data:" in log.read_text(encoding="utf-8")
