"""The page of a validation: whole, in one file, and about this emulator."""

import re

import pytest
from simulators import field_runs, runs

from rftune.fitting import figures, page
from rftune.fitting.emulator import fit


@pytest.fixture(scope="module")
def emulator():
    return fit(*runs(names=("y", "z<b>$")), emulators=["quadratic", "anova"])


@pytest.fixture(scope="module")
def html(emulator):
    return page.render(emulator, emulator.validate(), 0)


def test_that_it_needs_no_other_file(html):
    addresses = re.findall(r'(?:src|srcset|href)="([^"#][^"]*)"', html)
    assert addresses
    assert all(address.startswith("data:") for address in addresses)
    assert "default-src 'none'" in html


def test_that_every_link_leads_to_a_section(html):
    targets = set(re.findall(r'href="#([\w-]+)"', html))
    assert targets <= set(re.findall(r'id="([\w-]+)"', html))
    assert {"predictions", "calibration", "errors", "sensitivity", "race", "card"} <= targets


def test_that_it_says_what_the_validation_says(html, emulator):
    text = html.replace("\u00a0", " ")
    for sentence in (*emulator.validate().verdict(), *emulator.notes):
        assert sentence.replace("<b>", "&lt;b&gt;") in text
    worst = emulator.validate().worst()
    for name in worst["run"]:
        assert f'data-key="{name}"' in html


def test_that_names_are_text(html):
    assert "z&lt;b&gt;$" in html
    assert "z<b>" not in html


def test_that_the_same_emulator_has_the_same_page(html, emulator):
    assert page.render(emulator, emulator.validate(), 0) == html


def test_that_a_field_has_a_page(tmp_path):
    inputs, _, noisy, _ = field_runs(n_places=50)
    made = fit(inputs, noisy, emulators=["anova"])
    page.write(made, made.validate(), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "the emulator of y0, y1 and 48 more" in text
    assert "Of 50 outputs those with the largest errors are shown" in text


def test_that_panels_are_as_even_as_can_be():
    shapes = {n: len({axis.get_subplotspec().colspan.start for axis in figures._panels(n)[1]}) for n in range(1, 8)}
    assert shapes == {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 7: 3}
    assert len(figures._panels(7)[1]) == 7
