# The tables, as csv, with the paper's values beside ours.

for artifact in plan.tables:

    rule:
        """A table as csv, with the paper's values beside ours."""
        name:
            f"{artifact}_csv"
        input:
            BEGUN,
            plan.source_paths(artifact),
            plan.paper_path,
        output:
            reported(plan.table_path(artifact), artifact),
        log:
            plan.log(f"{artifact}_csv"),
        benchmark:
            plan.benchmark(f"{artifact}_csv")
        group:
            "page"
        conda:
            plan.environment
        resources:
            **ask.of("table"),
        params:
            **told(**plan.told(artifact, "table")),
        script:
            "../scripts/table.py"
