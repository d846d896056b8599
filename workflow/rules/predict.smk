# What the experiment asks of every tuned emulator.


rule predict:
    """What the experiment asks of a tuned emulator, for a chunk of repeats."""
    input:
        data=f"{CASE}/data.nc",
        tuned=f"{CASE}/{{emulator}}/tuned-{{repeats}}.nc",
        timing=f"{CASE}/{{emulator}}/timing-{{repeats}}.nc",
    output:
        result=f"{CASE}/{{emulator}}/predicted-{{repeats}}.nc",
        timing=f"{CASE}/{{emulator}}/times-{{repeats}}.nc",
    log:
        plan.log("{experiment}/{case}/seed{seed}/{emulator}/predict-{repeats}"),
    benchmark:
        plan.benchmark("{experiment}/{case}/seed{seed}/{emulator}/predict-{repeats}")
    conda:
        plan.environment
    threads: ask.threads(workflow.cores)
    resources:
        **ask.of("predict"),
    params:
        **told(settings=plan.settings("predict")),
        code=plan.code("predict"),
    script:
        "../scripts/predict.py"
