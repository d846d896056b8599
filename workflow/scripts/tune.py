"""Tune one emulator for a chunk of repeats."""

from rftune import storage
from rftune.emulators.base import EMULATORS, Task
from rftune.experiments.protocol import stack_repeats, training_set
from rftune.progress import logger, peak_memory_mb, progress_bar
from rftune.workflow.jobs import perform


def main(job):
    training = training_set(storage.load(job.input.data))
    emulator = EMULATORS.read(job.params.settings)
    repeats, outcomes = range(*job.params.repeats), []
    with progress_bar(len(repeats), " ".join(["tune", *job.labels])) as bar:
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

            task = Task(training, job.rng(repeat, "tune"), job.resources.n_workers, progress)
            outcome = emulator.tune(task)
            if outcome.result["failure"].item():
                logger.warning("repeat %d failed: %s", repeat, outcome.result["failure"].item())
            outcome.timing["peak_memory_mb"] = peak_memory_mb()
            outcomes.append(outcome)
            bar.update()
    job.save(stack_repeats([outcome.timing for outcome in outcomes], repeats), job.output.timing)
    job.save(stack_repeats([outcome.result for outcome in outcomes], repeats), job.output.result)


if "snakemake" in globals():
    perform(main, snakemake)
