"""Tune one emulator for a chunk of repeats."""

from time import perf_counter

from rftune import emulators, storage
from rftune.experiments.protocol import stack_repeats, training_set
from rftune.jobs import job, logger, peak_memory_mb, progress_bar
from rftune.seeding import rng_for


def main(data_path, result_path, timing_path, labels, repeats, seed, settings, n_workers):
    data, noise = training_set(storage.load(data_path))
    emulator = emulators.from_config(settings)
    outcomes = []
    with progress_bar(len(repeats) * settings.get("n_iterations", 1), " ".join(["tune", *labels])) as bar:
        for repeat in repeats:

            def progress(iteration, misfit, repeat=repeat):
                logger.info("repeat %d iteration %d misfit %.4g of the first", repeat, iteration, misfit)
                bar.update()

            rng = rng_for(seed, *labels, repeat, "tune")
            outcome = emulator.tune(data, noise, rng, n_workers, progress)
            start = perf_counter()
            emulator.fit(data, noise, outcome.result, rng)
            outcome.timing["fit_seconds"] = perf_counter() - start
            outcome.timing["peak_memory_mb"] = peak_memory_mb()
            if outcome.result["failure"].item():
                logger.warning("repeat %d failed: %s", repeat, outcome.result["failure"].item())
            outcomes.append(outcome)
    result = stack_repeats([outcome.result for outcome in outcomes], repeats)
    timing = stack_repeats([outcome.timing for outcome in outcomes], repeats)
    storage.save(timing, timing_path, settings=settings, seed=seed)
    storage.save(result, result_path, settings=settings, seed=seed)


if "snakemake" in globals():
    with job(snakemake.log[0]):
        main(
            snakemake.input.data,
            snakemake.output.result,
            snakemake.output.timing,
            [snakemake.wildcards[name] for name in ("experiment", "case", "emulator")],
            range(*snakemake.params.repeats),
            int(snakemake.wildcards.seed),
            snakemake.params.settings,
            snakemake.resources.n_workers,
        )
