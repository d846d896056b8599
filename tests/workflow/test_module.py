"""The workflow as a module of another one, in a folder of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import yaml
from conftest import ROOT, TINY, Project

from rftune.workflow.config import over

OUTER = """
configfile: "mine.yaml"

module rftune:
    snakefile: "{project}/workflow/Snakefile"
    config: config

use rule * from rftune

rule size:
    default_target: True
    input: "results/mine/figures/F1.png"
    output: "size.txt"
    shell: "wc -c < {{input}} > {{output}}"
"""


def test_that_another_workflow_builds_on_this_one(make_project: Callable[..., Project], tmp_path: Path) -> None:
    """Nothing is written to the project, and the outer config says only what differs."""
    project = make_project()
    before = {path for path in project.root.rglob("*") if "__pycache__" not in path.parts}
    (tmp_path / "Snakefile").write_text(OUTER.format(project=project.root), encoding="utf-8")
    mine = over(TINY, {"results": "results/mine", "ishigami": {"emulators": {"subspace": {"role": None}}}})
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    outer = Project.__new__(Project)
    outer.root = tmp_path
    command = outer.command("--cores", "2")
    command["env"].pop("PYTHONPATH")  # the library beside the workflow is found by the workflow
    done = subprocess.run(**command, check=False, timeout=600)
    assert done.returncode == 0, done.stdout.decode()
    assert int((tmp_path / "size.txt").read_text()) > 1000
    assert (tmp_path / "results/mine/figures/F1.pdf").is_file()
    assert {path for path in project.root.rglob("*") if "__pycache__" not in path.parts} == before


def test_that_the_workflow_catalogue_finds_what_it_looks_for() -> None:
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert usage["software-stack-deployment"] == {"conda": True}
    for name in ("workflow/Snakefile", "config/README.md", "config/config.yaml", "LICENSE", "README.md"):
        assert (ROOT / name).is_file()
