# The paper's figures and rendered tables, as png and pdf, from stored results alone.


rule F1:
    input:
        data=case_paths("data.nc", "ishigami")[0],
        untuned=chunk_paths("predicted", "ishigami", "standard", SEEDS[0], "untuned")[0],
        gp=chunk_paths("predicted", "ishigami", "standard", SEEDS[0], "gp")[0],
        tuned=chunk_paths("predicted", "ishigami", "standard", SEEDS[0], "lowrank")[0],
    output:
        picture("F1"),
    log:
        f"{LOGS}/F1.log",
    benchmark:
        f"{BENCHMARKS}/F1.tsv"
    conda:
        ENVIRONMENT
    params:
        artifact="F1",
        experiment="ishigami",
        code=code_of("figure", "ishigami.figures"),
    script:
        "../scripts/figure.py"


rule F7:
    input:
        tuned=chunk_paths("tuned", "ishigami", "standard", SEEDS[0], "lowrank"),
    output:
        picture("F7"),
    log:
        f"{LOGS}/F7.log",
    benchmark:
        f"{BENCHMARKS}/F7.tsv"
    conda:
        ENVIRONMENT
    params:
        artifact="F7",
        experiment="ishigami",
        code=code_of("figure", "ishigami.figures"),
    script:
        "../scripts/figure.py"


rule T2:
    input:
        table=table_path("T2"),
    output:
        picture("T2"),
    log:
        f"{LOGS}/T2.log",
    benchmark:
        f"{BENCHMARKS}/T2.tsv"
    conda:
        ENVIRONMENT
    params:
        artifact="T2",
        experiment="ishigami",
        code=code_of("figure", "ishigami.figures"),
    script:
        "../scripts/figure.py"
