"""Trajectories of Lorenz 63: noisy training pairs from the first stretch, the truth of all that emulators are asked."""

from __future__ import annotations

from functools import partial
from typing import Self

import numpy as np
import xarray as xr
from pydantic import model_validator

from rftune import memory
from rftune.analysis import dynamics
from rftune.data import Array, Dataset
from rftune.experiments.base import DataSettings
from rftune.experiments.protocol import pack_data
from rftune.settings import Coefficient, Field, Variance

N_STATES = 3
MAX_STEPS = 10_000_000  # of a stretch: a trajectory of 240 MB
# Of the norm of the attractor's standard deviations: the error at which a forecast has lost its skill.
SKILL_THRESHOLD = 0.4


class Lorenz63Data(DataSettings):
    """Pairs of successive states.

    Training is on [0, train_time]; one-step test and trace on the next test_time; statistics on the next long_time.
    """

    sigma: Coefficient = Field(description="σ of the system")
    rho: Coefficient = Field(description="ρ of the system")
    beta: Coefficient = Field(description="β of the system")
    time_step: float = Field(
        ge=1e-6, le=1e3, description="of the integrator, whose next-step map is what emulators learn"
    )
    method: dynamics.Method = Field(description="integrator of the truth")
    start: tuple[Coefficient, Coefficient, Coefficient] = Field(description="state at time 0")
    noise_variance: Variance = Field(1e-4, description="variance of the training noise; every case has its own")
    n_train: int = Field(ge=1, description="number of training pairs")
    train_time: float = Field(gt=0, le=1e9, description="training pairs are drawn from 0 to here")
    test_time: float = Field(gt=0, le=1e9, description="length of the test stretch after it")
    long_time: float = Field(gt=0, le=1e9, description="length of the trajectory behind the statistics")
    keep_every: int = Field(ge=1, description="steps between its kept states")
    n_starts: int = Field(ge=1, description="forecasts behind the horizon, from starts on the attractor")
    horizon_time: float = Field(gt=0, le=1e9, description="their length")

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        for name in ("train_time", "test_time", "long_time", "horizon_time"):
            time = getattr(self, name)
            if self.n_steps(time) < 1 or abs(self.n_steps(time) * self.time_step - time) > 1e-6 * time:
                raise ValueError(f"{name} must be a whole number of time steps of {self.time_step:g}; got {time:g}")
            if self.n_steps(time) > MAX_STEPS:
                raise ValueError(
                    f"{name} must be at most {MAX_STEPS} time steps; got {time:g}, {self.n_steps(time)} steps of "
                    f"{self.time_step:g}"
                )
        if not 1 <= self.n_train <= self.n_steps(self.train_time):
            steps = self.n_steps(self.train_time)
            raise ValueError(f"n_train must be between 1 and the {steps} steps of train_time; got {self.n_train}")
        if self.test_time > self.long_time:
            raise ValueError(f"test_time must be at most long_time; got {self.test_time} and {self.long_time}")
        if self.n_steps(self.long_time) // self.keep_every < 2 * self.n_starts:
            raise ValueError(
                f"{self.n_starts} starts are too many for a long trajectory of {self.n_steps(self.long_time)} steps of "
                f"which every {self.keep_every}th is kept: lower n_starts or keep_every, or raise long_time"
            )
        n_forecast = self.n_starts * self.n_steps(self.horizon_time)
        memory.check(N_STATES * n_forecast, "the forecasts", "lower n_starts or horizon_time")
        return self

    def n_steps(self, time: float) -> int:
        return round(time / self.time_step)

    def integrator(self) -> dynamics.Step:
        """The true next-step map."""
        tendency = partial(lorenz63, sigma=self.sigma, rho=self.rho, beta=self.beta)
        return dynamics.integrator(tendency, self.time_step, self.method)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.n_train, N_STATES, N_STATES

    def make(self, rng: np.random.Generator) -> xr.Dataset:
        """Training pairs; points and truth of the one-step errors; truth of trace, long statistics and forecasts.

        The prediction points are the states of training and test stretch, and the truth their noise-free successors.
        """
        step = self.integrator()
        n_train_steps, n_test_steps = self.n_steps(self.train_time), self.n_steps(self.test_time)
        n_long_steps = self.n_steps(self.long_time)
        trajectory = dynamics.iterate(step, np.array([self.start], dtype=np.float64), n_train_steps + n_long_steps)[0]
        if not np.isfinite(trajectory).all():
            raise ValueError(f"the true trajectory escapes: lower the time step {self.time_step} or use method rk4")
        rows = np.sort(rng.choice(n_train_steps, size=self.n_train, replace=False))
        noise = np.sqrt(self.noise_variance) * rng.standard_normal((self.n_train, N_STATES))
        n_points = n_train_steps + n_test_steps
        long_truth = trajectory[n_train_steps :: self.keep_every]
        # from beyond the first quarter, which is past the test stretch at the paper's lengths
        starts = long_truth[rng.choice(np.arange(len(long_truth) // 4, len(long_truth)), self.n_starts, replace=False)]
        return pack_data(
            Dataset(trajectory[rows], trajectory[rows + 1] + noise),
            self.noise_variance * np.eye(N_STATES),
            trajectory[:n_points],
            trajectory[1 : n_points + 1],
            is_test=("point", np.arange(n_points) >= n_train_steps),
            trace_truth=(("trace_step", "output"), trajectory[n_train_steps : n_points + 1]),
            long_truth=(("kept", "output"), long_truth),
            starts=(("start", "output"), starts),
            forecast_truth=(
                ("start", "forecast_step", "output"),
                dynamics.iterate(step, starts, self.n_steps(self.horizon_time)),
            ),
            time_step=((), self.time_step),
            keep_every=((), self.keep_every),
        )


def lorenz63(states: Array, sigma: float, rho: float, beta: float) -> Array:
    """Tendency (σ(y - x), x(ρ - z) - y, xy - βz), (n_samples, 3) -> (n_samples, 3)."""
    x, y, z = states.T
    return np.column_stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])
