"""Sobol indices and test error of every repeat of an emulator, and the indices of the truth."""

from rftune.experiments.indices import analyse, analyse_truth

__all__ = ["analyse", "analyse_truth"]
