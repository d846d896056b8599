"""The stages of a run. Rule, script, log and benchmark file of a stage have its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A stage.

    Attributes
    ----------
    name
    module
        The module of the experiment that its script calls; None for none.
    call
        "tune" or "fit", what it asks of an emulator; None where it knows none.
    stored
        What its files of an emulator are called; empty for none.
    """

    name: str
    module: str | None = None
    call: str | None = None
    stored: str = ""


# In the order of a run.
STAGES = {
    stage.name: stage
    for stage in (
        Stage("data", "data"),
        Stage("check_data"),
        Stage("analyse_truth", "analysis"),
        Stage("measure", "measurement"),
        Stage("tune", call="tune", stored="tuned"),
        Stage("predict", "prediction", call="fit", stored="predicted"),
        Stage("sample", "sampling", call="fit", stored="posterior"),
        Stage("sample_truth", "sampling"),
        Stage("analyse", "analysis", stored="analysis"),
        Stage("table", "tables"),
        Stage("figure", "figures"),
        Stage("verdicts", "verdicts"),
    )
}
