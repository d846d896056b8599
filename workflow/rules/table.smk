# The tables, as csv, with the paper's values beside ours.

ALL_TABLES = {
    "ishigami": ["T2"],
    "sobol_g": ["T3", "T4", "sobol_g_accuracy"],
    "lorenz63": ["lorenz63_integrators"],
    "edmf": ["T5", "T6"],
}
TABLES = {experiment: ALL_TABLES[experiment] for experiment in EXPERIMENTS}
if "d6" not in CASES.get("sobol_g", ["d6"]):
    TABLES["sobol_g"].remove("T4")  # it is about six dimensions

for experiment, artifacts in TABLES.items():
    for artifact in artifacts:

        rule:
            name:
                f"{artifact}_csv"
            input:
                BEGUN,
                paths_of(truth_sources(experiment)),
                paths_of(run_sources("analysis", experiment)),
                paths_of(run_sources("times", experiment)),
                paper=PAPER_VALUES,
            output:
                reported_table(artifact, experiment),
            log:
                f"{LOGS}/{artifact}_csv.log",
            benchmark:
                f"{BENCHMARKS}/{artifact}_csv.tsv"
            group:
                "page"
            conda:
                ENVIRONMENT
            resources:
                **resources("table"),
            params:
                artifact=artifact,
                experiment=experiment,
                truths=truth_sources(experiment),
                analyses=run_sources("analysis", experiment),
                timings=run_sources("times", experiment),
                code=code_of("table", f"{experiment}.tables"),
            script:
                "../scripts/table.py"
