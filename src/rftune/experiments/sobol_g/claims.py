"""What the paper says of Sobol's G function, of accuracy and of times there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rftune.experiments.complexity.tables import slope
from rftune.experiments.sobol_g.verdicts import GP
from rftune.report.claims import Claim, Finding
from rftune.report.verdicts import Evidence, Rows, keyed

VISIBLE = 0.05  # an error of an index that one sees in F2
SIMILAR = 1.1  # a factor between errors that one calls the same
NAMED = {"gp": "our fast GP", "gp_sklearn": "scikit-learn's", "gp_sklearn_restarts": "scikit-learn's with 10 restarts"}


def _accuracy(evidence: Evidence, role: str) -> Rows:
    """Rows of the accuracy table at the root seed by dimension."""
    root = evidence.at_root("sobol_g_accuracy")
    rows = keyed(root[root["emulator"] == (evidence.named(role) or role)], "dimension")
    if not rows:
        raise KeyError(role)
    return rows


def _listed(values: Mapping[int, float]) -> str:
    return ", ".join(f"d = {d}: {value:.3g}" for d, value in values.items())


def _indices(evidence: Evidence, role: str, column: str, above: int = 0, below: int = 100) -> dict[int, float]:
    return {d: row[column] for d, row in _accuracy(evidence, role).items() if above < d < below}


def _gp_is_accurate(evidence: Evidence) -> Finding:
    errors = {d: max(row["first_error"], row["total_error"]) for d, row in _accuracy(evidence, "gp").items() if d < 20}
    return Finding(f"largest index error of the GP, {_listed(errors)}", max(errors.values()) <= VISIBLE)


def _untuned_is_poor(evidence: Evidence) -> Finding:
    errors = _indices(evidence, "rf_untuned", "fresh_rmse_mean")
    tuned = _indices(evidence, "rf", "fresh_rmse_mean")
    poor = all(error > 0.5 and error > tuned[d] for d, error in errors.items())
    return Finding(f"relative RMSE, {_listed(errors)}; tuned, {_listed(tuned)}", poor)


def _captured(evidence: Evidence) -> Finding:
    errors = {d: max(row["first_error"], row["total_error"]) for d, row in _accuracy(evidence, "rf").items() if d < 20}
    return Finding(f"largest index error, {_listed(errors)}", max(errors.values()) <= VISIBLE)


def _first_alone(evidence: Evidence) -> Finding:
    row = _accuracy(evidence, "rf")[20]
    text = f"largest error of a Vᵢ {row['first_error']:.3f}, of a TVᵢ {row['total_error']:.3f}"
    return Finding(text, row["first_error"] <= VISIBLE < row["total_error"])


def _harder(evidence: Evidence) -> Finding | None:
    errors = _indices(evidence, "rf", "relative_rmse_mean")
    return Finding(f"relative RMSE, {_listed(errors)}", _rises(errors)) if len(errors) > 1 else None


def _rises(values: Mapping[int, float]) -> bool:
    return bool((np.diff(list(values.values())) > 0).all())


def _objective_falls(evidence: Evidence) -> Finding:
    ratios = _indices(evidence, "rf", "objective_ratio")
    return Finding(f"last over first, {_listed(ratios)}", max(ratios.values()) < 0.1)


def _seconds(evidence: Evidence, role: str) -> dict[int, float]:
    """Of T3 by dimension, of tunings that finished."""
    rows: Rows = keyed(evidence.tables["T3"], "emulator", "dimension")
    return {
        d: row["seconds_mean"] for (name, d), row in rows.items() if name == evidence.named(role) and row["finished"]
    }


def _growth(seconds: Mapping[Any, float]) -> float:
    if len(seconds) < 2:
        raise KeyError("seconds of two sizes")
    return slope(np.log(np.array(list(seconds), dtype=float)), np.log(np.array(list(seconds.values()))))[0]


def _gp_scales_poorly(evidence: Evidence) -> Finding | None:
    seconds = {name: _seconds(evidence, role) for role, name in NAMED.items()}
    grown = {name: _growth(own) for name, own in seconds.items() if len(own) > 1}
    text = ", ".join(f"{name}: {power:.1f}" for name, power in grown.items())
    return Finding(f"seconds grow as d to the power of: {text}", min(grown.values()) >= 2.0) if grown else None


def _rf_scales_linearly(evidence: Evidence) -> Finding:
    power = _growth(_seconds(evidence, "rf_serial"))
    return Finding(f"seconds of serial RF grow as d to the power of {power:.2f}", abs(power - 1.0) <= 0.3)


def _threads_help(evidence: Evidence) -> Finding | None:
    serial, parallel = (_seconds(evidence, role) for role in ("rf_serial", "rf_parallel"))
    gains = {d: seconds / parallel[d] for d, seconds in serial.items()}
    return Finding(f"serial over all workers, {_listed(gains)}", min(gains.values()) > 1) if gains else None


def _rf_is_faster(evidence: Evidence) -> Finding | None:
    rows = keyed(evidence.tables["T3"], "emulator", "dimension")
    parts, faster = [], True
    for role, name in NAMED.items():
        own = {d: row["times_rf_serial"] for (of, d), row in rows.items() if of == evidence.named(role)}
        if own:
            parts.append(f"{name}, {_listed(own)}")
            faster &= all(share > 1 for d, share in own.items() if d >= 6)
    return Finding(f"seconds of the GP over serial RF: {'; '.join(parts)}", faster) if parts else None


def _same_accuracy(evidence: Evidence) -> Finding:
    gp, rf = (_indices(evidence, role, "fresh_rmse_mean") for role in ("gp", "rf"))
    shares = {d: rf[d] / gp[d] for d in rf if d in gp}
    return Finding(f"error over the GP's, {_listed(shares)}", max(shares.values()) <= SIMILAR)


def _by_features(evidence: Evidence) -> Rows:
    rows = {m: row for m, row in keyed(evidence.tables["T4"], "n_features").items() if m != GP}
    if len(rows) < 3:
        raise KeyError("T4")
    return rows


def _time_between(evidence: Evidence) -> Finding:
    power = _growth({m: row["seconds"] for m, row in _by_features(evidence).items()})
    return Finding(f"seconds grow as M to the power of {power:.2f}", 1.0 <= power <= 2.0)


def _errors_fall(evidence: Evidence) -> Finding:
    rows = _by_features(evidence)
    few, many = rows[min(rows)], rows[max(rows)]
    shares = {name: many[name] / few[name] for name in ("training_error", "test_error")}
    text = f"most over fewest features: training {shares['training_error']:.2f}, test {shares['test_error']:.2f}"
    return Finding(text, max(shares.values()) < 1)


def _stagnates(evidence: Evidence) -> Finding:
    rows = _by_features(evidence)
    shares = {int(m): row["test_error"] / rows[100.0]["test_error"] for m, row in rows.items() if m > 100}
    text = ", ".join(f"M = {m}: {share:.2f}" for m, share in shares.items())
    return Finding(f"test error over that at M = 100, {text}", all(abs(share - 1) <= 0.1 for share in shares.values()))


CLAIMS = (
    Claim(
        "2.2.2",
        "sobol_g_accuracy",
        "RFR is computationally advantageous …, while still maintaining the same average prediction accuracy as … GPR",
        f"error at fresh points at most {SIMILAR:g} times the GP's",
        _same_accuracy,
        because="the paper's features are dense: a GP's lengthscale per input finds the inputs that matter with fewer "
        "data; sparse features (docs/sparse.md) do better than the GP",
    ),
    Claim(
        "4.1.2",
        "sobol_g_accuracy",
        "a tuned GP was accurate in offline tests for dimensions d=3,6, and 10",
        f"index errors of the GP at most {VISIBLE:g}",
        _gp_is_accurate,
    ),
    Claim(
        "4.1.2",
        "F3",
        "The untuned RF performed very poorly",
        "relative RMSE above .5 and above the tuned one's in every dimension",
        _untuned_is_poor,
        because="in few dimensions the mean of the printed prior, lengthscales of one standard deviation, is fair",
    ),
    Claim(
        "4.1.2",
        "F2",
        "for d= 3, 6, and 10, the RF spread well captures the analytic indices",
        f"largest error of an index at most {VISIBLE:g}",
        _captured,
        because="truth and GP on the same design have errors too: see the table sobol_g_accuracy",
    ),
    Claim(
        "4.1.2",
        "F2",
        "for d=20, only the V_i index is captured well",
        f"largest error of a Vᵢ at most {VISIBLE:g}, of a TVᵢ above",
        _first_alone,
        because="see the table sobol_g_accuracy; captured total indices are better than the paper's",
    ),
    Claim(
        "4.1.2",
        "F3",
        "more of a challenge to capture the sharp transition at x_i = 0.5 … as d increases",
        "the relative RMSE rises with d",
        _harder,
    ),
    Claim(
        "A.3",
        "F2",
        "the normalized objective value was reduced to under 10^-1 over the iterations",
        "last over first value below .1 in every dimension",
        _objective_falls,
        because="the ratio says how bad the start is and how large Γ at the prior mean: ishigami_choices",
    ),
    Claim(
        "A.3",
        "T3",
        "these results provide evidence of the poor scaling of GP hyperparameter tuning even in moderate dimensions",
        "seconds of every GP grow at least as the square of d (N = 250 d)",
        _gp_scales_poorly,
        kind="time",
    ),
    Claim(
        "A.3",
        "T3",
        "On the other hand, EKI scales linearly",
        "seconds of serial RF grow as d to the power of 1 ± .3",
        _rf_scales_linearly,
        because="at small d what does not depend on d takes most of a tuning here",
        kind="time",
    ),
    Claim(
        "A.3",
        "T3",
        "… is also able to take advantage of multithreading—though some overheads are seen here",
        "all workers are faster than one in every dimension",
        _threads_help,
        because="two cores, and small matrices whose factorisation holds the interpreter (docs/report.md)",
        kind="time",
    ),
    Claim(
        "A.3",
        "T3",
        "GP 309s, RF 65s at d = 6 (and 2653s, 134s at 10; >10h, 270s at 20)",
        "serial RF is faster than every GP from d = 6 on",
        _rf_is_faster,
        because="a GP with an analytic gradient and one start is faster in few dimensions; scikit-learn's with ten "
        "restarts, as the public code ran it, is not",
        kind="time",
    ),
    Claim(
        "A.3.1",
        "T4",
        "increasing the number of features leads to a scaling in time between linear and quadratic",
        "seconds grow as M to a power between 1 and 2",
        _time_between,
        because="at few features what does not depend on M takes most of a tuning here",
        kind="time",
    ),
    Claim(
        "A.3.1",
        "T4",
        "… and a reduction of both the training and test error",
        "errors with the most features below those with the fewest",
        _errors_fall,
        because="all predict with as many features: with fewer while tuning the regularised optimum is as good",
    ),
    Claim(
        "A.3.1",
        "T4",
        "there is clear stagnation in performance … when the algorithm exceeds M=100 features",
        "test errors beyond M = 100 within 10 % of that at 100",
        _stagnates,
        because="one re-tuning each, as the paper has",
    ),
)
