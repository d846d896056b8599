# What a sweep is after: a tidy table, a row per repeat of every point, and a picture. Its points are runs like any other.


rule sweep_table:
    """The table of the sweep, a row per repeat of every point."""
    input:
        BEGUN,
        SWEEP.paths(plan),
    output:
        csv=f"{plan.results}/{SWEEP.name}.csv",
        parquet=f"{plan.results}/{SWEEP.name}.parquet",
    log:
        plan.log("sweep_table"),
    benchmark:
        plan.benchmark("sweep_table")
    conda:
        plan.environment
    resources:
        **ask.of("sweep_table"),
    params:
        **told(sources=SWEEP.sources(plan)),
        code=plan.code("sweep_table"),
    script:
        "../scripts/sweep_table.py"


rule sweep_figure:
    """The picture of the sweep: error and time against each varied setting."""
    input:
        table=rules.sweep_table.output.parquet,
    output:
        multiext(f"{plan.results}/{SWEEP.name}", ".png", ".pdf"),
    log:
        plan.log("sweep_figure"),
    benchmark:
        plan.benchmark("sweep_figure")
    conda:
        plan.environment
    resources:
        **ask.of("sweep_figure"),
    params:
        settings=SWEEP.varied,
        title=SWEEP.title,
        code=plan.code("sweep_figure"),
    script:
        "../scripts/sweep_figure.py"
