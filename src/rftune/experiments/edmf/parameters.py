"""Bounded parameters with a prior: normal of unit variance in the logit of their place between the bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from rftune.data import Array, as_matrix

# Of the suite's own simulator, in its order.
SIMULATED = ("entrainment_factor", "detrainment_factor", "tke_ed_coeff", "tke_diss_coeff", "static_stab_coeff")


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters of a simulator, in a fixed order.

    Unconstrained coordinates are u = logit((θ - low)/(high - low)), with prior N(logit of the prior mean, I): the
    prior mean is a physical value, which the prior's mean in u is mapped to.

    Attributes
    ----------
    names
    bounds : (n_parameters, 2)
        Low and high.
    prior_mean : (n_parameters,)
        Physical.
    """

    names: tuple[str, ...]
    bounds: Array
    prior_mean: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", as_matrix("bounds", self.bounds, n_columns=2))
        for name, (low, high), mean in zip(self.names, self.bounds, self.prior_mean, strict=True):
            if not low < mean < high:
                raise ValueError(
                    f"the prior mean of {name} must lie between its bounds {low:g}, {high:g}; got {mean:g}"
                )

    @property
    def unconstrained_mean(self) -> Array:
        """Mean of the prior in unconstrained coordinates, (n_parameters,); its standard deviations are one."""
        mean: Array = self.unconstrain(self.prior_mean[None])[0]
        return mean

    def constrain(self, unconstrained: Array) -> Array:
        """Physical values within the bounds, (n, n_parameters)."""
        low, high = self.bounds.T
        values: Array = low + (high - low) * expit(unconstrained)
        return values

    def unconstrain(self, physical: Array) -> Array:
        """Inverse of `constrain`; an error that names a value outside its bounds."""
        low, high = self.bounds.T
        outside = ~((physical > low) & (physical < high))
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise ValueError(
                f"{self.names[column]} must lie strictly between its bounds {low[column]:g} and {high[column]:g}; got "
                f"{physical[row, column]:g} in row {row}: correct the bounds in the config or remove the run"
            )
        values: Array = logit((physical - low) / (high - low))
        return values

    def log_prior(self, unconstrained: Array) -> Array:
        """Log density of the prior in unconstrained coordinates up to its constant, (n,)."""
        deviations: Array = unconstrained - self.unconstrained_mean
        values: Array = -0.5 * np.sum(deviations**2, axis=1)
        return values
