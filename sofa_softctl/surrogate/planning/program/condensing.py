"""A planning problem by its inputs alone: its motions are in balance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from sofa_softctl.surrogate.planning.program.curvature import balance_curvature
from sofa_softctl.surrogate.planning.program.linearization import (
    approximate,
    balance_slope,
)
from sofa_softctl.surrogate.planning.program.transcription import PlanningProblem, Trial, evaluate
from sofa_softctl.surrogate.planning.step import simulate

_CORRECTIONS = 6  # Newton steps of a whole motion
_FLAT = 1e-6  # least curvature by the inputs, over the largest


class HardRows:
    """What must not be above zero: excesses of coordinates, and motion at the end if it rests."""

    def __init__(self, problem: PlanningProblem):
        _, a_at = problem.columns
        low, high = (each.ravel() for each in problem.state_bounds)
        self.below, self.above = np.flatnonzero(low > -np.inf), np.flatnonzero(high < np.inf)
        self.low, self.high, self.rest = low[self.below], high[self.above], problem.rest
        eye = scipy.sparse.eye_array(a_at.size, format="csr")
        rows = [-eye[self.below], eye[self.above]]
        if problem.rest:
            last = eye[-problem.d :] - eye[-2 * problem.d : -problem.d]
            rows += [last, -last]
        self.by_a = scipy.sparse.csr_array(scipy.sparse.vstack(rows))
        """Their slopes by all coordinates a_2 … a_K, shape (q, d (K - 1))."""

    def values(self, a: np.ndarray) -> np.ndarray:
        """Excesses of a motion (K, d), negative inside, shape (q,)."""
        each = a[1:].ravel()
        found = [self.low - each[self.below], each[self.above] - self.high]
        if self.rest:
            found += [a[-1] - a[-2], a[-2] - a[-1]]
        return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Condensed:
    """Model of a problem about a motion in balance, by its p = m (K - 1) inputs."""

    gradient: np.ndarray
    """Gradient of the smooth costs [cost], shape (p,)."""
    hessian: np.ndarray
    """Hessian of the Lagrangian along motions in balance [cost], positive definite, (p, p)."""
    a_by_u: np.ndarray
    """Changes of all coordinates by those of inputs, shape (d (K - 1), p)."""
    depth: np.ndarray
    """Depth of points inside margins, negative outside [length], shape (h,)."""
    depth_by_u: np.ndarray
    """Its slope, shape (h, p)."""
    depth_weight: np.ndarray
    """Cost of depth [cost / length], shape (h,)."""


def condense(
    problem: PlanningProblem, trial: Trial, pull: np.ndarray, press: np.ndarray
) -> Condensed | None:
    """Model of a problem about a motion in balance.

    A Hessian's negative curvatures change their sign: a step then leads away from a saddle.

    Args:
        problem: The problem.
        trial: The motion.
        pull: Multipliers of `HardRows` by coordinates [cost], shape (d (K - 1),).
        press: Multipliers of depths [cost / length], shape (h,).

    Returns:
        None where the robot buckles at an instant: inputs do not determine the motion there.

    Source: Nocedal and Wright 2006, section 18.3, of reduced Hessians.
    """
    u_at, a_at = (columns.ravel() for columns in problem.columns)
    model = approximate(problem, trial)
    rows = model.balance[: len(a_at)]
    try:
        factors = scipy.sparse.linalg.splu(rows[:, a_at].tocsc())
    except RuntimeError:  # singular
        return None
    a_by_u = -factors.solve(rows[:, u_at].toarray())
    by_a = model.gradient[a_at] + pull
    if len(press) == len(model.depth):
        by_a += press @ model.depth_slope[:, a_at]
    multipliers = factors.solve(-by_a, trans="T")
    if not (np.isfinite(a_by_u).all() and np.isfinite(multipliers).all()):
        return None
    bent = scipy.sparse.csc_array(model.exact + balance_curvature(problem, trial, multipliers))
    depth = model.depth_slope
    return Condensed(
        gradient=model.gradient[u_at] + model.gradient[a_at] @ a_by_u,
        hessian=_positive(_reduced(bent, u_at, a_at, a_by_u)),
        a_by_u=a_by_u,
        depth=model.depth,
        depth_by_u=depth[:, u_at].toarray() + depth[:, a_at] @ a_by_u,
        depth_weight=model.depth_weight,
    )


def _reduced(
    H: scipy.sparse.csc_array, u_at: np.ndarray, a_at: np.ndarray, a_by_u: np.ndarray
) -> np.ndarray:
    """Z^T H Z with Z = [I; a_by_u], shape (p, p)."""
    by_a = H[:, a_at] @ a_by_u
    mixed = by_a[u_at]
    found: np.ndarray = H[u_at][:, u_at].toarray() + mixed + mixed.T + a_by_u.T @ by_a[a_at]
    return found


def _positive(H: np.ndarray) -> np.ndarray:
    """H with the sizes of its eigenvalues."""
    value, vector = np.linalg.eigh(0.5 * (H + H.T))
    value = np.maximum(np.abs(value), _FLAT * np.abs(value).max(initial=1e-300))
    found: np.ndarray = (vector * value) @ vector.T
    return found


def in_balance(
    problem: PlanningProblem, a: np.ndarray, u: np.ndarray, defect: float
) -> Trial | None:
    """The motion under inputs u, (K - 1, m), near coordinates a, (K, d); None: none was found.

    By Newton's method on all coordinates at once: their slope is block lower triangular.
    """
    _, a_at = problem.columns
    trial = evaluate(problem, a, u)
    for _ in range(_CORRECTIONS):
        if trial.defect <= 0.1 * defect:
            return trial
        rows = balance_slope(problem, trial)[: a_at.size][:, a_at.ravel()]
        try:
            change = scipy.sparse.linalg.splu(rows.tocsc()).solve(trial.lack[: a_at.size])
        except RuntimeError:  # singular
            return None
        a = trial.a.copy()
        a[1:] -= change.reshape(a_at.shape)
        if not np.isfinite(a).all():
            return None
        there = evaluate(problem, a, u)
        if not there.defect < trial.defect:
            break
        trial = there
    return trial if trial.defect <= defect else None


def simulated(problem: PlanningProblem, u: np.ndarray, defect: float) -> Trial | None:
    """The motion under inputs u, (K - 1, m), step by step; None: not all steps have a balance."""
    steps = simulate(problem.dynamics, u, problem.a_first, problem.a_before, tolerance=0.1 * defect)
    return evaluate(problem, steps.a, u) if steps.status.ok else None
