"""Inverse control with stock components: the efforts that bring effectors to their goals."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, ClassVar

import numpy as np
import Sofa

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.actuators import Actuators
from sofa_softctl.inverse.contact_rows import ContactRows
from sofa_softctl.inverse.foresight import Foresight
from sofa_softctl.inverse.grasp import Grasp
from sofa_softctl.inverse.look_ahead import LookAhead
from sofa_softctl.inverse.lost import LostObjects
from sofa_softctl.inverse.plot import draw_tracking
from sofa_softctl.inverse.slack import Slack
from sofa_softctl.inverse.summary import InverseSummary, summarise
from sofa_softctl.qpcc.contacts import Law
from sofa_softctl.qpcc.modes import Mode
from sofa_softctl.qpcc.preparation import prepare
from sofa_softctl.qpcc.problem import InverseProblem
from sofa_softctl.qpcc.search_options import Search
from sofa_softctl.qpcc.solution import InverseSolution
from sofa_softctl.qpcc.solve import solve
from sofa_softctl.scene.channels import CONTACTS_KEPT
from sofa_softctl.scene.compliance import ComplianceSystem, row_count
from sofa_softctl.scene.contacts import body_path
from sofa_softctl.scene.controller import SceneController, pauses_on_error
from sofa_softctl.scene.report import History, Markers
from sofa_softctl.status import Status

CONTACTS = ("coulomb", "sticking", "forward")
"""Ways to take contacts."""
MODES = list(Mode)
"""Modes by their number in the Data `contact_mode`."""
CONTACT_OUTPUTS = tuple(f"contact_{name}" for name in ("point", "force", "normal", "slide", "mode"))
"""Data with an entry for each contact of the step."""


class InverseController(SceneController):
    """Finds, in every step, the efforts that bring effectors to a goal that may move.

    Works inside the step, with stock components: cables, pressures, joints and positions whose
    `value` is an effort (see `actuators.KINDS`), effectors made by `add_effector`, and contacts of
    SOFA's FrictionContactConstraint, whose forces are variables beside the efforts. Whatever those
    constraints impose themselves is overwritten between the constraint solver and the correction.
    Their own Data `displacement` is one step behind: this controller's Data are the ones to read.
    When something in it fails, the actuators keep the last efforts, the simulation pauses, and the
    error is raised.

    Args:
        root: Root of the scene; it holds the constraint solver.
        actuators: Components to drive, such as CableConstraints with valueType='force'. Their own
            limits on effort, displacement and its rate are respected where the scene set them.
        effectors: What `add_effector` returned, one list an effector.
        goal: Point (3,), one for each effector (n, 3), or a function of time that gives it. One
            that remembers something has `snapshot()` and `restore(snapshot)`, as controllers do.
        energy: Weight of the actuators' energy [-]; needed with more actuators than effector rows.
        weight: Weight of each effector's residual [-], one number, shape (n,), or (n, 3) by axis.
        goal_distance: How far ahead of each effector its goal is sought at most [length]: one that
            is further is moved nearer, along the straight line.
        effort_rate: Largest change of an effort a step [effort], for all or for each.
        motor_speed: Length that a motor pulls in a unit of time [length/time], for all or for each.
            A cable that a motion leaves slack may exceed its limits for the time that takes.
        contacts: How contacts are taken: 'coulomb' (they stick or slide), 'sticking' (they hold
            whatever pulls along them, as in the paper), or 'forward' (not as variables: as the
            forward solver finds them with the last efforts).
        grasps: Objects whose summed contact force is bounded, see `Grasp`.
        search: How long, and how, the modes of the contacts are searched; see `Search`.
        solver: QP solver: 'daqp', 'proxqp', 'qpsolvers:NAME', or one of a plugin.
        look_ahead: Whether, and how, the controller looks further than a step when nothing is
            gained any more, by rollouts on a copy of the scene; see `LookAhead`.
        names: Names of the actuators for messages; the names of their nodes by default.
        goal_tolerance: Distance of the effectors to their goals at the end of a run up to which the
            run says that they are reached [length], and otherwise why not. None: says neither.

    Source: Coevoet, Escande, Duriez 2019, eq. (6) and section III-E.
    """

    recorded: ClassVar[dict[str, tuple[str, str]]] = {
        "effort": ("force", "Effort of each actuator"),
        "displacement": ("length", "Length pulled in of each cable"),
        "goal": ("length", "Goal of each effector"),
        "tip": ("length", "Position of each effector"),
        "error": ("length", "Distance of each effector to its goal"),
    }
    recorded_contacts: ClassVar[dict[str, tuple[Any, ...]]] = {
        "contact_point": ("length", "Where each contact is", CONTACTS_KEPT),
        "contact_force": ("force", "Force of each contact on the second body", CONTACTS_KEPT),
        "contact_normal": ("force", "Normal force of each contact", CONTACTS_KEPT),
        "contact_slide": ("length", "How far each contact slid in the step", CONTACTS_KEPT),
        "contact_mode": ("", "0 inactive, 1 sticking, 2 sliding", CONTACTS_KEPT),
        "gap": ("", "(objective - bound) / objective of the step; 0 without contacts"),
        "pieces": ("", "Pieces of the problem that were solved"),
    }

    def __init__(
        self,
        *args: Any,
        root: Any,
        actuators: Sequence[Any],
        effectors: Sequence[Sequence[Any]],
        goal: Callable[[float], np.ndarray] | Sequence[float] | np.ndarray,
        energy: float = 1e-3,
        weight: float | np.ndarray = 1.0,
        goal_distance: float = math.inf,
        effort_rate: float | Sequence[float] | np.ndarray = math.inf,
        motor_speed: float | np.ndarray | None = None,
        contacts: str = "coulomb",
        grasps: Sequence[Grasp] = (),
        search: Search | None = None,
        solver: str = "daqp",
        look_ahead: LookAhead | None = None,
        names: Sequence[str] | None = None,
        goal_tolerance: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, root=root, **kwargs)
        self.actuators = list(actuators)
        self.driven = Actuators(self.actuators, names)
        self.names = self.driven.names
        self.effectors = [list(rows) for rows in effectors]
        self.goal_function: Any = goal if callable(goal) else _constant(goal)
        self.energy = energy
        self.goal_distance = goal_distance
        self.effort_rate: Any = effort_rate
        self.solver = solver
        self.contacts = _checked_contacts(contacts)
        self.law = Law("sticking" if contacts == "sticking" else "coulomb")
        self.search = Search() if search is None else search
        self.grasps = list(grasps)
        self.lost = LostObjects(grasps=self.grasps)
        self.goal_tolerance = _checked_tolerance(goal_tolerance)
        self.motor_speed = motor_speed
        self._check()
        self.foresight = Foresight(self, look_ahead)
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
        self.add_output("contact_point", np.empty((0, 3)), "Where each contact is [length].")
        self.add_output(
            "contact_force", np.empty((0, 3)), "Force of each contact on the second body [force]."
        )
        self.add_output("contact_normal", np.empty(0), "Normal force of each contact [force].")
        self.add_output("contact_slide", np.empty(0), "How far each slid in the step [length].")
        self.add_output("contact_mode", np.empty(0), "0 inactive, 1 sticking, 2 sliding.")
        self.add_output("status", "", "How the last step was solved.")
        self.add_output("gap", np.zeros(1), "(objective - bound) / objective; 0 without contacts.")
        self.add_output("pieces", np.zeros(1), "Pieces of the problem that were solved.")
        self.add_output("look_ahead", "", "What the last look-ahead chose, or that nothing helps.")
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
        self.problem: InverseProblem | None = None
        self.solve_cpu = 0.0  # CPU time of the last solve [s]: a busy machine does not change it
        self.last_status: Status | None = None
        self.solutions: dict[Status, int] = dict.fromkeys(Status, 0)
        self.limits_met: dict[str, int] = {}
        self.searched: list[tuple[float, bool]] = []  # gap, converged of each step with contacts
        self.last_time = -math.inf
        self.failed = False
        self.told_of_others = False
        self.slack = Slack(self.names, self.motor_speed)
        self.lost.forget()
        self.foresight.forget()
        for grasp in self.grasps:
            grasp.forget()

    def reset(self) -> None:
        """Forget the last solution, all counts, and what was told of them."""
        self._forget()
        self.driven.release()
        for name, data in self.outputs.items():
            if name in CONTACT_OUTPUTS:
                data.value = []
            else:
                data.value = (
                    ""
                    if name in ("status", "look_ahead")
                    else np.zeros_like(np.asarray(data.value))
                )

    def summary(self, history: History) -> InverseSummary | None:
        """See SceneController."""
        return summarise(self, history) if len(history.time) else None

    def plot(self, figure: Any, history: History) -> bool:
        """See SceneController."""
        draw_tracking(figure, self.names, history)
        return True

    def markers(self) -> Markers:
        """See SceneController."""
        names = ("goal", "tip", "contact_point", "contact_force")
        values = [np.array(self.outputs[name].value, dtype=float) for name in names]
        return Markers(*(value.reshape(-1, 3) for value in values))

    def snapshot(self) -> dict[str, Any]:
        """What the controller carries from step to step."""
        return {
            "solution": self.solution,
            "solutions": dict(self.solutions),
            "limits_met": dict(self.limits_met),
            "searched": list(self.searched),
            "last_time": self.last_time,
            "slack_until": self.slack.until.copy(),
            "grasps": [grasp.snapshot() for grasp in self.grasps],
            "lost": self.lost.snapshot(),
            "foresight": self.foresight.snapshot(),
            "goal": self.goal_function.snapshot() if _remembers(self.goal_function) else None,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over what `snapshot` gave."""
        self.solution = snapshot["solution"]
        self.solutions = dict(snapshot["solutions"])
        self.limits_met = dict(snapshot["limits_met"])
        self.searched = list(snapshot["searched"])
        self.last_time = snapshot["last_time"]
        self.slack.until = snapshot["slack_until"].copy()
        self.foresight.restore(snapshot["foresight"])
        for grasp, known in zip(self.grasps, snapshot["grasps"], strict=True):
            grasp.restore(known)
        self.lost.restore(snapshot["lost"])
        if _remembers(self.goal_function):
            self.goal_function.restore(snapshot["goal"])

    def _find_rows(self) -> None:
        """Find the rows' owners and remember where the effectors start."""
        if self.contacts != "forward":
            prepare()
        self.system = ComplianceSystem(self.root)
        driven = self.actuators
        self.factor = np.array([self.system.effort_factor(entry) for entry in driven])
        n_a = self.driven.count
        self.owned = self.system.rows_of([*driven, *itertools.chain(*self.effectors)])
        self.a, self.e = slice(0, n_a), slice(n_a, None)
        self.watched = [_node_of(rows[0], "position") for rows in self.effectors]
        states = [rows[0].getContext().getMechanicalState() for rows in self.effectors]
        self.lost = LostObjects([body_path(state) for state in states], self.grasps)
        self.watched_free = [_node_of(rows[0], "free_position") for rows in self.effectors]

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Where the effectors shall be at the end of the step."""
        del event
        if self.system is None:  # the first step: everything is initialised, nothing has moved
            self._find_rows()
        now = self.time.value
        if now < self.last_time:  # SOFA does not tell controllers of a reset
            self.reset()
        self.foresight.before_step()
        time = now + self.dt.value
        goal = np.atleast_2d(np.asarray(self.goal_function(time), dtype=float))
        shape = (len(self.effectors), 3)
        if goal.shape != shape or not np.isfinite(goal).all():
            raise SceneError(
                f"The goal of {self.getPathName()} at t = {time:.6g} must be finite, with shape "
                f"{shape}; got {goal.tolist()}."
            )
        self.keep(target=self._within_reach(goal), wanted=goal, last_time=now)
        self.outputs["goal"].value = goal

    def _within_reach(self, goal: np.ndarray) -> np.ndarray:
        """The goals, those further than `goal_distance` moved nearer, shape (n_e, 3)."""
        tip = _positions(self.watched)
        way = self.foresight.way(goal - tip)
        far = np.linalg.norm(way, axis=1, keepdims=True)
        reach = self.foresight.goal_distance
        if reach == math.inf:
            return tip + way
        return tip + way * np.minimum(1.0, reach / np.maximum(far, 1e-300))

    @pauses_on_error
    def onSolveConstraintSystemEndEvent(self, event: Any) -> None:
        """Replace the forward solver's multipliers of the actuators by the inverse answer."""
        del event
        rows, others = self.owned.now()
        touching = None
        if self.contacts != "forward" and len(others):
            touching = ContactRows(self.system, self.grasps)
            others = np.setdiff1d(others, touching.rows, assume_unique=True)
        problem = self.build(rows, others, touching)
        self.keep(problem=problem)
        last = self.solution
        start = process_time()
        solution = solve(
            problem,
            solver=self.solver,
            warm=last.warm if last is not None else None,
            held=self._held(last) if last is not None else None,
            search=self.search,
        )
        self.keep(solve_cpu=process_time() - start)
        self.system.set_effort(rows[self.a], solution.effort, self.factor)
        if touching is not None and len(touching):
            touching.apply(solution.contact_force, self.factor[0])
        if self.told_of_others:
            self._impose(solution.effort)
        self._look_at_slack(solution)
        self._tell(solution)
        self._tell_contacts(solution, touching)
        self._look_for_lost(problem, touching)

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

    def build(
        self, rows: np.ndarray, others: np.ndarray, touching: ContactRows | None = None
    ) -> InverseProblem:
        """The inverse problem of the present step.

        Args:
            rows: Rows of the actuators, then of the effectors.
            others: Rows of constraints that are taken as the forward solver finds them.
            touching: The contacts.
        """
        last = self.solution
        before: Any = 0.0 if last is None else self._held(last)
        displaced: Any = 0.0 if last is None else last.displacement
        W = self.system.compliance(rows, rows[self.a], self.factor)
        delta_free = self.system.delta_free(rows)
        # Effector rows measure from where their node was when SOFA initialised it, which need not
        # be where it starts.
        delta_free[self.e] = (_positions(self.watched_free) - self.target).ravel()
        if len(others):
            delta_free = delta_free + self._delta_by_others(rows, others)
        contacts = None
        if touching is not None and len(touching):
            contacts = touching.problem(rows[self.a], rows[self.e], self.factor[0], self.law)
        self.keep(asked=self.slack.relax(self.driven.limits(self.factor), self.time.value))
        return InverseProblem(
            W_ea=W[self.e],
            W_aa=W[self.a],
            delta_e_free=delta_free[self.e],
            delta_a_free=delta_free[self.a],
            effector_weight=self.weight,
            effort_previous=before,
            effort_rate=self.effort_rate,
            displacement_previous=displaced,
            energy=self.foresight.energy,
            names=self.driven.names,
            contacts=contacts,
            **self.asked,
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

    def _look_at_slack(self, solution: InverseSolution) -> None:
        """Give motors the time for what a cable lacks, and tell which cables are slack."""
        if not solution.relaxed:
            return
        now, last = self.time.value, self.solution
        before = 0.0 if last is None else last.displacement
        known = self.slack.slack_now(now)
        self.slack.look(self.asked, solution.displacement, before, now)
        new = [name for name in self.slack.slack_now(now) if name not in known]
        if new and self.motor_speed is not None:
            Sofa.msg_warning(
                self,
                f"{', '.join(new)}: slack, the motion was faster than the motor or longer than its "
                "course; its displacement limits rest until the motor has caught up.",
            )

    def _tell_contacts(self, solution: InverseSolution, touching: ContactRows | None) -> None:
        """Data of the contacts, and what became of the objects that are held."""
        found = touching if touching is not None and len(touching) else None
        if found is None and not self.grasps and not len(self.outputs["contact_point"].value):
            return
        normal = slide = np.empty(0)
        values: dict[str, Any] = dict.fromkeys(CONTACT_OUTPUTS, [])
        if found is not None:
            normal = found.normal_part(solution.contact_force)
            slide = found.tangential_size(solution.contact_gap) * (normal > 0.0)
            values = {
                "contact_point": [contact.point for contact in found.found],
                "contact_force": found.in_space(solution.contact_force),
                "contact_normal": normal,
                "contact_slide": slide,
                "contact_mode": [MODES.index(mode) for mode in solution.modes],
            }
        for name, value in values.items():
            self.outputs[name].value = value
        for grasp in self.grasps:
            held = np.empty(0, dtype=int) if found is None else found.of(grasp)
            was = grasp.dropped_at
            time = self.time.value + self.dt.value
            grasp.look(time, normal[held], slide[held])
            if grasp.dropped_at is not None and was is None:
                Sofa.msg_warning(self, f"{grasp.body}: no contact holds it at t = {time:.4g}.")

    def _look_for_lost(self, problem: InverseProblem, touching: ContactRows | None) -> None:
        """Warn of objects that no effort moves any more."""
        time = self.time.value + self.dt.value
        found = [] if touching is None else touching.found
        for name in self.lost.look(time, problem, [contact.bodies for contact in found]):
            Sofa.msg_warning(
                self,
                f"{name}: nothing touches it from t = {time:.4g} on, and until something does no "
                "actuator moves it. Was it dropped, or pushed away? Set "
                "`let_go` of its Grasp before it is thrown on purpose.",
            )

    def _tell(self, solution: InverseSolution) -> None:
        if solution.status is not self.last_status:
            self.keep(last_status=solution.status)
            self.outputs["status"].value = solution.status.name
            if solution.status is not Status.SOLVED:
                relaxed = "; ".join(solution.relaxed)
                text = f"{solution.status.value} {relaxed} {solution.message}"
                Sofa.msg_warning(self, text.strip())
        before = self.solution
        self.keep(solution=solution)
        self.solutions[solution.status] += 1
        for limit in solution.active:
            self.limits_met[limit] = self.limits_met.get(limit, 0) + 1
        if solution.modes:
            self.searched.append((solution.gap, solution.converged))
        self.outputs["effort"].value = solution.effort
        self.outputs["displacement"].value = solution.displacement
        if solution.modes or (before is not None and before.modes):
            self.outputs["gap"].value = [solution.gap if solution.modes else 0.0]
            self.outputs["pieces"].value = [float(solution.pieces)]

    @pauses_on_error
    def onAnimateEndEvent(self, event: Any) -> None:
        """Where the effectors came to."""
        del event
        tip = _positions(self.watched)
        self.outputs["tip"].value = tip
        self.outputs["error"].value = np.linalg.norm(tip - self.wanted, axis=1)


def _checked_contacts(contacts: str) -> str:
    if contacts not in CONTACTS:
        raise SceneError(f"contacts must be one of {', '.join(CONTACTS)}; got '{contacts}'.")
    return contacts


def _checked_tolerance(tolerance: float | None) -> float | None:
    if tolerance is not None and not 0.0 < tolerance < math.inf:
        raise SceneError(f"goal_tolerance must be a length > 0, or None; got {tolerance!r}.")
    return tolerance


def _node_of(row: Any, data: str) -> tuple[Any, int]:
    """A Data of positions, and the node of them that a PositionConstraint looks at."""
    return row.getContext().getMechanicalState().findData(data), int(row.indices.value[0])


def _positions(watched: Sequence[tuple[Any, int]]) -> np.ndarray:
    """Position of every effector, shape (n_e, 3)."""
    return np.array([position.value[index] for position, index in watched])


def _remembers(goal: Any) -> bool:
    return hasattr(goal, "snapshot") and hasattr(goal, "restore")


def _constant(goal: Any) -> Callable[[float], np.ndarray]:
    fixed = np.array(goal, dtype=float)
    return lambda time: fixed
