"""One file per optimiser."""
