"""Inverse control with stock components: efforts that bring effectors to their goals."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import Sofa
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse import outputs
from sofa_softctl.inverse.aspects.aspect import ControlStep, StepAspect
from sofa_softctl.inverse.aspects.look_ahead import LookAhead, LookAheadRunner
from sofa_softctl.inverse.aspects.objects import GraspedObjects, LostObjects
from sofa_softctl.inverse.aspects.slack import Slack
from sofa_softctl.inverse.aspects.step_counts import StepCounts
from sofa_softctl.inverse.goals.function import (
    Goals,
    goal_distances,
    goal_warnings,
    limit_distance,
)
from sofa_softctl.inverse.limit_checks import check_limits, limit_warnings
from sofa_softctl.inverse.options import (
    CONTACTS,
    checked_effectors,
    checked_names,
    checked_solver,
    row_weights,
)
from sofa_softctl.inverse.preparation import prepare
from sofa_softctl.inverse.rows.actuators import Actuators
from sofa_softctl.inverse.rows.control_rows import ControlRows
from sofa_softctl.inverse.summary import InverseSummary, summarise
from sofa_softctl.qpcc.problem.contacts import Law
from sofa_softctl.qpcc.problem.kernels import LIMITS as ROWS
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import UNLIMITED, InverseProblem
from sofa_softctl.qpcc.solve.solution import InverseSolution
from sofa_softctl.qpcc.solve.solve import ACTIVE_SET
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.access import reader, watch
from sofa_softctl.scene.control.contacts import body_path, may_touch
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.report import History, Markers
from sofa_softctl.scene.graph.nodes import body_size

if TYPE_CHECKING:
    from sofa_softctl.inverse.aspects.measured import MeasuredDisplacements
    from sofa_softctl.inverse.rows.grasp import Grasp
    from sofa_softctl.qpcc.problem.contacts import Contacts

Numbers = float | Sequence[float] | np.ndarray
"""One number for all actuators, or one number each."""
LIMITS = ("effort_min", "effort_max", "displacement_min", "displacement_max")
"""Options that `Actuators` holds."""
RATES = ("effort_rate", "motor_speed")
"""Options that limit changes."""
FIXED_OPTIONS = ("actuators", "effectors", "names", "contacts", "measured", "lead")
"""Options that cannot change after the controller is made."""
GOAL_TOLERANCE_RATIO = 0.01
"""Default distance to a goal that counts as reached, relative to the robot's size [-]."""

GUIDING_WEIGHT_RATIO = 0.5
"""Weight of an effector relative to the largest one, below which its goal guides the others and is
not judged, as in planning [-]."""


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
        effectors: Lists of constraints, one from `add_effector` per effector.
        goal: Point (3,), one for each effector (n, 3), a function of time that gives it, or a Data
            to follow, or its path: "@/target/dofs.position". A function with a state has
            `snapshot()` and `restore(snapshot)`, as controllers do. Setting the Data `goal` moves
            it from the next step on.
        energy: Weight of the actuators' energy [-]; needed with more actuators than effector rows.
        weight: Weight of each effector's residual [-], one number, shape (n,), or (n, 3) by axis.
        goal_distance: Largest distance of each effector to its target [length]: a goal that is
            further is moved nearer, along the straight line.
        effort_min: Smallest effort of each actuator [effort], one number or shape (n_a,): 0 for a
            cable, which cannot push. Never exceeded. Not of Young's moduli.
        effort_max: Largest effort [effort], likewise.
        displacement_min: Smallest displacement, such as the length that a cable may be let out
            (negative) [displacement], likewise.
        displacement_max: Largest displacement [displacement], likewise.
        effort_rate: Largest change of an effort a step [effort], likewise.
        motor_speed: Largest length that a motor moves in a unit of time [length/time], likewise.
            A slack cable may exceed its limits until its motor has caught up.
        measured: Displacements that the motors of a real robot have reached: a Data [displacement],
            shape (n_a,), or its path, "@bridge.measured" of a HardwareBridge. The model then does
            not run ahead of them; NaN sets no limit. Default: the model waits for no motor.

        lead: Largest distance of the model ahead of `measured` [displacement], one number or shape
            (n_a,). A robot lags by its speed times its delay, (lookahead + 2) dt with a
            HardwareBridge: a smaller lead slows down one that follows well.
        contacts: Model of contacts: 'coulomb' (they stick or slide), 'sticking' (they stick without
            a cone, as in the paper), or 'forward' (not variables: forces of the forward solver with
            the last efforts).
        grasps: Objects whose summed contact force is bounded, see `Grasp`.
        search: Options of the search for contact modes; see `SearchOptions`.
        solver: QP solver: 'active-set' (compiled), 'daqp', 'proxqp', 'qpsolvers:NAME', or one of a
            plugin. If its solution fails the check, proxqp is called, and the status is FALLBACK.
        look_ahead: Options of the look-ahead over several steps, by rollouts on a copy of the
            scene if there is no progress. Default: no look-ahead.
        names: Names of the actuators for messages; the names of their nodes by default.
        goal_tolerance: Distance of the effectors to their goals at the end of a run up to which
            they count as reached [length], for all or one each; otherwise the run reports why and
            ends with status 3. Default: 1 % of the robot's size, the largest side of the box around
            the body that carries the effector as the scene starts (see `scene.body.body_size`).
            math.inf: not judged. One tolerance for all leaves out effectors with less than half of
            the largest weight, whose goals guide the others. Axes with the weight 0 do not count.
            A goal that moves until the end is judged in the mean over its motion, too.

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
        solver: str = ACTIVE_SET,
        look_ahead: LookAhead | None = None,
        names: Sequence[str] | None = None,
        goal_tolerance: float | Sequence[float] | np.ndarray | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, root=root, **kwargs)
        self._read_time, self._read_dt = reader(self.time), reader(self.dt)
        self._have_options_changed = True
        self.actuators = options.components(self, "actuators", actuators, "[cable]")
        self.effectors = checked_effectors(self, effectors)
        self.driven = Actuators(self.actuators, checked_names(self, names, len(self.actuators)))
        self.names = self.driven.names
        self.effort_min, self.effort_max = effort_min, effort_max
        self.displacement_min, self.displacement_max = displacement_min, displacement_max
        self.goals = Goals(self, goal, len(self.effectors))
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
        self.grasps: Any = () if grasps == () else self._checked_grasps(grasps)
        self.goal_tolerance: Any = goal_tolerance
        self.judges_all = np.ndim(np.asarray(goal_tolerance)) > 0  # a tolerance for each effector
        if goal_tolerance is not None:
            self.goal_tolerance = self._effector_numbers("goal_tolerance", goal_tolerance)
        if look_ahead is not None:
            options.instance(self, "look_ahead", look_ahead, LookAhead)
        self.look_ahead_runner = LookAheadRunner(self, look_ahead)
        self.measured = self._measured_displacements(measured, lead)
        self.slack = Slack(self.names, self.motor_speed)
        self.step_counts = StepCounts()
        self.lost = LostObjects(grasps=self.grasps)
        self.aspects: list[StepAspect] = [
            self.goals,
            self.look_ahead_runner,
            *([] if self.measured is None else [self.measured]),
            self.slack,
            self.step_counts,
            GraspedObjects(self.grasps),
            self.lost,
        ]
        self._begin, self._limit, self._update = map(
            self._methods_of_aspects, ("begin", "limit", "update")
        )
        self.step = ControlStep(self.names)
        self._known_limits = np.repeat(UNLIMITED, len(self.names), axis=1)
        self._have_data_changed = watch([*self.driven.own_limits, self.dt])
        self.rows: Any = None  # ControlRows, from the first step on
        self.recorded = outputs.recorded_data(self.driven.quantities)
        outputs.add_data(self, self.driven.count, len(self.effectors))
        self.goals.ignore_changes()
        self._reset_state()

    def _actuator_numbers(self, name: str, value: Any, allowed: options.NumberRange) -> Any:
        """Return one number for each actuator, or a single infinite one if there is no limit."""
        values = options.numbers(self, name, value, len(self.actuators), "actuator", allowed)
        return values if np.isfinite(values).any() else float(values[0])

    def _effector_numbers(self, name: str, value: Any) -> np.ndarray:
        """Return one positive number for each effector."""
        count = len(self.effectors)
        return options.numbers(self, name, value, count, "effector", options.POSITIVE)

    def _checked_grasps(self, grasps: Any) -> Any:
        from sofa_softctl.inverse.rows.grasp import Grasp

        return options.instances(self, "grasps", grasps, Grasp)

    def _measured_displacements(self, measured: Any, lead: Any) -> MeasuredDisplacements | None:
        """Return the aspect of a real robot's motors, if their displacements are measured."""
        if (measured is None) != (lead is None):
            options.raise_invalid_option(self, "lead", "given with `measured`, and only then", lead)
        if measured is None:
            return None
        from sofa_softctl.inverse.aspects.measured import MeasuredDisplacements

        count = len(self.actuators)
        distance = options.numbers(self, "lead", lead, count, "actuator", options.POSITIVE)
        return MeasuredDisplacements(self, measured, distance, self.names)

    def _methods_of_aspects(self, name: str) -> list[Any]:
        """Return the methods of this name of the aspects that override it."""
        base = getattr(StepAspect, name)
        return [getattr(a, name) for a in self.aspects if getattr(type(a), name) is not base]

    @property
    def solution(self) -> InverseSolution | None:
        """Solution of the last step, or None before the first."""
        return self.step.solution

    @property
    def problem(self) -> InverseProblem | None:
        """Inverse problem of the last step, or None before the first."""
        return self.step.problem

    def _reset_state(self) -> None:
        self.step.forget()
        self.shows_contacts = False
        self.last_time = -math.inf
        self.failed = False
        self.warned_of_other_rows = False
        for aspect in self.aspects:
            aspect.forget()

    def reset(self) -> None:
        """Forget the last solution, all counts and warnings; a goal that was set stays."""
        self.goals.begin()
        self._reset_state()
        self.driven.release()
        outputs.reset_data(self.outputs)
        self.goals.ignore_changes()

    @override
    def start_warnings(self) -> list[str]:
        return [*goal_warnings(self), *limit_warnings(self)]

    @override
    def about(self) -> dict[str, Any]:
        tips = [[axis.getPathName() for axis in rows] for rows in self.effectors]
        return {"actuators": list(self.names), "effectors": tips, "solver": self.solver}

    @override
    def summary(self, history: History) -> InverseSummary | None:
        return summarise(self, history) if len(history.time) else None

    @override
    def plot(self, figure: Any, history: History) -> bool:
        from sofa_softctl.inverse.plot import draw_tracking

        quantities = [quantity.effort for quantity in self.driven.quantities]
        limits: list[float] = []
        if self.rows is not None:
            limits_of = self.driven.limits(self.rows.factor)
            limits = [*np.ravel(limits_of["effort_min"]), *np.ravel(limits_of["effort_max"])]
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
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a `snapshot`."""
        self.step.forget()
        if snapshot["solution"] is not None:
            self.step.adopt(snapshot["solution"])
        self.shows_contacts = True  # perhaps
        self.last_time = snapshot["last_time"]
        for aspect, state in zip(self.aspects, snapshot["aspects"], strict=True):
            aspect.restore(state)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an option while the scene runs, with the checks of the constructor."""
        if name in LIMITS or name in RATES:
            self.keep(_have_options_changed=True)
        if name == "goal" and callable(value) and not options.is_data(value):
            self.goals.follow(value)
        elif name in LIMITS:
            self.driven.options[name] = self._actuator_numbers(name, value, options.ANY)
        elif name in RATES:
            allowed = options.NOT_NEGATIVE if name == "effort_rate" else options.POSITIVE
            limit = None if value is None else self._actuator_numbers(name, value, allowed)
            if isinstance(limit, np.ndarray):
                limit = limit.copy()
                limit.flags.writeable = False  # a change in place would not be noticed
            self.keep(**{name: limit})
            if name == "motor_speed" and "slack" in vars(self):
                self.slack.motor_speed[:] = np.inf if limit is None else limit
        elif name == "weight":
            weight = row_weights(self, value, len(self.effectors))
            self.keep(weight=weight, weighted_axes=weight.reshape(-1, 3) > 0.0)
        elif name == "energy":
            self.keep(energy=options.number(self, name, value, options.FINITE_NOT_NEGATIVE))
        elif name == "goal_distance":
            self.keep(goal_distance=options.number(self, name, value, options.POSITIVE))
        elif name in FIXED_OPTIONS and "rows" in vars(self):
            options.raise_invalid_option(
                self, name, "set when the controller is made, not later", value
            )
        else:
            super().__setattr__(name, value)

    def _find_rows(self) -> ControlRows:
        if self.contacts != "forward":
            prepare(contacts=may_touch(self.root))
        rows = ControlRows(self.root, self.driven, self.effectors)
        check_limits(self, rows.factor)
        self.lost.watch([body_path(state) for state in rows.states])
        self.keep(rows=rows, tolerance=self._tolerances())
        return rows

    def _tolerances(self) -> np.ndarray:
        """Return the distance at which each effector reaches its goal [length], shape (n_e,)."""
        tolerance = self.goal_tolerance
        if tolerance is None:
            sizes = [body_size(rows[0].getContext()) for rows in self.effectors]
            tolerance = GOAL_TOLERANCE_RATIO * np.array(sizes)
        weight = self.weight.reshape(-1, 3).max(axis=1)
        least = 0.0 if self.judges_all else GUIDING_WEIGHT_RATIO * weight.max()
        is_judged = (weight > 0.0) & (weight >= least) & (tolerance > 0.0)
        return np.where(is_judged, tolerance, math.inf)

    @property
    def effector_names(self) -> list[str]:
        """Path of each effector's node, for messages."""
        return [rows[0].getContext().getPathName() for rows in self.effectors]

    def onSimulationInitDoneEvent(self, event: Any) -> None:
        """Load compiled code, so that the first step does not wait for it."""
        del event
        if self.contacts != "forward":
            prepare(contacts=may_touch(self.root))

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Find the targets of the effectors at the end of the step."""
        del event
        # The first step: everything is initialised, nothing has moved.
        rows = self._find_rows() if self.rows is None else self.rows
        start = self._read_time()
        if start < self.last_time:  # SOFA does not notify controllers of a reset
            self.reset()
        for begin in self._begin:
            begin()
        goal = self.goals.at(start + self._read_dt())
        tip, runner = rows.tip(), self.look_ahead_runner
        offsets = runner.offsets(goal - tip)
        target = limit_distance(tip, offsets, runner.goal_distance, self.weighted_axes)
        self.keep(target=target, wanted=goal, last_time=start)
        self.goals.show(goal)

    @pauses_on_error
    def onSolveConstraintSystemEndEvent(self, event: Any) -> None:
        """Replace the forward solver's multipliers by the inverse solution."""
        del event
        if self.rows is None:
            raise SceneError(
                f"{type(self).__name__} replaces onAnimateBeginEvent and does not call "
                "super().onAnimateBeginEvent(event), which finds the goals of the step."
            )
        control, step, start, dt = self.rows, self.step, self._read_time(), self._read_dt()
        control.warn_of_set_values(start / dt)
        rows, other_rows = control.row_indices()
        step.begin(start, start + dt, self._limits(), self.driven.held_effort(step.effort))
        for limit in self._limit:
            limit(step.limits, step.displacement, start)
        contacts = None
        if self.contacts != "forward" and len(other_rows):
            other_rows, contacts = self._find_contacts(rows, other_rows)
        if len(other_rows) and not self.warned_of_other_rows:
            self._warn_of_other_rows(other_rows)
        terms = (*control.mechanics(rows, other_rows, self.target), self.weight)
        energy = self.look_ahead_runner.energy
        step.solve(terms, energy, contacts, solver=self.solver, search=self.search)
        control.apply(rows, step.effort)
        if step.contacts is not None and step.solution is not None:
            step.contacts.apply(step.solution.contact_force, control.factor[0])
        if self.warned_of_other_rows:
            self._impose(step.effort)
        outputs.write_solution(self, step)
        if step.contacts is not None or self.shows_contacts:
            outputs.write_contacts(self, step)
            self.keep(shows_contacts=step.contacts is not None)
        for update in self._update:
            for warning in update(step):
                Sofa.msg_warning(self, warning)

    def _find_contacts(
        self, rows: np.ndarray, other_rows: np.ndarray
    ) -> tuple[np.ndarray, Contacts | None]:
        """Find the contacts of the step; return the rows without them, and their variables."""
        from sofa_softctl.inverse.rows.contact_rows import ContactRows

        control = self.rows
        contacts = ContactRows(control.system, self.grasps)
        if len(contacts.rows) == len(other_rows):
            other_rows = other_rows[:0]
        else:
            other_rows = np.setdiff1d(other_rows, contacts.rows, assume_unique=True)
        if not len(contacts):
            return other_rows, None
        self.step.contacts = contacts
        return other_rows, contacts.problem(
            rows[control.a_part], rows[control.e_part], control.factor[0], self.law
        )

    def _limits(self) -> np.ndarray:
        """Return the limits of options and Data, shape (10, n_a) as `kernels.LIMITS`."""
        driven = self.driven
        has_changed = self._have_data_changed() or self._have_options_changed
        if has_changed or driven.has_changes:
            if self.motor_speed is not None:
                rate = np.where(driven.is_change, np.inf, self.motor_speed * self._read_dt())
                driven.options["displacement_rate"] = rate
            limits = {**driven.limits(self.rows.factor), "effort_rate": self.effort_rate}
            for name, limit in limits.items():
                self._known_limits[ROWS.index(name)] = limit
            self.keep(_have_options_changed=False)
        return self._known_limits

    @pauses_on_error
    def onAnimateEndEvent(self, event: Any) -> None:
        """Write the effectors' positions and errors."""
        del event
        tip = self.rows.tip()
        self.write_output("tip", tip)
        self.write_output("error", goal_distances(tip, self.wanted, self.weighted_axes))

    def hold(self) -> None:
        """Keep the last efforts, in this step and, by the cables' own `value`, in those to come."""
        if self.step.status is not None:
            self._impose(self.step.effort)
            with contextlib.suppress(SceneError):  # rows that are gone need no effort
                rows, _ = self.rows.row_indices()
                self.rows.apply(rows, self.step.effort)

    def _impose(self, effort: np.ndarray) -> None:
        """Make the forward solver impose this effort."""
        self.driven.impose(effort * self.rows.factor)

    def _warn_of_other_rows(self, rows: np.ndarray) -> None:
        """Warn of constraints that are not variables of the problem.

        Their multipliers are the forward solver's, at the last efforts.
        """
        self.keep(warned_of_other_rows=True)
        Sofa.msg_warning(
            self,
            f"{', '.join(self.rows.owners(rows))} act on the robot too: their forces are taken as "
            "the forward solver finds them with the efforts of the step before.",
        )
