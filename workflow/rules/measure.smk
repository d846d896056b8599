# Costs, measured where an experiment has a measurement in the place of data and emulators.


# It claims all cores, so that it runs alone.
rule measure:
    """Measured costs, alone on the machine."""
    output:
        f"{plan.results}/{{experiment}}/measured.csv",
    log:
        plan.log("{experiment}/measure"),
    benchmark:
        plan.benchmark("{experiment}/measure")
    conda:
        plan.environment
    threads: workflow.cores or 1
    resources:
        **ask.of("measure"),
    params:
        **told(settings=lambda wildcards: plan.config.blocks[wildcards.experiment].plain()),
        seed=plan.config.run.seed,
        code=plan.code("measure"),
    script:
        "../scripts/measure.py"
