"""Global sensitivity analysis of the Ishigami function (F1, F7, T2), and what choices of the tuning do there.

Roles: ``gp``, ``rf`` (the paper's random features), ``rf_untuned``; ``choice``, which differ from ``rf`` in a choice
that the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping

from rftune.experiments.base import EVERYTHING, Artifact, DataSettings, Experiment, Need
from rftune.experiments.indices import SensitivitySettings
from rftune.experiments.ishigami.data import IshigamiData
from rftune.settings import Field


class IshigamiSettings(SensitivitySettings):
    """The Ishigami function."""

    data: IshigamiData = Field(description="the data set")


class Ishigami(Experiment):
    """One data set of a function with three inputs."""

    title = "Ishigami function"
    chapter = 1
    Settings = IshigamiSettings
    Data = IshigamiData
    shared_roles = ("choice",)
    artifacts = (
        Artifact(
            "F1", figure="draw_slices", needs=(Need("data"), Need("predicted", ("rf_untuned", "gp", "rf"), whole=False))
        ),
        Artifact("F7", figure="draw_convergence", needs=(Need("tuned", ("rf",)),), curve="rf"),
        Artifact("T2", table="indices_table", figure="draw_table", needs=EVERYTHING),
        Artifact(
            "ishigami_choices",
            table="choices_table",
            figure="draw_choices",
            needs=(Need("data"), Need("analysis", ("rf", "choice")), Need("tuned", ("rf", "choice"))),
            about=("choice",),
        ),
    )

    def cases(self, settings: IshigamiSettings) -> Mapping[str, DataSettings]:
        return {"standard": settings.data}

    def is_case(self, name: str) -> bool:
        return name == "standard"
