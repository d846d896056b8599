# The figures and rendered tables, as png and pdf, from stored results and tables alone.

for artifact in plan.artifacts:

    rule:
        """A figure, or a table as a picture."""
        name:
            artifact
        input:
            BEGUN,
            plan.drawn_paths(artifact),
        output:
            reported(plan.pictures(artifact)[0], artifact),
            plan.pictures(artifact)[1],
        log:
            plan.log(artifact),
        benchmark:
            plan.benchmark(artifact)
        group:
            "page"
        conda:
            plan.environment
        resources:
            **ask.of("figure"),
        params:
            **told(**plan.told(artifact, "figure")),
        script:
            "../scripts/figure.py"
