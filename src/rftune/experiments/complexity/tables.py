"""T1: exponents fitted to measured costs, beside the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rftune.data import Array
from rftune.experiments.results import Results


def exponents_table(results: Results) -> pd.DataFrame:
    """One row per method, operation and variable: the slope of log cost against log size; the paper has no assembly."""
    measured, paper = results.tables["measured"], results.paper["T1"]
    rows = []
    for key, group in measured.groupby(["method", "operation", "variable"], sort=False):
        method, operation, variable = map(str, key)
        exponent, error = slope(np.log(group["size"].to_numpy()), np.log(group["cost"].to_numpy()))
        rows.append(
            {
                "method": method,
                "operation": operation,
                "variable": variable,
                "exponent": exponent,
                "standard_error": error,
                "paper_exponent": paper[method].get(operation, {}).get(variable, np.nan),
                "unit": "bytes" if operation == "space" else "seconds",
                "smallest_size": group["size"].iloc[0],
                "largest_size": group["size"].iloc[-1],
                "cost_at_smallest": group["cost"].iloc[0],
                "cost_at_largest": group["cost"].iloc[-1],
            }
        )
    return pd.DataFrame(rows)


def slope(x: Array, y: Array) -> tuple[float, float]:
    """Least-squares slope and its standard error, which two points do not give."""
    centred = x - x.mean()
    fitted = round(float(centred @ y / (centred @ centred)), 9)  # no rounding errors in the place of a zero
    if len(x) < 3:
        return fitted, np.nan
    residuals = y - y.mean() - fitted * centred
    return fitted, round(float(np.sqrt(residuals @ residuals / (len(x) - 2) / (centred @ centred))), 9)
