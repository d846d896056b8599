"""Global sensitivity analysis of the Ishigami function (F1, T2, F7)."""
