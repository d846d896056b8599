# The end of the road: the paper's numbers beside ours, and one page that shows everything.
#
# Whatever the config plans is an input here, so a missing artifact fails the build; a number that is merely worse does
# not. What the config leaves out has a section too, which says so.

import hashlib
import shlex

from rftune.report import page, reference

PAGE = f"{RESULTS}/report.html"
VERDICTS = f"{RESULTS}/verdicts.csv"
RECORD = f"{RESULTS}/reference.json"

# Every section of the page, in its order: the paper's figures and tables, then what is beyond it.
SECTIONS = {
    **{"F1": "ishigami", "F2": "sobol_g", "F3": "sobol_g", "F4": "lorenz63", "F5": "lorenz63", "F6": "edmf"},
    **{"F7": "ishigami", "F8": "lorenz63", "F9": "lorenz63", "F10": "lorenz63", "F11": "edmf", "F12": "edmf"},
    **{"T1": "complexity", "T2": "ishigami", "T3": "sobol_g", "T4": "sobol_g", "T5": "edmf", "T6": "edmf"},
    **{"sobol_g_accuracy": "sobol_g", "sparse_inclusion": "sobol_g", "lorenz63_integrators": "lorenz63"},
    "edmf_truth_posterior": "edmf",
}
REPORTED = [*EXPERIMENTS, *(["complexity"] if HAS_COMPLEXITY else [])]
ALL_MADE_TABLES = [*(name for names in TABLES.values() for name in names), *(["T1"] if HAS_COMPLEXITY else [])]
SECTIONS |= {artifact: experiment for artifact, (experiment, _) in FIGURES.items() if artifact not in SECTIONS}
# The tunings whose convergence a figure shows.
CURVES = {name: FIGURES[name][1]["tuned"] for name in ("F7", "F8", "F11") if name in FIGURES}


def paper_settings():
    """Artifact, name, the paper's value and ours, of every setting that the paper states and this run has."""
    stated = yaml.safe_load(Path(PAPER_VALUES).read_text(encoding="utf-8"))["settings"]
    return [
        [artifact, name, value, config_value(place)]
        for artifact, entries in stated.items()
        for name, (place, value) in entries.items()
        if SECTIONS[artifact] in EXPERIMENTS
    ]


def config_value(place):
    """An entry of the config by its dotted path; after @ an emulator, with its defaults filled in."""
    experiment, at, own = place.partition("@")
    if not at:
        value, keys = config, place.split(".")
    else:
        emulator, *keys = own.split(".")
        value = rftune_config.emulator_settings(config, experiment, emulator)
    for key in keys:
        value = value[key]
    return value


def artifact_of(name):
    """What the page shows of an artifact; no picture and no table where this run makes none."""
    return {
        "id": name,
        "experiment": SECTIONS[name],
        "category": CATEGORIES[SECTIONS[name]],
        "caption": caption(name),
        "picture": picture(name)[0] if name in FIGURES else None,
        "table": table_path(name) if name in ALL_MADE_TABLES else None,
        "command": f"snakemake {name}{configfiles()}",
    }


def configfiles():
    """The option that names this run's own config files."""
    paths = [Path(path) for path in workflow.configfiles]
    own = [path for path in paths if path.resolve() != ROOT / "config/config.yaml"]
    shown = [path.relative_to(ROOT) if path.is_relative_to(ROOT) else path for path in own]
    return f" --configfile {shlex.join(map(str, shown))}" if shown else ""


def content_of(*paths):
    """A hash of files that are neither code nor results, so that a change of them shows."""
    return hashlib.sha256(b"\0".join(Path(path).read_bytes() for path in paths)).hexdigest()[:16]


rule verdicts:
    input:
        [table_path(name) for name in ALL_MADE_TABLES],
        list(CURVES.values()),
        paper=PAPER_VALUES,
    output:
        VERDICTS,
    log:
        f"{LOGS}/report/verdicts.log",
    benchmark:
        f"{BENCHMARKS}/report/verdicts.tsv"
    conda:
        ENVIRONMENT
    params:
        experiments=REPORTED,
        tables={name: table_path(name) for name in ALL_MADE_TABLES},
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
        [table_path(name) for name in ALL_MADE_TABLES],
        verdicts=VERDICTS,
    output:
        page=PAGE,
        record=RECORD,
    log:
        f"{LOGS}/report/page.log",
    benchmark:
        f"{BENCHMARKS}/report/page.tsv"
    conda:
        ENVIRONMENT
    resources:
        n_cores=lambda wildcards: workflow.cores,
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
