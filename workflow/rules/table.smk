# The tables, as csv, with the paper's values beside ours.

ALL_TABLES = {"ishigami": ["T2"], "sobol_g": ["T3", "T4", "sobol_g_accuracy"]}
TABLES = {experiment: ALL_TABLES[experiment] for experiment in EXPERIMENTS}

for experiment, artifacts in TABLES.items():
    for artifact in artifacts:

        rule:
            name:
                f"{artifact}_csv"
            input:
                paths_of(data_sources(experiment)),
                paths_of(sources("analysis", experiment)),
                paths_of(sources("timing", experiment)),
                paper=PAPER_VALUES,
            output:
                table_path(artifact),
            log:
                f"{LOGS}/{artifact}_csv.log",
            benchmark:
                f"{BENCHMARKS}/{artifact}_csv.tsv"
            conda:
                ENVIRONMENT
            params:
                artifact=artifact,
                experiment=experiment,
                data=data_sources(experiment),
                analyses=sources("analysis", experiment),
                timings=sources("timing", experiment),
                code=code_of("table", f"{experiment}.tables"),
            script:
                "../scripts/table.py"
