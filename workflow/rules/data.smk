# Training data, prediction points and truth of every case.


rule begin:
    output:
        touch(BEGUN),


rule data:
    input:
        lambda wildcards: config[wildcards.experiment].get("source") or [],
    output:
        f"{CASE}/data.nc",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/data.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/data.tsv"
    priority: 2  # short, and the longest jobs wait for nothing else
    conda:
        ENVIRONMENT
    resources:
        **resources("data"),
    params:
        settings=lambda wildcards: CASES[wildcards.experiment][wildcards.case],
        code=lambda wildcards: code_of("data", f"{wildcards.experiment}.data"),
    script:
        "../scripts/data.py"


# A bad data file is found here, before long work is started or an earlier result is replaced.
rule check_data:
    input:
        data=f"{CASE}/data.nc",
    output:
        f"{CASE}/data.checked",
    log:
        f"{LOGS}/{{experiment}}/{{case}}/seed{{seed}}/check.log",
    benchmark:
        f"{BENCHMARKS}/{{experiment}}/{{case}}/seed{{seed}}/check.tsv"
    priority: 2
    conda:
        ENVIRONMENT
    resources:
        **resources("check_data"),
    params:
        code=code_of("check"),
    script:
        "../scripts/check.py"


for experiment in EXPERIMENTS:

    rule:
        name:
            f"data_{experiment}"
        input:
            expand(f"{CASE}/data.checked", experiment=experiment, case=CASES[experiment], seed=SEEDS),
