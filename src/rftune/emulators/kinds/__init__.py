"""One file per kind of emulator."""
