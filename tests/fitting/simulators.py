"""Runs of small simulators."""

import numpy as np
import pandas as pd


def runs(n_runs=60, noise=0.05, seed=0, names=("y",)):
    """Inputs a, b, c and outputs that depend on the first two, as frames."""
    rng = np.random.default_rng(seed)
    inputs = pd.DataFrame(rng.uniform([0.0, -5.0, 1e3], [1.0, 5.0, 2e3], (n_runs, 3)), columns=["a", "b", "c"])
    clean = truth(inputs)
    outputs = {name: (1 + k) * clean + noise * rng.standard_normal(n_runs) for k, name in enumerate(names)}
    return inputs, pd.DataFrame(outputs)


def truth(inputs):
    return np.sin(4.0 * inputs["a"]) + 0.1 * inputs["b"]


def field_runs(n_runs=80, n_places=300, noise=0.02, seed=0):
    """A field of two patterns whose strengths depend on two inputs."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(size=(n_runs, 2))
    places = np.linspace(0.0, 1.0, n_places)
    clean = field_truth(inputs, places)
    return inputs, clean, clean + noise * rng.standard_normal(clean.shape), places


def field_truth(inputs, places):
    strong, weak = np.sin(3.0 * inputs[:, :1]), inputs[:, 1:] ** 2
    return strong * np.sin(np.pi * places) + 0.5 * weak * np.cos(2 * np.pi * places)
