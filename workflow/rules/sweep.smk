# What a sweep is after: a tidy table, a row per repeat of every point, and a picture. Its points are runs like any other.


def sweep_sources():
    """What every point varied, and where its results are."""
    keys = [(point.experiment, point.case, ROOT_SEED, point.emulator) for point in SWEEP.points]
    return [
        [*key, dict(point.values), *run_paths("analysis", *key), run_paths("times", *key)]
        for key, point in zip(keys, SWEEP.points)
    ]


SWEEP_SOURCES = sweep_sources()


rule sweep_table:
    input:
        BEGUN,
        [path for source in SWEEP_SOURCES for path in (source[-2], *source[-1])],
    output:
        csv=f"{RESULTS}/{SWEEP.name}.csv",
        parquet=f"{RESULTS}/{SWEEP.name}.parquet",
    log:
        f"{LOGS}/sweep_table.log",
    benchmark:
        f"{BENCHMARKS}/sweep_table.tsv"
    group:
        "page"
    conda:
        ENVIRONMENT
    resources:
        **resources("sweep_table"),
    params:
        sources=SWEEP_SOURCES,
        code=code_of("sweep_table"),
    script:
        "../scripts/sweep_table.py"


rule sweep_figure:
    input:
        table=rules.sweep_table.output.parquet,
    output:
        multiext(f"{RESULTS}/{SWEEP.name}", ".png", ".pdf"),
    log:
        f"{LOGS}/sweep_figure.log",
    benchmark:
        f"{BENCHMARKS}/sweep_figure.tsv"
    group:
        "page"
    conda:
        ENVIRONMENT
    resources:
        **resources("sweep_figure"),
    params:
        settings=list(dict.fromkeys(name for point in SWEEP.points for name in point.values)),
        title=SWEEP.title,
        code=code_of("sweep_figure"),
    script:
        "../scripts/sweep_figure.py"
