# Posterior samples, in the experiments that infer parameters: with every emulator, and with the truth in its place.


rule sample:
    input:
        data=f"{CASE}/data.nc",
        tuned=f"{CASE}/{{emulator}}/tuned-{{repeats}}.nc",
    output:
        f"{CASE}/{{emulator}}/posterior-{{repeats}}.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/sample-{{repeats}}.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/{{emulator}}/sample-{{repeats}}.tsv"
    priority: 1  # see below
    conda:
        ENVIRONMENT
    resources:
        **resources("sample"),
    params:
        settings=emulator_settings,
        sampling=block_of("sampling"),
        likelihood=block_of("likelihood"),
        code=emulator_code("sample", "sampling"),
    script:
        "../scripts/sample.py"


rule sample_truth:
    input:
        data=f"{CASE}/data.nc",
        checked=ancient(f"{CASE}/data.checked"),
    output:
        f"{CASE}/posterior.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/sample.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/sample.tsv"
    priority: 2  # the longest jobs of a run begin early, so that none is left over at its end
    conda:
        ENVIRONMENT
    resources:
        **resources("sample_truth"),
    params:
        sampling=block_of("sampling"),
        code=lambda wildcards: code_of("sample_truth", f"{wildcards.experiment}.sampling"),
    script:
        "../scripts/sample_truth.py"
