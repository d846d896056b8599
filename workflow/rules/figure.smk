# The figures and rendered tables, as png and pdf, from stored results alone.


def root_paths(name, experiment, emulator):
    """First chunk of a stage's results ("data", "analysis", "predicted") at the root seed, in the order of the cases."""
    folders = [(experiment, case, ROOT_SEED) for case in CASES[experiment]]
    if name == "data":
        return [f"{CASE}/data.nc".format(experiment=e, case=c, seed=s) for e, c, s in folders]
    if name == "analysis":
        return [analysis_path(*folder, emulator) for folder in folders]
    return [chunk_paths(name, *folder, emulator)[0] for folder in folders]


def ishigami_figures():
    tuned = chunk_paths("tuned", "ishigami", "standard", ROOT_SEED, "lowrank")
    slices = {
        "data": root_paths("data", "ishigami", None),
        "untuned": root_paths("predicted", "ishigami", "untuned"),
        "gp": root_paths("predicted", "ishigami", "gp"),
        "tuned": root_paths("predicted", "ishigami", "lowrank"),
    }
    return {"F1": slices, "F7": {"tuned": tuned}}


def sobol_g_figures():
    data = root_paths("data", "sobol_g", None)

    def both(stage):
        return {name: root_paths(stage, "sobol_g", name) for name in ("lowrank", "sparse")}

    tuned = {case: chunk_paths("tuned", "sobol_g", case, ROOT_SEED, "sparse") for case in CASES["sobol_g"]}
    return {
        "F2": {"data": data, **both("analysis")},
        "F3": {"data": data, **both("predicted")},
        "sparse_inclusion": {"data": data, **tuned},
    }


# Each artifact with its experiment and the results that its drawing function takes by name.
DRAWN = {"ishigami": ishigami_figures, "sobol_g": sobol_g_figures}
FIGURES = {}
for experiment in EXPERIMENTS:
    rendered = {artifact: {"table": [table_path(artifact)]} for artifact in TABLES[experiment]}
    FIGURES |= {artifact: (experiment, inputs) for artifact, inputs in (DRAWN[experiment]() | rendered).items()}

for artifact, (experiment, inputs) in FIGURES.items():

    rule:
        name:
            artifact
        input:
            **inputs,
        output:
            picture(artifact),
        log:
            f"{LOGS}/{artifact}.log",
        benchmark:
            f"{BENCHMARKS}/{artifact}.tsv"
        conda:
            ENVIRONMENT
        params:
            artifact=artifact,
            experiment=experiment,
            code=code_of("figure", f"{experiment}.figures"),
        script:
            "../scripts/figure.py"
