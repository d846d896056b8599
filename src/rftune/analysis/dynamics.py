"""Discrete dynamics: integrators, trajectories of any next-step map, and what is asked of them.

A *step* is a callable (n_trajectories, n_states) -> (n_trajectories, n_states); truth and emulators go the same road.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from rftune.data import Array, as_matrix

Step = Callable[[Array], Array]
Tendency = Callable[[Array], Array]
Method = Literal["euler", "rk4"]

# Beyond this size of any state a trajectory has left for good.
ESCAPED = 1000.0
# Share of the attractor's scale within which a trajectory repeats itself.
CAPTURED = 0.02


def integrator(tendency: Tendency, time_step: float, method: Method = "euler") -> Step:
    """The step of an explicit one-step method for du/dt = tendency(u)."""
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}; got {method!r}")
    if not 0 < time_step < np.inf:
        raise ValueError(f"time_step must be finite and positive; got {time_step}")

    def euler(states: Array) -> Array:
        return states + time_step * tendency(states)

    def rk4(states: Array) -> Array:
        k1 = tendency(states)
        k2 = tendency(states + 0.5 * time_step * k1)
        k3 = tendency(states + 0.5 * time_step * k2)
        k4 = tendency(states + time_step * k3)
        return states + time_step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

    return euler if method == "euler" else rk4


def iterate(step: Step, starts: Array, n_steps: int, limit: float = ESCAPED) -> Array:
    """Trajectories from every start, (n_trajectories, n_steps + 1, n_states); entry 0 is the start.

    A trajectory that is not finite or beyond the limit in any state is stopped there: NaN from that step on. Once all
    have stopped, nothing is evaluated any more.
    """
    current = np.array(as_matrix("starts", starts))
    trajectories = np.full((len(current), n_steps + 1, current.shape[1]), np.nan)
    trajectories[:, 0] = current
    alive = np.ones(len(current), dtype=bool)
    for n in range(1, n_steps + 1):
        current = step(current)
        inside = (np.abs(current) <= limit).all(axis=1)  # False for NaN
        if not inside.all():
            alive[alive] = inside
            current = current[inside]
            if not alive.any():
                break
        trajectories[alive, n] = current
    return trajectories


class Departure(NamedTuple):
    """When and why a trajectory left the attractor: "" and NaN where it stayed."""

    reason: str
    time: float


def departure(
    trajectory: Array, time_step: float, scales: Array, window: float = 20.0, period: float = 5.0
) -> Departure:
    """Whether a trajectory escaped, or ended in a fixed point or a short cycle, and from which time on.

    It has been caught in a cycle when every state of the window lies, to `CAPTURED` of the attractor's scale, on the
    path that the trajectory took one period before, between two of its states. A chaotic orbit cannot follow its own
    past for long: a distance grows by exp(λ·window) within the window, λ the Lyapunov exponent.

    Parameters
    ----------
    trajectory : (n_steps + 1, n_states)
        Of `iterate`: NaN after an escape.
    time_step
    scales : (n_states,)
        The attractor's standard deviations.
    window
        Time at the end that is examined, at most half of the trajectory.
    period
        Longest cycle that counts as short.
    """
    escaped = ~np.isfinite(trajectory).all(axis=1)
    if escaped.any():
        return Departure("escaped", float(np.argmax(escaped)) * time_step)
    scaled = trajectory / scales
    n_window = min(round(window / time_step), (len(scaled) - 1) // 2)
    moves = np.ptp(scaled[-n_window:], axis=0).max() > CAPTURED
    for lag in range(1, min(round(period / time_step), n_window) + 1) if moves else [1]:
        if _distance_to_path(scaled[-lag - 3 :], lag)[-1] > CAPTURED:
            continue  # one comparison rules out nearly every lag
        distance = _distance_to_path(scaled, lag)
        # Slow motion is close to its own immediate past: a cycle has been away in between.
        excursion = np.linalg.norm(scaled[-lag - 1 :] - scaled[-1], axis=1).max()
        if distance[-n_window:].max() <= CAPTURED and (not moves or excursion > 2 * CAPTURED):
            apart = np.flatnonzero(distance > CAPTURED)
            since = apart[-1] + 1 if len(apart) else 0
            return Departure("cycle" if moves else "fixed point", float(since) * time_step)
    return Departure("", np.nan)


def _distance_to_path(states: Array, lag: int) -> Array:
    """Distance of each state, from the second on that has one, to the segment between the two states before it by lag.

    Entry n is that of state n + 1 + lag to the segment from state n to state n + 1.
    """
    first, second, point = states[: -1 - lag], states[1:-lag], states[1 + lag :]
    along = second - first
    squared = np.einsum("ij,ij->i", along, along)
    share = np.einsum("ij,ij->i", point - first, along) / np.where(squared > 0, squared, 1.0)
    nearest = first + np.clip(share, 0.0, 1.0)[:, None] * along
    return np.asarray(np.linalg.norm(point - nearest, axis=1))


def horizons(predicted: Array, truth: Array, threshold: float, time_step: float) -> Array:
    """First time at which the error's norm exceeds the threshold, (n_trajectories,); the length where it never does.

    Parameters
    ----------
    predicted, truth : (n_trajectories, n_steps + 1, n_states)
        From the same starts; a stopped prediction (NaN) is in error.
    """
    with np.errstate(invalid="ignore"):
        good = np.linalg.norm(predicted - truth, axis=2) <= threshold
    good[:, -1] = False
    return np.asarray(np.argmin(good, axis=1) * time_step)


def lyapunov_exponent(step: Step, start: Array, n_steps: int, time_step: float, distance: float = 1e-7) -> float:
    """Largest Lyapunov exponent: mean growth rate of a small distance that is renormalised after every step.

    Parameters
    ----------
    start : (n_states,)
        On the attractor; a tenth of the steps lets the separation turn to the fastest growing direction.
    """
    pair = np.stack([start, start + distance / np.sqrt(len(start))])
    growth, n_aligning = 0.0, n_steps // 10
    for n in range(n_aligning + n_steps):
        pair = step(pair)
        separation = pair[1] - pair[0]
        ratio = float(np.linalg.norm(separation)) / distance
        pair[1] = pair[0] + separation / ratio
        growth += np.log(ratio) if n >= n_aligning else 0.0
    return growth / (n_steps * time_step)
