"""Posteriors of parameters: Markov chains, how far they can be trusted, and an emulator's discrepancy."""
