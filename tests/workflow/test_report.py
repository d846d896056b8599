"""The page of a tiny run: complete, self-contained, and right in a real browser; the record that tells a stale run."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, Project
from PIL import Image

from rftune.experiments.base import experiments
from rftune.report import style as figures
from rftune.report import tables
from rftune.report.claims import Claim, Finding, judged, to_frame
from rftune.report.page import Exhibit, Run, data_uri, inline, render, stage_times
from rftune.report.run import Job, elapsed, jobs
from rftune.report.verdicts import Evidence
from rftune.workflow import record

VERDICT_COLUMNS = ["id", "quantity", "kind", "paper", "ours", "standard_error", "rule", "verdict"]
SPEC = [*(f"F{i}" for i in range(1, 13)), *(f"T{i}" for i in range(1, 7))]
MADE = {"F1", "F7", "T1", "T2"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)


@pytest.fixture(scope="module")
def finished(make_project: Callable[..., Project]) -> Project:
    """A whole run of one experiment and of the costs, with the page at its end."""
    project = make_project({"experiments": ["ishigami", "complexity"]})
    project.run("--cores", "2")
    return project


@pytest.fixture(scope="module")
def page(finished: Project) -> str:
    return (finished.results / "report.html").read_text(encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """Text of each section that shows an artifact, by its id."""
    parts = re.split(r'<section id="(\w+)" class="artifact', page)[1:]
    return {name: text.partition("</section>")[0] for name, text in zip(parts[::2], parts[1::2], strict=True)}


def test_that_every_artifact_of_the_paper_has_a_section(page: str) -> None:
    found = sections(page)
    assert list(found)[: len(SPEC)] == SPEC
    left_out = {name for name, text in found.items() if "Not part of this run" in text}
    assert left_out == set(found) - MADE
    for name in MADE:
        assert found[name].count("<img src=") == 1
        assert f"snakemake {name}" in found[name]
        assert "Root seed 2026" in found[name]


def test_that_tables_are_tables(page: str, finished: Project) -> None:
    rows = pd.read_csv(finished.results / "tables/T2.csv")
    (body,) = re.findall(r"The whole table.*?<tbody>(.*?)</tbody>", sections(page)["T2"], re.DOTALL)
    assert body.count("<tr>") == len(rows)


def test_that_the_page_needs_nothing_else(page: str) -> None:
    without_pictures = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "", page)
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#|data:|")""", without_pictures)
    assert "default-src 'none'" in page


def test_that_the_page_says_where_it_comes_from(page: str) -> None:
    for text in ("Provenance", "root seeds", "Time by stage", "numpy", "n_train: 40"):
        assert text in page
    assert str(ROOT) not in page


def test_that_worse_numbers_are_shown_and_fail_nothing(finished: Project, page: str) -> None:
    found = pd.read_csv(finished.results / "verdicts.csv", dtype=str)
    assert list(found) == VERDICT_COLUMNS
    assert "worse" in set(found["verdict"])  # 3 re-tunings of 20
    assert "Where this run falls short" in page
    settings = found[found["rule"] == "same setting"].set_index("quantity")
    assert settings.loc["N", ["paper", "ours", "verdict"]].tolist() == ["300", "40", "not comparable"]


def test_that_a_missing_or_broken_picture_fails_the_page(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        data_uri(tmp_path / "F1.png")
    (tmp_path / "F1.png").write_bytes(b"half")
    with pytest.raises(ValueError, match="must be a png picture and is not: delete it"):
        data_uri(tmp_path / "F1.png")


def test_that_snakemakes_own_report_is_made(finished: Project) -> None:
    finished.run("--report", "own.html")
    text = (finished.root / "own.html").read_text(encoding="utf-8")
    assert "Ishigami function" in text
    assert "Slices of the Ishigami function" in text


def test_that_every_artifact_has_a_caption_and_the_functions_that_it_names() -> None:
    artifacts = {one.id: (experiment, one) for experiment in experiments().values() for one in experiment.artifacts}
    assert set(SPEC) <= set(artifacts)
    for experiment, artifact in artifacts.values():
        title, _, text = experiment.caption(artifact.id).read_text(encoding="utf-8").partition("\n\n")
        assert re.fullmatch(r"\*\*.+\*\*", title), artifact.id
        assert len(text) > 40, artifact.id
        assert callable(experiment.call("figures", artifact.figure))
        assert artifact.table is None or callable(experiment.call("tables", artifact.table))


# What a kept run says of itself


def test_that_the_record_holds_what_the_run_was_made_with(finished: Project) -> None:
    made = json.loads((finished.results / record.NAME).read_text(encoding="utf-8"))
    assert made["settings"]["ishigami"]["data"]["n_train"] == 40
    assert "lorenz63" not in made["settings"], "what is not run is not recorded"
    assert {"tune of ishigami, gp", "figure of ishigami", "measure of complexity"} <= set(made["code"])
    assert {"tables/T2.csv", "figures/F1.png", "verdicts.csv", "report.html"} <= set(made["files"])
    assert record.altered(finished.results, made["files"]) == []


def test_that_a_changed_file_setting_or_code_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "T2.csv").write_text("1\n", encoding="utf-8")
    digests = record.digests(tmp_path, [tmp_path / "T2.csv"])
    (tmp_path / "T2.csv").write_text("2\n", encoding="utf-8")
    assert record.altered(tmp_path, {**digests, "gone.csv": "x"}) == ["T2.csv"]
    then = {"settings": {"seed": 1, "ishigami": {"repeats": 20}}, "code": {"tune of ishigami": "a", "data": "b"}}
    now = {"settings": {"seed": 1, "ishigami": {"repeats": 30}}, "code": {"tune of ishigami": "c", "data": "b"}}
    assert record.changes(then, now) == [
        "ishigami.repeats was 20 and is 30",
        "the code of tune of ishigami has changed",
    ]
    assert record.changes(then, then) == []
    assert record.without_scheduling({"a": {"repeats_per_job": 3, "b": 1}, "results": "x"}) == {"a": {"b": 1}}


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"workflow/scripts/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_that_the_reference_run_is_up_to_date() -> None:
    """Skipped, with what has changed, when it is not: to make it again takes hours and is a person's decision."""
    folder = ROOT / "results/paper"
    problems = script("check_reference").problems(folder)
    if problems:
        pytest.skip("the reference run is out of date, run make paper: " + "; ".join(problems))


def test_that_the_files_of_the_reference_run_are_as_it_left_them() -> None:
    path = ROOT / "results/paper" / record.NAME
    if not path.exists():
        pytest.skip("the reference run has no record yet")
    assert record.altered(path.parent, json.loads(path.read_text(encoding="utf-8"))["files"]) == []


# Parts of the page


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123456, "0.1235"), (-0.5, "−0.5000"), (12.0, "12"), (1234.5678, "1235"), (3e-5, "3.00·10⁻⁵"), (0.0, "0")],
)
def test_that_numbers_are_short(value: float, text: str) -> None:
    assert tables.number(value) == text


def test_that_cells_sort_by_their_whole_value() -> None:
    assert tables.cell(float("inf")) == tables.Cell("∞", "Infinity", is_number=True)
    assert tables.cell(0.123456).key == "0.123456"
    assert tables.cell(float("nan")) == tables.Cell("", "")
    assert tables.cell(True).text == "yes"
    assert tables.heading("n_failed") == "number of failed"


@pytest.mark.parametrize(("value", "text"), [(0.314, "0.314"), (-0.5, "−0.5"), (10.0, "10"), (3e-5, "3.00·10⁻⁵")])
def test_that_quoted_numbers_have_no_more_digits_than_were_printed(value: float, text: str) -> None:
    assert tables.quoted(value).text == text
    assert tables.quoted("< 0.10").text == "< 0.10"


def test_that_a_section_names_its_own_settings_or_all_of_its_experiment(tmp_path: Path) -> None:
    (tmp_path / "x.rst").write_text("**Title**\n\nText.\n", encoding="utf-8")
    (tmp_path / "x.csv").write_text("a\n1\n", encoding="utf-8")
    files = {"caption": str(tmp_path / "x.rst"), "table": str(tmp_path / "x.csv")}
    artifacts = [Exhibit(name, "edmf", "Cloud model", **files) for name in ("F6", "F11", "T5")]
    lines = [("F6", "rank", "value", 1, 1), ("F11", "rank", "value", 3, 3)]
    verdicts = pd.DataFrame([(*line, None, "same setting", "agreed") for line in lines], columns=VERDICT_COLUMNS)
    said = Claim("4.1", "F6", "it is <so>", "a number", lambda evidence: Finding("2", False), because="see there")
    claimed = to_frame(judged([said], Evidence({})))
    whole = render(artifacts, verdicts, claimed, Run("x", [1], "abc", {}, {}, [], 1))
    sentences = whole.partition('<section id="claims">')[2].partition("</section>")[0]
    assert all(text in sentences for text in ("does not hold", "“it is &lt;so&gt;”", "see there", 'href="#F6"'))
    found = sections(whole)
    assert [name for name, text in found.items() if "it is &lt;so&gt;" in text] == ["F6"]
    ranks = {name: re.findall(r"<i>rank</i> (\d)", text) for name, text in found.items()}
    assert ranks == {"F6": ["1"], "F11": ["3"], "T5": ["3", "1"]}
    assert 'href="#F6"' in found["T5"]


def test_that_figures_are_small_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    points = np.random.default_rng(1).normal(size=(2, 3000))
    for name in ("a", "b"):
        figure, axis = plt.subplots()
        axis.scatter(*points, s=4, alpha=0.4)
        axis.scatter([5.0], [5.0], s=30, color="#c8102e")
        if name == "a":
            figure.savefig(tmp_path / "whole.png", dpi=figures.DPI)
        figures.save(figure, [tmp_path / f"{name}.png"])
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").stat().st_size < 0.6 * (tmp_path / "whole.png").stat().st_size
    small, whole = (np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB"), int) for name in ("a", "whole"))
    assert np.abs(small - whole).max() <= 20  # of 255: nothing that one sees, the one red point included
    assert tuple(small[0, 0]) == (255, 255, 255)


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.24, "1.2 s"), (75.0, "75 s"), (600.0, "10 min"), (9000.0, "2 h 30 min")]
)
def test_that_durations_are_said_as_a_person_would(seconds: float, text: str) -> None:
    assert tables.duration(seconds) == text


def test_that_captions_are_escaped_and_marked_up() -> None:
    assert inline("a < b, ``code``\n*so*") == "a &lt; b, <code>code</code> <em>so</em>"
    assert not Exhibit("F1", "ishigami", "", "").is_made


def test_that_jobs_are_counted_by_stage_and_seed(tmp_path: Path) -> None:
    sampled = (
        "edmf/surrogate/seed1/gp/sample-0000-0000",
        "edmf/surrogate/seed1/sample_truth",
    )
    tuned = ("ishigami/standard/seed1/gp/tune-0000-0000", "ishigami/standard/seed2/data")
    for name in (*sampled, *tuned, "F1", "T2_csv", "F9"):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("s\th:m:s\n2.5\t0:00:02\n", encoding="utf-8")
    found = jobs(tmp_path, {"ishigami", "edmf", "F1", "T2"}, [1])
    assert ("sample", 1, 2.5) in stage_times(found)
    assert {(job.owner, job.stage, job.seconds) for job in found} == {
        ("ishigami", "tune", 2.5),
        ("edmf", "sample", 2.5),
        ("edmf", "sample_truth", 2.5),
        ("F1", "figure", 2.5),
        ("T2", "table", 2.5),
    }
    assert elapsed([Job("F1", "figure", 2.0, 10.0), Job("F2", "figure", 1.0, 20.0)]) == 12.0


# In a browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    binary = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no Chromium with its driver: on Debian, apt install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = binary
    for flag in (*BROWSER_FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


@pytest.fixture
def opened(browser: Any, finished: Project) -> Any:
    for log in ("browser", "performance"):
        browser.get_log(log)  # what came before
    browser.get((finished.results / "report.html").as_uri())
    return browser


def resize(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_that_the_page_loads_silently_and_asks_for_nothing(opened: Any) -> None:
    assert opened.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert asked, "the log of requests is empty"
    # chrome: is the browser's own start page
    assert {url.partition(":")[0] for url in asked} <= {"file", "data", "chrome"}


@pytest.mark.parametrize("width", [400, 1400])
def test_that_the_page_fits_and_shows_every_picture(opened: Any, width: int) -> None:
    resize(opened, width)
    assert opened.execute_script("return document.documentElement.scrollWidth") <= width
    script = """
        const shown = {};
        for (const img of document.querySelectorAll("section.artifact img"))
            shown[img.closest("section").id] = img.complete && img.naturalWidth > 0 && img.clientWidth > 0;
        return shown;"""
    assert opened.execute_script(script) == dict.fromkeys(MADE, True)


def test_that_tables_sort_and_figures_open_large(opened: Any) -> None:
    keys = """
        return [...document.querySelectorAll("#T2 details tbody tr")].map((row) => row.cells[3].dataset.key)"""
    heading = opened.find_element("css selector", "#T2 details th:nth-child(4) button")
    for sign in (1, -1):
        opened.execute_script("arguments[0].click()", heading)
        found = [float(key) for key in opened.execute_script(keys) if key]
        assert found == sorted(found, key=lambda value, sign=sign: sign * value)
    opened.execute_script("document.querySelector('#F1 .enlarge').click()")
    assert opened.execute_script("return document.getElementById('large').open")
    assert opened.execute_script("return document.querySelector('#large img').naturalWidth") > 0
    opened.execute_script("document.querySelector('#large .close').click()")
    assert not opened.execute_script("return document.getElementById('large').open")
    assert opened.get_log("browser") == []


# The last test, because it takes the run apart.


def test_that_an_artifact_that_cannot_be_made_fails_the_build(finished: Project) -> None:
    (finished.results / "figures/F7.png").unlink()
    assert finished.planned() == {("F7", ""), ("report", "")}
    (finished.results / "report.html").unlink()
    with finished.edited("workflow/scripts/figure.py", lambda source: source.replace("    save(", "    print(")):
        done = finished.snakemake("F7", "report", "--cores", "1")
    assert done.returncode != 0
    assert not (finished.results / "report.html").exists()
