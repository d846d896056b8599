# T1: what GPR and RFR cost, measured and fitted.

HAS_COMPLEXITY = "complexity" in config["experiments"]
MEASURED_COSTS = f"{RESULTS}/complexity/measured.csv"

if HAS_COMPLEXITY:

    # It claims all cores, so that it runs alone.
    rule measure_complexity:
        output:
            MEASURED_COSTS,
        log:
            f"{LOGS}/complexity/measure.log",
        benchmark:
            f"{BENCHMARKS}/complexity/measure.tsv"
        conda:
            ENVIRONMENT
        threads: workflow.cores or 1
        params:
            settings=config["complexity"],
            seed=ROOT_SEED,
            code=code_of("complexity"),
        script:
            "../scripts/complexity.py"

    rule T1_csv:
        input:
            BEGUN,
            measured=MEASURED_COSTS,
            paper=PAPER_VALUES,
        output:
            reported_table("T1", "complexity"),
        log:
            f"{LOGS}/T1_csv.log",
        benchmark:
            f"{BENCHMARKS}/T1_csv.tsv"
        group:
            "page"
        conda:
            ENVIRONMENT
        resources:
            **resources("table"),
        params:
            code=code_of("exponents"),
        script:
            "../scripts/exponents.py"
