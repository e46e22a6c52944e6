"""Pick-and-place: a sequence of planned motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl import Sofa
from sofa_softctl.errors import SceneError, SoftctlError
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.report import History, Line, Report, Summary
from sofa_softctl.status import Verdict

from .in_scene import ElasticArm
from .planners import Planner
from .problem import jacobian, position


@dataclass(frozen=True)
class Move:
    """One motion, and what the hand does at its end."""

    x: float
    """Goal of the hand [m]."""
    y: float
    """Goal of the hand [m]."""
    pick: bool
    """Whether it closes there; else it opens."""


@dataclass(frozen=True)
class PickAndPlaceSummary(Summary):
    """One `PickAndPlace` over a run."""

    name: str
    """Path of the controller."""
    phase: str
    """Phase at the end: settle, plan, move, done or missed."""
    message: str
    """Reason for a missed object, or ""."""
    objects: int
    """Objects that were to be caught."""
    caught: int
    """Objects that were."""
    placed: int
    """Objects that were released."""
    grasp_error: list[float]
    """Distance of tip and goal, each time that the hand acted [length]."""
    duration: float
    """Time at which all was done; 0: it was not [time]."""

    @property
    def verdict(self) -> Verdict:
        """Reached when all objects were caught and placed."""
        return Verdict.REACHED if self.phase == "done" else Verdict.NOT_REACHED

    @override
    def report(self, units: dict[str, str]) -> Report:
        count = f"{self.caught} of {self.objects} objects caught, {self.placed} placed"
        if self.verdict.ok:
            distance = f"{max(self.grasp_error):.3g} {units['length']}"
            time = f"{self.duration:.4g} {units['time']}"
            text = f"{count} after {time}; missed goals by up to {distance}."
            return Report(lines=[Line(text, "good")])
        reason = self.message or f"The run ended before the rest: it was in phase '{self.phase}'."
        return Report(lines=[Line(f"{count}. {reason}", "doubt")])


def parameters(q: Sequence[float], theta: Sequence[float], goal: Move, mass: float) -> np.ndarray:
    """Parameters p from rest at angles q, motors at theta [rad], with a mass [kg] in the hand.

    alpha_f - q_1 is taken between -pi and pi. Source: section 5.1.
    """
    turn = np.arctan2(goal.y, goal.x) - q[0]
    turn -= 2.0 * np.pi * np.round(turn / (2.0 * np.pi))
    rho = np.hypot(goal.x, goal.y)
    return np.array([turn, q[1], theta[0] - q[0], theta[1] - q[1], rho, mass])


class PickAndPlace(SceneController):
    """Moves an `ElasticArm` from goal to goal, each motion planned from the state it begins in.

    At the end of a step the state is read and a motion planned, which begins after `planning_time`.
    With `settle`, the robot rests before that. The motion ends after its duration, when the hand
    has acted. It begins by the closing rule, and at the latest so that it has acted at the end: the
    rule would wait for ever when the goal is missed at low speed, and wound up springs move the
    robot on.

    From then until it has acted, the place where that will be is predicted from the tip's motion.
    Where the target is out of the hand's reach there, the hand does not act, `message` gives the
    reason, and the sequence ends.

    Args:
        root: Root of the scene.
        arm: The robot.
        moves: Motions, in their order.
        plan: The planner.
        horizon: Duration of a motion [s].
        settle: Whether to wait for rest before each motion.
        planning_time: Simulated time of planning [s]. None: the measured time, which differs
            between runs.
        rest: Amplitude of a single spring whose energy counts as rest [rad].
        name: Name of the controller.

    Data:
        goal: Goal of the hand [m].
        phase: settle, plan, move, done or missed.
        message: Why it is missed.
        planning_time: Measured planning time of each motion; 0 before [s].
        started: Start of each motion; 0 before [s].
        grasp_error: Distance of tip and goal when the hand had closed or opened; 0 before [m].
        duration: End of the last motion; 0 before [s].

    Raises:
        SceneError: there are no moves, or a motion cannot be planned.

    Source: section 6.
    """

    recorded: ClassVar[dict[str, tuple[str, str]]] = {
        "goal": ("length", "Where the hand is to come to"),
        "planning_time": ("s", "What planning each motion took, measured"),
        "started": ("time", "When each motion began"),
        "grasp_error": ("length", "Distance of tip and goal when the hand had acted"),
        "duration": ("time", "When all was done"),
    }

    def __init__(
        self,
        *,
        root: Any,
        arm: ElasticArm,
        moves: Sequence[Move],
        plan: Planner,
        horizon: float,
        settle: bool,
        planning_time: float | None = None,
        rest: float = 0.01,
        name: str = "pick_and_place",
    ) -> None:
        super().__init__(name=name, root=root)
        if not moves:
            raise SceneError(f"{self.made_at}: give at least one move.")
        self.arm, self.moves, self.plan = arm, list(moves), plan
        self.horizon, self.settle, self.rest = float(horizon), settle, rest
        self.taken = planning_time
        self.add_output("goal", np.zeros((1, 3)), "Where the hand is to come to [length].")
        self.add_output("phase", "settle", "What it does: settle, plan, move, done or missed.")
        self.add_output("message", "", "Why it is missed.")
        zeros = np.zeros(len(self.moves))
        self.add_output("planning_time", zeros, "What planning took, each time, measured [s].")
        self.add_output("started", zeros, "When each motion began [time].")
        self.add_output("grasp_error", zeros, "Distance of tip and goal, each time [length].")
        self.add_output("duration", [0.0], "When all was done; 0 before [time].")
        self.reset()

    def reset(self) -> None:
        """Reset."""
        self.keep(number=0, current="settle", until=0.0, motion=None, turn=0.0)
        self.keep(velocity=np.zeros(2))
        for name in ("planning_time", "started", "grasp_error"):
            self.outputs[name].value = [0.0] * len(self.moves)
        self.outputs["duration"].value = [0.0]
        self.outputs["message"].value = ""
        self._set_phase("settle")

    def snapshot(self) -> dict[str, Any]:
        """State that persists over steps."""
        names = ("number", "current", "until", "motion", "turn", "velocity")
        return {name: self.__dict__[name] for name in names}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a `snapshot`."""
        self.keep(**snapshot)

    @override
    def summary(self, history: History) -> PickAndPlaceSummary:
        del history
        actions = self.arm.state.hand.actions
        return PickAndPlaceSummary(
            name=self.getPathName(),
            phase=self.current,
            message=str(self.outputs["message"].value),
            objects=sum(move.pick for move in self.moves),
            caught=sum(action.closed and action.held >= 0 for action in actions),
            placed=sum(not action.closed and action.held >= 0 for action in actions),
            grasp_error=[action.distance for action in actions],
            duration=float(self.outputs["duration"].value[0]),
        )

    @pauses_on_error
    def onAnimateEndEvent(self, event: Any) -> None:
        """Run the phases; several may end in one step."""
        del event
        now = float(self.time.value)
        phases = {"settle": self._settle, "plan": self._plan, "move": self._move}
        while self.current in phases:
            following = phases[self.current](now)
            if following == self.current:
                break
            self._set_phase(following)
        self.keep(velocity=self._velocity())

    def _settle(self, now: float) -> str:
        """Start planning when the robot rests."""
        arm = self.arm
        if self.settle and arm.stored_energy > 0.5 * min(arm.stiffness) * self.rest**2:
            return "settle"
        goal, q, theta = self.moves[self.number], arm.state.x[0:2], arm.state.x[4:6]
        begin = perf_counter()
        try:
            motion = self.plan(parameters(q, theta, goal, arm.mass))
        except SoftctlError as error:
            raise SceneError(f"Motion {self.number + 1} of {len(self.moves)}: {error}") from error
        seconds = perf_counter() - begin
        self.keep(motion=motion, turn=q[0], until=now + (self.taken or 0.0))
        if self.taken is None:
            self.keep(until=now + seconds)
        self._note("planning_time", seconds)
        return "plan"

    def _plan(self, now: float) -> str:
        """Start the motion when planning is over."""
        if now < self.until - 1e-9:
            return "plan"
        goal = self.moves[self.number]
        self.arm.start_motion(self.motion, now, self.horizon, self.turn)
        self.arm.state.hand.set_goal(np.array([goal.x, goal.y]), close=goal.pick)
        self.keep(until=now + self.horizon)
        self._note("started", now)
        return "move"

    def _move(self, now: float) -> str:
        """Finish when the motion is over and the hand has acted, or will not reach its target."""
        hand, left = self.arm.state.hand, self.until - now
        if not hand.is_done and (hand.moving or left < hand.closing + 1e-9):
            distance = self._final_distance()
            if distance > self.arm.reach:
                hand.cancel()
                return self._miss(self._refusal(distance))
            hand.moving = True
        if not hand.is_done or left > 1e-9:
            return "move"
        action = hand.actions[-1]
        self._note("grasp_error", action.distance)
        if action.held < 0:  # within the prediction's own error
            return self._miss("the hand closed, and caught nothing.")
        self.keep(number=self.number + 1)
        if self.number < len(self.moves):
            return "settle"
        self.outputs["duration"].value = [now]
        return "done"

    def _final_distance(self) -> float:
        """Return the distance of hand and target when the hand will have acted [m].

        The tip's place by its velocity, and by its acceleration in the last step. The target is the
        nearest object when the hand closes, its goal when it opens; infinite without any.
        """
        x, hand, time = self.arm.state.x, self.arm.state.hand, self.arm.state.hand.remaining_time
        acceleration = (self._velocity() - self.velocity) / float(self.dt.value)
        at = position(x) + time * self._velocity() + 0.5 * time**2 * acceleration
        targets = self.arm.state.places[:, :2] if hand.close else np.array([hand.goal])
        return float(np.linalg.norm(targets - at, axis=1).min(initial=np.inf))

    def _velocity(self) -> np.ndarray:
        """Velocity of the tip [m/s], shape (2,)."""
        x = self.arm.state.x
        return jacobian(x) @ x[2:4]

    def _refusal(self, distance: float) -> str:
        """Return the reason why the hand does not act."""
        goal, reach = self.moves[self.number], f"it reaches {1e3 * self.arm.reach:.0f} mm"
        distance_text, place = f"{1e3 * distance:.1f} mm", f"({goal.x:.3f}, {goal.y:.3f}) m"
        if goal.pick:
            return (
                f"the hand would close {distance_text} from the nearest object, and {reach}; its "
                f"goal is {place}. It stays open."
            )
        offset = f"{distance_text} from its goal {place}"
        return f"the hand would open {offset}, and {reach}. It stays closed."

    def _miss(self, reason: str) -> str:
        """End the sequence with a reason."""
        text = (
            f"Motion {self.number + 1} of {len(self.moves)}: {reason} The arm goes no further: "
            "check that plans are of this robot, and objects where they are expected."
        )
        self.outputs["message"].value = text
        Sofa.msg_warning(self, text)
        return "missed"

    def _note(self, name: str, value: float) -> None:
        """Write a number of this motion."""
        values = np.array(self.outputs[name].value)
        values[self.number] = value
        self.outputs[name].value = values

    def _set_phase(self, phase: str) -> None:
        self.keep(current=phase)
        self.outputs["phase"].value = phase
        goal = self.moves[min(self.number, len(self.moves) - 1)]
        self.outputs["goal"].value = [[goal.x, goal.y, self.arm.height]]
