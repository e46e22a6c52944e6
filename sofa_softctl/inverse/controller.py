"""Inverse control with stock components: efforts that bring effectors to their goals."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import Sofa
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse import outputs
from sofa_softctl.inverse.aspects.aspect import SolvedStep, StepAspect
from sofa_softctl.inverse.aspects.look_ahead import LookAhead, LookAheadRunner
from sofa_softctl.inverse.aspects.objects import GraspedObjects, LostObjects
from sofa_softctl.inverse.aspects.slack import Slack
from sofa_softctl.inverse.aspects.step_counts import StepCounts
from sofa_softctl.inverse.goals.function import goal_warnings, goals_at, has_state, within_reach
from sofa_softctl.inverse.limit_checks import check_limits, limit_warnings
from sofa_softctl.inverse.options import (
    CONTACTS,
    checked_effectors,
    checked_goal,
    checked_names,
    checked_solver,
    fixed_goal,
    row_weights,
)
from sofa_softctl.inverse.preparation import prepare
from sofa_softctl.inverse.rows.actuators import Actuators
from sofa_softctl.inverse.rows.control_rows import ControlRows
from sofa_softctl.inverse.rows.grasp import Grasp
from sofa_softctl.inverse.summary import InverseSummary, summarise
from sofa_softctl.qpcc.problem.contacts import Law
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solution import InverseSolution
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.contacts import body_path, may_touch
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.report import History, Markers
from sofa_softctl.scene.graph.nodes import body_size

if TYPE_CHECKING:
    from sofa_softctl.inverse.aspects.measured import MeasuredDisplacements
    from sofa_softctl.inverse.rows.contact_rows import ContactRows

Numbers = float | Sequence[float] | np.ndarray
"""One number for all actuators, or one for each."""
LIMITS = ("effort_min", "effort_max", "displacement_min", "displacement_max")
"""Options that `Actuators` holds."""
FIXED = ("actuators", "effectors", "names", "contacts", "measured", "lead")
"""What is read when the controller is made."""
DEFAULT_TOLERANCE = 0.01
"""Distance to a goal that counts as reached, as a fraction of the robot's size."""


class InverseController(SceneController):
    """Finds the efforts of every step that bring effectors to goals, which may move.

    Works inside the step, with stock components: cables, pressures, joints and positions whose
    `value` is an effort (see `actuators.KINDS`), effectors made by `add_effector`, and contacts of
    SOFA's FrictionContactConstraint, whose forces are variables beside the efforts. Multipliers
    of those constraints are overwritten between the constraint solver and the correction.
    Their own Data `displacement` is one step late: read this controller's Data.
    When something in it fails, the actuators keep the last efforts, the simulation pauses, and the
    error is raised.

    Args:
        root: Root of the scene; it holds the constraint solver.
        actuators: Components to drive, such as CableConstraints with valueType='force'. Their own
            limits on effort, displacement and its rate are respected where the scene set them;
            those on effort are SOFA's multipliers, dt times an effort with most integrators.
        effectors: What `add_effector` returned, one list an effector.
        goal: Point (3,), one for each effector (n, 3), a function of time that gives it, or a Data
            that it follows, or its path: "@/target/dofs.position". A function with a state has
            `snapshot()` and `restore(snapshot)`, as controllers do. Setting the Data `goal` moves
            it from the next step on.
        energy: Weight of the actuators' energy [-]; needed with more actuators than effector rows.
        weight: Weight of each effector's residual [-], one number, shape (n,), or (n, 3) by axis.
        goal_distance: Largest distance of each effector to its goal [length]: a goal that is
            further is moved nearer, along the straight line.
        effort_min: Smallest effort of each actuator [effort], one number or shape (n_a,): 0 for a
            cable, which cannot push. Never exceeded. Not of Young's moduli.
        effort_max: Largest effort [effort], likewise.
        displacement_min: Smallest displacement, such as the length that a cable may be let out
            (negative) [displacement], likewise.
        displacement_max: Largest displacement [displacement], likewise.
        effort_rate: Largest change of an effort a step [effort], likewise.
        motor_speed: Largest length that a motor moves in a unit of time [length/time], likewise.
            A cable that a motion leaves slack may exceed its limits for the time that takes.
        measured: Displacements that the motors of a real robot have reached: a Data [displacement],
            shape (n_a,), or its path, "@bridge.measured" of a HardwareBridge. The model then does
            not run ahead of them; NaN holds nothing back. None: the motors follow.
        lead: How far the model may be ahead of `measured` [displacement], one number or shape
            (n_a,). A robot lags by its speed times its delay, (lookahead + 2) dt with a
            HardwareBridge: a smaller lead slows down one that follows well.
        contacts: Model of contacts: 'coulomb' (they stick or slide), 'sticking' (they stick without
            a cone, as in the paper), or 'forward' (not variables: forces of the forward solver with
            the last efforts).
        grasps: Objects whose summed contact force is bounded, see `Grasp`.
        search: Options of the search for contact modes; see `SearchOptions`.
        solver: QP solver: 'daqp', 'proxqp', 'qpsolvers:NAME', or one of a plugin. Where its answer
            fails the check, proxqp is called, and the status is FALLBACK.
        look_ahead: Look-ahead over several steps where there is no progress, by rollouts on a copy
            of the scene; see `LookAhead`. None: none.
        names: Names of the actuators for messages; the names of their nodes by default.
        goal_tolerance: Distance of the effectors to their goals at the end of a run up to which
            they count as reached [length], for all or one each; the run says why otherwise, and
            ends with status 3. None: 1 % of the robot's size, the largest side of the box around
            the body that carries the effector as the scene starts (see `scene.body.body_size`).
            math.inf: not judged, as effectors with the weight 0 are not. Axes with the weight 0 do
            not count.

    An effort is a force, torque or pressure in the scene's units, whatever dt and integrator are.

    Raises:
        SceneError: an option is unknown, missing or wrong, or limits contradict each other.

    Source: Coevoet, Escande, Duriez 2019, eq. (6) and section III-E.
    """

    weight: np.ndarray
    weighted_axes: np.ndarray
    """Axes of each effector that have a weight, shape (n_e, 3)."""
    recorded = outputs.RECORDED
    recorded_contacts = outputs.RECORDED_CONTACTS

    def __init__(
        self,
        *args: Any,
        root: Any,
        actuators: Sequence[Any],
        effectors: Sequence[Sequence[Any]],
        goal: Callable[[float], np.ndarray] | Sequence[float] | np.ndarray | str,
        energy: float = 1e-3,
        weight: float | np.ndarray = 1.0,
        goal_distance: float = math.inf,
        effort_min: Numbers = -math.inf,
        effort_max: Numbers = math.inf,
        displacement_min: Numbers = -math.inf,
        displacement_max: Numbers = math.inf,
        effort_rate: Numbers = math.inf,
        motor_speed: Numbers | None = None,
        measured: Any = None,
        lead: Numbers | None = None,
        contacts: str = "coulomb",
        grasps: Sequence[Grasp] = (),
        search: SearchOptions | None = None,
        solver: str = "daqp",
        look_ahead: LookAhead | None = None,
        names: Sequence[str] | None = None,
        goal_tolerance: float | Sequence[float] | np.ndarray | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, root=root, **kwargs)
        self.actuators = options.components(self, "actuators", actuators, "[cable]")
        self.effectors = checked_effectors(self, effectors)
        self.driven = Actuators(self.actuators, checked_names(self, names, len(self.actuators)))
        self.names = self.driven.names
        self.effort_min, self.effort_max = effort_min, effort_max
        self.displacement_min, self.displacement_max = displacement_min, displacement_max
        self.goal_function: Any = checked_goal(self, goal, len(self.effectors))
        self.goal_set: np.ndarray | None = None  # by a script, through the Data
        self.energy: Any = energy
        self.weight = weight  # type: ignore[assignment]  # checked when it is set
        self.goal_distance: Any = goal_distance
        self.effort_rate: Any = effort_rate
        self.motor_speed: Any = motor_speed
        self.solver = checked_solver(self, solver)
        self.contacts = options.choice(self, "contacts", contacts, CONTACTS)
        self.law = Law("sticking" if contacts == "sticking" else "coulomb")
        self.search = SearchOptions()
        if search is not None:
            self.search = options.instance(self, "search", search, SearchOptions)
        self.grasps = options.instances(self, "grasps", grasps, Grasp)
        self.goal_tolerance: Any = goal_tolerance
        if goal_tolerance is not None:
            self.goal_tolerance = self._of_effectors("goal_tolerance", goal_tolerance)
        if look_ahead is not None:
            options.instance(self, "look_ahead", look_ahead, LookAhead)
        self.look_ahead_runner = LookAheadRunner(self, look_ahead)
        self.measured = self._measured_displacements(measured, lead)
        self.slack = Slack(self.names, self.motor_speed)
        self.step_counts = StepCounts()
        self.lost = LostObjects(grasps=self.grasps)
        self.aspects: list[StepAspect] = [
            self.look_ahead_runner,
            *([] if self.measured is None else [self.measured]),
            self.slack,
            self.step_counts,
            GraspedObjects(self.grasps),
            self.lost,
        ]
        self.rows: Any = None  # ControlRows, from the first step on
        self.recorded = outputs.recorded(self.driven.quantities)
        outputs.declare(self, self.driven.count, len(self.effectors))
        self.goal_seen = self.outputs["goal"].getCounter()
        self._forget()

    def _of_actuators(self, name: str, value: Any, allowed: options.Allowed) -> Any:
        """One number for each actuator; a single infinite one as it is, as there is no limit."""
        values = options.numbers(self, name, value, len(self.actuators), "actuator", allowed)
        return values if np.isfinite(values).any() else float(values[0])

    def _of_effectors(self, name: str, value: Any) -> np.ndarray:
        """One positive number for each effector."""
        count = len(self.effectors)
        return options.numbers(self, name, value, count, "effector", options.POSITIVE)

    def _measured_displacements(self, measured: Any, lead: Any) -> MeasuredDisplacements | None:
        """The aspect of a real robot's motors, if their displacements are measured."""
        if (measured is None) != (lead is None):
            options.wrong(self, "lead", "given with `measured`, and only then", lead)
        if measured is None:
            return None
        from sofa_softctl.inverse.aspects.measured import MeasuredDisplacements

        count = len(self.actuators)
        distance = options.numbers(self, "lead", lead, count, "actuator", options.POSITIVE)
        return MeasuredDisplacements(self, measured, distance, self.names)

    def _forget(self) -> None:
        self.solution: InverseSolution | None = None
        self.problem: InverseProblem | None = None
        self.solve_cpu = 0.0  # CPU time of the last solve [s]: a busy machine does not change it
        self.last_time = -math.inf
        self.asked_goal: tuple[float, Any] = (math.nan, None)  # time and goals
        self.failed = False
        self.warned_of_others = False
        for aspect in self.aspects:
            aspect.forget()

    def reset(self) -> None:
        """Forget the last solution, all counts and warnings; a goal that was set stays."""
        self._take_goal()
        self._forget()
        self.driven.release()
        outputs.clear(self.outputs)
        self.keep(goal_seen=self.outputs["goal"].getCounter())

    @override
    def start_warnings(self) -> list[str]:
        return [*goal_warnings(self), *limit_warnings(self)]

    @override
    def about(self) -> dict[str, Any]:
        tips = [[rows.getPathName() for rows in each] for each in self.effectors]
        return {"actuators": list(self.names), "effectors": tips, "solver": self.solver}

    @override
    def summary(self, history: History) -> InverseSummary | None:
        return summarise(self, history) if len(history.time) else None

    @override
    def plot(self, figure: Any, history: History) -> bool:
        from sofa_softctl.inverse.plot import draw_tracking

        quantities = [each.effort for each in self.driven.quantities]
        limits: list[float] = []
        if self.rows is not None:
            found = self.driven.limits(self.rows.factor)
            limits = [*np.ravel(found["effort_min"]), *np.ravel(found["effort_max"])]
        draw_tracking(figure, self.names, history, quantities, limits)
        return True

    @override
    def markers(self) -> Markers:
        return outputs.markers(self.outputs)

    def snapshot(self) -> dict[str, Any]:
        """State that persists over steps."""
        return {
            "solution": self.solution,
            "last_time": self.last_time,
            "aspects": [aspect.snapshot() for aspect in self.aspects],
            "goal": self.goal_function.snapshot() if has_state(self.goal_function) else None,
            "goal_set": self.goal_set,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a `snapshot`."""
        self.solution = snapshot["solution"]
        self.last_time = snapshot["last_time"]
        self.keep(asked_goal=(math.nan, None))
        for aspect, state in zip(self.aspects, snapshot["aspects"], strict=True):
            aspect.restore(state)
        if has_state(self.goal_function):
            self.goal_function.restore(snapshot["goal"])
        self.keep(goal_set=snapshot["goal_set"], goal_seen=self.outputs["goal"].getCounter())

    def __setattr__(self, name: str, value: Any) -> None:
        """Options may be set while the scene runs, checked as those of the constructor are."""
        if name == "goal" and callable(value) and not options.is_data(value):
            function = checked_goal(self, value, len(self.effectors))
            self.keep(goal_function=function, goal_set=None, asked_goal=(math.nan, None))
        elif name in LIMITS:
            self.driven.given[name] = self._of_actuators(name, value, options.ANY)
        elif name in ("effort_rate", "motor_speed"):
            allowed = options.NOT_NEGATIVE if name == "effort_rate" else options.POSITIVE
            found = None if value is None else self._of_actuators(name, value, allowed)
            self.keep(**{name: found})
            if name == "motor_speed" and "slack" in vars(self):
                self.slack.motor_speed[:] = np.inf if found is None else found
        elif name == "weight":
            weight = row_weights(self, value, len(self.effectors))
            self.keep(weight=weight, weighted_axes=weight.reshape(-1, 3) > 0.0)
        elif name == "energy":
            self.keep(energy=options.number(self, name, value, options.FINITE_NOT_NEGATIVE))
        elif name == "goal_distance":
            self.keep(goal_distance=options.number(self, name, value, options.POSITIVE))
        elif name in FIXED and "rows" in vars(self):
            options.wrong(self, name, "set when the controller is made, not later", value)
        else:
            super().__setattr__(name, value)

    def _take_goal(self) -> None:
        """Take over what a script set the Data `goal` to since the last step."""
        data = self.outputs["goal"]
        if data.getCounter() != self.goal_seen:
            goal = fixed_goal(self, data, len(self.effectors))
            seen = data.getCounter()
            self.keep(goal_set=goal, goal_seen=seen, asked_goal=(math.nan, None))

    def goals_at(self, time: float) -> np.ndarray:
        """Goal of each effector at a time [length], shape (n_e, 3).

        The function is asked once for each time: it may read from a device.
        """
        if time != self.asked_goal[0]:
            goal = self.goal_set
            if goal is None:
                goal = goals_at(self.goal_function, time, len(self.effectors), self.getPathName())
            self.keep(asked_goal=(time, goal))
        return self.asked_goal[1]

    def _find_rows(self) -> ControlRows:
        if self.contacts != "forward":
            prepare(contacts=may_touch(self.root))
        rows = ControlRows(self.root, self.driven, self.effectors)
        check_limits(self, rows.factor)
        self.lost.watch([body_path(state) for state in rows.states])
        self.keep(rows=rows, tolerance=self._tolerances())
        return rows

    def _tolerances(self) -> np.ndarray:
        """Distance at which each effector counts as there [length], shape (n_e,); inf: always."""
        given = self.goal_tolerance
        if given is None:
            sizes = [body_size(rows[0].getContext()) for rows in self.effectors]
            given = DEFAULT_TOLERANCE * np.array(sizes)
        judged = self.weighted_axes.any(axis=1) & (given > 0.0)
        found: np.ndarray = np.where(judged, given, math.inf)
        return found

    @property
    def effector_names(self) -> list[str]:
        """Path of each effector's node, for messages."""
        return [rows[0].getContext().getPathName() for rows in self.effectors]

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Find the targets of the effectors at the end of the step."""
        del event
        # The first step: everything is initialised, nothing has moved.
        rows = self._find_rows() if self.rows is None else self.rows
        now = self.time.value
        if now < self.last_time:  # SOFA does not notify controllers of a reset
            self.reset()
        self._take_goal()
        for aspect in self.aspects:
            aspect.begin()
        time = now + self.dt.value
        goal = self.goals_at(time)
        tip = rows.tip()
        target = within_reach(
            tip, self.look_ahead_runner.way(goal - tip), self.look_ahead_runner.goal_distance
        )
        self.keep(target=target, wanted=goal, last_time=now)
        self.outputs["goal"].value = goal
        self.keep(goal_seen=self.outputs["goal"].getCounter())

    @pauses_on_error
    def onSolveConstraintSystemEndEvent(self, event: Any) -> None:
        """Replace the forward solver's multipliers by the inverse solution."""
        del event
        if self.rows is None:
            raise SceneError(
                f"{type(self).__name__} replaces onAnimateBeginEvent and does not call "
                "super().onAnimateBeginEvent(event), which finds the goals of the step."
            )
        own, others = self.rows.now()
        contacts = None
        if self.contacts != "forward" and len(others):
            from sofa_softctl.inverse.rows.contact_rows import ContactRows

            contacts = ContactRows(self.rows.system, self.grasps)
            others = np.setdiff1d(others, contacts.rows, assume_unique=True)
            contacts = contacts if len(contacts) else None
        problem = self.build(own, others, contacts)
        self.keep(problem=problem)
        last = self.solution
        start = process_time()
        solution = solve(
            problem,
            solver=self.solver,
            warm=last.warm if last is not None else None,
            held=self.driven.lasting(last.effort) if last is not None else None,
            search=self.search,
        )
        self.keep(solve_cpu=process_time() - start)
        self.rows.apply(own, solution.effort)
        if contacts is not None:
            contacts.apply(solution.contact_force, self.rows.factor[0])
        if self.warned_of_others:
            self._impose(solution.effort)
        self.keep(solution=solution)
        outputs.write_solution(self.outputs, solution, last)
        normal, slide = outputs.write_contacts(self.outputs, solution, contacts)
        now = self.time.value
        step = SolvedStep(
            start=now,
            end=now + self.dt.value,
            problem=problem,
            limits=self.limits,
            solution=solution,
            previous=last,
            contacts=contacts,
            normal=normal,
            slide=slide,
        )
        for aspect in self.aspects:
            for warning in aspect.update(step):
                Sofa.msg_warning(self, warning)

    def build(
        self, rows: np.ndarray, others: np.ndarray, contacts: ContactRows | None = None
    ) -> InverseProblem:
        """The inverse problem of the present step.

        Args:
            rows: Rows of the actuators, then of the effectors.
            others: Rows of constraints that are taken as the forward solver finds them.
            contacts: The contacts; None: there are none.
        """
        own, last = self.rows, self.solution
        effort_before: Any = 0.0 if last is None else self.driven.lasting(last.effort)
        displaced: Any = 0.0 if last is None else last.displacement
        if len(others) and not self.warned_of_others:
            self._warn_of_others(others)
        touching = None
        if contacts is not None:
            touching = contacts.problem(rows[own.a], rows[own.e], own.factor[0], self.law)
        if self.motor_speed is not None:
            course = np.where(self.driven.changes, np.inf, self.motor_speed * self.dt.value)
            self.driven.given["displacement_rate"] = course
        limits = self.driven.limits(own.factor)
        for aspect in self.aspects:
            limits = aspect.limit(limits, displaced, self.time.value)
        self.keep(limits=limits)
        return InverseProblem(
            **own.mechanics(rows, others, self.target),
            effector_weight=self.weight,
            effort_previous=effort_before,
            effort_rate=self.effort_rate,
            displacement_previous=displaced,
            energy=self.look_ahead_runner.energy,
            names=self.driven.names,
            contacts=touching,
            **limits,
        )

    @pauses_on_error
    def onAnimateEndEvent(self, event: Any) -> None:
        """Write the effectors' positions and errors."""
        del event
        outputs.write_effectors(self.outputs, self.rows.tip(), self.wanted, self.weighted_axes)

    def hold(self) -> None:
        """Keep the last efforts, in this step and, by the cables' own `value`, in those to come."""
        if self.solution is not None:
            self._impose(self.solution.effort)
            with contextlib.suppress(SceneError):  # rows that are gone need no effort
                rows, _ = self.rows.now()
                self.rows.apply(rows, self.solution.effort)

    def _impose(self, effort: np.ndarray) -> None:
        """Make the forward solver impose this effort."""
        self.driven.keep(effort * self.rows.factor)

    def _warn_of_others(self, rows: np.ndarray) -> None:
        """Warn of constraints that are not variables of the problem.

        Their multipliers are the forward solver's, at the last efforts.
        """
        self.keep(warned_of_others=True)
        Sofa.msg_warning(
            self,
            f"{', '.join(self.rows.owners(rows))} act on the robot too: their forces are taken as "
            "the forward solver finds them with the efforts of the step before.",
        )
