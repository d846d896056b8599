"""Say whether a kept run is still what the present settings and code would make: python check_reference.py [folder]."""

import json
import sys
from pathlib import Path

from rftune.workflow import config, record
from rftune.workflow.plan import Plan

ROOT = Path(__file__).resolve().parents[2]


def problems(folder, config_path=ROOT / "config/config.yaml"):
    """What has changed since the run was made, and what was changed in its files; none if all is well."""
    record_path = Path(folder) / record.NAME
    if not record_path.exists():
        return [f"there is no {record.NAME} in {folder}: make the run with the workflow"]
    made = json.loads(record_path.read_text(encoding="utf-8"))
    found = record.changes(made, record.made_with(Plan(config.read(config.load(config_path)), ROOT)))
    return found + [f"{name} is not as the run left it" for name in record.altered(Path(folder), made["files"])]


def main(folder):
    found = problems(folder)
    if not found:
        print(f"{folder} is up to date.")
        return 0
    print(f"{folder} is out of date:", *(f"  - {problem}" for problem in found), sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or [str(ROOT / "results/paper")]))
