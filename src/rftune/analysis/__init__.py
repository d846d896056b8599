"""What is asked of a function or an emulator: sensitivity, dynamics, errors."""
