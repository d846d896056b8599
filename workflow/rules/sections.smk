# What the page at the end shows, and what it takes from the config.

import hashlib
import shlex

from rftune.report import page, reference

# What is shown of each experiment, whether or not this run makes it; an artifact that is not here comes last.
SHOWN = {
    "ishigami": ["F1", "F7", "T2"],
    "sobol_g": ["F2", "F3", "T3", "T4", "sobol_g_accuracy", "sparse_inclusion"],
    "lorenz63": ["F4", "F5", "F8", "F9", "F10", "lorenz63_integrators"],
    "edmf": ["F6", "F11", "F12", "T5", "T6", "edmf_truth_posterior"],
    "complexity": ["T1"],
}
REPORTED = [*EXPERIMENTS, *(["complexity"] if HAS_COMPLEXITY else [])]
ALL_TABLE_NAMES = [*(name for names in TABLES.values() for name in names), *(["T1"] if HAS_COMPLEXITY else [])]


def place_on_page(artifact):
    """The paper's figures, its tables, then what is beyond it."""
    kind, number = artifact[0], artifact[1:]
    return ("FT".index(kind), int(number)) if kind in "FT" and number.isdigit() else (2, 0)


SECTIONS = {artifact: experiment for experiment, names in SHOWN.items() for artifact in names}
SECTIONS |= {artifact: experiment for artifact, (experiment, _) in FIGURES.items()}
SECTIONS = {artifact: SECTIONS[artifact] for artifact in sorted(SECTIONS, key=place_on_page)}
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
        "table": table_path(name) if name in ALL_TABLE_NAMES else None,
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
