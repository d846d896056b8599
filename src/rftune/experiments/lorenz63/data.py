"""Trajectories of Lorenz 63: noisy training pairs from the first stretch, the truth of all that emulators are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from rftune.analysis import dynamics
from rftune.data import Array, Dataset
from rftune.experiments.protocol import pack_data

N_STATES = 3
# Of the norm of the attractor's standard deviations: the error at which a forecast has lost its skill.
SKILL_THRESHOLD = 0.4


@dataclass(frozen=True)
class Settings:
    """Attributes
    ----------
    sigma, rho, beta
        Parameters of the system.
    time_step, method
        Of the integrator, whose next-step map is what emulators learn.
    start
        State at time 0.
    noise_variance
        Of each training output.
    n_train
        Number of training pairs, drawn from the steps of [0, train_time].
    train_time, test_time, long_time
        Training on [0, train_time]; one-step test and trace on the next test_time; statistics on the next long_time.
    keep_every
        Steps between the kept states of the long trajectories.
    n_starts, horizon_time
        Number and length of the forecasts behind the horizon, from starts on the attractor.
    """

    sigma: float
    rho: float
    beta: float
    time_step: float
    method: dynamics.Method
    start: Sequence[float]
    noise_variance: float
    n_train: int
    train_time: float
    test_time: float
    long_time: float
    keep_every: int
    n_starts: int
    horizon_time: float

    def __post_init__(self) -> None:
        for name in ("train_time", "test_time", "long_time", "horizon_time"):
            time = getattr(self, name)
            if self.n_steps(time) < 1 or abs(self.n_steps(time) * self.time_step - time) > 1e-6 * time:
                raise ValueError(f"{name} must be a whole number of time steps of {self.time_step:g}; got {time:g}")
        if len(self.start) != N_STATES:
            raise ValueError(f"start must have {N_STATES} numbers; got {list(self.start)}")
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

    def n_steps(self, time: float) -> int:
        return round(time / self.time_step)

    def integrator(self) -> dynamics.Step:
        """The true next-step map."""
        tendency = partial(lorenz63, sigma=self.sigma, rho=self.rho, beta=self.beta)
        return dynamics.integrator(tendency, self.time_step, self.method)


def lorenz63(states: Array, sigma: float, rho: float, beta: float) -> Array:
    """Tendency (σ(y - x), x(ρ - z) - y, xy - βz), (n_samples, 3) -> (n_samples, 3)."""
    x, y, z = states.T
    return np.column_stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def shape(settings: Settings) -> tuple[int, int, int]:
    """Numbers of training samples, inputs and outputs."""
    return settings.n_train, N_STATES, N_STATES


def case_name(noise_variance: float) -> str:
    return f"noise{noise_variance:g}"


def is_case(name: str) -> bool:
    """Whether a name is that of a case, of this config or another."""
    try:
        return name == case_name(float(name.removeprefix("noise")))
    except ValueError:
        return False


def cases(block: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Data settings of every case: one per noise level, the lowest first."""
    variances = sorted(block["noise_variances"])
    found = {case_name(v): {**block["data"], "noise_variance": v} for v in variances}
    if len(found) < len(variances):
        raise ValueError(f"noise_variances must differ in their first six digits; got {variances}")
    return found


def make_data(settings: Settings, rng: np.random.Generator) -> xr.Dataset:
    """Training pairs; points and truth of the one-step errors; truth of trace, long statistics and forecasts.

    The prediction points are the states of training and test stretch, and the truth their noise-free successors.
    """
    step = settings.integrator()
    n_train_steps, n_test_steps = settings.n_steps(settings.train_time), settings.n_steps(settings.test_time)
    n_long_steps = settings.n_steps(settings.long_time)
    trajectory = dynamics.iterate(step, np.array([settings.start], dtype=np.float64), n_train_steps + n_long_steps)[0]
    if not np.isfinite(trajectory).all():
        raise ValueError(f"the true trajectory escapes: lower the time step {settings.time_step} or use method rk4")
    rows = np.sort(rng.choice(n_train_steps, size=settings.n_train, replace=False))
    noise = np.sqrt(settings.noise_variance) * rng.standard_normal((settings.n_train, N_STATES))
    n_points = n_train_steps + n_test_steps
    long_truth = trajectory[n_train_steps :: settings.keep_every]
    # from beyond the first quarter, which is past the test stretch at the paper's lengths
    starts = long_truth[rng.choice(np.arange(len(long_truth) // 4, len(long_truth)), settings.n_starts, replace=False)]
    return pack_data(
        Dataset(trajectory[rows], trajectory[rows + 1] + noise),
        settings.noise_variance * np.eye(N_STATES),
        trajectory[:n_points],
        trajectory[1 : n_points + 1],
        is_test=("point", np.arange(n_points) >= n_train_steps),
        trace_truth=(("trace_step", "output"), trajectory[n_train_steps : n_points + 1]),
        long_truth=(("kept", "output"), long_truth),
        starts=(("start", "output"), starts),
        forecast_truth=(
            ("start", "forecast_step", "output"),
            dynamics.iterate(step, starts, settings.n_steps(settings.horizon_time)),
        ),
        time_step=((), settings.time_step),
        keep_every=((), settings.keep_every),
    )
