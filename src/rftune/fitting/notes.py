"""What the user of an emulator should know of how it came about, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rftune.data import Array
from rftune.fitting.columns import Columns
from rftune.fitting.contenders import JITTER
from rftune.fitting.noise import Replicates
from rftune.fitting.race import Result
from rftune.fitting.surrogate import Surrogate

FEW_PER_INPUT = 10  # runs for every input that make a useful emulator of most functions
LISTED = 10  # names in a sentence
_NOTICED_WIDENING = 1.2
_NO_NOISE = 1e-6  # of an output's variance: less is called none


def on(
    inputs: Columns,
    outputs: Columns,
    surrogate: Surrogate,
    components: Mapping[str, Result],
    known: Array | None,
    found: Replicates,
    blank: Sequence[str],
) -> Iterator[str]:
    """Sentences on the number of runs, the noise, the components and their emulators.

    Parameters
    ----------
    inputs, outputs, surrogate, known, found
    components
        Results by name.
    blank
        Outputs of which nothing was learned.
    """
    n_runs, n_inputs = inputs.values.shape
    if n_runs < FEW_PER_INPUT * n_inputs:
        yield (
            f"{n_runs} runs of {n_inputs} inputs are few: {FEW_PER_INPUT} runs for every input, "
            f"{FEW_PER_INPUT * n_inputs}, are advisable."
        )
    yield from _on_noise(outputs, surrogate, known, found)
    if surrogate.projection.lost_variance.any():
        lost = surrogate.projection.lost_variance.sum() / outputs.values.var(axis=0).sum()
        yield (
            f"{len(outputs.names)} outputs are emulated as {len(components)} components; what these leave out, "
            f"{100 * lost:.2g} % of the variance, is in the error bars."
        )
    if blank:
        yield f"Nothing was learned of {listed(blank)}: left-out runs are predicted no better than by their mean."
    widened = [
        f"{label} ({result.component.widening:.2g} times)"
        for label, result in components.items()
        if result.component.widening >= _NOTICED_WIDENING
    ]
    if widened:
        yield f"Error bars were widened to agree with the errors at left-out runs: {listed(widened)}."


def _on_noise(outputs: Columns, surrogate: Surrogate, known: Array | None, found: Replicates) -> Iterator[str]:
    """What is taken for the noise of the outputs, and whether repeated runs agree."""
    variances, totals = surrogate.output_noise_variances, outputs.values.var(axis=0)
    if len(variances) > LISTED:
        yield f"The noise of all outputs together is {100 * variances.sum() / totals.sum():.2g} % of their variance."
        return
    for output, name in enumerate(outputs.names):
        std, share = np.sqrt(variances[output]), variances[output] / totals[output]
        is_known = known is not None and not np.isnan(known[output]).any()
        if known is not None and is_known:
            if known.ndim == 1 and known[output] == 0.0:
                yield f"{name} is taken to be without noise; a jitter of {JITTER:g} of its variance stands for it."
        elif share < _NO_NOISE:
            yield f"{name} seems to be without noise; a jitter of {share:.1g} of its variance stands for it."
        else:
            yield f"The noise of {name} was learned: a standard deviation of {std:.3g} ({_percent(np.sqrt(share))})."
        if found.say_something:
            spread = np.sqrt(found.variances[output])
            yield f"Repeated runs put it at {spread:.3g}, from {found.degrees} degrees of freedom; {std:.3g} is used."


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def listed(texts: Sequence[str]) -> str:
    """Some of them, and how many more."""
    shown = ", ".join(texts[:LISTED])
    return shown if len(texts) <= LISTED else f"{shown} and {len(texts) - LISTED} more"
