"""Settings of Markov chains; apart from `mcmc`, so that who only looks at them does not wait for its imports."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from rftune.settings import Field, Settings


class SamplingSettings(Settings):
    """How long and with which moves to sample. Numbers of steps are over all walkers.

    Burn-in ends between ``min_burn_in`` and ``max_burn_in``, when split R-hat over its recent half is below 1.05 and,
    for Metropolis, the last block's acceptance is within 20 % of the one aimed at.
    """

    move: Literal["metropolis", "stretch", "differential_evolution"] = Field(
        "metropolis",
        description="random-walk Metropolis with a Gaussian proposal learned during burn-in (the paper), or one of "
        "emcee's ensemble moves, in which walkers propose along their differences",
    )
    n_walkers: int = Field(
        20,
        ge=2,
        le=10_000,
        description="chains, above the number of parameters; for ensemble moves at least twice that",
    )
    n_steps: int = Field(
        100_000, ge=1, le=100_000_000, description="kept steps, rounded up to the same number for each walker"
    )
    min_burn_in: int = Field(
        20_000, ge=0, le=100_000_000, description="least steps before them, rounded up to whole blocks"
    )
    max_burn_in: int = Field(200_000, ge=0, le=100_000_000, description="most steps before them")
    block: int = Field(4_000, ge=1, description="steps between adaptations and checkpoints, at least 10 of each walker")
    acceptance: float = Field(0.25, gt=0, lt=1, description="share of accepted random-walk proposals aimed at")
    jump_every: int = Field(
        0,
        ge=0,
        description="steps of which the last is a jump, a proposal that is drawn from a kernel density estimate of the "
        "burn-in wherever the walker is; 0 for a random walk alone (the paper)",
    )
    max_rhat: float = Field(1.01, gt=1, description="largest R-hat of a converged chain")
    min_ess: float = Field(1000.0, gt=0, description="smallest bulk or tail effective sample size of a converged chain")

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if self.jump_every == 1:
            raise ValueError(
                "jump_every must be 0, for no jumps, or at least 2, which leaves steps to the random walk; got 1"
            )
        if self.jump_every and self.adapts and self.max_burn_in == 0:
            raise ValueError("jumps are drawn from the burn-in: with max_burn_in 0 set jump_every to 0")
        if self.block < 10 * self.n_walkers:
            raise ValueError(f"block must be at least 10 steps of each of {self.n_walkers} walkers; got {self.block}")
        if self.max_burn_in < self.min_burn_in:
            raise ValueError(f"max_burn_in must be at least min_burn_in {self.min_burn_in}; got {self.max_burn_in}")
        return self

    @property
    def adapts(self) -> bool:
        """Whether the move has a proposal to adapt."""
        return self.move == "metropolis"

    def least_walkers(self, n_parameters: int) -> int:
        """The fewest that span the space; an ensemble move proposes with half of them."""
        return n_parameters + 1 if self.adapts else 2 * n_parameters

    def rounds(self, n_steps: int) -> int:
        """Steps of each walker that make at least n_steps over all."""
        return -(-n_steps // self.n_walkers)
