"""A learned integrator of Lorenz 63 (F4, F5, F8, F9, F10).

Roles: ``gp``, ``rf`` (the paper's random features); ``rf_untuned``, at the same prior, ``rf_untuned_separable``, in the
structure that the public code leaves untuned, and ``rf_untuned_printed``, that at the median of the printed prior;
``lowrank`` (ours); for F10 ``by_rank``, of other ranks and families.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from rftune.experiments.base import (
    EVERYTHING,
    Artifact,
    DataSettings,
    Experiment,
    ExperimentSettings,
    Need,
    Place,
)
from rftune.experiments.lorenz63.data import Lorenz63Data
from rftune.settings import Different, Field, Settings, Variance


class PairSettings(Settings):
    """The yardstick of all distances."""

    n_pairs: int = Field(ge=2, le=100_000, description="pairs of true trajectories behind the yardstick")


class Lorenz63Settings(ExperimentSettings):
    """Lorenz 63."""

    noise_variances: Annotated[tuple[Variance, ...], Different] = Field(
        min_length=1, description="variances of the training noise, one case each"
    )
    data: Lorenz63Data = Field(description="the data sets")
    truth: PairSettings = Field(description="settings of the truth's own analysis")


def _integrators(case: Place, *roles: str) -> tuple[Need, ...]:
    """What traces and densities are drawn from."""
    return (
        *(Need(stage, case=case) for stage in ("data", "truth")),
        *(Need(stage, roles, case, whole=False) for stage in ("predicted", "analysis")),
    )


class Lorenz63(Experiment):
    """A data set per noise level."""

    title = "Lorenz 63"
    chapter = 3
    Settings = Lorenz63Settings
    Data = Lorenz63Data
    shared_roles = ("by_rank",)
    artifacts = (
        Artifact(
            "F4", figure="draw_integrators", needs=_integrators("first", "rf_untuned", "rf_untuned_printed", "gp", "rf")
        ),
        Artifact(
            "F5", figure="draw_distributions", needs=(Need("truth", case="first"), Need("analysis", ("rf",), "first"))
        ),
        Artifact(
            "F8",
            figure="draw_convergence",
            needs=(Need("data", case="first"), Need("tuned", ("rf",), "first")),
            curve="rf",
        ),
        Artifact("F9", figure="draw_integrators", needs=_integrators("last", "gp", "rf")),
        Artifact("F10", figure="draw_ranks", tables=("lorenz63_integrators",), about=("by_rank",)),
        Artifact("lorenz63_integrators", table="integrators_table", figure="draw_table", needs=EVERYTHING),
    )

    def cases(self, settings: Lorenz63Settings) -> Mapping[str, DataSettings]:
        """One per noise level, the lowest first."""
        variances = sorted(settings.noise_variances)
        found = {_case_name(v): settings.data.but(noise_variance=v) for v in variances}
        if len(found) < len(variances):
            raise ValueError(f"noise_variances must differ in their first six digits; got {variances}")
        return found

    def is_case(self, name: str) -> bool:
        try:
            variance = float(name.removeprefix("noise"))
        except ValueError:
            return False
        return 0 < variance < float("inf") and name == _case_name(variance)

    def left_out(self, artifact: Artifact, settings: Lorenz63Settings) -> str:
        if artifact.id == "F9" and len(settings.noise_variances) == 1:
            return "it is about a second noise level, and this config has one"
        return super().left_out(artifact, settings)


def _case_name(noise_variance: float) -> str:
    return f"noise{noise_variance:g}"
