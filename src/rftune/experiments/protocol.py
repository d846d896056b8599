"""What the stages of every experiment agree on: the variables of a data file and of its chunks of repeats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from rftune import storage
from rftune.analysis import metrics
from rftune.analysis.scores import scores
from rftune.data import OUTCOME, Array, Dataset, Model, as_matrix
from rftune.scaling import Training

__all__ = [
    "OUTCOME",
    "judged_points",
    "load_repeats",
    "pack_data",
    "predict_intervals",
    "predict_means",
    "stack_repeats",
    "training_set",
    "unseen_points",
    "with_scores",
]


def pack_data(training: Dataset, noise_covariance: Array, points: Array, truth: Array, **more: Any) -> xr.Dataset:
    """Labelled data of an experiment.

    Parameters
    ----------
    training
        Noisy data that emulators see.
    noise_covariance : (n_outputs, n_outputs)
    points : (n_points, n_inputs)
        Where emulators predict.
    truth : (n_points, n_outputs)
        Noise-free outputs there.
    more
        Further xarray variables, among them ``fresh_points`` and ``fresh_truth``, which have nothing in common with the
        training data.
    """
    return xr.Dataset(
        {
            "train_inputs": (("sample", "input"), training.inputs),
            "train_outputs": (("sample", "output"), training.outputs),
            "noise_covariance": (("output", "other_output"), noise_covariance),
            "points": (("point", "input"), points),
            "truth": (("point", "output"), truth),
            **more,
        }
    )


def training_set(data: xr.Dataset) -> Training:
    """What emulators learn from in a data file; an error when it is missing or not finite."""
    missing = {"train_inputs", "train_outputs", "noise_covariance"} - set(data)
    if missing:
        raise ValueError(f"the data file lacks {', '.join(sorted(missing))}: it needs them to train an emulator")
    noise = as_matrix("noise_covariance", data["noise_covariance"].values, n_columns=data.sizes["output"])
    return Training(Dataset(data["train_inputs"].values, data["train_outputs"].values), noise)


def predict_means(model: Model, data: xr.Dataset) -> xr.Dataset:
    """Mean of one emulator at the points of a data file."""
    return xr.Dataset({"mean": (("point", "output"), model.mean(data["points"].values))})


def judged_points(data: xr.Dataset) -> tuple[Array, Array]:
    """Points at which intervals are judged, and the truth there: fresh ones where a data file has them, else unseen."""
    if "fresh_points" in data:
        return data["fresh_points"].values, data["fresh_truth"].values
    unseen = unseen_points(data)
    return data["points"].values[unseen], data["truth"].values[unseen]


def predict_intervals(model: Model, data: xr.Dataset) -> xr.Dataset:
    """Mean and standard deviation of one emulator at the `judged_points`."""
    found = model.predict(judged_points(data)[0])
    return xr.Dataset(
        {"judged_mean": (("judged", "output"), found.mean), "judged_std": (("judged", "output"), found.std)}
    )


def unseen_points(data: xr.Dataset) -> NDArray[np.bool_]:
    """Which prediction points no emulator was trained on, (n_points,)."""
    if "is_test" in data:
        return np.asarray(data["is_test"].values)
    unseen = np.ones(data.sizes["point"], dtype=bool)
    if "train_rows" in data:
        unseen[data["train_rows"].values] = False
    return unseen


def with_scores(analysis: xr.Dataset, data: xr.Dataset, predictions: xr.Dataset) -> xr.Dataset:
    """An analysis with what is the same in every experiment: the scores, and the coverage of the 90 % intervals."""
    unseen, judged = unseen_points(data), judged_points(data)[1]
    found = [scores(mean[unseen], data["truth"].values[unseen]) for mean in predictions["mean"].values]
    intervals = zip(predictions["judged_mean"].values, predictions["judged_std"].values, strict=True)
    coverage = [metrics.interval_coverage(mean, std, judged) for mean, std in intervals]
    return analysis.assign({name: ("repeat", [one[name] for one in found]) for name in found[0]}).assign(
        coverage=("repeat", coverage)
    )


def load_repeats(paths: Sequence[str | Path]) -> xr.Dataset:
    """Chunks of repeats as one data set, in the order of the repeats."""
    chunks = [storage.load(path) for path in paths]
    merged = xr.concat(chunks, dim="repeat", combine_attrs="drop", join="exact")
    return merged.sortby("repeat")


def stack_repeats(results: Sequence[xr.Dataset], repeats: Sequence[int]) -> xr.Dataset:
    """Results of single repeats as one data set with a repeat dimension."""
    return xr.concat(results, dim="repeat", join="exact").assign_coords(repeat=np.asarray(repeats))
