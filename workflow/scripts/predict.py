"""Fit the tuned emulators of a chunk of repeats and ask of each what the experiment asks."""

from importlib import import_module
from time import perf_counter

import numpy as np

from rftune import storage
from rftune.emulators import point
from rftune.emulators.base import EMULATORS
from rftune.experiments.protocol import OUTCOME, predict_intervals, stack_repeats, training_set
from rftune.progress import peak_memory_mb, progress_bar
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(data_path, tuned_path, tuning_times_path, out_path, times_path, labels, seed, settings):
    module = import_module(f"rftune.experiments.{labels[0]}.prediction")
    data = storage.load(data_path)
    training = training_set(data)
    emulator = EMULATORS.read(settings)
    tuned, times = storage.load(tuned_path), storage.load(tuning_times_path)
    repeats = tuned["repeat"].values.tolist()
    predictions, measured = [], []
    with progress_bar(len(repeats), " ".join(["predict", *labels])) as bar:
        for repeat in repeats:
            one = tuned.sel(repeat=repeat, drop=True)
            start = perf_counter()
            if one["failure"].item():
                model = point.unknown(training.data.n_inputs, training.data.n_outputs)
            else:
                model = emulator.fit(training, one, rng_for(seed, *labels, repeat, "predict"))
            seconds = {"fit_seconds": perf_counter() - start}
            if hasattr(module, "measure") and not one["failure"].item():
                seconds |= module.measure(model, data)
            measured.append(seconds)
            predicted = module.predict(model, data).merge(predict_intervals(model, data))
            predictions.append(predicted.assign({name: one[name] for name in OUTCOME}))
            bar.update()
    for name in sorted(set().union(*measured)):
        times[name] = ("repeat", [seconds.get(name, np.nan) for seconds in measured])
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
