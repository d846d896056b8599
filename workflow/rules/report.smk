# The end of the road: the paper's numbers beside ours, and one page that shows everything (sections.smk says what).
#
# Whatever the config plans is an input here, so a missing artifact fails the build; a number that is merely worse does
# not. What the config leaves out has a section too, which says so.

PAGE = f"{RESULTS}/report.html"
VERDICTS = f"{RESULTS}/verdicts.csv"
RECORD = f"{RESULTS}/reference.json"


rule verdicts:
    input:
        [table_path(name) for name in ALL_TABLE_NAMES],
        list(CURVES.values()),
        paper=PAPER_VALUES,
    output:
        VERDICTS,
    log:
        f"{LOGS}/report/verdicts.log",
    benchmark:
        f"{BENCHMARKS}/report/verdicts.tsv"
    group:
        "page"
    conda:
        ENVIRONMENT
    resources:
        **resources("verdicts"),
    params:
        experiments=REPORTED,
        tables={name: table_path(name) for name in ALL_TABLE_NAMES},
        curves=CURVES,
        settings=paper_settings(),
        order=list(SECTIONS),
        code=provenance.code_fingerprint(
            ROOT / "workflow/scripts/verdicts.py",
            [f"rftune.experiments.{experiment}.verdicts" for experiment in REPORTED],
        ),
    script:
        "../scripts/verdicts.py"


rule report:
    input:
        [picture(name)[0] for name in FIGURES],
        [table_path(name) for name in ALL_TABLE_NAMES],
        verdicts=VERDICTS,
    output:
        page=PAGE,
        record=RECORD,
    log:
        f"{LOGS}/report/page.log",
    benchmark:
        f"{BENCHMARKS}/report/page.tsv"
    group:
        "page"
    conda:
        ENVIRONMENT
    resources:
        **resources("report"),
        n_cores=lambda wildcards: workflow.cores or 1,
    params:
        artifacts=[artifact_of(name) for name in SECTIONS],
        experiments=REPORTED,
        seeds=SEEDS,
        benchmarks=BENCHMARKS,
        settings=reference.without_scheduling(config),
        texts=content_of(*page.PARTS, *map(caption, SECTIONS)),
        code=code_of("report"),
    script:
        "../scripts/report.py"
