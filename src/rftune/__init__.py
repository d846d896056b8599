"""Random feature regression whose feature distribution is tuned by ensemble Kalman inversion."""

__version__ = "0.1.0"
