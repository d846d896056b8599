"""Fit the tuned emulators of a chunk of repeats and ask of each what the experiment asks."""

from time import perf_counter

import numpy as np

from rftune import storage
from rftune.emulators import point
from rftune.emulators.base import EMULATORS
from rftune.experiments.protocol import OUTCOME, predict_intervals, stack_repeats, training_set
from rftune.progress import peak_memory_mb, progress_bar
from rftune.workflow.jobs import perform


def main(job):
    module = job.module("prediction")
    data = storage.load(job.input.data)
    training = training_set(data)
    emulator = EMULATORS.read(job.params.settings)
    tuned, times = storage.load(job.input.tuned), storage.load(job.input.timing)
    repeats = tuned["repeat"].values.tolist()
    predictions, measured = [], []
    with progress_bar(len(repeats), " ".join(["predict", *job.labels])) as bar:
        for repeat in repeats:
            one = tuned.sel(repeat=repeat, drop=True)
            start = perf_counter()
            if one["failure"].item():
                model = point.unknown(training.data.n_inputs, training.data.n_outputs)
            else:
                model = emulator.fit(training, one, job.rng(repeat, "predict"))
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
    job.save(times, job.output.timing)
    job.save(stack_repeats(predictions, repeats), job.output.result)


if "snakemake" in globals():
    perform(main, snakemake)
