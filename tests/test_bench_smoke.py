"""The benchmark runs and prints its sections; its numbers are judged by people, never in tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADINGS = (
    "1. Evaluation of the objective against plain NumPy",
    "2. One and two workers",
    "3. Share of the GEMM-bound limit",
    "4. Gaussian process",
    "5. One EKI update",
    "6. Where one tuning of Ishigami goes",
    "7. A learned integrator of Lorenz 63",
    "8. Imports",
    "9. Planning a sweep",
    "10. Scheduling a sweep",
)


def test_that_the_quick_benchmark_prints_every_section(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--out", str(out)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [heading for heading in HEADINGS if not any(line.startswith(heading) for line in lines)] == []
    assert len(json.loads(out.read_text(encoding="utf-8"))) == len(HEADINGS)
