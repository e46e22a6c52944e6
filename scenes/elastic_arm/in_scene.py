"""The elastic arm in a scene: dynamics, hand, and carried objects."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error

from .dynamics import (
    AngleControl,
    Command,
    Reference,
    State,
    Torques,
    advance_state,
    catch_object,
    energy,
)
from .hand import Hand
from .problem import (
    CLOSING,
    LENGTH,
    STIFFNESS,
    TORQUE,
    jacobian,
    position,
)


@dataclass
class ArmState:
    """State that persists over steps."""

    x: State
    """q, dq, theta, dtheta [rad], [rad/s]."""
    motors: AngleControl
    """The motors' position control."""
    command: Command
    """Source of the torques: `motors`, or `Torques`."""
    hand: Hand
    """The hand."""
    places: np.ndarray
    """Poses of the objects as Rigid3, shape (n, 7)."""
    torque: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Torques of the motors in the last substep [N m]."""
    held: int = -1
    """Object in the hand; -1: none."""
    grip: np.ndarray = field(default_factory=lambda: np.zeros(3))
    """Position and angle of the object in the hand's axes [m], [rad]."""


FRAMES = ("base", "link 1", "link 2", "motor 1", "motor 2", "hand", "left finger", "right finger")
"""Bodies of the state `frames`, in this order. A motor's x axis is the relaxed direction of its
spring."""
FINGER, SPREAD = np.array([-0.035, 0.022]), 0.5
"""Pivot of a finger in the hand's axes [m], and its angle when the hand is open [rad]."""


class ElasticArm(SceneController):
    """The planar arm with springs between motors and links, as a robot in a scene.

    It moves about the scene's z axis, in SI units, and is not part of the scene's mechanical
    systems: each step advances equation (1) by `substeps` steps of the explicit Runge-Kutta method
    of order four, and updates the frames. The motors follow a reference under PID control, or give
    torques.

    The hand takes `closing` to close and to open, and begins by the rule of section 6. When it has
    closed, a resting object within `reach` of the tip is caught: it moves with the hand
    (`dynamics.catch_object`) and keeps its pose in the hand's axes; its mass is at the tip, as in
    (1). When the hand has opened, the links keep their speed, and the object stops and falls to the
    `ground` or onto those that lie there.

    Args:
        root: Root of the scene.
        frames: MechanicalObject of template Rigid3 with a body for each of `FRAMES`.
        objects: MechanicalObject with a body for each object, or None.
        masses: Masses of the objects [kg].
        thickness: Height of an object above the one that it lies on [m].
        ground: Height that released objects fall to [m], or None if they do not fall.
        angles: Initial q, at rest with relaxed springs [rad].
        stiffness: Stiffness of both springs [N m / rad].
        bandwidth: Bandwidth of the motors' position control [1/s].
        torque_limit: Torque limit of the motors, at the link's side [N m].
        closing: Time in which the hand closes [s].
        reach: Distance at which the hand catches an object [m].
        substeps: Number of substeps a step.
        name: Name of the component.

    Data:
        q: Angles of the links [rad].
        theta: Angles of the motors, at the link's side [rad].
        reference: Reference of the motors [rad].
        torque: Torques of the motors [N m].
        tip: Position of the hand [m].
        hand: Closing of the hand, 0 to 1.
        held: Number of the object in the hand; -1: none.
        energy: Kinetic, and of the springs [J].
        grasp_error: Distance of tip and goal when the hand had closed or opened, each time [m].

    Raises:
        SceneError: frames, objects and masses do not match; a number is not positive.

    Source: Marcucci et al., (1), Table 1 and section 6.
    """

    recorded: ClassVar[dict[str, tuple[str, str]]] = {
        "q": ("rad", "Angles of the links"),
        "theta": ("rad", "Angles of the motors"),
        "reference": ("rad", "Where the motors are to be"),
        "torque": ("N m", "Torques of the motors"),
        "tip": ("length", "Where the hand is"),
        "hand": ("", "How far the hand is closed, 0 to 1"),
        "held": ("", "Number of the object in the hand, -1 for none"),
    }

    def __init__(
        self,
        *,
        root: Any,
        frames: Any,
        objects: Any = None,
        masses: Sequence[float] = (),
        thickness: float = 0.0,
        ground: float | None = None,
        angles: Sequence[float] = (0.0, 0.0),
        stiffness: Sequence[float] = STIFFNESS,
        bandwidth: float = 40.0,
        torque_limit: float = TORQUE,
        closing: float = CLOSING,
        reach: float = 0.04,
        substeps: int = 5,
        name: str = "arm",
    ) -> None:
        super().__init__(name=name, root=root)
        positive = {
            "stiffness": min(stiffness),
            "bandwidth": bandwidth,
            "torque_limit": torque_limit,
            "closing": closing,
            "substeps": substeps,
        }
        for label, value in positive.items():
            if not value > 0:
                raise SceneError(f"{self.made_at}: '{label}' must be positive, got {value:g}.")
        count = 0 if objects is None else len(objects.position.value)
        if len(frames.position.value) != len(FRAMES) or count != len(masses):
            raise SceneError(
                f"{self.made_at}: the arm needs {len(FRAMES)} frames ({', '.join(FRAMES)}) and a "
                f"mass for each object. Got: {len(frames.position.value)} frames, {count} objects, "
                f"{len(masses)} masses."
            )
        self.frames, self.objects, self.masses = frames, objects, [float(m) for m in masses]
        self.stiffness = [float(k) for k in stiffness]
        self.bandwidth, self.torque_limit = bandwidth, torque_limit
        self.closing, self.reach, self.substeps = closing, reach, int(substeps)
        self.thickness, self.ground, self.height = (
            thickness,
            ground,
            float(np.array(frames.position.value)[0, 2]),
        )
        self.start: State = [*map(float, angles), 0.0, 0.0, *map(float, angles), 0.0, 0.0]
        laid = np.empty((0, 7)) if objects is None else np.array(objects.position.value, float)
        self.laid = laid
        zeros = np.zeros(2)
        self.add_output("q", zeros, "Angles of the links [rad].")
        self.add_output("theta", zeros, "Angles of the motors [rad].")
        self.add_output("reference", zeros, "Where the motors are to be [rad].")
        self.add_output("torque", zeros, "Torques of the motors [N m].")
        self.add_output("tip", np.zeros((1, 3)), "Where the hand is [length].")
        self.add_output("hand", [0.0], "How far the hand is closed, 0 to 1.")
        self.add_output("held", [-1.0], "Number of the object in the hand, -1 for none.")
        self.add_output("energy", [0.0], "Kinetic energy and that of the springs [J].")
        self.add_output("grasp_error", [], "Distance of tip and goal when the hand acted [length].")
        self.reset()

    def reset(self) -> None:
        """Reset to rest at the initial angles, with the hand open and initial objects."""
        h = float(self.dt.value) / self.substeps
        still = np.array([self.start[4:6]] * 2)
        motors = AngleControl(
            Reference(0.0, 1.0, still, np.zeros((2, 2))), h, self.bandwidth, self.torque_limit
        )
        hand, places = Hand(self.closing), self.laid.copy()
        self.keep(state=ArmState(list(self.start), motors, motors, hand, places))
        self._show()

    def snapshot(self) -> dict[str, Any]:
        """State that persists over steps."""
        return {"state": copy.deepcopy(self.state)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a `snapshot`."""
        self.keep(state=copy.deepcopy(snapshot["state"]))

    @property
    def mass(self) -> float:
        """Mass of the object in the hand [kg]."""
        return self.masses[self.state.held] if self.state.held >= 0 else 0.0

    @property
    def stored_energy(self) -> float:
        """Kinetic energy plus the energy of the springs [J]."""
        return energy(self.state.x, self.stiffness, self.mass)

    def start_motion(self, motion: Motion, start: float, horizon: float, turn: float = 0.0) -> None:
        """Make the motors follow a planned motion, under PID control.

        Args:
            motion: The plan, states as in (1).
            start: Start of the motion [s].
            horizon: Duration of the motion [s].
            turn: The robot's angle that is q_1 = 0 in the plan [rad].
        """
        self.state.motors.reference = Reference.from_motion(motion, start, horizon, turn)
        self.state.command = self.state.motors

    def push(self, torques: np.ndarray, start: float, horizon: float) -> None:
        """Apply torques (N, 2) [N m], each for its share of the horizon [s]."""
        self.state.command = Torques(start, horizon, np.asarray(torques, float))

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Advance by a step, and update all frames."""
        del event
        state, start, dt = self.state, float(self.time.value), float(self.dt.value)
        h = state.motors.step = dt / self.substeps
        for k in range(self.substeps):
            state.torque = list(state.command(start + k * h, state.x))
            state.x = advance_state(state.x, state.torque, self.stiffness, self.mass, h)
            at, velocity = position(state.x), jacobian(state.x) @ state.x[2:4]
            if state.hand.advance(at, velocity, h):
                self._act(start + (k + 1) * h)
        self._carry()
        self._show()
        self.outputs["reference"].value = state.motors.reference.at(start + dt)[0]

    def _act(self, time: float) -> None:
        """Catch or release an object, when the hand has closed or opened."""
        state, at = self.state, position(self.state.x)
        if state.hand.close:
            self._catch(at)
            state.hand.finish(time, at, state.held)
        else:
            self._carry()
            let_go, state.held = state.held, -1
            self._drop_object(let_go)
            state.hand.finish(time, at, let_go)
        self.outputs["grasp_error"].value = [action.distance for action in state.hand.actions]

    def _catch(self, at: np.ndarray) -> None:
        """Catch the nearest object within reach of the tip, if there is one."""
        state = self.state
        distances = np.linalg.norm(state.places[:, :2] - at, axis=1)
        nearest = int(distances.argmin()) if len(distances) else -1
        if nearest < 0 or distances[nearest] > self.reach:
            return
        angle, before = state.x[0] + state.x[1], self.mass
        offset = _rotate(state.places[nearest, :2] - at, -angle)
        state.grip = np.array([*offset, _yaw(state.places[nearest]) - angle])
        state.held = nearest
        state.x = catch_object(state.x, before, self.mass)

    def _carry(self) -> None:
        """Move the object with the hand."""
        state = self.state
        if state.held >= 0:
            angle = state.x[0] + state.x[1]
            at = position(state.x) + _rotate(state.grip[:2], angle)
            state.places[state.held] = _pose(at, self.height, state.grip[2] + angle)

    def _drop_object(self, number: int) -> None:
        """Drop an object, possibly onto others."""
        if number < 0 or self.ground is None:
            return
        places = self.state.places
        other_places = np.delete(places, number, axis=0)
        is_below = np.linalg.norm(other_places[:, :2] - places[number, :2], axis=1) < self.reach
        places[number, 2] = max([*(other_places[is_below, 2] + self.thickness), self.ground])

    def _show(self) -> None:
        """Write frames and Data."""
        state, z = self.state, self.height
        x, hand = state.x, state.hand
        first, angle_sum = x[0], x[0] + x[1]
        elbow = LENGTH[0] * np.array([math.cos(first), math.sin(first)])
        base, tip = np.zeros(2), position(x)
        spread = SPREAD * (1.0 - hand.share)
        left, right = (tip + _rotate(FINGER * [1.0, side], angle_sum) for side in (1.0, -1.0))
        self.frames.position.value = [
            _pose(base, z, 0.0),
            _pose(base, z, first),
            _pose(elbow, z, angle_sum),
            _pose(base, z, x[4]),
            _pose(elbow, z, first + x[5]),
            _pose(tip, z, angle_sum),
            _pose(left, z, angle_sum + spread),
            _pose(right, z, angle_sum - spread),
        ]
        if self.objects is not None:
            self.objects.position.value = state.places.tolist()
        values = {"q": x[0:2], "theta": x[4:6], "torque": state.torque, "tip": [[*tip, z]]}
        values |= {
            "hand": [hand.share],
            "held": [float(state.held)],
            "energy": [self.stored_energy],
        }
        for name, value in values.items():
            self.outputs[name].value = value


def _rotate(vector: np.ndarray, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])


def _pose(at: np.ndarray, z: float, angle: float) -> list[float]:
    """Pose as Rigid3: position, and a quaternion about z."""
    return [float(at[0]), float(at[1]), z, 0.0, 0.0, math.sin(0.5 * angle), math.cos(0.5 * angle)]


def _yaw(pose: np.ndarray) -> float:
    """The angle about z of such a pose [rad]."""
    return 2.0 * math.atan2(pose[5], pose[6])
