"""Global sensitivity analysis of Sobol's G function in 3 to 20 dimensions (F2, F3, T3, T4).

Roles: ``gp``, ``gp_sklearn``, ``gp_sklearn_restarts``, ``rf`` (the paper's random features), ``rf_untuned``, ``sparse``
(ours); timed alone for T3 ``rf_serial`` and ``rf_parallel``; for T4 ``by_features``, which differ in their number of
features.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from rftune.experiments.base import EVERYTHING, Artifact, DataSettings, Experiment, Need
from rftune.experiments.indices import SensitivitySettings
from rftune.experiments.sobol_g.data import SobolGData
from rftune.settings import Different, Field

BOTH = ("rf", "sparse")  # what F2 and F3 show beside each other
# The roles of T3 by the paper's column that they stand beside; the paper's RF ran 8 threads in parallel.
TIMED = {
    "gp": "gp",
    "gp_sklearn": "gp",
    "gp_sklearn_restarts": "gp",
    "rf_serial": "rf_serial",
    "rf_parallel": "rf_8_threads",
}


class SobolGSettings(SensitivitySettings):
    """The G function."""

    dimensions: Annotated[tuple[Annotated[int, Field(ge=3, le=50)], ...], Different] = Field(
        min_length=1, description="numbers of inputs, one case each"
    )
    data: SobolGData = Field(description="the data sets")


class SobolG(Experiment):
    """A data set per number of inputs."""

    title = "Sobol G function"
    chapter = 2
    Settings = SobolGSettings
    Data = SobolGData
    shared_roles = ("by_features",)
    artifacts = (
        Artifact("F2", figure="draw_indices", needs=(Need("truth"), Need("analysis", BOTH))),
        Artifact("F3", figure="draw_slices", needs=(Need("data"), Need("predicted", BOTH, whole=False))),
        Artifact("T3", table="timing_table", figure="draw_times", needs=EVERYTHING, about=tuple(TIMED)),
        Artifact("T4", table="features_table", figure="draw_features", needs=EVERYTHING, about=("by_features",)),
        Artifact("sobol_g_accuracy", table="accuracy_table", figure="draw_accuracy", needs=EVERYTHING),
        Artifact("sparse_inclusion", figure="draw_inclusion", needs=(Need("truth"), Need("tuned", ("sparse",)))),
    )

    def cases(self, settings: SobolGSettings) -> Mapping[str, DataSettings]:
        return {f"d{d}": settings.data.but(n_inputs=d) for d in settings.dimensions}

    def is_case(self, name: str) -> bool:
        return re.fullmatch(r"d[0-9]+", name) is not None

    def left_out(self, artifact: Artifact, settings: SobolGSettings) -> str:
        if artifact.id == "T4" and 6 not in settings.dimensions:
            return "it is about six dimensions, which this config leaves out"
        return super().left_out(artifact, settings)
