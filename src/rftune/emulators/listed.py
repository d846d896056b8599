"""What figures, tables and verdicts know of an emulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Listed:
    """An emulator of a run.

    Attributes
    ----------
    name
    label
        What figures call it.
    role
        What it stands for; empty where it stands for itself alone.
    settings
        Complete: its kind and the blocks that its results depend on.
    """

    name: str
    label: str
    role: str
    settings: Mapping[str, Any]

    @property
    def plain(self) -> list[Any]:
        """Its fields, as a job is told of it."""
        return [self.name, self.label, self.role, self.settings]

    def get(self, path: str, default: Any = None) -> Any:
        """A setting by its dotted name; the default where there is none."""
        value: Any = self.settings
        for key in path.split("."):
            if not isinstance(value, Mapping) or key not in value:
                return default
            value = value[key]
        return value

    @property
    def is_tuned_features(self) -> bool:
        return self.settings["kind"] == "random_features" and self.settings.get("tuning") is not None
