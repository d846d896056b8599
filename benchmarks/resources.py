"""config/resources.yaml from the benchmark files of finished runs: `make resources`.

Every job leaves its time and largest memory under results/*/benchmarks. The most that a rule took in a case, over
emulators of a kind, seeds and chunks of repeats, is what a cluster is asked for, times a margin (cluster.margin).
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from math import ceil
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "config/resources.yaml"
# The rule behind the name of a benchmark file.
RULES = {"check": "check_data", "truth": "analyse_truth"}
STAGES = ("data", "check_data", "sample_truth", "analyse_truth", "tune", "predict", "sample", "analyse")
HEADER = """\
# What jobs were measured to take, by rule and experiment/case/kind of emulator: peak memory in MB, and seconds per
# repeat (tune, predict) or per job. Made by `make resources` from the benchmark files of finished runs; a cluster is
# asked for more, see cluster.margin in config.yaml. Where nothing was measured, the most of the rule is taken.
"""
CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))


def kind_of(experiment: str, emulator: str) -> str:
    """Kind of an emulator, or of the one that a point of a sweep is named after."""
    known = CONFIG[experiment]["emulators"]
    named = [name for name in known if emulator == name or emulator.startswith(f"{name}_")]
    return str(known[max(named, key=len)]["kind"]) if named else "unknown"


def measured(folder: Path) -> Iterator[tuple[str, str, float, float]]:
    """Rule, experiment/case/kind, memory and seconds of every job that left a benchmark file."""
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
        parts = path.relative_to(folder).with_suffix("").parts
        name, _, chunk = parts[-1].partition("-")
        first, last = map(int, chunk.split("-")) if chunk else (0, 0)
        of_emulator = len(parts) == 5  # experiment, case, seed, emulator, stage
        rule = "sample_truth" if name == "sample" and not of_emulator else RULES.get(name, name)
        if rule not in STAGES:
            rule = name if name.startswith("sweep_") else "table" if name.endswith("_csv") else "figure"
        case = "/".join(parts[:2]) if rule in STAGES else "any"
        if of_emulator:
            case += f"/{kind_of(parts[0], parts[3])}"
        for row in rows:
            if row["max_rss"] not in ("-", "NA"):  # a job that ended before its memory was looked at
                yield rule, case, float(row["max_rss"]), float(row["s"]) / (last - first + 1)


def main(folders: list[Path]) -> None:
    known = yaml.safe_load(OUT.read_text(encoding="utf-8")) if OUT.exists() else {}
    fresh: dict[str, dict[str, dict[str, int]]] = {}
    for folder in folders:
        for rule, case, memory, seconds in measured(folder):
            most = fresh.setdefault(rule, {}).setdefault(case, {"mem_mb": 0, "seconds": 0})
            most["mem_mb"] = max(most["mem_mb"], ceil(memory))
            most["seconds"] = max(most["seconds"], ceil(seconds))
    if not fresh:
        sys.exit("no benchmark files: run something first, or name folders of benchmark files as arguments")
    for rule, cases in fresh.items():
        known[rule] = known.get(rule, {}) | cases
    OUT.write_text(HEADER + yaml.safe_dump(known, default_flow_style=None, width=120), encoding="utf-8")
    print(f"{OUT.relative_to(ROOT)}: {sum(map(len, known.values()))} entries")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or sorted((ROOT / "results").glob("**/benchmarks")))
