"""Measures of a run of inverse control: errors, solves, CPU times, lost objects."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from time import process_time
from typing import Any

import numpy as np

from benchmarks.success_rates.pose_error import PoseError, angle_about, pose_error, rotation_between
from sofa_softctl.errors import SceneError
from sofa_softctl.qpcc.problem.contacts import Law
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.scene.session.session import Session
from tests.support.random_contact_problems import random_problem

WARM_UP = 20
"""First steps whose times do not count: bodies come to rest on each other."""
LEAST_TURN = 1.0
"""Least turn of the goals that defines the plane of their motion [degree]."""


@functools.cache
def load_kernels() -> None:
    """Solve small problems, so that no timed step waits for compiled code to be loaded."""
    rng = np.random.default_rng(0)
    for law in (Law("coulomb"), Law("sticking")):
        for strategy in ("pivoting", "exact"):
            for count in (1, 3):
                solve(
                    random_problem(rng, n_c=count, law=law),
                    search=SearchOptions(strategy, nodes=20),
                )


class RunMeasures:
    """Steps a session and keeps what its inverse controller did.

    Args:
        session: A scene with an InverseController.
        place: Effectors whose mean is the position; None: all.
        turn: Effectors that the angle is fitted to; None: all.
        begin: Errors count from this time on [time].
    """

    def __init__(
        self,
        session: Session,
        place: Sequence[int] | None = None,
        turn: Sequence[int] | None = None,
        begin: float = 0.0,
    ) -> None:
        load_kernels()
        for entry in session.root.objects:  # phases as well, so that other programs do not count
            if getattr(entry, "clock", None) is not None:
                entry.clock.now = process_time
        self.session, self.begin = session, begin
        self.controller = inverse_controller_of(session)
        count = len(self.controller.effectors)
        self.place, self.turn = (list(range(count) if k is None else k) for k in (place, turn))
        self.solutions: list[Any] = []
        """InverseSolution of every step."""
        self.tips: list[np.ndarray] = []
        """Positions of all effectors since `begin` [length], each (n_e, 3)."""
        self.goals: list[np.ndarray] = []
        """Their goals."""
        self.qp_ms: list[float] = []
        """Time of each step's QPs, after `WARM_UP` [ms]."""
        self.step_ms: list[float] = []
        """CPU time of each whole step, after `WARM_UP` [ms]."""
        self._touched = False

    def step(self) -> None:
        """Do one step."""
        start = process_time()
        self.session.step()
        if self.session.step_count > WARM_UP:
            self.step_ms.append(1e3 * (process_time() - start))
            solution = self.controller.solution
            self.qp_ms.append(1e3 * (solution.build_time + solution.solve_time))
        self.solutions.append(self.controller.solution)
        self._touched = self._touched or self._touches()
        if self.session.time > self.begin:
            self.tips.append(np.array(self.controller.tip.value))
            self.goals.append(np.array(self.controller.goal.value))

    @property
    def lost(self) -> bool:
        """Whether the body that is controlled touched something and is now out of reach of all."""
        return self._touched and not self._touches()

    def _touches(self) -> bool:
        return touches(self.controller, {*self.place, *self.turn})

    def errors(self) -> dict[str, float]:
        """'position', 'angle' and 'point' of `PoseError`, each 'mean', 'worst' and 'end'.

        NaN where there is none: before `begin`, or angles of fewer than three points.
        """
        return motion_errors(self.tips, self.goals, self.place, self.turn)

    def angle_in_plane(self) -> float:
        """Mean error of the angle in the plane in which the goals turn most [degree].

        Tilts out of that plane do not count. NaN where the goals turn by less than `LEAST_TURN`.
        """
        goals = [goal[self.turn] for goal in self.goals]
        if not self.turn or not goals:
            return np.nan
        turns = np.array([rotation_between(goals[0], goal) for goal in goals])
        size = np.linalg.norm(turns, axis=1)
        most = np.argmax(size)
        if not np.degrees(size[most]) > LEAST_TURN:  # NaN as well
            return np.nan
        axis = turns[most] / size[most]
        tips = (tip[self.turn] for tip in self.tips)
        both = zip(goals, tips, strict=True)
        return float(np.mean([abs(angle_about(goal, tip, axis)) for goal, tip in both]))


def motion_errors(
    tips: Sequence[np.ndarray],
    goals: Sequence[np.ndarray],
    place: Sequence[int],
    turn: Sequence[int],
) -> dict[str, float]:
    """'position', 'angle' and 'point' of `PoseError`, each 'mean', 'worst' and 'end'.

    Args:
        tips: Positions of all effectors at each step [length], each (n_e, 3).
        goals: Their goals, each (n_e, 3).
        place: Effectors whose mean is the position.
        turn: Effectors that the angle is fitted to; empty: none.

    Returns:
        Errors [length, degree]; NaN where there is none: no step, or angles of fewer than three
        points.
    """
    every = sorted({*place, *turn})
    rows = [
        (
            pose_error(tip[place], goal[place]).position,
            pose_error(tip[turn], goal[turn]).angle if turn else np.nan,
            pose_error(tip[every], goal[every]).point,
        )
        for tip, goal in zip(tips, goals, strict=True)
    ]
    table = np.array(rows).reshape(-1, len(PoseError._fields))
    if not len(table):
        table = np.full((1, len(PoseError._fields)), np.nan)
    table = np.stack([table.mean(axis=0), table.max(axis=0), table[-1]], axis=-1)
    return dict(zip(MEASURES, table.ravel().tolist(), strict=True))


def touches(controller: Any, effectors: Iterable[int]) -> bool:
    """Whether a body that carries one of the effectors is within reach of a contact now."""
    contacts = controller.problem.contacts
    if contacts is None:
        return False
    bodies = {body for name in contacts.names for body in name.split(" on ")}
    rows = (controller.effectors[k][0] for k in effectors)
    paths = [row.getContext().getPathName() for row in rows]
    return any(f"{path}/".startswith(f"{body}/") for path in paths for body in bodies)


MEASURES = tuple(
    f"{what} {when}" for what in PoseError._fields for when in ("mean", "worst", "end")
)
"""Names of `RunMeasures.errors`."""


def inverse_controller_of(session: Session) -> Any:
    """The first inverse controller of a scene.

    Raises:
        SceneError: it has none.
    """
    from sofa_softctl.inverse.controller import InverseController  # imports Sofa

    for entry in session.controllers:
        if isinstance(entry, InverseController):
            return entry
    raise SceneError(f"'{session.name}' has no InverseController to measure.")
