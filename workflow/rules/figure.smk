# The figures and rendered tables, as png and pdf, from stored results alone.


def root_cases(name, experiment):
    """A file of every case at the root seed."""
    return [case_path(name, experiment, case, ROOT_SEED) for case in CASES[experiment]]


def root_runs(name, experiment, emulator):
    """The first file of a stage of an emulator, in every case at the root seed."""
    return [run_paths(name, experiment, case, ROOT_SEED, emulator)[0] for case in CASES[experiment]]


def ishigami_figures():
    slices = {
        "data": root_cases("data", "ishigami"),
        "untuned": root_runs("predicted", "ishigami", "untuned"),
        "gp": root_runs("predicted", "ishigami", "gp"),
        "tuned": root_runs("predicted", "ishigami", "lowrank"),
    }
    tuned = run_paths("tuned", "ishigami", "standard", ROOT_SEED, "lowrank")
    return {"F1": slices, "F7": {"tuned": tuned, "paper": [PAPER_VALUES]}}


def sobol_g_figures():
    def both(stage):
        return {name: root_runs(stage, "sobol_g", name) for name in ("lowrank", "sparse")}

    truths = root_cases("truth", "sobol_g")
    tuned = {case: run_paths("tuned", "sobol_g", case, ROOT_SEED, "sparse") for case in CASES["sobol_g"]}
    return {
        "F2": {"truths": truths, **both("analysis")},
        "F3": {"data": root_cases("data", "sobol_g"), **both("predicted")},
        "sparse_inclusion": {"truths": truths, **tuned},
    }


def lorenz63_figures():
    """F4, F5, F8 and F10 are about the lowest noise level, F9 about the highest."""
    first, *others = CASES["lorenz63"]

    def integrators(case, names):
        keys = {name: ("lorenz63", case, ROOT_SEED, name) for name in names}
        predicted = {f"{name}_predicted": run_paths("predicted", *key)[0] for name, key in keys.items()}
        analysed = {f"{name}_analysis": run_paths("analysis", *key) for name, key in keys.items()}
        paths = {name: case_path(name, "lorenz63", case, ROOT_SEED) for name in ("data", "truth")}
        return paths | predicted | analysed

    main = ("lorenz63", first, ROOT_SEED, "nonseparable_4")
    found = {
        "F4": integrators(first, ["untuned", "gp", "nonseparable_4"]),
        "F5": {
            "truth": case_path("truth", "lorenz63", first, ROOT_SEED),
            "analysis": run_paths("analysis", *main),
        },
        "F8": {
            "data": case_path("data", "lorenz63", first, ROOT_SEED),
            "tuned": run_paths("tuned", *main),
            "paper": [PAPER_VALUES],
        },
    }
    if others:
        found["F9"] = integrators(others[-1], ["gp", "nonseparable_4"])
    if any(key[:3] == main[:3] and key[3].startswith(("separable", "nonseparable")) and key != main for key in RUNS):
        found["F10"] = {"table": [table_path("lorenz63_integrators")]}
    return found


def edmf_figures():
    [case] = CASES["edmf"]
    paths = {"data": "data", "truth_posterior": "posterior"}
    common = {key: case_path(name, "edmf", case, ROOT_SEED) for key, name in paths.items()}

    def posteriors(*names):
        return common | {name: run_paths("posterior", "edmf", case, ROOT_SEED, name)[0] for name in names}

    extensions = [name for name in ("shared",) if ("edmf", case, ROOT_SEED, name) in RUNS]
    tuned = run_paths("tuned", "edmf", case, ROOT_SEED, "nonseparable_3")
    beyond = {"edmf_truth_posterior": {"table": [table_path("T6")]}} if case == "surrogate" else {}
    return beyond | {
        "F6": posteriors("gp", "nonseparable_1", *extensions),
        "F11": {"tuned": tuned, "paper": [PAPER_VALUES]},
        "F12": posteriors("untuned", "gp", "nonseparable_1", "separable_5_1"),
    }


# Each artifact with its experiment and the results that its drawing function takes by name.
DRAWN = {"ishigami": ishigami_figures, "sobol_g": sobol_g_figures, "lorenz63": lorenz63_figures, "edmf": edmf_figures}
FIGURES = {}
for experiment in EXPERIMENTS:
    rendered = {artifact: {"table": [table_path(artifact)]} for artifact in TABLES[experiment]}
    FIGURES |= {artifact: (experiment, inputs) for artifact, inputs in (DRAWN[experiment]() | rendered).items()}
if HAS_COMPLEXITY:
    FIGURES["T1"] = ("complexity", {"table": [table_path("T1")], "measured": [MEASURED_COSTS]})

for artifact, (experiment, inputs) in FIGURES.items():

    rule:
        name:
            artifact
        input:
            BEGUN,
            **inputs,
        output:
            reported_picture(artifact, experiment),
        log:
            f"{LOGS}/{artifact}.log",
        benchmark:
            f"{BENCHMARKS}/{artifact}.tsv"
        group:
            "page"
        conda:
            ENVIRONMENT
        resources:
            **resources("figure"),
        params:
            artifact=artifact,
            experiment=experiment,
            code=code_of("figure", f"{experiment}.figures"),
        script:
            "../scripts/figure.py"
