"""The cloud experiment (F6, F11, F12, T5, T6): parameters of a single-column EDMF model inferred from its clouds.

Roles: the paper's rows of T6, ``gp``, ``rf_untuned``, ``rf_separable_5_1`` and ``rf_nonseparable_1``; ``shared``
(ours); ``rf_convergence``, whose tunings F11 shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import model_validator

from rftune.experiments.base import EVERYTHING, Artifact, DataSettings, Experiment, ExperimentSettings, Need
from rftune.experiments.edmf.data import EDMFData
from rftune.inference.settings import SamplingSettings
from rftune.paths import FilePath
from rftune.settings import Field, Settings

CASES = ("surrogate", "file")


class LikelihoodSettings(Settings):
    """The likelihood with an emulator in it."""

    misfit_ensembles: int = Field(
        0, ge=0, description="last training ensembles behind the emulator's misfit; 0 for the paper's likelihood"
    )
    printed_too: bool = Field(
        False, description="whether every posterior is sampled a second time as printed: no misfit, no jumps"
    )


class EDMFSettings(ExperimentSettings):
    """The cloud model."""

    source: FilePath | None = Field(
        description="file with the runs of a calibration (~ is your home folder); null runs the simulator"
    )
    data: EDMFData = Field(description="the data set")
    likelihood: LikelihoodSettings = Field(description="the likelihood with an emulator in it")
    sampling: SamplingSettings = Field(description="the Markov chains")

    @model_validator(mode="before")
    @classmethod
    def _source_of_the_data(cls, values: Any) -> Any:
        """The data are checked as those of the file, where there is one."""
        data = values.get("data") if isinstance(values, Mapping) else None
        if not isinstance(data, Mapping):
            return values
        source, misplaced = values.get("source"), data.get("source")
        if misplaced not in (None, source):
            raise ValueError(f"source must stand beside data, not in it; got {misplaced!r} there: move it")
        return {**values, "data": {**data, "source": source if isinstance(source, str) else None}}

    @model_validator(mode="after")
    def _check_walkers(self) -> Self:
        n_parameters = len(self.data.parameters)
        least = self.sampling.least_walkers(n_parameters)
        if self.sampling.n_walkers < least:
            raise ValueError(
                f"sampling.n_walkers must be at least {least} for {n_parameters} parameters and the move "
                f"{self.sampling.move}; got {self.sampling.n_walkers}"
            )
        return self


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

    def left_out(self, artifact: Artifact, settings: EDMFSettings) -> str:
        """Only a simulator has a true posterior, and whoever brings a file brings the emulators that fit it."""
        if settings.source is None:
            return super().left_out(artifact, settings)
        if artifact.id == "edmf_truth_posterior":
            return "a file has no simulator whose own posterior the others could be compared with"
        played = {entry.role for entry in settings.emulators.values()}
        missing = [role for role in artifact.roles if role not in played]
        return f"no emulator has the role {' or '.join(missing)}" if missing else ""
