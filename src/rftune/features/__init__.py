"""Random features: distributions of their hidden weights, draws, maps, and the compiled inner loop."""
