"""A planning problem in its independent variables only: all its motions are in balance."""

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
from sofa_softctl.surrogate.program.transcription import (
    PlanningProblem,
    TrajectoryIterate,
    evaluate,
)
from softctl_swimmer.planning.curvature import balance_curvature

_CORRECTIONS_MAX = 8  # Newton steps of a motion
_CURVATURE_RATIO_MIN = 1e-10  # smallest curvature that is not replaced, over the largest
_CURVATURE_RATIO_REPLACED = 1e-6  # replacement of a negative curvature, over the largest


class Variables:
    """Partition of the variables u_1, a_2, u_2, a_3, … into independent and dependent, with limits.

    The p independent ones are the inputs, or the same number of coordinates; the balance of the
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
        self.dependent = np.setdiff1d(np.arange(self.count), self.free)
        self.low, self.high = (
            np.concatenate(bounds, axis=1).ravel()
            for bounds in zip(problem.input_bounds, problem.state_bounds, strict=True)
        )
        self.rows, self.row_max = self._rows(problem)
        """Rows R and limits: R v <= row_max for an executable motion, (q, n) and (q,)."""

    def vector(self, trial: TrajectoryIterate) -> np.ndarray:
        """Return all variables of a motion, shape (n,)."""
        return np.concatenate((trial.u, trial.a[1:]), axis=1).ravel()

    def excess(self, trial: TrajectoryIterate) -> np.ndarray:
        """Return R v - row_max, shape (q,)."""
        excess_of_rows: np.ndarray = self.rows @ self.vector(trial) - self.row_max
        return excess_of_rows

    def move(
        self, problem: PlanningProblem, trial: TrajectoryIterate, x: np.ndarray
    ) -> TrajectoryIterate:
        """Return a motion changed by x, shape (n,)."""
        a = trial.a.copy()
        a[1:] += x[self.a_at]
        return evaluate(problem, a, trial.u + x[self.u_at])

    def _rows(self, problem: PlanningProblem) -> tuple[scipy.sparse.csr_array, np.ndarray]:
        """Return limits of dependent variables and of rates, and rest at the end."""
        eye = scipy.sparse.eye_array(self.count, format="csr")
        below = self.dependent[self.low[self.dependent] > -np.inf]
        above = self.dependent[self.high[self.dependent] < np.inf]
        rows = [-eye[below], eye[above]]
        row_max = [-self.low[below], self.high[above]]
        change = np.array(np.broadcast_to(problem.limits.rate, self.u_at.shape))
        change = change * problem.dynamics.dt
        is_limited = np.isfinite(change)
        before = problem.u_before
        if before is None:
            is_limited[0] = False
        for k, i in zip(*np.nonzero(is_limited), strict=True):
            row = eye[[self.u_at[k, i]]]
            if k:
                row = row - eye[[self.u_at[k - 1, i]]]
            start = before[i] if k == 0 and before is not None else 0.0
            rows += [row, -row]
            row_max += [[change[k, i] + start], [change[k, i] - start]]
        if problem.rest:
            last = eye[self.a_at[-1]] - eye[self.a_at[-2]]
            rows += [last, -last]
            row_max += [np.zeros(2 * problem.d)]
        return scipy.sparse.csr_array(scipy.sparse.vstack(rows)), np.concatenate(row_max)


@dataclass(frozen=True, eq=False)
class ReducedModel:
    """Model of a problem about a motion in balance, in its p independent variables."""

    gradient: np.ndarray
    """Gradient of the smooth costs [cost], shape (p,)."""
    hessian: np.ndarray
    """Hessian of the Lagrangian along motions in balance [cost], positive definite, (p, p)."""
    basis: np.ndarray
    """Derivatives Z of all variables by the independent ones, shape (n, p)."""
    rows: np.ndarray
    """Slopes R Z of the limits' rows, shape (q, p)."""
    depth: np.ndarray
    """Depth of points inside margins, negative outside [length], shape (h,)."""
    depth_slope: np.ndarray
    """Slope of the depth, shape (h, p)."""
    depth_weight: np.ndarray
    """Cost of depth [cost / length], shape (h,)."""


def reduce(
    problem: PlanningProblem,
    variables: Variables,
    trial: TrajectoryIterate,
    pull: np.ndarray,
    press: np.ndarray,
    held: tuple[np.ndarray, np.ndarray],
) -> ReducedModel | None:
    """Return a model of a problem about a motion in balance, or None.

    Args:
        problem: The problem.
        variables: Partition into independent and dependent variables.
        trial: The motion.
        pull: Multipliers of the limits' rows [cost], shape (q,).
        press: Multipliers of depths [cost / length], shape (h,).
        held: Masks of the independent variables, shape (p,), and of the limits' rows, shape (q,),
            that are active.

    Returns:
        The model, or None if the independent variables do not determine the motion, such as for a
        robot that buckles.

    Source: Nocedal and Wright 2006, section 18.3, of reduced Hessians.
    """
    free, dependent = variables.free, variables.dependent
    model = approximate(problem, trial)
    steps = model.balance[: len(dependent)]
    try:
        factors = scipy.sparse.linalg.splu(steps[:, dependent].tocsc())
    except RuntimeError:  # singular
        return None
    Z = np.zeros((variables.count, len(free)))
    Z[free] = np.eye(len(free))
    Z[dependent] = -factors.solve(steps[:, free].toarray())
    slope = model.gradient + pull @ variables.rows + press @ model.depth_slope
    multipliers = factors.solve(-slope[dependent], trans="T")
    if not (np.isfinite(Z).all() and np.isfinite(multipliers).all()):
        return None
    H = scipy.sparse.csr_array(model.exact + balance_curvature(problem, trial, multipliers))
    rows = variables.rows @ Z
    normals = np.vstack((np.eye(len(free))[held[0]], rows[held[1]]))
    return ReducedModel(
        gradient=model.gradient @ Z,
        hessian=_convex(Z.T @ (H @ Z), normals),
        basis=Z,
        rows=rows,
        depth=model.depth,
        depth_slope=model.depth_slope @ Z,
        depth_weight=model.depth_weight,
    )


def _convex(H: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return a positive definite Hessian that equals H along active limits, if H is so there.

    Steps stay on those limits, so that curvature across them, of rows `normals` (r, p), may be
    added: near an optimum nothing else is needed. Remaining negative curvature is replaced.

    Source: Nocedal and Wright 2006, section 17.3, of augmented Lagrangians.
    """
    H = 0.5 * (H + H.T)
    Q, R, _ = scipy.linalg.qr(normals.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    Q = Q[:, size > 1e-8 * size.max(initial=0.0)]
    H = H + np.abs(H).sum(axis=1).max(initial=0.0) * Q @ Q.T
    value, vector = np.linalg.eigh(H)
    largest = np.abs(value).max(initial=1e-300)
    value = np.where(
        value > _CURVATURE_RATIO_MIN * largest, value, _CURVATURE_RATIO_REPLACED * largest
    )
    convex: np.ndarray = (vector * value) @ vector.T
    return convex


def restore_balance(
    problem: PlanningProblem, variables: Variables, trial: TrajectoryIterate, defect: float
) -> TrajectoryIterate | None:
    """Return the motion in balance with the same independent variables, or None if none is near.

    Newton's method solves for all dependent variables simultaneously.
    """
    for _ in range(_CORRECTIONS_MAX):
        if trial.defect <= 0.1 * defect:
            return trial
        steps = balance_slope(problem, trial)[: len(variables.dependent)]
        change = np.zeros(variables.count)
        try:
            factors = scipy.sparse.linalg.splu(steps[:, variables.dependent].tocsc())
        except RuntimeError:  # singular
            return None
        change[variables.dependent] = -factors.solve(trial.lack[: len(variables.dependent)])
        if not np.isfinite(change).all():
            return None
        corrected = variables.move(problem, trial, change)
        if not corrected.defect < trial.defect:
            break
        trial = corrected
    return trial if trial.defect <= defect else None
