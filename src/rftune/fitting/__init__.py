"""Emulators of one's own data: from a table of runs to predictions, validation and a file, with nothing to set."""
