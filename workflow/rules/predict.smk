# What the experiment asks of every tuned emulator.


rule predict:
    input:
        data=f"{CASE}/data.nc",
        tuned=f"{CASE}/{{emulator}}/tuned-{{repeats}}.nc",
        timing=f"{CASE}/{{emulator}}/timing-{{repeats}}.nc",
    output:
        result=f"{CASE}/{{emulator}}/predicted-{{repeats}}.nc",
        timing=f"{CASE}/{{emulator}}/times-{{repeats}}.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/predict-{{repeats}}.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/predict-{{repeats}}.tsv"
    conda:
        ENVIRONMENT
    threads: claimed_threads
    resources:
        **resources("predict"),
    params:
        settings=emulator_settings,
        code=emulator_code("predict", "prediction"),
    script:
        "../scripts/predict.py"


for experiment in EXPERIMENTS:

    rule:
        name:
            f"predict_{experiment}"
        input:
            stage_paths("predicted", experiment),
