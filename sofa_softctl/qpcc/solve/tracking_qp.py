"""Dimensionless QP of an inverse problem, and its scales."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sofa_softctl.qp.problem import QP
from sofa_softctl.qpcc.problem.limits import IntersectedLimits, intersect, limits_of
from sofa_softctl.qpcc.problem.problem import InverseProblem

EFFECT_RATIO_MIN = 1e-12
"""Effect of an actuator on the effectors per square root of deformation energy, relative to the
strongest one's, below which it is rounding of W [-]."""


@dataclass(frozen=True, eq=False)
class InverseQP:
    """QP of an inverse problem, and the scales of its variables and rows."""

    qp: QP
    """Dimensionless: its variables are lam / effort_scale, its rows the limited displacements."""
    effort_scale: np.ndarray
    """Effort of each variable's unit [effort], shape (n_a,)."""
    rows: np.ndarray
    """Actuators whose displacement is limited, one a row of the QP, shape (m,) of int."""
    displacement_scale: np.ndarray
    """Displacement of a row's unit, for each actuator [displacement], shape (n_a,)."""
    energy_matrix: np.ndarray | None
    """Hessian of the energy term [displacement^2 / effort^2], shape (n_a, n_a). None = no term."""


def build_qp(problem: InverseProblem, ranges: IntersectedLimits | None = None) -> InverseQP:
    """Dimensionless and well scaled QP of an inverse problem.

    Each variable is scaled such that the Hessian's diagonal is one; each row such that its norm is
    one; then all lengths are divided by one length, the larger of the weighted effector error and
    of the excess of limits in the free motion. So the units of actuators and scene and the size of
    the step do not matter to solvers, and residuals are relative to the free motion.

    Args:
        problem: The inverse problem.
        ranges: Ranges of efforts and displacements, instead of the problem's own limits.

    Returns:
        The QP with its scales.
    """
    lower, upper, d_lower, d_upper = ranges or intersect(problem, limits_of(problem))
    Q, g = _tracking(problem)
    energy_matrix = problem.energy_hessian(Q)
    H = Q if energy_matrix is None else Q + energy_matrix
    d = _effort_scale(H.diagonal(), problem.W_aa.diagonal())  # (n_a,)

    A = problem.W_aa * d  # (n_a, n_a)
    r = np.sqrt((A * A).sum(axis=1))  # (n_a,)
    r[r == 0.0] = 1.0
    rows = ((d_lower > -np.inf) | (d_upper < np.inf)).nonzero()[0]  # (m,)
    low = np.concatenate((lower / d, ((d_lower - problem.delta_a_free) / r)[rows]))  # (n_a + m,)
    high = np.concatenate((upper / d, ((d_upper - problem.delta_a_free) / r)[rows]))

    error = problem.effector_weight * problem.delta_e_free
    size = max(math.sqrt(error @ error), float(low.max()), -float(high.min()))
    if size <= 0.0:  # the free motion is at its goal and within the limits: lam = 0
        size = 1.0
    A = (A / r[:, None])[rows]  # (m, n_a)
    qp = QP(d[:, None] * H * d, d * g / size, A, low / size, high / size)
    return InverseQP(qp, d * size, rows, r * size, energy_matrix)


def objective(
    problem: InverseProblem, built: InverseQP, effort: np.ndarray, effector_error: np.ndarray
) -> float:
    """Objective of the problem [displacement^2]: tracking and energy."""
    residual = problem.effector_weight * effector_error
    value = 0.5 * float(residual @ residual)
    if built.energy_matrix is not None:
        value += 0.5 * float(effort @ built.energy_matrix @ effort)
    return value


def _tracking(problem: InverseProblem) -> tuple[np.ndarray, np.ndarray]:
    """Hessian (n_a, n_a) and gradient (n_a,) at lam = 0 of 1/2 ||effector_weight * delta_e||^2."""
    B = problem.effector_weight[:, None] * problem.W_ea  # (n_e, n_a)
    Q = B.T @ B
    g = (problem.effector_weight * problem.delta_e_free) @ B
    compliance = problem.W_aa.diagonal()
    has_no_effect = (
        Q.diagonal() < EFFECT_RATIO_MIN**2 * _strongest(Q.diagonal(), compliance) * compliance
    )
    if has_no_effect.any():
        Q[has_no_effect] = Q[:, has_no_effect] = g[has_no_effect] = 0.0
    return Q, g


def _effort_scale(curvature: np.ndarray, compliance: np.ndarray) -> np.ndarray:
    """Effort scale for a unit diagonal of the Hessian, from the diagonals of H and W_aa.

    Actuators without cost are scaled by their compliance, as if they were the strongest.
    """
    if curvature.min() <= 0.0:
        strongest = _strongest(curvature, compliance) or 1.0
        curvature = np.where(curvature > 0.0, curvature, strongest * compliance)
        curvature[curvature <= 0.0] = 1.0
    scale: np.ndarray = 1.0 / np.sqrt(curvature)
    return scale


def _strongest(curvature: np.ndarray, compliance: np.ndarray) -> float:
    """Largest curvature per compliance: a measure of effect without the actuators' units."""
    effect = np.zeros_like(curvature)
    np.divide(curvature, compliance, out=effect, where=compliance > 0.0)
    return float(effect.max())
