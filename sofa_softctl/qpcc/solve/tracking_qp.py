"""Dimensionless QP of an inverse problem, and its scales."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sofa_softctl.qp.problem import QP
from sofa_softctl.qpcc.problem.kernels import scale_qp, tracking_terms
from sofa_softctl.qpcc.problem.limits import IntersectedLimits, intersected_limits
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
    lower, upper, d_lower, d_upper = ranges or intersected_limits(problem)
    weight, n_a = problem.effector_weight, problem.n_a
    Q, g = np.empty((n_a, n_a)), np.empty(n_a)
    terms = (problem.W_ea, problem.W_aa, problem.delta_e_free, weight)
    tracking_terms(*terms, EFFECT_RATIO_MIN, Q, g)
    energy_matrix = problem.energy_hessian(Q)
    H = Q if energy_matrix is None else Q + energy_matrix
    error = weight * problem.delta_e_free
    *qp, effort_scale, displacement_scale, rows = scale_qp(
        H,
        g,
        problem.W_aa,
        lower,
        upper,
        d_lower,
        d_upper,
        problem.delta_a_free,
        math.sqrt(error @ error),
    )
    return InverseQP(QP(*qp), effort_scale, rows, displacement_scale, energy_matrix)


def objective(
    problem: InverseProblem, built: InverseQP, effort: np.ndarray, effector_error: np.ndarray
) -> float:
    """Objective of the problem [displacement^2]: tracking and energy."""
    residual = problem.effector_weight * effector_error
    value = 0.5 * float(residual @ residual)
    if built.energy_matrix is not None:
        value += 0.5 * float(effort @ built.energy_matrix @ effort)
    return value
