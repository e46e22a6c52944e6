"""Random pick-and-place tasks of the elastic arm, each from the end of the last motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sofa_softctl.library.ocp.problem import OptimalControlProblem, Parameter

from .problem import LENGTH, STIFFNESS, arm

MASSES = (0.3, 0.5)
"""Masses of objects, least and largest [kg]. Source: section 2."""


@dataclass(frozen=True)
class Ground:
    """Regions of objects: two parts of a ring about the base, one to pick from, one to place in.

    Both are uniform in area. Directions are relative to the middle between them, positive where
    objects are picked. The arm moves between the sides across the front: directions are not modulo
    a turn, so it never moves across its back, even if that is shorter, and
    q_1 stays within a turn over any number of tasks.

    Source: the paper has random positions without their distribution. These give its costs for the
        rigid arm and for constant stiffness. Positions in one sector do not: springs of constant
        stiffness save 12 to 17 % there, half of the paper's value, as their energy at the end of a
        motion often has the wrong direction for the next.
    """

    near: float = 0.32
    """Least distance from the base [m]; at 0.311 the elbow is at its limit."""
    far: float = 0.44
    """Largest distance [m]; at 0.44 the arm is straight."""
    middle: float = 1.27
    """Direction of the middle of each part [rad]."""
    width: float = 0.85
    """Largest deviation of directions from there [rad]."""
    masses: tuple[float, float] = MASSES
    """Masses of objects, least and largest [kg]."""

    def draw(self, rng: np.random.Generator, picked: bool) -> tuple[float, float]:
        """Random distance from the base [m] and direction [rad] on one of the sides."""
        area, turn = rng.random(2)
        rho = np.sqrt(self.near**2 + area * (self.far**2 - self.near**2))
        direction = self.middle + self.width * (2.0 * turn - 1.0)
        return float(rho), float(direction if picked else -direction)


GROUND = Ground()
"""Regions of the paper's study."""


@dataclass(frozen=True)
class Goal:
    """Goal of the tip, and the carried mass."""

    rho: float
    """Distance from the base [m]."""
    alpha: float
    """Direction [rad], not modulo a turn."""
    mass: float
    """Mass of the carried object; 0 on the way to the next one [kg]."""


@dataclass(frozen=True)
class Posture:
    """Posture between two motions: links at rest, springs held by the motors."""

    q: tuple[float, float]
    """Angles of the links, q_1 from the middle between the sides [rad]."""
    deflection: tuple[float, float] = (0.0, 0.0)
    """theta - q: 0 with a rigid arm [rad]."""

    def parameters_to(self, goal: Goal) -> np.ndarray:
        """Return the parameters p of the motion to a goal, shape (6,). Source: section 5.1."""
        return np.array([goal.alpha - self.q[0], self.q[1], *self.deflection, goal.rho, goal.mass])

    def posture_after(self, x: np.ndarray) -> Posture:
        """Return the posture after a motion from here; x: its last state, q_1 from its start."""
        q, theta = x[0:2], x[4:6]
        bent = (theta - q).tolist() if len(theta) else [0.0, 0.0]
        return Posture((float(self.q[0] + q[0]), float(q[1])), (bent[0], bent[1]))


def goals(seed: int, objects: int, ground: Ground = GROUND) -> tuple[Posture, list[Goal]]:
    """Initial posture, and the goals of all objects.

    Two goals for each object: with it to its place, and without to the next one. The arm starts
    at the first object, springs relaxed, with its elbow to the left.
    """
    rng = np.random.default_rng(seed)
    start, goal_list = _start(rng, ground), []
    for k in range(2 * objects):
        goal_list.append(_goal(rng, ground, carries=k % 2 == 0))
    return start, goal_list


def pick_and_place(
    actuation: str = "constant",
    *,
    stiffness: Sequence[float] = STIFFNESS,
    horizon: float = 2.0,
    ground: Ground = GROUND,
    start: Posture | None = None,
    objects: int = 1,
) -> OptimalControlProblem:
    """The problem of the elastic arm with the tasks of the paper's study.

    `draw` continues from the end of the last motion. A task that failed is drawn again, to another
    position on the same side, from the present posture.

    Args:
        actuation: "rigid", "constant" or "variable".
        stiffness: Stiffness of both springs, or its initial guess if it is optimised [N m / rad].
        horizon: Duration of a motion [s].
        ground: Regions of objects.
        start: Posture from which the arm, with an empty hand, goes to the first of some objects,
            and again when they are placed; by default at a random object, without end.
        objects: Number of these objects.

    Source: section 2, and section 5.1 for p.
    """
    problem = arm(actuation, stiffness=stiffness, horizon=horizon)

    def draw(
        rng: np.random.Generator, memory: Any, end: np.ndarray | None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        placed = 0 if memory is None else memory.get("done", 0) + 1
        if memory is None or end is None or (start is not None and placed == 2 * objects):
            begin, carries, placed = start or _start(rng, ground), start is None, 0
        else:
            before = Posture(tuple(memory["q"]), tuple(memory["deflection"]))
            begin, carries = before.posture_after(end), not memory["carries"]
        p = begin.parameters_to(_goal(rng, ground, carries))
        drawn = {"q": [*begin.q], "deflection": [*begin.deflection], "carries": carries}
        return p, drawn | {"done": placed}

    design = [replace(z, guess=k) for z, k in zip(problem.design, stiffness, strict=False)]
    return replace(problem, design=design, parameters=_box(problem, actuation, ground), draw=draw)


def _start(rng: np.random.Generator, ground: Ground) -> Posture:
    rho, alpha = ground.draw(rng, picked=True)
    l1, l2 = LENGTH
    bend = np.arccos((rho**2 - l1**2 - l2**2) / (2.0 * l1 * l2))
    turn = np.arctan2(l2 * np.sin(bend), l1 + l2 * np.cos(bend))
    return Posture((float(alpha - turn), float(bend)))


def _goal(rng: np.random.Generator, ground: Ground, carries: bool) -> Goal:
    """Random goal: carried objects are placed, the next one is picked."""
    rho, alpha = ground.draw(rng, picked=not carries)
    mass = rng.uniform(*ground.masses)  # also drawn for returns: goals do not depend on failures
    return Goal(rho, alpha, float(mass) if carries else 0.0)


WOUND = {"rigid": (1.0, 1.0), "constant": (3.8, 0.8), "variable": (6.0, 1.4)}
"""Initial theta - q: a fifth above the largest of 200 motions [rad]."""


def _box(problem: OptimalControlProblem, actuation: str, ground: Ground) -> list[Parameter]:
    """Limits of the parameters in these tasks."""
    elbow = np.pi / 4.0  # direction of the tip from the first link, where the elbow is bent most
    reach = 2.0 * (abs(ground.middle) + ground.width) + elbow
    symmetric = [(-bound, bound) for bound in (reach, np.pi / 2.0, *WOUND[actuation])]
    limits = [*symmetric, (ground.near, ground.far), (0.0, ground.masses[1])]
    return [
        replace(parameter, lower=float(low), upper=float(high))
        for parameter, (low, high) in zip(problem.parameters, limits, strict=True)
    ]


PROBLEMS = {
    "elastic_arm": partial(pick_and_place, "constant"),
    "elastic_arm_variable": partial(pick_and_place, "variable"),
    "rigid_arm": partial(pick_and_place, "rigid"),
}
