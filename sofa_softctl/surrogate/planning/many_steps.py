"""Steps of the projected dynamics for many robots at once."""

from __future__ import annotations

import numpy as np

from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.planning.dynamics import Dynamics, Steps

ITERATIONS = 15
"""Newton steps at most: from rest, three are enough."""


def step_many(
    dynamics: Dynamics,
    a: np.ndarray,
    now: Jet,
    before: Jet,
    u: np.ndarray,
    *,
    guess: np.ndarray | None = None,
    tolerance: float = 1e-9,
) -> tuple[np.ndarray, Jet, np.ndarray]:
    """An implicit Euler step of m robots, by Newton's method without line search.

    Args:
        dynamics: The projected dynamics, on a map that is smooth.
        a: Coordinates now [-], shape (m, d).
        now: The map at them.
        before: The map a step earlier.
        u: Inputs during the step, shape (m, n_u).
        guess: Coordinates where Newton's method begins [-], shape (m, d); None: a.
        tolerance: Largest defect of a solved step [-], on top of rounding; see `StepResult`.

    Returns:
        Coordinates after it, the map there, and which steps were solved, shape (m,): none is where
        the map has no answer.
    """
    after = np.array(a if guess is None else guess, float)
    ahead = dynamics.embedding.at(after)
    solved = np.zeros(len(a), bool)
    rows = np.flatnonzero(np.isfinite(ahead.value[:, 0]))
    allowed = tolerance * dynamics.unit
    for iteration in range(ITERATIONS + 1):
        here, earlier, there = (_rows(jet, rows) for jet in (now, before, ahead))
        steps = Steps(after[rows], a[rows], u[rows], there, here, earlier)
        size = np.linalg.norm(dynamics.residual(steps), axis=1)
        done = size <= allowed + 8.0 * dynamics.rounding(there, here, earlier)
        solved[rows[done]] = True
        if done.all() or iteration == ITERATIONS:
            break
        left = np.flatnonzero(~done)
        rows = rows[left]
        jets = (_rows(jet, left) for jet in (there, here, earlier))
        found = dynamics.linearise(Steps(after[rows], a[rows], u[rows], *jets))
        change = np.linalg.solve(found.by_next, -found.residual[..., None])[..., 0]
        after[rows] += change
        moved = dynamics.embedding.at(after[rows])
        ahead.value[rows], ahead.gradient[rows] = moved.value, moved.gradient
        rows = rows[np.isfinite(moved.value[:, 0])]
    return after, ahead, solved


def _rows(jet: Jet, rows: np.ndarray) -> Jet:
    """The jet at some of the points, a copy."""
    return Jet(jet.value[rows], jet.gradient[rows])
