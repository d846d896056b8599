# What the experiment is after, for every repeat of every emulator.


rule analyse:
    input:
        unpack(analysed_paths),
        data=f"{CASE}/data.nc",
    output:
        f"{CASE}/{{emulator}}/analysis.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/analyse.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/analyse.tsv"
    conda:
        ENVIRONMENT
    resources:
        **resources("analyse"),
    params:
        settings=block_of("analysis"),
        code=lambda wildcards: code_of("analyse", f"{wildcards.experiment}.analysis"),
    script:
        "../scripts/analyse.py"


# The truth goes the same road as the emulators.
rule analyse_truth:
    input:
        unpack(truth_posterior),
        data=f"{CASE}/data.nc",
    output:
        f"{CASE}/truth.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/truth.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/truth.tsv"
    conda:
        ENVIRONMENT
    resources:
        **resources("analyse_truth"),
    params:
        settings=block_of("truth"),
        code=lambda wildcards: code_of("truth", f"{wildcards.experiment}.analysis"),
    script:
        "../scripts/truth.py"


for experiment in EXPERIMENTS:

    rule:
        name:
            f"analyse_{experiment}"
        input:
            stage_paths("analysis", experiment),
