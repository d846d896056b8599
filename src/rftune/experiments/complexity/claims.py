"""What the paper says of costs, decided by T1."""

from __future__ import annotations

from collections.abc import Callable

from rftune.experiments.complexity.verdicts import TOLERANCE
from rftune.report.claims import Claim, Finding
from rftune.report.verdicts import Evidence, keyed

SYMBOLS = {"n_train": "N", "n_features": "M", "n_outputs": "p"}


def _exponents(operation: str, method: str) -> Callable[[Evidence], Finding]:
    """Whether every printed exponent of an operation is met up to `TOLERANCE`; a smaller one keeps the bound."""

    def decide(evidence: Evidence) -> Finding:
        rows = keyed(evidence.tables["T1"], "method", "operation", "variable")
        own = {
            variable: row
            for (of_method, of_operation, variable), row in rows.items()
            if (of_method, of_operation) == (method, operation) and row["paper_exponent"] == row["paper_exponent"]
        }
        found = [
            f"{SYMBOLS[variable]}: {row['exponent']:.2f} (printed {row['paper_exponent']:g})"
            for variable, row in own.items()
        ]
        kept = all(row["exponent"] <= row["paper_exponent"] + TOLERANCE for row in own.values())
        return Finding(f"exponents of {', '.join(found)}", kept)

    return decide


def _samples_become_entries(evidence: Evidence) -> Finding:
    rows = keyed(evidence.tables["T1"], "method", "operation", "variable")
    pairs = [[rows["gpr", "cholesky", name]["exponent"] for name in ("n_train", "n_outputs")]]
    pairs += [[rows["gpr", "space", name]["exponent"] for name in ("n_train", "n_outputs")]]
    text = "; ".join(f"{n:.2f} and {p:.2f}" for n, p in pairs)
    return Finding(
        f"exponents of N and p, factorisation; space: {text}", all(abs(n - p) <= TOLERANCE for n, p in pairs)
    )


CLAIMS = (
    Claim(
        "2.2.1",
        "T1",
        "the sample size N is replaced by Np in all … GPR complexity estimates",
        "the exponents of N and p are equal up to .3",
        _samples_become_entries,
        kind="time",
    ),
    *(
        Claim(
            "2.2.2",
            "T1",
            f"{operation}: {formula[method]}",
            "no exponent is more than .3 above the printed one",
            _exponents(operation, method),
            because="sizes that fit into two minutes are not asymptotic, and a p × p covariance needs p right sides "
            "(docs/deviations.md)",
            kind="value" if operation == "space" else "time",
        )
        for operation, formula in {
            "space": {"gpr": "GPR O((Np)²)", "rfr": "RFR O(M²)"},
            "cholesky": {"gpr": "GPR O((Np)³)", "rfr": "RFR O(M³)"},
            "mean": {"gpr": "GPR O(Np·pd)", "rfr": "RFR O(Mpd)"},
            "covariance": {"gpr": "GPR O(Np(Np + pd))", "rfr": "RFR O(Mp(M + p + d))"},
        }.items()
        for method in ("gpr", "rfr")
    ),
)
