"""Tune one emulator for a chunk of repeats."""

from rftune import storage
from rftune.emulators.base import EMULATORS, Task
from rftune.experiments.protocol import stack_repeats, training_set
from rftune.progress import logger, peak_memory_mb, progress_bar
from rftune.seeding import rng_for
from rftune.workflow.jobs import job


def main(data_path, result_path, timing_path, labels, repeats, seed, settings, n_workers):
    training = training_set(storage.load(data_path))
    emulator = EMULATORS.read(settings)
    outcomes = []
    with progress_bar(len(repeats), " ".join(["tune", *labels])) as bar:
        for repeat in repeats:

            def progress(iteration, misfit, n_failed, repeat=repeat):
                bar.set_postfix_str(f"iteration {iteration}, objective {misfit:.3f}")
                logger.info(
                    "repeat %d iteration %d: objective %.4g of the first, %d members failed",
                    repeat,
                    iteration,
                    misfit,
                    n_failed,
                )

            outcome = emulator.tune(Task(training, rng_for(seed, *labels, repeat, "tune"), n_workers, progress))
            if outcome.result["failure"].item():
                logger.warning("repeat %d failed: %s", repeat, outcome.result["failure"].item())
            outcome.timing["peak_memory_mb"] = peak_memory_mb()
            outcomes.append(outcome)
            bar.update()
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
