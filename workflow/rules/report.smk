# The end of the road: the paper's numbers beside ours, and one page that shows everything.
#
# Whatever the config plans is an input here, so a missing artifact fails the build; a number that is merely worse does
# not. What the config leaves out has a section too, which says so.


rule verdicts:
    """The paper's numbers beside ours, and what to make of them."""
    input:
        list(plan.tables.values()),
        list(plan.curves.values()),
        paper=plan.paper_path,
    output:
        verdicts=f"{plan.results}/verdicts.csv",
        claims=f"{plan.results}/claims.csv",
    log:
        plan.log("report/verdicts"),
    benchmark:
        plan.benchmark("report/verdicts")
    group:
        "page"
    conda:
        plan.environment
    resources:
        **ask.of("verdicts"),
    params:
        **told(**reporting.judged(plan)),
    script:
        "../scripts/verdicts.py"


rule report:
    """The page that shows everything beside the paper."""
    input:
        [plan.pictures(artifact)[0] for artifact in plan.artifacts],
        list(plan.tables.values()),
        verdicts=rules.verdicts.output.verdicts,
        claims=rules.verdicts.output.claims,
    output:
        page=f"{plan.results}/report.html",
        record=f"{plan.results}/{record.NAME}",
    log:
        plan.log("report/page"),
    benchmark:
        plan.benchmark("report/page")
    group:
        "page"
    conda:
        plan.environment
    resources:
        **ask.of("report"),
        n_cores=lambda wildcards: workflow.cores or 1,
    params:
        **told(
            exhibits=reporting.exhibits(plan, workflow.configfiles),
            made_with=record.made_with(plan),
        ),
        experiments=list(plan.config.blocks),
        seeds=plan.config.seeds,
        benchmarks=plan.benchmarks,
        texts=reporting.texts(),
        code=plan.code("report"),
    script:
        "../scripts/report.py"
