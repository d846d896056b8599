"""Global sensitivity analysis of Sobol's G function in 3 to 20 dimensions (F2, F3, T3, T4)."""
