"""Fit the tuned emulators of a chunk of repeats and predict at the experiment's points."""

from time import perf_counter

import numpy as np
import xarray as xr

from rftune import emulators, storage
from rftune.experiments.protocol import OUTCOME, stack_repeats, training_set
from rftune.jobs import job, peak_memory_mb, progress_bar
from rftune.seeding import rng_for


def main(data_path, tuned_path, tuning_times_path, out_path, times_path, labels, seed, settings):
    data = storage.load(data_path)
    training, noise = training_set(data)
    emulator = emulators.from_config(settings)
    tuned, times = storage.load(tuned_path), storage.load(tuning_times_path)
    repeats = tuned["repeat"].values.tolist()
    predictions, fit_seconds = [], []
    with progress_bar(len(repeats), " ".join(["predict", *labels])) as bar:
        for repeat in repeats:
            one = tuned.sel(repeat=repeat, drop=True)
            mean = np.full(data["truth"].shape, np.nan)  # of a failed tuning
            start = perf_counter()
            if not one["failure"].item():
                model = emulator.fit(training, noise, one, rng_for(seed, *labels, repeat, "predict"))
                fit_seconds.append(perf_counter() - start)
                mean = model.mean(data["points"].values)
            else:
                fit_seconds.append(0.0)
            outcome = {name: one[name] for name in OUTCOME}
            predictions.append(xr.Dataset({"mean": (("point", "output"), mean), **outcome}))
            bar.update()
    times = times.assign(fit_seconds=("repeat", fit_seconds))
    times["peak_memory_mb"] = np.maximum(times["peak_memory_mb"], peak_memory_mb())
    storage.save(times, times_path, settings=settings, seed=seed)
    storage.save(stack_repeats(predictions, repeats), out_path, settings=settings, seed=seed)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.input.data,
            snakemake.input.tuned,
            snakemake.input.timing,
            snakemake.output.result,
            snakemake.output.timing,
            [snakemake.wildcards[name] for name in ("experiment", "case", "emulator")],
            int(snakemake.wildcards.seed),
            snakemake.params.settings,
        )
