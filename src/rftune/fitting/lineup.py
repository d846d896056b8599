"""The contenders by name, in the order of preference, with sizes that suit the data and the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from rftune.fitting.contenders import Contender
from rftune.fitting.gaussian_processes import ExactGP
from rftune.fitting.least_squares import LeastSquares
from rftune.fitting.random_features import TunedFeatures, suited

_LEAST_TUNED = 200  # runs from which hyperparameters are found, whatever the budget
_SHARE_OF_ONE = 0.12  # of a component's budget, that one Gaussian process may take

# Among those that are level the first wins: smooth before rough, processes before features.
_CONTENDERS: tuple[Contender, ...] = (
    LeastSquares("constant", "the mean of the runs", 0),
    LeastSquares("quadratic", "a quadratic by least squares", 2),
    ExactGP("anova", "a Gaussian process, ANOVA kernel, smooth", "anova", "squared_exponential"),
    ExactGP("ard", "a Gaussian process, ARD kernel, smooth", "ard", "squared_exponential"),
    ExactGP("anova_rough", "a Gaussian process, ANOVA kernel, Matérn-5/2", "anova", "matern52"),
    ExactGP("ard_rough", "a Gaussian process, ARD kernel, Matérn-5/2", "ard", "matern52"),
    TunedFeatures(
        "sparse", "random features of a few inputs each", suited("sparse"), pool=4000, n_members=60, n_iterations=12
    ),
    TunedFeatures("lowrank", "random features along shared directions", suited("lowrank")),
    TunedFeatures("subspace", "random features in a subspace", suited("subspace")),
)
CONTENDERS: Mapping[str, Contender] = {contender.name: contender for contender in _CONTENDERS}


def line_up(names: Sequence[str] | None, n_samples: int, n_inputs: int, budget: float) -> list[Contender]:
    """Who takes part.

    Parameters
    ----------
    names
        Of contenders; None for all.
    n_samples, n_inputs
    budget
        Estimated seconds for one component.
    """
    unknown = next((name for name in names or () if name not in CONTENDERS), None)
    if unknown is not None:
        near = get_close_matches(str(unknown), CONTENDERS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"emulators must be among {', '.join(CONTENDERS)}; got {unknown!r}{hint}")
    if names is not None and not names:
        raise ValueError(f"at least one emulator must take part, of {', '.join(CONTENDERS)}; got none")
    chosen = [contender for name, contender in CONTENDERS.items() if names is None or name in names]
    return [_sized(contender, n_samples, n_inputs, budget) for contender in chosen]


def _sized(contender: Contender, n_samples: int, n_inputs: int, budget: float) -> Contender:
    """With as many runs for the hyperparameters as the budget allows."""
    if not isinstance(contender, ExactGP):
        return contender
    n_tune, sized = n_samples, contender
    while n_tune > _LEAST_TUNED and sized.seconds(n_samples, n_inputs) > _SHARE_OF_ONE * budget:
        n_tune = max(_LEAST_TUNED, int(0.9 * n_tune))
        sized = replace(contender, n_tune=n_tune)
    return sized
