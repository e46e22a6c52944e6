"""A planning problem by its independent variables alone: its motions are in balance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from sofa_softctl.surrogate.program.linearization import (
    approximate,
    balance_slope,
)
from sofa_softctl.surrogate.program.transcription import PlanningProblem, Trial, evaluate
from softctl_swimmer.planning.curvature import balance_curvature

_CORRECTIONS = 8  # Newton steps of a whole motion
_FLAT = 1e-10  # least curvature that is kept, over the largest
_BENT = 1e-6  # curvature in place of a negative one, over the largest


class Variables:
    """Which variables u_1, a_2, u_2, a_3, … are independent, and the limits of all.

    The p independent ones are the inputs, or as many coordinates in their place; the balance of the
    steps determines the d (K - 1) others.
    """

    def __init__(self, problem: PlanningProblem, coordinates: tuple[int, ...] | None):
        u_at, a_at = problem.columns
        self.u_at, self.a_at = u_at, a_at
        free = u_at if coordinates is None else a_at[:, list(coordinates)]
        if free.shape != u_at.shape:
            raise ValueError(
                f"independent must be as many coordinates as there are inputs, {problem.m}. Got: "
                f"{coordinates}"
            )
        self.count = u_at.size + a_at.size
        self.free = free.ravel()
        self.others = np.setdiff1d(np.arange(self.count), self.free)
        self.low, self.high = (
            np.concatenate(each, axis=1).ravel()
            for each in zip(problem.input_bounds, problem.state_bounds, strict=True)
        )
        self.rows, self.most = self._rows(problem)
        """Rows R and their limits: R v <= most where a motion can be executed, (q, n) and (q,)."""

    def of(self, trial: Trial) -> np.ndarray:
        """All variables of a motion, shape (n,)."""
        return np.concatenate((trial.u, trial.a[1:]), axis=1).ravel()

    def excess(self, trial: Trial) -> np.ndarray:
        """R v - most, shape (q,)."""
        found: np.ndarray = self.rows @ self.of(trial) - self.most
        return found

    def moved(self, problem: PlanningProblem, trial: Trial, x: np.ndarray) -> Trial:
        """A motion changed by x, shape (n,)."""
        a = trial.a.copy()
        a[1:] += x[self.a_at]
        return evaluate(problem, a, trial.u + x[self.u_at])

    def _rows(self, problem: PlanningProblem) -> tuple[scipy.sparse.csr_array, np.ndarray]:
        """Limits of the others, of rates, and rest at the end."""
        eye = scipy.sparse.eye_array(self.count, format="csr")
        below = self.others[self.low[self.others] > -np.inf]
        above = self.others[self.high[self.others] < np.inf]
        rows = [-eye[below], eye[above]]
        most = [-self.low[below], self.high[above]]
        change = np.array(np.broadcast_to(problem.limits.rate, self.u_at.shape))
        change = change * problem.dynamics.dt
        limited = np.isfinite(change)
        before = problem.u_before
        if before is None:
            limited[0] = False
        for k, i in zip(*np.nonzero(limited), strict=True):
            row = eye[[self.u_at[k, i]]]
            if k:
                row = row - eye[[self.u_at[k - 1, i]]]
            start = before[i] if k == 0 and before is not None else 0.0
            rows += [row, -row]
            most += [[change[k, i] + start], [change[k, i] - start]]
        if problem.rest:
            last = eye[self.a_at[-1]] - eye[self.a_at[-2]]
            rows += [last, -last]
            most += [np.zeros(2 * problem.d)]
        return scipy.sparse.csr_array(scipy.sparse.vstack(rows)), np.concatenate(most)


@dataclass(frozen=True, eq=False)
class Reduced:
    """Model of a problem about a motion in balance, by its p independent variables."""

    gradient: np.ndarray
    """Gradient of the smooth costs [cost], shape (p,)."""
    hessian: np.ndarray
    """Hessian of the Lagrangian along motions in balance [cost], positive definite, (p, p)."""
    basis: np.ndarray
    """Changes Z of all variables by those of the independent ones, shape (n, p)."""
    rows: np.ndarray
    """Slopes R Z of the limits' rows, shape (q, p)."""
    depth: np.ndarray
    """Depth of points inside margins, negative outside [length], shape (h,)."""
    depth_slope: np.ndarray
    """Its slope, shape (h, p)."""
    depth_weight: np.ndarray
    """Cost of depth [cost / length], shape (h,)."""


def reduce(
    problem: PlanningProblem,
    variables: Variables,
    trial: Trial,
    pull: np.ndarray,
    press: np.ndarray,
    held: tuple[np.ndarray, np.ndarray],
) -> Reduced | None:
    """Model of a problem about a motion in balance.

    Args:
        problem: The problem.
        variables: Which ones are independent.
        trial: The motion.
        pull: Multipliers of the limits' rows [cost], shape (q,).
        press: Multipliers of depths [cost / length], shape (h,).
        held: Which independent variables, shape (p,), and which of the limits' rows, shape (q,),
            are at limits that hold them.

    Returns:
        None where the independent variables do not determine the motion, as where a robot buckles.

    Source: Nocedal and Wright 2006, section 18.3, of reduced Hessians.
    """
    free, others = variables.free, variables.others
    model = approximate(problem, trial)
    steps = model.balance[: len(others)]
    try:
        factors = scipy.sparse.linalg.splu(steps[:, others].tocsc())
    except RuntimeError:  # singular
        return None
    Z = np.zeros((variables.count, len(free)))
    Z[free] = np.eye(len(free))
    Z[others] = -factors.solve(steps[:, free].toarray())
    slope = model.gradient + pull @ variables.rows + press @ model.depth_slope
    multipliers = factors.solve(-slope[others], trans="T")
    if not (np.isfinite(Z).all() and np.isfinite(multipliers).all()):
        return None
    H = scipy.sparse.csr_array(model.exact + balance_curvature(problem, trial, multipliers))
    rows = variables.rows @ Z
    normals = np.vstack((np.eye(len(free))[held[0]], rows[held[1]]))
    return Reduced(
        gradient=model.gradient @ Z,
        hessian=_convex(Z.T @ (H @ Z), normals),
        basis=Z,
        rows=rows,
        depth=model.depth,
        depth_slope=model.depth_slope @ Z,
        depth_weight=model.depth_weight,
    )


def _convex(H: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """A positive definite Hessian that is H along the limits that hold the motion, if H is there.

    Steps stay on those limits, so that curvature across them, of rows `normals` (r, p), may be
    added: near an optimum nothing else is needed. What is negative still is replaced.

    Source: Nocedal and Wright 2006, section 17.3, of augmented Lagrangians.
    """
    H = 0.5 * (H + H.T)
    Q, R, _ = scipy.linalg.qr(normals.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    Q = Q[:, size > 1e-8 * size.max(initial=0.0)]
    H = H + np.abs(H).sum(axis=1).max(initial=0.0) * Q @ Q.T
    value, vector = np.linalg.eigh(H)
    largest = np.abs(value).max(initial=1e-300)
    value = np.where(value > _FLAT * largest, value, _BENT * largest)
    found: np.ndarray = (vector * value) @ vector.T
    return found


def in_balance(
    problem: PlanningProblem, variables: Variables, trial: Trial, defect: float
) -> Trial | None:
    """The motion with the same independent variables; None: none was found near the trial.

    By Newton's method on all others at once.
    """
    for _ in range(_CORRECTIONS):
        if trial.defect <= 0.1 * defect:
            return trial
        steps = balance_slope(problem, trial)[: len(variables.others)]
        change = np.zeros(variables.count)
        try:
            factors = scipy.sparse.linalg.splu(steps[:, variables.others].tocsc())
        except RuntimeError:  # singular
            return None
        change[variables.others] = -factors.solve(trial.lack[: len(variables.others)])
        if not np.isfinite(change).all():
            return None
        there = variables.moved(problem, trial, change)
        if not there.defect < trial.defect:
            break
        trial = there
    return trial if trial.defect <= defect else None
