"""What the paper says of the Ishigami function, and of choices of the tuning that are tried there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rftune.experiments.ishigami.verdicts import root_rows
from rftune.report.claims import Claim, Finding, stagnates_near
from rftune.report.verdicts import Evidence, Rows, keyed

QUANTITIES = ("V1", "V2", "V3", "TV1", "TV2", "TV3")
FITS = 0.25  # relative RMSE
SIMILAR, WEAK = 1.5, 1.25  # factors between errors


def _rows(evidence: Evidence, role: str) -> Rows:
    """Rows of T2 at the root seed by quantity."""
    rows = root_rows(evidence.tables["T2"])
    return {quantity: row for (source, quantity), row in rows.items() if source == (evidence.named(role) or role)}


def _fits(evidence: Evidence) -> Finding:
    errors = {role: _rows(evidence, role)["relative_rmse"]["mean"] for role in ("gp", "rf", "rf_untuned")}
    text = f"GP {errors['gp']:.3f}, RF {errors['rf']:.3f}, untuned RF {errors['rf_untuned']:.3f}"
    return Finding(f"relative RMSE {text}", max(errors["gp"], errors["rf"]) <= FITS)


def _close(evidence: Evidence) -> Finding:
    errors = {role: np.abs(_means(evidence, role) - _means(evidence, "analytic")).max() for role in ("gp", "rf")}
    return Finding(f"largest error GP {errors['gp']:.3f}, RF {errors['rf']:.3f}", max(errors.values()) <= 0.045)


def _means(evidence: Evidence, role: str, column: str = "mean") -> np.ndarray:
    rows = _rows(evidence, role)
    return np.array([rows[name][column] for name in QUANTITIES])


def _varies_little(evidence: Evidence) -> Finding:
    analytic = _means(evidence, "analytic")
    shares = _means(evidence, "rf", "std")[analytic > 0] / analytic[analytic > 0]
    return Finding(
        f"standard deviations {shares.min():.1%} to {shares.max():.1%} of the index", bool(shares.max() <= 0.05)
    )


def _within_two(evidence: Evidence) -> Finding:
    errors = np.abs(_means(evidence, "rf") - _means(evidence, "analytic")) / _means(evidence, "rf", "std")
    return Finding(f"largest error {errors.max():.1f} standard deviations", bool(errors.max() <= 2.0))


def _design_is_accurate(evidence: Evidence) -> Finding:
    worst = float(np.abs(_means(evidence, "empirical") - _means(evidence, "analytic")).max())
    return Finding(f"largest error of an index {worst:.4f}", worst <= 0.01)


def _choices(evidence: Evidence, choice: str) -> Rows:
    """Rows of one choice by its value, as text."""
    table = evidence.tables["ishigami_choices"]
    own = table[table["choice"] == choice]
    return keyed(own.assign(value=own["value"].map(str)), "value") if len(own) else {}


def _paired(evidence: Evidence, choice: str, value: str) -> tuple[dict[str, float], dict[str, float]]:
    """The row of a value, and that of the paper's RF."""
    rows = _choices(evidence, choice)
    own = evidence.named("rf")
    return rows[value], next(row for row in rows.values() if row["emulator"] == own)


def _two_folds(evidence: Evidence) -> Finding:
    one, two = _paired(evidence, "tuning.n_folds", "1")
    text = f"one fold {_error(one)}, two {_error(two)}"
    return Finding(text, one["fresh_rmse_mean"] - two["fresh_rmse_mean"] > 2.0 * _difference_error(one, two))


def _more_robust(evidence: Evidence) -> Finding:
    one, two = _paired(evidence, "tuning.n_folds", "1")
    text = f"standard deviation over re-tunings: one fold {one['fresh_rmse_std']:.3f}, two {two['fresh_rmse_std']:.3f}"
    return Finding(text, two["fresh_rmse_std"] < one["fresh_rmse_std"] and two["n_failed"] <= one["n_failed"])


def _error(row: dict[str, float]) -> str:
    return f"{row['fresh_rmse_mean']:.3f} ({row['fresh_rmse_std']:.3f})"


def _difference_error(one: dict[str, float], other: dict[str, float]) -> float:
    return float(np.hypot(one["fresh_rmse_standard_error"], other["fresh_rmse_standard_error"]))


def _inflation_helps(evidence: Evidence) -> Finding:
    without, own = _paired(evidence, "tuning.optimiser.inflation", "0.0")
    share = without["fresh_rmse_mean"] / own["fresh_rmse_mean"]
    return Finding(f"without inflation {_error(without)}, with it {_error(own)}", share > 1.0)


def _within(factor: float, *choices: str) -> Callable[[Evidence], Finding]:
    """Whether errors at every value of some choices are within a factor of the paper's RF's, and nothing failed."""

    def decide(evidence: Evidence) -> Finding:
        shares, failed = {}, 0.0
        for choice in choices:
            rows = _choices(evidence, choice)
            own = next(row for row in rows.values() if row["emulator"] == evidence.named("rf"))
            for value, row in rows.items():
                if row is not own:
                    shares[f"{choice.rpartition('.')[2]} {value}"] = row["fresh_rmse_mean"] / own["fresh_rmse_mean"]
                    failed += row["n_failed"]
        text = ", ".join(f"{name}: {share:.2f}" for name, share in shares.items())
        return Finding(
            f"error over that of the standard settings, {text}; {failed:.0f} failed", _all(shares, factor, failed)
        )

    return decide


def _all(shares: dict[str, float], factor: float, failed: float) -> bool:
    return max(shares.values()) <= factor and failed == 0


def _other_number(evidence: Evidence) -> Finding:
    few, own = _paired(evidence, "prediction.n_features", "150")
    many, _ = _paired(evidence, "prediction.n_features", "1500")
    text = f"M' = 150 (= M) {_error(few)}, 500 {_error(own)}, 1500 {_error(many)}"
    return Finding(text, many["fresh_rmse_mean"] <= own["fresh_rmse_mean"] <= few["fresh_rmse_mean"])


def _speed_of_wide_priors(evidence: Evidence) -> Finding:
    rows = list(_choices(evidence, WIDTH).values())
    text = ", ".join(f"{float(row['value']):g}: {row['stagnation']:.1f}" for row in rows)
    numbers = [row["stagnation"] for row in rows]
    return Finding(f"iterations by width {text}", max(numbers) - min(numbers) >= 2)


def _tuning_matters(evidence: Evidence) -> Finding:
    """In every experiment that has an untuned RF at the same prior, by the errors of its own table."""
    t2 = [_rows(evidence, role)["fresh_rmse"]["mean"] for role in ("rf_untuned", "rf")]
    return Finding(f"error of the untuned RF {t2[0] / t2[1]:.1f} times the tuned one's", t2[0] / t2[1] >= 2)


WIDTH = "features.family.log_strength"

CLAIMS = (
    Claim(
        "abstract",
        "F1",
        "the hyperparameters that characterize the sampling distribution greatly impact performance",
        "the untuned RF's error is at least twice the tuned one's (Ishigami)",
        _tuning_matters,
        because="the mean of the printed prior is a fair start here: see ishigami_choices",
    ),
    Claim(
        "1.1",
        "ishigami_choices",
        "a different numbers of features for hyperparameter optimization than for downstream tasks such as prediction",
        "the error falls as M' grows beyond M",
        _other_number,
    ),
    Claim(
        "3.3",
        "ishigami_choices",
        "With even two such partitions, we also observe … improved accuracy in experiments",
        "two folds have a smaller error than one, beyond two standard errors",
        _two_folds,
        because="the difference is within the scatter of five re-tunings (ishigami_choices)",
    ),
    Claim(
        "4.1",
        "T2",
        "accurate empirical estimates of V_i and TV_i can be calculated on the cube using quasi-Monte Carlo methods",
        "every index of the truth on the design within .01",
        _design_is_accurate,
        because="the scrambled design scatters by .003 to .007 (docs/method.md)",
    ),
    Claim(
        "4.1.1",
        "F1",
        "The successful trials show that the tuned models fit the true Ishigami function well",
        f"relative RMSE of GP and RF at most {FITS:g}",
        _fits,
    ),
    Claim(
        "4.1.1",
        "T2",
        "For both V_i and TV_i, both GP and RF produce close values",
        "every mean within .045 of the analytic index",
        _close,
    ),
    Claim(
        "4.1.1",
        "T2",
        "RF has variations of at most 5% of the true sensitivity",
        "standard deviations over re-tunings at most 5 % of the index",
        _varies_little,
        because="the paper's own table has 4.7 to 9.0 %",
    ),
    Claim(
        "4.1.1",
        "T2",
        "the true values always lie within two standard deviations of the RF emulator variability",
        "every error at most two standard deviations over re-tunings",
        _within_two,
        because="re-tunings share the 300 training points, whose error is common to all; our standard deviations are a "
        "third of the paper's",
    ),
    Claim(
        "4.1.1",
        "ishigami_choices",
        "The algorithm is robust to … the number of features used for optimization and prediction",
        f"errors within a factor of {SIMILAR:g}, none failed",
        _within(SIMILAR, "tuning.n_features", "prediction.n_features"),
    ),
    Claim(
        "4.1.1",
        "ishigami_choices",
        "… and to various modifiers of the optimization algorithm",
        f"errors within a factor of {SIMILAR:g} for other inflations, members, rows and folds, none failed",
        _within(SIMILAR, "tuning.optimiser.inflation", "tuning.optimiser.n_members", "tuning.rows", "tuning.n_folds"),
    ),
    Claim(
        "5.1",
        "ishigami_choices",
        "the ensemble size and parameter dimension are in fact only weakly coupled",
        f"errors with half and with twice the members within a factor of {WEAK:g}",
        _within(WEAK, "tuning.optimiser.n_members"),
    ),
    Claim(
        "A",
        "ishigami_choices",
        "few features—fewer than training data set size—are sufficient to obtain high-performing tuned hyperparameter",
        f"errors with M = 50 and 300, of N = 300, within a factor of {WEAK:g}",
        _within(WEAK, "tuning.n_features"),
    ),
    Claim(
        "A.1",
        "ishigami_choices",
        "the dependence on these prior ranges was quite weak",
        f"errors with priors of 10^±1 to 10^±6 within a factor of {WEAK:g}, none failed",
        _within(WEAK, WIDTH),
    ),
    Claim(
        "A.1",
        "ishigami_choices",
        "… influence the speed of algorithm convergence when the prior span was overly concentrated or overly spread",
        "iterations until the objective stops falling differ by at least two over these widths",
        _speed_of_wide_priors,
    ),
    Claim(
        "A.2",
        "ishigami_choices",
        "A small amount of additive white noise (i.e., inflation) was added … to prevent degeneracy",
        "the error without inflation is larger",
        _inflation_helps,
        because="thirty members for thirteen hyperparameters do not degenerate in twenty iterations",
    ),
    Claim(
        "A.2",
        "ishigami_choices",
        "the optimizer was more robust under multiple validation partitions",
        "standard deviation over re-tunings smaller with two folds than with one, no more failures",
        _more_robust,
        because="within the scatter of the standard deviation of five re-tunings",
    ),
    Claim(
        "A.3",
        "F7",
        "For this experiment, convergence stagnates at around eight ensemble iterations",
        "at most 5 % of the fall left at 8 ± 2 iterations, mean over re-tunings",
        stagnates_near("F7", 8),
        because="it stagnates earlier: most of the fall is the first two steps of the adaptive step size",
    ),
)
