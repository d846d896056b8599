"""Sobol indices and test error of every repeat of an emulator."""

from rftune.experiments.indices import analyse

__all__ = ["analyse"]
