# The paper's tables, as csv, with the paper's values beside ours.


rule T2_csv:
    input:
        data=case_paths("data.nc", "ishigami"),
        analyses=analysis_paths("ishigami"),
        paper=PAPER_VALUES,
    output:
        table_path("T2"),
    log:
        f"{LOGS}/T2_csv.log",
    benchmark:
        f"{BENCHMARKS}/T2_csv.tsv"
    conda:
        ENVIRONMENT
    params:
        artifact="T2",
        experiment="ishigami",
        seeds=SEEDS,
        emulators=list(config["ishigami"]["emulators"]),
        code=code_of("table", "ishigami.tables"),
    script:
        "../scripts/table.py"
