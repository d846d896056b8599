"""The fits: what a Gaussian process predicts with, one file each."""
