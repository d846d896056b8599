"""T1: what GPR and RFR cost, measured. No emulator is tuned here: there is one measurement, a table and a figure."""

from __future__ import annotations

from rftune.experiments.base import Artifact, Experiment, Need
from rftune.experiments.complexity.settings import ComplexitySettings


class Complexity(Experiment):
    """A measurement of costs, without cases and emulators."""

    title = "Cost"
    chapter = 5
    Settings = ComplexitySettings
    artifacts = (
        Artifact("T1", table="exponents_table", figure="draw_costs", needs=(Need("measured"),), tables=("measured",)),
    )
