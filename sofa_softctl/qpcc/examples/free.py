"""Small inverse problems without contacts, with known solutions, as tests of every QP solver.

With the efforts lam, delta_e = W_ea lam + delta_e_free is the error and Q = W_ea^T W_ea; the energy
term costs energy ||Q|| / ||W_E|| 1/2 lam^T W_E lam, with W_E the W_aa of the actuators in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.status import Status


@dataclass(frozen=True, eq=False)
class NamedProblem:
    """An inverse problem and its analytic answer."""

    name: str
    """Short description."""
    problem: InverseProblem
    """The problem."""
    effort: np.ndarray
    """Analytic efforts lam [effort], shape (n_a,); NaN where they are not unique."""
    status: Status
    """Status of a correct solve."""


def one_cable() -> NamedProblem:
    """0.5 lam - 2 = 0 at lam = 4."""
    problem = _problem([[0.5]], [[1.0]], [-2.0])
    return NamedProblem("one cable reaches the goal", problem, np.array([4.0]), Status.SOLVED)


def cable_that_only_pulls() -> NamedProblem:
    """The goal asks for lam = -4; a cable cannot push."""
    problem = _problem([[0.5]], [[1.0]], [2.0], effort_min=0.0)
    return NamedProblem("a cable cannot push", problem, np.array([0.0]), Status.SOLVED)


def short_cable() -> NamedProblem:
    """The goal asks for lam = 4, that is a displacement of 8; the cable has only 6."""
    problem = _problem([[0.5]], [[2.0]], [-2.0], displacement_max=6.0)
    return NamedProblem("the cable is too short", problem, np.array([3.0]), Status.SOLVED)


def slow_motor() -> NamedProblem:
    """The goal asks for lam = 4; from a displacement of 1 the motor gets to 1.5 in this step."""
    problem = _problem(
        [[0.5]], [[1.0]], [-2.0], displacement_previous=[1.0], displacement_rate=[0.5]
    )
    return NamedProblem("the motor is too slow", problem, np.array([1.5]), Status.SOLVED)


def energy_as_heavy_as_tracking() -> NamedProblem:
    """||Q|| = 1/4, ||W_E|| = 3: 1/2 (lam / 2 - 2)^2 + 1/2 (1/4) lam^2 is least at lam = 2."""
    problem = _problem([[0.5]], [[3.0]], [-2.0], energy=1.0)
    return NamedProblem("energy as heavy as tracking", problem, np.array([2.0]), Status.SOLVED)


def two_equal_cables() -> NamedProblem:
    """||Q|| = 2, ||W_E|| = 3/2: 1/2 (2 lam - 4)^2 + 1/2 (4/3) 3 lam^2 is least at lam = 1."""
    W_aa = [[1.0, 0.5], [0.5, 1.0]]
    problem = _problem([[1.0, 1.0]], W_aa, [-4.0], energy=1.0)
    return NamedProblem("two cables share the work", problem, np.array([1.0, 1.0]), Status.SOLVED)


def redundant_cables() -> NamedProblem:
    """lam_0 + lam_1 = 4 and no energy term: the Hessian is singular, only the sum is known."""
    problem = _problem([[1.0, 1.0]], np.eye(2), [-4.0])
    return NamedProblem("more cables than needed", problem, np.full(2, math.nan), Status.SOLVED)


def antagonists() -> NamedProblem:
    """||Q|| = 2, ||W_E|| = 1: 1/2 (lam - 3)^2 + 1/2 lam^2 is least at 1.5, the other slack."""
    problem = _problem([[1.0, -1.0]], np.eye(2), [-3.0], effort_min=0.0, energy=0.5)
    return NamedProblem("antagonistic cables", problem, np.array([1.5, 0.0]), Status.SOLVED)


def weighted_effectors() -> NamedProblem:
    """Two goals for one cable, at 1 and 4, with cost weights 1 and 2^2: (1 + 4 * 4) / 5 = 3.4."""
    problem = _problem([[1.0], [1.0]], [[1.0]], [-1.0, -4.0], effector_weight=[1.0, 2.0])
    return NamedProblem("two goals of unequal weight", problem, np.array([3.4]), Status.SOLVED)


def imposed_effort() -> NamedProblem:
    """The first cable is held at 1, the second one makes up for the rest."""
    problem = _problem([[1.0, 1.0]], np.eye(2), [-4.0], effort_fixed=[1.0, math.nan])
    return NamedProblem("an imposed effort", problem, np.array([1.0, 3.0]), Status.SOLVED)


def imposed_displacement() -> NamedProblem:
    """lam_0 + lam_1 / 2 = 2 is imposed, and lam_0 + lam_1 = 3 by tracking."""
    W_aa = [[1.0, 0.5], [0.5, 1.0]]
    problem = _problem([[1.0, 1.0]], W_aa, [-3.0], displacement_fixed=[2.0, math.nan])
    return NamedProblem("an imposed displacement", problem, np.array([1.0, 2.0]), Status.SOLVED)


def nothing_to_do() -> NamedProblem:
    """The free motion is at the goal."""
    problem = _problem([[0.5]], [[1.0]], [0.0])
    return NamedProblem("already at the goal", problem, np.array([0.0]), Status.SOLVED)


def actuator_without_effect() -> NamedProblem:
    """The second actuator does not move the effector: Q has a zero row."""
    problem = _problem([[1.0, 0.0]], np.eye(2), [-2.0])
    return NamedProblem("an actuator without effect", problem, np.array([2.0, 0.0]), Status.SOLVED)


def unlike_units() -> NamedProblem:
    """A cable in mN and a pressure in MPa, eight orders of magnitude apart, both needed."""
    W_ea = [[1e-6, 0.0], [0.0, 1e2]]
    problem = _problem(W_ea, [[1e-9, 0.0], [0.0, 1e3]], [-1e-3, -5e-2])
    return NamedProblem("unlike units", problem, np.array([1e3, 5e-4]), Status.SOLVED)


def cable_out_of_reach_of_its_limit() -> NamedProblem:
    """A contact holds the cable at 5; getting below its maximum of 3 would need lam = -2."""
    problem = _problem(
        [[1.0]], [[1.0]], [-4.0], delta_a_free=[5.0], displacement_max=3.0, effort_min=0.0
    )
    return NamedProblem(
        "a cable beyond its limit", problem, np.array([0.0]), Status.CLOSEST_FEASIBLE
    )


def bound_against_rate() -> NamedProblem:
    """The effort was 5, may not exceed 2 and may change by 1: the bound wins."""
    problem = _problem(
        [[1.0]], [[1.0]], [-9.0], effort_previous=[5.0], effort_rate=1.0, effort_max=2.0
    )
    return NamedProblem("a bound against a rate", problem, np.array([2.0]), Status.CLOSEST_FEASIBLE)


def limit_against_rate() -> NamedProblem:
    """The displacement was 8, may not exceed 5, may change by 1: halfway, both are missed by 1."""
    problem = _problem(
        [[1.0]],
        [[1.0]],
        [-9.0],
        displacement_max=5.0,
        displacement_previous=[8.0],
        displacement_rate=1.0,
    )
    return NamedProblem("a limit against a rate", problem, np.array([6.0]), Status.CLOSEST_FEASIBLE)


def tracking_with_what_the_violation_leaves() -> NamedProblem:
    """The first cable cannot reach its minimum; the second one is free to track."""
    problem = _problem(
        [[1.0, 1.0]],
        np.eye(2),
        [-4.0],
        displacement_min=[3.0, -math.inf],
        effort_min=0.0,
        effort_max=[1.0, math.inf],
    )
    return NamedProblem(
        "tracking in spite of a violation", problem, np.array([1.0, 3.0]), Status.CLOSEST_FEASIBLE
    )


def all_problems() -> list[NamedProblem]:
    """All problems of this file."""
    return [
        one_cable(),
        cable_that_only_pulls(),
        short_cable(),
        slow_motor(),
        energy_as_heavy_as_tracking(),
        two_equal_cables(),
        redundant_cables(),
        antagonists(),
        weighted_effectors(),
        imposed_effort(),
        imposed_displacement(),
        nothing_to_do(),
        actuator_without_effect(),
        unlike_units(),
        cable_out_of_reach_of_its_limit(),
        bound_against_rate(),
        limit_against_rate(),
        tracking_with_what_the_violation_leaves(),
    ]


def _problem(
    W_ea: Any, W_aa: Any, delta_e_free: Any, *, delta_a_free: Any = 0.0, **limits: Any
) -> InverseProblem:
    return InverseProblem(
        W_ea=W_ea, W_aa=W_aa, delta_e_free=delta_e_free, delta_a_free=delta_a_free, **limits
    )
