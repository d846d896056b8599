"""A learned integrator of Lorenz 63 (F4, F5, F8, F9, F10)."""
