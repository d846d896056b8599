# Hyperparameters of every emulator, a chunk of repeats per job.


rule tune:
    input:
        data=f"{CASE}/data.nc",
        checked=ancient(f"{CASE}/data.checked"),  # waits for the check; a new check of old data retunes nothing
    output:
        result=f"{CASE}/{{emulator}}/tuned-{{repeats}}.nc",
        timing=f"{CASE}/{{emulator}}/timing-{{repeats}}.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/tune-{{repeats}}.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/tune-{{repeats}}.tsv"
    conda:
        ENVIRONMENT
    threads: claimed_threads
    resources:
        **resources("tune"),
        n_workers=n_workers,
    params:
        settings=tuning_settings,
        repeats=repeat_range,
        code=emulator_code("tune"),
    script:
        "../scripts/tune.py"


for experiment in EXPERIMENTS:

    rule:
        name:
            f"tune_{experiment}"
        input:
            stage_paths("tuned", experiment),
