"""The cloud experiment (F6, F11, F12, T5, T6): parameters of a single-column EDMF model inferred from its clouds.

Roles: the paper's rows of T6, ``gp``, ``rf_untuned``, ``rf_separable_5_1`` and ``rf_nonseparable_1``; ``shared``
(ours); ``rf_convergence``, whose tunings F11 shows.
"""

from __future__ import annotations

from collections.abc import Mapping

from rftune.experiments.base import EVERYTHING, Artifact, DataSettings, Experiment, ExperimentSettings, Need
from rftune.experiments.edmf.data import EDMFData
from rftune.inference.settings import SamplingSettings
from rftune.settings import Field, Settings

CASES = ("surrogate", "file")


class LikelihoodSettings(Settings):
    """The likelihood with an emulator in it."""

    misfit_ensembles: int = Field(
        0, ge=0, description="last training ensembles behind the emulator's misfit; 0 for the paper's likelihood"
    )


class EDMFSettings(ExperimentSettings):
    """The cloud model."""

    source: str | None = Field(description="file with the runs of a calibration; null runs the simulator")
    data: EDMFData = Field(description="the data set")
    likelihood: LikelihoodSettings = Field(description="the likelihood with an emulator in it")
    sampling: SamplingSettings = Field(description="the Markov chains")


def _posteriors(*roles: str) -> tuple[Need, ...]:
    """The simulator's own posterior and those with emulators in these roles."""
    return Need("data"), Need("posterior"), Need("posterior", roles, whole=False)


class EDMF(Experiment):
    """One data set: runs of the suite's simulator, or of a file."""

    title = "Cloud model"
    chapter = 4
    Settings = EDMFSettings
    Data = EDMFData
    artifacts = (
        Artifact(
            "F6",
            figure="draw_posterior",
            needs=(*_posteriors("gp", "rf_nonseparable_1"), Need("posterior", ("shared",), whole=False, if_run=True)),
        ),
        Artifact("F11", figure="draw_convergence", needs=(Need("tuned", ("rf_convergence",)),), curve="rf_convergence"),
        Artifact(
            "F12",
            figure="draw_posteriors",
            needs=_posteriors("rf_untuned", "gp", "rf_nonseparable_1", "rf_separable_5_1"),
        ),
        Artifact("T5", table="parameters_table", figure="draw_parameters", needs=EVERYTHING),
        Artifact("T6", table="emulators_table", figure="draw_emulators", needs=EVERYTHING),
        Artifact("edmf_truth_posterior", figure="draw_distances", tables=("T6",)),
    )

    def cases(self, settings: EDMFSettings) -> Mapping[str, DataSettings]:
        return {CASES[settings.source is not None]: settings.data.but(source=settings.source)}

    def is_case(self, name: str) -> bool:
        return name in CASES

    def artifacts_of(self, settings: EDMFSettings) -> tuple[Artifact, ...]:
        """Only where there is a simulator there is a true posterior."""
        return tuple(one for one in self.artifacts if one.id != "edmf_truth_posterior" or settings.source is None)
