"""The command line does what Python does, to the digit, and says in one line what is wrong."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulators import runs

from rftune.fitting import command
from rftune.fitting.emulator import load

COLUMNS = ["--inputs", "a,b,c", "--outputs", "y"]
FAST = ["--emulators", "quadratic,anova", "--quiet"]


def call(*arguments):
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ending:
        command.main([str(argument) for argument in arguments])
    return ending.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs, points, and a model that the command line made of them."""
    made = tmp_path_factory.mktemp("own")
    pd.concat(runs(), axis=1).to_csv(made / "runs.csv", index=False)
    runs(5, seed=1)[0].to_csv(made / "points.csv", index=False)
    assert call("fit", made / "runs.csv", *COLUMNS, *FAST, "-o", made / "model.nc") == 0
    return made


@pytest.mark.parametrize("suffix", ["csv", "parquet", "nc", "npz"])
def test_that_predictions_are_those_of_python(folder, suffix):
    assert call("predict", folder / "model.nc", folder / "points.csv", "-o", folder / f"p.{suffix}", "--quiet") == 0
    from rftune.fitting import files

    table = files.load(folder / f"p.{suffix}")
    expected = load(folder / "model.nc").predict_frame(pd.read_csv(folder / "points.csv"))
    for name in ("y", "y_std"):
        np.testing.assert_array_equal(files.take("outputs", table, [name]).values[:, 0], expected[name])


def test_that_what_a_program_reads_is_json(folder, capsys):
    assert call("sensitivity", folder / "model.nc", "--base", "64", "--json", "--quiet") == 0
    found = json.loads(capsys.readouterr().out)["indices"]
    expected = load(folder / "model.nc").sensitivity(n_base=64)
    assert {row["input"] for row in found} == {"a", "b", "c"}
    assert found == command.plain(expected)


def test_that_a_validation_is_a_page_and_a_verdict(folder, capsys):
    code = call("validate", folder / "model.nc", "--page", folder / "page.html")
    told = capsys.readouterr().out
    assert code in (0, command.DOUBTFUL)
    assert all(sentence in told for sentence in load(folder / "model.nc").validate().verdict())
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_that_inputs_are_found_that_agree_with_an_observation(folder, capsys):
    model, table = folder / "model.nc", folder / "posterior.csv"
    code = call("sample", model, "--observe", "y=0.8", "--steps", "2000", "--quiet", "--json", "-o", table)
    told = json.loads(capsys.readouterr().out)
    assert code == (0 if told["converged"] else command.DOUBTFUL)
    samples = pd.read_csv(table)[["a", "b", "c"]]
    # what was observed is what the emulator says there, up to its own doubt and the noise
    assert abs(load(model).predict(samples).to_numpy().mean() - 0.8) < 0.1


@pytest.mark.parametrize("what", ["effects", "indices", "predictions", "calibration", "errors"])
def test_that_pictures_are_drawn(folder, what):
    assert call("plot", folder / "model.nc", "--what", what, "-o", folder / f"{what}.png", "--quiet") == 0
    assert (folder / f"{what}.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["fit", "runs.csv", "--inputs", "a,d", "--outputs", "y", "-o", "m.nc"], 1, "d"),
        (["fit", "none.csv", *COLUMNS, "-o", "m.nc"], 1, "none.csv"),
        (["fit", "runs.csv", *COLUMNS, "-o", "m.pkl"], 1, ".nc"),
        (["fit", "runs.csv", *COLUMNS], 2, "output"),
        (["fit", "runs.csv", *COLUMNS, "--noise", "little", "-o", "m.nc"], 2, "0.1"),
        (["predict", "points.csv", "points.csv"], 1, "points.csv"),
        (["sample", "model.nc"], 2, "--observe"),
        (["validate", "model.nc", "--page", "page.txt"], 1, ".html"),
        (["guess"], 2, "guess"),
    ],
)
def test_that_what_is_wrong_is_said_in_one_line(folder, monkeypatch, capsys, arguments, code, said):
    monkeypatch.chdir(folder)
    before = {path: path.stat().st_mtime_ns for path in Path(".").iterdir()}
    assert call(*arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("rftune: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err
    assert {path: path.stat().st_mtime_ns for path in Path(".").iterdir()} == before


def test_that_commands_complete_themselves(capsys):
    assert call("completion", "bash") == 0
    assert "_RFTUNE_COMPLETE" in capsys.readouterr().out
