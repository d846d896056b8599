"""Conditioning on data: random features in weight space, exact Gaussian processes, sums of waves."""
