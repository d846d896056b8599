"""Sobol indices and main effects of fitted emulators."""

import numpy as np
import pandas as pd
import pytest
from simulators import field_runs, runs

from rftune.analysis.sensitivity import indices, saltelli
from rftune.experiments.ishigami.data import BOUNDS, ishigami
from rftune.fitting import sensitivity
from rftune.fitting.emulator import fit


@pytest.fixture(scope="module")
def of_ishigami():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(BOUNDS[:, 0], BOUNDS[:, 1], (300, 3))
    outputs = ishigami(inputs, a=7.0, b=0.1) + 0.1 * rng.standard_normal(300)
    return fit(pd.DataFrame(inputs, columns=["u", "v", "w"]), {"y": outputs}, emulators=["anova"])


def test_that_ishigamis_indices_are_in_their_intervals(of_ishigami):
    found = of_ishigami.sensitivity(BOUNDS).set_index("input")
    exact = {"u": (0.3139, 0.5576), "v": (0.4424, 0.4424), "w": (0.0, 0.2437)}  # of the book, a = 7, b = 0.1
    for name, (first, total) in exact.items():
        row = found.loc[name]
        assert row["first_low"] - 0.01 <= first <= row["first_high"] + 0.01
        assert row["total_low"] - 0.01 <= total <= row["total_high"] + 0.01
    assert (found["total_high"] - found["total_low"]).max() < 0.2


def test_that_many_functions_have_the_indices_of_each():
    rng = np.random.default_rng(1)
    design = saltelli(BOUNDS, 256, rng, second_order=False)
    values = ishigami(design.points, a=7.0, b=0.1)
    (first, total), *_ = sensitivity.estimates(values[None, :, None], 3)
    alone = indices(design, values, 2, rng)
    np.testing.assert_allclose(first, alone.first, atol=0.02)
    np.testing.assert_allclose(total, alone.total, atol=0.02)
    two = sensitivity.estimates(np.stack([values, 2.0 * values], axis=1)[None], 3)[0]
    np.testing.assert_allclose(two, [first, total], rtol=1e-9)


def test_that_what_the_emulator_does_not_know_widens_the_intervals():
    few, many = (fit(*runs(n), emulators=["anova"]).sensitivity().set_index("input") for n in (12, 200))
    width = {name: table["total_high"] - table["total_low"] for name, table in (("few", few), ("many", many))}
    assert width["few"]["b"] > 2.0 * width["many"]["b"]


def test_that_bounds_change_the_indices(of_ishigami):
    narrow = of_ishigami.sensitivity({"v": [1.5, 1.6]}).set_index("input")
    assert narrow.loc["v", "total"] < 0.02 < 0.4 < of_ishigami.sensitivity().set_index("input").loc["v", "total"]


def test_that_many_outputs_are_taken_together():
    inputs, _, noisy, places = field_runs()
    made = fit(inputs, noisy, emulators=["anova"])
    table = made.sensitivity()
    assert set(table["output"]) == {"all outputs"}
    # the two inputs do not interact: the variances that they cause add up, over the outputs too
    line = np.linspace(0.0, 1.0, 2001)
    strong = np.var(np.sin(3.0 * line)) * np.sum(np.sin(np.pi * places) ** 2)
    weak = np.var(0.5 * line**2) * np.sum(np.cos(2 * np.pi * places) ** 2)
    np.testing.assert_allclose(table["first"][0], strong / (strong + weak), atol=0.05)
    np.testing.assert_allclose(table["first"].sum(), 1.0, atol=0.03)
    effects = made.main_effects()
    assert set(effects["output"]) == {"component 1", "component 2"}


def test_that_main_effects_are_those_of_the_function(of_ishigami):
    effects = of_ishigami.main_effects(BOUNDS)
    of_v = effects[effects["input"] == "v"]
    exact = 3.5 + 7.0 * (np.sin(of_v["value"]) ** 2 - 0.5)
    np.testing.assert_allclose(of_v["mean"], exact, atol=0.3)
    assert ((of_v["low"] < of_v["mean"]) & (of_v["mean"] < of_v["high"])).all()


def test_that_the_same_seed_gives_the_same_indices(of_ishigami):
    pd.testing.assert_frame_equal(of_ishigami.sensitivity(seed=3), of_ishigami.sensitivity(seed=3))
    assert (of_ishigami.sensitivity(seed=3)["first"] != of_ishigami.sensitivity(seed=4)["first"]).any()


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"q": [0, 1]}, "bounds name 'q', which is no input; the inputs are u, v, w"),
        ([[0, 1]], r"bounds must be \[low, high\] for each of u, v, w; got"),
        ({"u": "wide"}, r"bounds must be \[low, high\] for each"),
        ({"u": [1, 0]}, r"low below high; u has \[1.0, 0.0\]"),
        ({"u": [0, np.inf]}, r"bounds must be \[low, high\]"),
    ],
)
def test_that_bad_bounds_are_refused(of_ishigami, bounds, message):
    with pytest.raises(ValueError, match=message):
        of_ishigami.sensitivity(bounds)
