"""To add a thing is to add one file: each is added to a copy of the project and run through the workflow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import CONFIG, Project

from rftune import storage
from rftune.workflow.config import over

FAMILY = '''"""C = s² I: one scale for all entries."""

from rftune.features.family import Family, Parameter


class Isotropic(Family):
    """C = s² I."""

    has_rank = False

    def parameters(self, space):
        return (Parameter("scale", (), "log", space.log_scale),)

    def draw(self, values, latent, rng):
        return latent * values["scale"]

    def scatter(self, values):
        raise NotImplementedError
'''

FEATURE_MAP = '''"""√ς max(x·Ξ + B, slope (x·Ξ + B))."""

import numpy as np

from rftune.features.feature_map import FeatureMap
from rftune.settings import Field


class Leaky(FeatureMap):
    """A leaky rectifier."""

    slope: float = Field(0.1, ge=0, lt=1, description="slope of the negative part")

    def draw_biases(self, size, rng):
        return rng.standard_normal(size)

    def evaluate(self, inputs, weights, biases, scales, out=None):
        values = inputs @ weights + biases
        values = scales * np.maximum(values, self.slope * values)
        if out is None:
            return values
        out[:] = values
        return out
'''

OPTIMISER = '''"""Draws of the prior, the best of which is kept."""

import numpy as np

from rftune.settings import Field
from rftune.tuning.optimiser import EnsembleCollapse, Info, Optimiser


class Dice(Optimiser):
    """Random search; its state is the points to evaluate, the best so far and its misfit."""

    n_points: int = Field(8, ge=1, description="points per iteration")

    def start(self, problem, rng):
        return self._points(problem, rng), problem.prior_mean, np.inf

    def ask(self, state):
        return state[0]

    def estimate(self, state):
        return state[1]

    def tell(self, state, outputs, problem, rng):
        points, best, smallest = state
        finite = np.isfinite(outputs).all(axis=1)
        if not finite.any():
            raise EnsembleCollapse("no point has a finite output")
        misfits = [problem.misfit(one) if good else np.inf for one, good in zip(outputs, finite)]
        if min(misfits) < smallest:
            best, smallest = points[int(np.argmin(misfits))], min(misfits)
        info = Info(problem.misfit(outputs[finite].mean(axis=0)), problem.spread(points), int((~finite).sum()))
        return (self._points(problem, rng), best, smallest), info

    def _points(self, problem, rng):
        return problem.prior_mean + problem.prior_std * rng.standard_normal((self.n_points, len(problem.prior_mean)))
'''

EMULATOR = '''"""The output of the nearest training input."""

import numpy as np

from rftune.emulators.point import PointEmulator
from rftune.settings import Field, Settings


class NeighbourSettings(Settings):
    """How it predicts."""

    n_neighbours: int = Field(1, ge=1, description="training inputs that are averaged")


class Nearest(PointEmulator):
    """The mean output of the nearest training inputs."""

    prediction: NeighbourSettings = Field(NeighbourSettings(), description="how it predicts")

    def predictor(self, data, rng):
        def function(inputs):
            distances = ((inputs[:, None] - data.inputs) ** 2).sum(axis=2)
            nearest = np.argsort(distances, axis=1)[:, : self.prediction.n_neighbours]
            return data.outputs[nearest].mean(axis=1)

        return function
'''

SCORE = '''"""The mean error, of one sign or the other."""

import numpy as np


def score(mean, truth):
    return np.mean(mean - truth)
'''

EXPERIMENT = {
    "__init__.py": '''"""A parabola. Roles: ``main``."""

from rftune.experiments.base import EVERYTHING, Artifact, Experiment, ExperimentSettings, Need
from rftune.experiments.parabola.data import ParabolaData
from rftune.settings import Field


class ParabolaSettings(ExperimentSettings):
    """A parabola."""

    data: ParabolaData = Field(description="the data set")


class Parabola(Experiment):
    """One data set."""

    title = "A parabola"
    chapter = 9
    Settings = ParabolaSettings
    Data = ParabolaData
    artifacts = (
        Artifact("parabola_fit", figure="draw_fit", needs=(Need("data"), Need("predicted", ("main",)))),
        Artifact("parabola_errors", table="errors_table", figure="draw_errors", needs=EVERYTHING),
    )

    def cases(self, settings):
        return {"only": settings.data}

    def is_case(self, name):
        return name == "only"
''',
    "data.py": '''"""Noisy samples of x²."""

import numpy as np

from rftune.data import Dataset
from rftune.experiments.base import DataSettings
from rftune.experiments.protocol import pack_data
from rftune.settings import Field


class ParabolaData(DataSettings):
    """Samples of x² on [-1, 1]²."""

    n_train: int = Field(ge=2, description="number of training points")

    @property
    def shape(self):
        return self.n_train, 2, 1

    def make(self, rng):
        inputs, points = rng.uniform(-1.0, 1.0, (self.n_train, 2)), rng.uniform(-1.0, 1.0, (50, 2))
        outputs = inputs[:, :1] ** 2 + 0.01 * rng.standard_normal((self.n_train, 1))
        return pack_data(Dataset(inputs, outputs), np.array([[1e-4]]), points, points[:, :1] ** 2)
''',
    "prediction.py": '''"""Means at the points."""

from rftune.experiments.protocol import predict_means as predict
''',
    "analysis.py": '''"""Errors."""

import numpy as np
import xarray as xr

from rftune.experiments.protocol import OUTCOME


def analyse(data, predictions, rng):
    errors = np.sqrt(((predictions["mean"] - data["truth"]) ** 2).mean(("point", "output")))
    return xr.Dataset({"test_error": errors, **{name: predictions[name] for name in OUTCOME}})


def analyse_truth(data, rng):
    return data[["truth"]]
''',
    "tables.py": '''"""Errors of every emulator."""

import pandas as pd


def errors_table(results):
    sources = results.all("analysis")
    return pd.DataFrame([{"emulator": s.emulator, "error": float(s.loaded["test_error"].mean())} for s in sources])
''',
    "figures.py": '''"""The fit, and the table."""

import matplotlib.pyplot as plt

from rftune.report.style import Column, line, number, style, table_figure


def draw_fit(results):
    data, mean = results.one("data"), results.one("predicted", role="main")["mean"].values[0]
    with style():
        figure, axis = plt.subplots()
        axis.scatter(data["points"].values[:, 0], mean[:, 0], label=results.emulator("main").label)
        axis.legend()
    return figure


def draw_errors(results):
    frame = results.tables["parabola_errors"]
    emulator = Column("emulator", 1.5, lambda row: results.label(row["emulator"]))
    columns = [emulator, Column("error", 1.0, number("error"))]
    lines = [line(columns, row) for _, row in frame.iterrows()]
    return table_figure(columns, lines, "Root mean square errors.")
''',
    "captions/parabola_fit.rst": "**A parabola, fitted**\n\nThe mean of an emulator at some points.\n",
    "captions/parabola_errors.rst": "**Errors on a parabola**\n\nRoot mean square errors of every emulator.\n",
}

BLOCK: dict[str, Any] = {
    "data": {"n_train": 40},
    "repeats": 2,
    "emulators": {
        "nearest": {"kind": "nearest", "repeats": 1, "label": "nearest neighbour"},
        "leaky": {
            "kind": "random_features",
            "role": "main",
            "label": "leaky features",
            "features": {"family": "isotropic", "map": {"name": "leaky", "slope": 0.2}},
            "tuning": {"n_features": 20, "n_iterations": 3, "optimiser": {"name": "dice", "n_points": 5}},
            "prediction": {"n_features": 30},
        },
    },
}

ADDED = {
    "features/families/isotropic.py": FAMILY,
    "features/maps/leaky.py": FEATURE_MAP,
    "tuning/optimisers/dice.py": OPTIMISER,
    "emulators/kinds/nearest.py": EMULATOR,
    "analysis/scores/bias.py": SCORE,
    **{f"experiments/parabola/{name}": source for name, source in EXPERIMENT.items()},
}


@pytest.fixture(scope="module")
def finished(make_project: Callable[..., Project]) -> Project:
    project = make_project()
    for name, source in ADDED.items():
        path = project.root / "src/rftune" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    changes = {"experiments": ["parabola"], "further_seeds": [], "results": "results/tiny", "parabola": BLOCK}
    project.write_config(over(CONFIG, changes))
    project.run("--cores", "2")
    return project


def test_that_everything_added_takes_part(finished: Project) -> None:
    folder = finished.results / "parabola/only/seed2026"
    tuned = storage.load(folder / "leaky/tuned-0000-0000.nc")
    assert storage.settings_of(tuned)["tuning"]["optimiser"] == {"name": "dice", "n_points": 5}
    assert storage.settings_of(tuned)["features"]["map"] == {"name": "leaky", "slope": 0.2}
    assert "tuned_scale" in tuned
    analysis = storage.load(folder / "leaky/analysis.nc")
    assert {"bias", "largest_error", "test_error"} <= set(analysis)
    assert (analysis["test_error"] < 0.2).all()
    assert storage.load(folder / "nearest/analysis.nc")["test_error"].item() < 0.3


def test_that_its_figure_and_table_are_made_and_shown(finished: Project) -> None:
    assert (finished.results / "figures/parabola_fit.png").stat().st_size > 3000
    table = pd.read_csv(finished.results / "tables/parabola_errors.csv")
    assert set(table["emulator"]) == {"nearest", "leaky"}
    page = (finished.results / "report.html").read_text(encoding="utf-8")
    for text in ("A parabola, fitted", "Errors on a parabola", 'id="parabola_fit"'):
        assert text in page


def test_that_a_target_and_a_stage_of_it_can_be_asked_for(finished: Project) -> None:
    finished.run("--dry-run", "parabola_fit")
    finished.run("--dry-run", "tune_parabola")


def test_that_a_change_of_one_file_reruns_what_uses_it(finished: Project) -> None:
    dice = "src/rftune/tuning/optimisers/dice.py"
    with finished.edited(dice, lambda source: source.replace("< smallest", "<= smallest")):
        jobs = finished.planned()
    assert {wildcards.split()[-2] for rule, wildcards in jobs if rule == "tune"} == {"leaky"}
    with finished.edited("src/rftune/features/families/sparse.py", lambda source: source.replace("0.75", "0.7")):
        assert finished.planned() == set(), "another family has no part in it"


def test_that_a_wrong_setting_of_it_is_named(finished: Project) -> None:
    wrong = {"parabola": {"emulators": {"leaky": {"features": {"map": {"slpe": 0.2}}}}}}
    (finished.root / "wrong.yaml").write_text(yaml.safe_dump(wrong), encoding="utf-8")
    done = finished.snakemake("--dry-run", "--configfile", "wrong.yaml")
    assert done.returncode != 0
    assert "parabola.emulators.leaky.features.map: unknown key 'slpe'; did you mean 'slope'?" in done.stdout


def test_that_each_thing_was_one_file() -> None:
    folders = [str(Path(name).parent) for name in ADDED if not name.startswith("experiments/")]
    assert len(folders) == len(set(folders)) == 5
