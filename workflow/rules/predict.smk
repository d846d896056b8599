# Predictions of the tuned emulators at the experiment's points.


rule predict:
    input:
        data=f"{CASE}/data.nc",
        tuned=f"{CASE}/{{emulator}}/tuned-{{repeats}}.nc",
    output:
        f"{CASE}/{{emulator}}/predicted-{{repeats}}.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/predict-{{repeats}}.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/predict-{{repeats}}.tsv"
    conda:
        ENVIRONMENT
    params:
        settings=emulator_settings,
        code=code_of("predict"),
    script:
        "../scripts/predict.py"


for experiment in EXPERIMENTS:

    rule:
        name:
            f"predict_{experiment}"
        input:
            stage_paths("predicted", experiment),
