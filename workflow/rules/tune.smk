# Hyperparameters of every emulator, a chunk of repeats per job.


rule tune:
    """Hyperparameters of an emulator, for a chunk of repeats."""
    input:
        data=f"{CASE}/data.nc",
        checked=ancient(f"{CASE}/data.checked"),  # waits for the check; a new check of old data retunes nothing
    output:
        result=f"{CASE}/{{emulator}}/tuned-{{repeats}}.nc",
        timing=f"{CASE}/{{emulator}}/timing-{{repeats}}.nc",
    log:
        plan.log("{experiment}/{case}/seed{seed}/{emulator}/tune-{repeats}"),
    benchmark:
        plan.benchmark("{experiment}/{case}/seed{seed}/{emulator}/tune-{repeats}")
    conda:
        plan.environment
    threads: ask.threads(workflow.cores)
    resources:
        **ask.of("tune"),
        n_workers=ask.workers,
    params:
        **told(settings=plan.settings("tune")),
        repeats=plan.repeat_range,
        code=plan.code("tune"),
    script:
        "../scripts/tune.py"
