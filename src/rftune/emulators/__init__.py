"""Emulators: what is tuned and then fitted, one file per kind in ``kinds``."""
