"""Posterior sampling with emcee.

`sample` runs all walkers side by side, one vectorised density call per step, in blocks. Block b draws from its own
generator and its result depends on nothing else that is random, so a chain resumed from its checkpoint has the same
digits as an undisturbed one. Steps are counted over all walkers, as the paper's are.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import emcee
import numpy as np
import xarray as xr
from arviz_stats.base import array_stats
from numpy.random import Generator
from scipy.stats import norm

from rftune import storage
from rftune.data import Array, as_matrix
from rftune.inference import proposals
from rftune.inference.settings import SamplingSettings

LogDensity = Callable[[Array], Array]  # (n_points, n_parameters) -> (n_points,); -inf outside the support
Progress = Callable[[str, int, int], None]  # phase ("burn-in" or "sampling"), its steps so far, its steps at most

_ACCEPTANCE_BAND = 0.2  # burn-in does not end while the acceptance is further than this share from the one aimed at
_BURN_IN_RHAT = 1.05
_LARGEST_RESCALING = 4.0  # of the proposal's standard deviation, in one block
_REGULARISATION = 1e-10  # share of the start's covariance in the proposal's
_ARCHIVE = 1000  # points of the burn-in that jumps are drawn around
# Writing a checkpoint takes some 30 ms: rare ones cost nothing, and no more than this and a block is lost.
_SECONDS_BETWEEN_CHECKPOINTS = 5.0


@dataclass(frozen=True, eq=False)
class Chain:
    """What is kept of a run.

    Attributes
    ----------
    samples : (n_steps_per_walker, n_walkers, n_parameters)
    log_density : (n_steps_per_walker, n_walkers)
    burn_in
        Steps spent before the kept ones, over all walkers.
    acceptance
        Share of accepted proposals among the kept steps, jumps not counted.
    jump_acceptance
        The same of the jumps; NaN without any.
    n_undefined
        How often the density was NaN, burn-in included.
    proposal_covariance : (n_parameters, n_parameters)
        Of the Metropolis proposal of the kept steps; NaN for ensemble moves.
    """

    samples: Array
    log_density: Array
    burn_in: int
    acceptance: float
    jump_acceptance: float
    n_undefined: int
    proposal_covariance: Array


@dataclass(frozen=True, eq=False)
class _State:
    """A run between two blocks.

    Attributes
    ----------
    samples : (1 + n_steps_per_walker, n_walkers, n_parameters)
        Of the current phase; the first row is where the phase began.
    log_density : (1 + n_steps_per_walker, n_walkers)
    shape, scale
        The Metropolis proposal's covariance is scale² shape, shape (n_parameters, n_parameters).
    archive : (n_points, n_parameters)
        Points of the recent burn-in that jumps are drawn around.
    block
        Number of blocks so far, in both phases.
    burn_in
        Steps of burn-in, over all walkers; -1 while it lasts.
    n_undefined
        NaN densities so far.
    """

    samples: Array
    log_density: Array
    shape: Array
    scale: float
    archive: Array
    block: int = 0
    burn_in: int = -1
    n_undefined: int = 0

    @property
    def n_steps(self) -> int:
        """Steps of the phase, over all walkers."""
        return (len(self.samples) - 1) * int(self.samples.shape[1])

    @property
    def recent(self) -> Array:
        """The later half of the phase's samples."""
        return self.samples[len(self.samples) // 2 :]


def sample(
    log_density: LogDensity,
    start: Any,
    settings: SamplingSettings,
    rng_of_block: Callable[[int], Generator],
    *,
    checkpoint: Path | None = None,
    key: str = "",
    progress: Progress | None = None,
) -> Chain:
    """Run burn-in, then the kept steps, or go on where an earlier run was interrupted.

    Parameters
    ----------
    log_density
        Vectorised, up to a constant. NaN counts as -inf.
    start : (n_walkers, n_parameters)
        Positions of the walkers, such as draws from the prior; their covariance is the first proposal's shape. Walkers
        of zero density are put where the others are, in turn; those must span the space.
    settings
    rng_of_block
        Generator of each block, the same whenever it is asked for:
        ``lambda block: rng_for(seed, *labels, "sample", block)``.
    checkpoint
        File of the run's state, rewritten every few seconds and at the end; the caller deletes it once the result is
        stored. One that is unreadable or of another key, settings, start or generator is ignored and replaced.
    key
        Names what else the chain depends on, above all the density.
    progress
        Called after every block.
    """
    start = _checked_start(start, settings)
    identity = _identity(key, settings, start, rng_of_block)
    density = _Counted(log_density)
    state = _resumed(checkpoint, identity) or _first_state(density, start, settings)
    saved_at = time.monotonic()
    while True:
        state = _prepared(state, settings, start)
        n_next = settings.block if state.burn_in < 0 else min(settings.block, settings.n_steps - state.n_steps)
        if n_next <= 0:
            break
        state = _advanced(density, state, n_next, settings, rng_of_block(state.block))
        if checkpoint is not None and time.monotonic() - saved_at >= _SECONDS_BETWEEN_CHECKPOINTS:
            _save(state, checkpoint, identity)
            saved_at = time.monotonic()
        if progress is not None:
            phase, most = ("burn-in", settings.max_burn_in) if state.burn_in < 0 else ("sampling", settings.n_steps)
            progress(phase, state.n_steps, most)
    if checkpoint is not None:
        _save(state, checkpoint, identity)
    return Chain(
        samples=state.samples[1:],
        log_density=state.log_density[1:],
        burn_in=state.burn_in,
        acceptance=_acceptance(state.samples, settings),
        jump_acceptance=_acceptance(state.samples, settings, of_jumps=True),
        n_undefined=state.n_undefined,
        proposal_covariance=state.scale**2 * state.shape,
    )


class _Counted:
    """A log density whose NaNs are -inf and counted, and whose shape is checked."""

    def __init__(self, log_density: LogDensity) -> None:
        self.log_density = log_density
        self.n_undefined = 0

    def __call__(self, points: Array) -> Array:
        values = np.array(self.log_density(points), dtype=np.float64)
        if values.shape != (len(points),):
            raise ValueError(
                f"log_density must map (n_points, n_parameters) to (n_points,); it made {values.shape} of "
                f"{points.shape}: vectorise it over the rows"
            )
        if (values == np.inf).any():
            raise ValueError(f"log_density must be below inf; it is inf at {points[values == np.inf][0]}")
        undefined = np.isnan(values)
        self.n_undefined += int(np.count_nonzero(undefined))
        values[undefined] = -np.inf
        return values


def _checked_start(start: Any, settings: SamplingSettings) -> Array:
    """The start as (n_walkers, n_parameters), or what is wrong with its shape."""
    checked = as_matrix("start", start)
    n_walkers, n_parameters = checked.shape
    least = settings.least_walkers(n_parameters)
    if n_walkers != settings.n_walkers or n_walkers < least:
        raise ValueError(
            f"start must be (n_walkers, n_parameters), n_walkers = {settings.n_walkers} as in the settings and at "
            f"least {least} for {n_parameters} parameters with move {settings.move!r}; got shape {checked.shape}"
        )
    return checked


def _first_state(density: _Counted, start: Array, settings: SamplingSettings) -> _State:
    """All walkers at positions of positive density, which must span the space."""
    log_density = density(start)
    positive = np.isfinite(log_density)
    if not positive.any() or not emcee.ensemble.walkers_independent(start[positive]):
        raise ValueError(
            f"the walkers of positive density must span the parameter space; log_density is finite at "
            f"{np.count_nonzero(positive)} of {len(start)} rows of start, which are too few or lie in a plane "
            f"(condition number above 1e8): check log_density there, start closer to the posterior, spread the walkers"
        )
    taken = np.arange(len(start))
    taken[~positive] = np.resize(taken[positive], np.count_nonzero(~positive))
    shape = np.atleast_2d(np.cov(start.T))
    return _State(
        samples=start[taken][None],
        log_density=log_density[taken][None],
        shape=shape if settings.adapts else np.full(shape.shape, np.nan),
        scale=2.38 / np.sqrt(len(shape)),
        archive=start[taken],
        n_undefined=density.n_undefined,
    )


def _prepared(state: _State, settings: SamplingSettings, start: Array) -> _State:
    """Between blocks of the burn-in: adapt the proposal, and begin the kept steps once the burn-in has ended."""
    if state.burn_in >= 0:
        return state
    ended = _settled(state, settings) or state.n_steps >= settings.max_burn_in
    if settings.adapts and state.block > 0:
        state = _adapted(state, settings, start)
    if not ended:
        return state
    return replace(state, samples=state.samples[-1:], log_density=state.log_density[-1:], burn_in=state.n_steps)


def _settled(state: _State, settings: SamplingSettings) -> bool:
    """Whether the recent half of the burn-in looks like one distribution, proposed to at the right rate."""
    if state.n_steps < max(settings.min_burn_in, 1):
        return False
    if settings.adapts and abs(_last_acceptance(state, settings) / settings.acceptance - 1) > _ACCEPTANCE_BAND:
        return False
    with np.errstate(divide="ignore", invalid="ignore"):  # walkers that never moved have no variance
        rhat = array_stats.rhat(state.recent, chain_axis=1, draw_axis=0, method="split")
    return bool((rhat < _BURN_IN_RHAT).all())


def _acceptance(samples: Array, settings: SamplingSettings, *, of_jumps: bool = False, n_last: int = 0) -> float:
    """Share of steps that moved their walker, among the last ones (0: all) that are jumps or are not; NaN for none."""
    steps = np.arange(1, len(samples))
    jumps = proposals.is_jump(steps, settings.jump_every if settings.adapts else 0)
    chosen = (jumps == of_jumps) & (steps > (len(steps) - n_last if n_last else 0))
    moved = (samples[1:][chosen] != samples[:-1][chosen]).any(axis=2)
    return float(moved.mean()) if moved.size else float("nan")


def _last_acceptance(state: _State, settings: SamplingSettings) -> float:
    """Acceptance of the last block of the burn-in."""
    return _acceptance(state.samples, settings, n_last=settings.rounds(settings.block))


def _adapted(state: _State, settings: SamplingSettings, start: Array) -> _State:
    """A proposal with the recent samples' shape and a scale that brings the acceptance nearer to its aim.

    A Gaussian target in many dimensions accepts a share 2 Φ(-c scale) (Roberts, Gelman & Gilks 1997); the last block
    determines c.
    """
    recent, (n_walkers, n_parameters) = state.recent, start.shape
    shape = np.cov(recent.reshape(-1, n_parameters).T) + _REGULARISATION * np.cov(start.T)
    # all walkers at some steps: every n-th sample could be one walker's for long
    rows = np.linspace(0, len(recent) - 1, min(len(recent), max(1, _ARCHIVE // n_walkers))).astype(int)
    archive = recent[rows].reshape(-1, n_parameters)
    seen = np.clip(_last_acceptance(state, settings), 1e-6, 1 - 1e-6)
    factor = norm.ppf(settings.acceptance / 2) / norm.ppf(seen / 2)
    scale = state.scale * float(np.clip(factor, 1 / _LARGEST_RESCALING, _LARGEST_RESCALING))
    return replace(state, shape=np.atleast_2d(shape), scale=scale, archive=archive)


def _advanced(density: _Counted, state: _State, n_steps: int, settings: SamplingSettings, rng: Generator) -> _State:
    """The state after a block of n_steps over all walkers."""
    _, n_walkers, n_parameters = state.samples.shape
    density.n_undefined = state.n_undefined
    sampler = emcee.EnsembleSampler(n_walkers, n_parameters, density, moves=_move(state, settings), vectorize=True)
    words = rng.integers(0, 2**32, size=624, dtype=np.uint32)  # the whole state of emcee's Mersenne twister
    position = emcee.State(state.samples[-1], state.log_density[-1], random_state=("MT19937", words, 624))
    sampler.run_mcmc(position, settings.rounds(n_steps), skip_initial_state_check=True)
    return replace(
        state,
        samples=np.concatenate([state.samples, sampler.get_chain()]),
        log_density=np.concatenate([state.log_density, sampler.get_log_prob()]),
        block=state.block + 1,
        n_undefined=density.n_undefined,
    )


def _move(state: _State, settings: SamplingSettings) -> emcee.moves.Move:
    if settings.move == "stretch":
        return emcee.moves.StretchMove()
    if settings.move == "differential_evolution":
        return emcee.moves.DEMove()
    jump_every = settings.jump_every if state.block > 0 else 0  # in the first block nothing is known
    return proposals.metropolis(state.shape, state.scale, state.archive, jump_every, first_step=len(state.samples))


def _identity(key: str, settings: SamplingSettings, start: Array, rng_of_block: Callable[[int], Generator]) -> str:
    """What a checkpoint must carry to be resumed: the caller's key and a digest of everything else that is known."""
    digest = hashlib.sha256(repr(settings).encode() + repr(start.shape).encode() + start.tobytes())
    digest.update(rng_of_block(0).bytes(16))
    return f"{key} {digest.hexdigest()}"


_DIMENSIONS = {
    "samples": ("step", "walker", "parameter"),
    "log_density": ("step", "walker"),
    "shape": ("row", "column"),
    "archive": ("point", "parameter"),
}


def _save(state: _State, path: Path, identity: str) -> None:
    """Write arrays as variables, numbers as attributes."""
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    arrays = {name: (dimensions, values.pop(name)) for name, dimensions in _DIMENSIONS.items()}
    with storage.atomic_path(path) as temporary:
        xr.Dataset(arrays, attrs={"key": identity, **values}).to_netcdf(temporary, engine="h5netcdf")


def _resumed(path: Path | None, identity: str) -> _State | None:
    """The state in a checkpoint; None when there is none, or one that cannot be read or belongs to another run."""
    if path is None or not path.exists():
        return None
    try:
        saved = xr.load_dataset(path, engine="h5netcdf")
    except (OSError, RuntimeError, ValueError, KeyError):
        return None
    if saved.attrs.get("key") != identity:
        return None
    values: dict[str, Any] = {name: saved[name].to_numpy() for name in _DIMENSIONS}
    numbers = {name: value.item() for name, value in saved.attrs.items() if name != "key"}
    return _State(**values, **numbers)
