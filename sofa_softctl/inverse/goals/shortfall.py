"""What is left of the error in one step, by its causes: limits, the energy term, the actuators."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sofa_softctl.qpcc.limits import ReachedLimit, limits_of, reached_limits
from sofa_softctl.qpcc.problem import InverseProblem
from sofa_softctl.qpcc.solve import solve
from sofa_softctl.qpcc.tracking_qp import build_qp
from sofa_softctl.status import Status

NO_AUTHORITY = 1e-3
"""Directions of effort whose effect on the effectors, at equal deformation energy, is below this
fraction of the strongest one's count as having none: they would take enormous efforts."""
LITTLE_ENERGY = 1e-4
"""The energy term is as good as gone at this fraction of its weight; it still decides between
efforts that are equally good."""
AT_LIMIT = 1e-7
"""Distance to a limit that counts as reached, in units of the scaled QP, as in `solve`."""
NEGLIGIBLE = 0.05
"""A limit counts if its multiplier is above this fraction of the largest one."""


@dataclass(frozen=True)
class Shortfall:
    """Weighted error of an answer, split by what it takes to remove each part."""

    error: float
    """Weighted error of the answer [length]: the sum of the parts."""
    nearer: float
    """What targets at the goals themselves would remove, see `goal_distance` [length]."""
    energy: float
    """What a much smaller `energy` would remove [length]."""
    limits: float
    """What would be removed without limits as well [length]."""
    actuators: float
    """What no effort removes: it is orthogonal to all that the actuators move [length]."""
    binding: tuple[ReachedLimit, ...]
    """Limits with a multiplier, largest first."""


def shortfall(
    problem: InverseProblem, effector_error: np.ndarray, missing: np.ndarray
) -> Shortfall | None:
    """Split the error of a step's answer by its causes, in the linearisation of this step.

    Args:
        problem: Problem of the step, without contacts.
        effector_error: Position minus target of its answer [length], shape (n_e,).
        missing: Target minus goal [length], shape (n_e,): not zero where `goal_distance` has moved
            the goals nearer.

    Returns:
        The parts; None where the problem with little energy has no trustworthy answer.
    """
    weight = problem.effector_weight
    error = weight * (effector_error + missing)
    whole = replace(problem, delta_e_free=problem.delta_e_free + missing)
    direct = weight * solve(whole).effector_error if missing.any() else error
    whole = replace(whole, energy=LITTLE_ENERGY * problem.energy)
    best = solve(whole)
    if best.status is Status.HELD:
        return None
    B = weight[:, None] * problem.W_ea * _natural(problem)
    left = weight * best.effector_error
    rest = left - B @ np.linalg.lstsq(B, left, rcond=NO_AUTHORITY)[0]
    now, aimed, limited, free = (
        float(np.linalg.norm(part)) for part in (error, direct, left, rest)
    )
    return Shortfall(
        error=now,
        nearer=max(now - aimed, 0.0),
        energy=max(aimed - limited, 0.0),
        limits=max(limited - free, 0.0),
        actuators=min(free, now),
        binding=_binding(whole, best.effort, B.T @ left),
    )


def _natural(problem: InverseProblem) -> np.ndarray:
    """Effort of a unit of deformation energy, shape (n_a,)."""
    compliance = problem.W_aa.diagonal()
    return np.asarray(1.0 / np.sqrt(np.where(compliance > 0.0, compliance, 1.0)))


def _binding(
    problem: InverseProblem, effort: np.ndarray, gradient: np.ndarray
) -> tuple[ReachedLimit, ...]:
    """Limits that hold the error's gradient in natural efforts, shape (n_a,), in balance."""
    from scipy.optimize import nnls

    limits, built, unit = limits_of(problem), build_qp(problem), _natural(problem)
    values = {"effort": effort, "displacement": problem.W_aa @ effort + problem.delta_a_free}
    margins = {
        "effort": AT_LIMIT * built.effort_scale,
        "displacement": AT_LIMIT * built.displacement_scale,
    }
    reached = list(reached_limits(problem.names, limits, values, margins))
    if not reached:
        return ()
    normals = {"effort": np.eye(problem.n_a), "displacement": problem.W_aa}
    rows = [limit.inward * unit * normals[limit.quantity][limit.actuator] for limit in reached]
    N = np.array(rows).T  # (n_a, m)
    N = N / np.maximum(np.linalg.norm(N, axis=0), 1e-300)
    multiplier = nnls(N, gradient)[0]
    order = np.argsort(-multiplier, kind="stable")
    return tuple(reached[i] for i in order if multiplier[i] > NEGLIGIBLE * multiplier.max())
