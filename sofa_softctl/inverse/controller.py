"""Inverse control with stock components: the efforts that bring effectors to their goals."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import Sofa

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.actuators import Actuators
from sofa_softctl.inverse.problem import InverseProblem
from sofa_softctl.inverse.solution import InverseSolution
from sofa_softctl.inverse.solver import solve
from sofa_softctl.scene.compliance import ComplianceSystem, row_count
from sofa_softctl.scene.controller import SceneController, pauses_on_error
from sofa_softctl.status import Status

AXES = ("x", "y", "z")


def add_effector(node: Any, index: int = 0) -> list[Any]:
    """Give a node of a state three rows in W: a PositionConstraint with the force 0 for each axis.

    Args:
        node: Node with a MechanicalObject, to which the constraints are added.
        index: Node of the state.

    Returns:
        The three constraints, along x, y and z.
    """
    return [
        node.addObject(
            "PositionConstraint",
            name=f"effector_{axis}{index or ''}",
            indices=[index],
            useDirections=[int(axis == other) for other in AXES],
            valueType="force",
            value=[0.0],
        )
        for axis in AXES
    ]


class InverseController(SceneController):
    """Finds, in every step, the efforts that bring effectors to a goal that may move.

    Works inside the step, with stock components: cables, pressures, joints and positions whose
    `value` is an effort (see `actuators.KINDS`), and effectors made by `add_effector`. Whatever those constraints impose themselves is overwritten
    between the constraint solver and the correction. Their own Data `displacement` is one step
    behind: this controller's Data are the ones to read. When something in it fails, the cables
    keep the last efforts, the simulation pauses, and the error is raised.

    Args:
        root: Root of the scene; it holds the constraint solver.
        actuators: Components to drive, such as CableConstraints with valueType='force'. Their own
            limits on effort, displacement and its rate are respected where the scene set them.
        effectors: What `add_effector` returned, one list an effector.
        goal: Point (3,), one for each effector (n, 3), or a function of time that gives it.
        energy: Weight of the actuators' energy [-]; needed with more actuators than effector rows.
        weight: Weight of each effector's residual [-], one number, shape (n,), or (n, 3) by axis.
        effort_rate: Largest change of an effort a step [effort].
        solver: QP solver: 'daqp', 'proxqp', 'qpsolvers:NAME', or one of a plugin.
        names: Names of the actuators for messages; the names of their nodes by default.

    Source: Coevoet, Escande, Duriez 2019, eq. (6) without contacts, and its section III-E.
    """

    def __init__(
        self,
        *args: Any,
        root: Any,
        actuators: Sequence[Any],
        effectors: Sequence[Sequence[Any]],
        goal: Callable[[float], np.ndarray] | Sequence[float] | np.ndarray,
        energy: float = 1e-3,
        weight: float | np.ndarray = 1.0,
        effort_rate: float = math.inf,
        solver: str = "daqp",
        names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, root=root, **kwargs)
        self.actuators = list(actuators)
        self.driven = Actuators(self.actuators, names)
        self.names = self.driven.names
        self.effectors = [list(rows) for rows in effectors]
        self.goal_function = goal if callable(goal) else _constant(goal)
        self.energy = energy
        self.effort_rate = effort_rate
        self.solver = solver
        self._check()
        self.system: Any = None
        n_a, n_e = self.driven.count, len(self.effectors)
        weights = np.asarray(weight, dtype=float)
        weights = weights[:, None] if weights.ndim == 1 else weights
        self.weight = np.array(np.broadcast_to(weights, (n_e, 3))).ravel()
        self.add_output("effort", np.zeros(n_a), "Effort of each actuator [force].")
        self.add_output("displacement", np.zeros(n_a), "Length pulled in of each cable [length].")
        self.add_output("goal", np.zeros((n_e, 3)), "Goal of each effector [length].")
        self.add_output("tip", np.zeros((n_e, 3)), "Position of each effector [length].")
        self.add_output("error", np.zeros(n_e), "Distance of each effector to its goal [length].")
        self.add_output("status", "", "How the last step was solved.")
        self._forget()

    def _check(self) -> None:
        if not self.driven.count or not self.effectors:
            raise SceneError("InverseController needs at least one actuator and one effector.")
        for rows in self.effectors:
            if len(rows) != 3 or any(row_count(row) != 1 for row in rows):
                raise SceneError(
                    "Each effector of InverseController must be the three PositionConstraints that "
                    "add_effector(node) returns."
                )

    def _forget(self) -> None:
        self.solution: InverseSolution | None = None
        self.last_status: Status | None = None
        self.solutions: dict[Status, int] = dict.fromkeys(Status, 0)
        self.limits_met: dict[str, int] = {}
        self.last_time = -math.inf
        self.failed = False
        self.told_of_others = False

    def reset(self) -> None:
        """Forget the last solution, all counts, and what was told of them."""
        self._forget()
        self.driven.release()
        for name, data in self.outputs.items():
            data.value = "" if name == "status" else np.zeros_like(np.asarray(data.value))

    def snapshot(self) -> dict[str, Any]:
        """What the controller carries from step to step."""
        return {
            "solution": self.solution,
            "solutions": dict(self.solutions),
            "limits_met": dict(self.limits_met),
            "last_time": self.last_time,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over what `snapshot` gave."""
        self.solution = snapshot["solution"]
        self.solutions = dict(snapshot["solutions"])
        self.limits_met = dict(snapshot["limits_met"])
        self.last_time = snapshot["last_time"]

    def _find_rows(self) -> None:
        """Find the rows' owners and remember where the effectors start."""
        self.system = ComplianceSystem(self.root)
        driven = self.actuators
        self.factor = np.array([self.system.effort_factor(entry) for entry in driven])
        n_a = self.driven.count
        self.owned = self.system.rows_of([*driven, *itertools.chain(*self.effectors)])
        self.a, self.e = slice(0, n_a), slice(n_a, None)
        self.watched = [_node_of(rows[0]) for rows in self.effectors]
        self.start = self._positions()

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Where the effectors shall be at the end of the step."""
        del event
        if self.system is None:  # the first step: everything is initialised, nothing has moved
            self._find_rows()
        now = self.time.value
        if now < self.last_time:  # SOFA does not tell controllers of a reset
            self.reset()
        time = now + self.dt.value
        goal = np.atleast_2d(np.asarray(self.goal_function(time), dtype=float))
        if goal.shape != self.start.shape or not np.isfinite(goal).all():
            raise SceneError(
                f"The goal of {self.getPathName()} at t = {time:.6g} must be finite, with shape "
                f"{self.start.shape}; got {goal.tolist()}."
            )
        self.keep(target=goal, last_time=now)
        self.outputs["goal"].value = goal

    @pauses_on_error
    def onSolveConstraintSystemEndEvent(self, event: Any) -> None:
        """Replace the forward solver's multipliers of the actuators by the inverse answer."""
        del event
        rows, others = self.owned.now()
        problem = self.build(rows, others)
        last = self.solution
        solution = solve(
            problem,
            solver=self.solver,
            warm=last.warm if last is not None else None,
            held=self._held(last) if last is not None else None,
        )
        self.system.set_effort(rows[self.a], solution.effort, self.factor)
        if self.told_of_others:
            self._impose(solution.effort)
        self._tell(solution)

    def hold(self) -> None:
        """Keep the last efforts, in this step and, by the cables' own `value`, in those to come."""
        if self.solution is not None:
            self._impose(self.solution.effort)
            with contextlib.suppress(SceneError):  # rows that are gone need no effort
                rows, _ = self.owned.now()
                self.system.set_effort(rows[self.a], self.solution.effort, self.factor)

    def _impose(self, effort: np.ndarray) -> None:
        """Let the forward solver find this effort on its own."""
        self.driven.keep(effort * self.factor)

    def build(self, rows: np.ndarray, others: np.ndarray) -> InverseProblem:
        """The inverse problem of the present step.

        Args:
            rows: Rows of the actuators, then of the effectors.
            others: Rows of other constraints.
        """
        shift = (self.target - self.start).ravel()  # rows measure from the start
        last = self.solution
        rate: Any = self.effort_rate  # a number stands for every actuator
        before: Any = 0.0 if last is None else self._held(last)
        displaced: Any = 0.0 if last is None else last.displacement
        W = self.system.compliance(rows, rows[self.a], self.factor)
        delta_free = self.system.delta_free(rows)
        if len(others):
            delta_free = delta_free + self._delta_by_others(rows, others)
        return InverseProblem(
            W_ea=W[self.e],
            W_aa=W[self.a],
            delta_e_free=delta_free[self.e] - shift,
            delta_a_free=delta_free[self.a],
            effector_weight=self.weight,
            effort_previous=before,
            effort_rate=rate,
            displacement_previous=displaced,
            energy=self.energy,
            names=self.driven.names,
            **self.driven.limits(self.factor),
        )

    def _delta_by_others(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What constraints that are not ours, such as contacts, add to delta of our rows.

        Their multipliers are the forward solver's, which found them with our last efforts.
        """
        if not self.told_of_others:
            self.keep(told_of_others=True)
            owners = [
                f"{owner.getPathName()} ({owner.getClassName()})"
                for owner, owned in self.system.owners()
                if np.isin(owned, others).any()
            ]
            Sofa.msg_warning(
                self,
                f"{', '.join(owners)} act on the robot too: their forces are taken as the forward "
                "solver finds them with the efforts of the step before.",
            )
        return self.system.delta_by_others(rows, others)

    def _held(self, last: InverseSolution) -> np.ndarray:
        """The efforts that would go on as they are: changes end."""
        held: np.ndarray = np.where(self.driven.changes, 0.0, last.effort)
        return held

    def _positions(self) -> np.ndarray:
        """Position of every effector, shape (n_e, 3)."""
        return np.array([position.value[index] for position, index in self.watched])

    def _tell(self, solution: InverseSolution) -> None:
        if solution.status is not self.last_status:
            self.keep(last_status=solution.status)
            self.outputs["status"].value = solution.status.name
            if solution.status is not Status.SOLVED:
                relaxed = "; ".join(solution.relaxed)
                text = f"{solution.status.value} {relaxed} {solution.message}"
                Sofa.msg_warning(self, text.strip())
        self.keep(solution=solution)
        self.solutions[solution.status] += 1
        for limit in solution.active:
            self.limits_met[limit] = self.limits_met.get(limit, 0) + 1
        self.outputs["effort"].value = solution.effort
        self.outputs["displacement"].value = solution.displacement

    @pauses_on_error
    def onAnimateEndEvent(self, event: Any) -> None:
        """Where the effectors came to."""
        del event
        tip = self._positions()
        self.outputs["tip"].value = tip
        self.outputs["error"].value = np.linalg.norm(tip - self.target, axis=1)


def _node_of(row: Any) -> tuple[Any, int]:
    """Positions, a Data, and the node of them that a PositionConstraint looks at."""
    return row.getContext().getMechanicalState().findData("position"), int(row.indices.value[0])


def _constant(goal: Any) -> Callable[[float], np.ndarray]:
    fixed = np.array(goal, dtype=float)
    return lambda time: fixed
