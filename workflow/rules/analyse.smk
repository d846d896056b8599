# What the experiment is after, for every repeat of every emulator.


rule analyse:
    input:
        data=f"{CASE}/data.nc",
        predictions=lambda wildcards: chunk_paths("predicted", **wildcards),
    output:
        f"{CASE}/{{emulator}}/analysis.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/analyse.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/analyse.tsv"
    conda:
        ENVIRONMENT
    params:
        settings=lambda wildcards: {"n_bootstrap": config[wildcards.experiment]["data"]["n_bootstrap"]},
        code=lambda wildcards: code_of("analyse", f"{wildcards.experiment}.analysis"),
    script:
        "../scripts/analyse.py"


for experiment in EXPERIMENTS:

    rule:
        name:
            f"analyse_{experiment}"
        input:
            analysis_paths(experiment),
