"""Least violation of limits that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sofa_softctl.qp.problem import QP
from sofa_softctl.qpcc.problem.limits import Limit, effort_box
from sofa_softctl.qpcc.problem.problem import InverseProblem, InverseQP

LIMIT_SLACK = 3e-9
"""Additional relaxation of a limit, in units of the scaled QP, so that rounding does not make
the relaxed limits contradict each other."""

TRACKING_WEIGHT = 1e-6
"""Weight of tracking relative to the violation if both are minimised in one QP [-]."""


def build_violation_qp(problem: InverseProblem, limits: Iterable[Limit]) -> tuple[QP, np.ndarray]:
    """QP of the least violation of the soft limits.

    Its variables are the scaled efforts z and an excess t for each soft limit. It minimises
    1/2 ||t||^2 such that every soft limit holds for its quantity plus t, and the hard ones hold.
    An excess of effort counts in units of 1 / sqrt(W_aa[i, i]), one of displacement in units of
    sqrt(W_aa[i, i]): both are then square roots of energies, whatever an actuator's units.

    Args:
        problem: The inverse problem.
        limits: Limits of the problem.

    Returns:
        The QP in (z, t), and the scale: effort = scale * z [effort], shape (n_a,).
    """
    n_a = problem.n_a
    u = _natural_effort(problem)
    C = u[:, None] * problem.W_aa * u
    rows, low, high = [np.empty((0, n_a))], [np.empty(0)], [np.empty(0)]
    for limit in limits:
        if limit.is_hard:
            continue
        is_limited = np.flatnonzero(
            (limit.lower > -np.inf) | (limit.upper < np.inf)
        )  # none for NaN
        if limit.quantity == "effort":
            matrix, offset, unit = np.eye(n_a), np.zeros(n_a), u
        else:
            matrix, offset, unit = C, problem.delta_a_free, 1.0 / u
        rows.append(matrix[is_limited])
        low.append(((limit.lower - offset) / unit)[is_limited])
        high.append(((limit.upper - offset) / unit)[is_limited])
    R = np.concatenate(rows)  # (m, n_a)
    m = len(R)
    lower, upper = effort_box(problem)
    unlimited = np.full(m, np.inf)
    lows = np.concatenate((lower / u, -unlimited, *low))  # (n_a + m + m,)
    highs = np.concatenate((upper / u, unlimited, *high))
    size = max(float(lows.max()), -float(highs.min()))
    if size <= 0.0:
        size = 1.0
    H = np.diag(np.concatenate((np.zeros(n_a), np.ones(m))))
    A = np.concatenate((R, np.eye(m)), axis=1)
    return QP(H, np.zeros(n_a + m), A, lows / size, highs / size), u * size


def relax(
    problem: InverseProblem, limits: Iterable[Limit], built: InverseQP, effort: np.ndarray
) -> list[Limit]:
    """Return the limits, widened by the least amount that `effort` satisfies.

    Args:
        problem: The inverse problem.
        limits: Limits of the problem.
        built: QP of the problem, for the scales.
        effort: The effort that exceeds the limits the least [effort], shape (n_a,).

    Returns:
        The limits, in the same order. No effort satisfies narrower ones.
    """
    values = {"effort": effort, "displacement": problem.W_aa @ effort + problem.delta_a_free}
    scales = {"effort": built.effort_scale, "displacement": built.displacement_scale}
    relaxed = []
    for limit in limits:
        if not limit.is_hard:
            value, slack = values[limit.quantity], LIMIT_SLACK * scales[limit.quantity]
            lower = np.minimum(limit.lower, value - slack)  # NaN stays NaN: no limit
            upper = np.maximum(limit.upper, value + slack)
            limit = limit._replace(lower=lower, upper=upper)
        relaxed.append(limit)
    return relaxed


def add_tracking(violation: QP, scale: np.ndarray, built: InverseQP) -> QP:
    """The violation QP with a small tracking term: both stages in one.

    The relaxed limits can leave as little as one point, where solvers cycle or report
    infeasibility due to rounding. This QP avoids that, but its answer is off by about
    `TRADE`, measured: 1e-6 of the largest effort in the median, 2e-5 in one case of ten.

    Args:
        violation: First result of `build_violation_qp`.
        scale: Second result of `build_violation_qp` [effort], shape (n_a,).
        built: The QP of the problem, which gives the cost.

    Returns:
        A QP in the variables of `violation`.
    """
    n_a = len(scale)
    d = scale / built.effort_scale
    H_tracking = d[:, None] * built.qp.H * d
    weight = TRACKING_WEIGHT / max(H_tracking.diagonal().max(), np.finfo(float).tiny)
    H, g = violation.H.copy(), violation.g.copy()
    H[:n_a, :n_a] = weight * H_tracking
    g[:n_a] = weight * d * built.qp.g
    return replace(violation, H=H, g=g)


def _natural_effort(problem: InverseProblem) -> np.ndarray:
    """Effort that takes one unit of energy [effort / sqrt(energy)], shape (n_a,)."""
    compliance = problem.W_aa.diagonal()
    return 1.0 / np.sqrt(np.where(compliance > 0.0, compliance, 1.0))
