"""Fit the tuned emulators of a chunk of repeats and predict at the experiment's points."""

import xarray as xr

from rftune import emulators, storage
from rftune.experiments.protocol import OUTCOME, stack_repeats, training_set
from rftune.jobs import job, progress_bar
from rftune.seeding import rng_for


def main(data_path, tuned_path, out_path, labels, seed, settings):
    data = storage.load(data_path)
    training, noise = training_set(data)
    emulator = emulators.from_config(settings)
    tuned = storage.load(tuned_path)
    repeats = tuned["repeat"].values.tolist()
    predictions = []
    with progress_bar(len(repeats), " ".join(["predict", *labels])) as bar:
        for repeat in repeats:
            one = tuned.sel(repeat=repeat, drop=True)
            model = emulator.fit(training, noise, one, rng_for(seed, *labels, repeat, "predict"))
            mean = (("point", "output"), model.mean(data["points"].values))
            predictions.append(xr.Dataset({"mean": mean, **{name: one[name] for name in OUTCOME}}))
            bar.update()
    storage.save(stack_repeats(predictions, repeats), out_path, settings=settings, seed=seed)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.input.data,
            snakemake.input.tuned,
            snakemake.output[0],
            [snakemake.wildcards[name] for name in ("experiment", "case", "emulator")],
            int(snakemake.wildcards.seed),
            snakemake.params.settings,
        )
