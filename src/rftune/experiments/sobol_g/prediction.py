"""The mean of an emulator at every row of the design."""

from rftune.experiments.protocol import predict_means as predict

__all__ = ["predict"]
