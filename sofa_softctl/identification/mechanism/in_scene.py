"""A mechanism with motors and noisy sensors as a robot in a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.motors import Motors
from sofa_softctl.identification.mechanism.start import Start
from sofa_softctl.identification.mechanism.variational import ITERATIONS, TOLERANCE, UNSTEERED
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error


@dataclass(frozen=True, eq=False)
class PlantState:
    """State of the plant between steps."""

    q: np.ndarray
    """Configuration [rad] or [m], shape (n,)."""
    p: np.ndarray
    """Momenta of the integrator, shape (n,)."""
    v: np.ndarray
    """Velocity over the last substep, the first guess of Newton's iteration, shape (n,)."""
    b: np.ndarray
    """Angles of joints with motors [rad], shape (m,)."""
    speed: np.ndarray
    """Velocities of the motors [rad/s], shape (m,)."""
    count: int = 0
    """Number of steps, the seed of the noise."""


class MechanismPlant(SceneController):
    """A mechanism whose motors follow a motion, as a robot in a scene.

    In SI units, and outside the mechanical systems of the scene: each step advances the variational
    integrator by `substeps` steps and sets the frames. Sensors measure torques and angles of the
    joints with motors at the end of the step, with white noise that depends only on `seed` and the
    number of the step.

    Args:
        root: Root of the scene.
        robot: Joints, masses, springs and constraints; its dampers include the motors' `brakes`.
        motors: Motors of its joints.
        start: Initial state, on the constraints.
        frames: MechanicalObject of template Rigid3 with a body for each of `shown`.
        shown: Joints whose frames are set.
        angle_noise: Standard deviation of measured angles [rad].
        torque_noise: Standard deviation of measured torques [N m].
        seed: Seed of the noise.
        substeps: Number of substeps, 2 or more.
        name: Name of the component.

    Data:
        torque: Measured torques of the motors [N m].
        angle: Measured angles of their joints [rad].
        wanted: Desired angles [rad].
        true_angle: Angles without noise [rad].

    Raises:
        SceneError: The number of frames is wrong, or there are fewer than two substeps.
        IdentificationError: A joint does not exist.
    """

    recorded: ClassVar[dict[str, tuple[str, str]]] = {
        "torque": ("N m", "Measured torques of the motors"),
        "angle": ("rad", "Measured angles of the joints with motors"),
        "wanted": ("rad", "Desired angles of the joints with motors"),
        "true_angle": ("rad", "Angles of the joints with motors, without noise"),
    }

    def __init__(
        self,
        *,
        root: Any,
        robot: Mechanism,
        motors: Motors,
        start: Start,
        frames: Any,
        shown: Sequence[str],
        angle_noise: float = 0.0,
        torque_noise: float = 0.0,
        seed: int = 0,
        substeps: int = 10,
        name: str = "robot",
    ) -> None:
        super().__init__(name=name, root=root)
        if substeps < 2:
            raise SceneError(f"{self.made_at}: 'substeps' must be 2 or more, got {substeps}.")
        if len(frames.position.value) != len(shown):
            raise SceneError(
                f"{self.made_at}: the robot shows {len(shown)} joints. Got: a state of "
                f"{len(frames.position.value)} frames."
            )
        self.robot, self.motors, self.start, self.frames = robot, motors, start, frames
        self.shown = np.array([robot.frame(joint) for joint in shown])
        self.driven = np.array([robot.coordinate(joint) for joint in motors.joints])
        self.angle_noise, self.torque_noise = angle_noise, torque_noise
        self.seed, self.substeps = seed, substeps
        zeros = np.zeros(len(self.driven))
        self.add_output("torque", zeros, "Measured torques of the motors [N m].")
        self.add_output("angle", zeros, "Measured angles of their joints [rad].")
        self.add_output("wanted", zeros, "Desired angles [rad].")
        self.add_output("true_angle", zeros, "Angles without noise [rad].")
        self.reset()

    def reset(self) -> None:
        """Restore the start."""
        start, tree = self.start, self.robot.tree
        p = kernels.lagrangian(tree, np.zeros(0), start.q, start.v, False).v[tree.joint]
        b, speed = start.q[self.driven], start.v[self.driven]
        self.keep(state=PlantState(start.q, p, start.v, b, speed), failed=False)
        self._show(0.0)

    def snapshot(self) -> dict[str, Any]:
        """State of the plant."""
        return {"state": self.state}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state of `snapshot`."""
        self.keep(**snapshot)

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Advance by a step, and set frames and Data to its end."""
        del event
        begin, dt = float(self.time.value), float(self.dt.value)
        self.keep(state=self._advance(begin, dt / self.substeps))
        self._show(begin + dt)

    def _advance(self, begin: float, h: float) -> PlantState:
        """Return the state after the substeps."""
        state, tree = self.state, self.robot.tree
        drive = self.motors.drive(self.robot, begin + (np.arange(self.substeps) + 0.5) * h)
        q, p = np.empty((2, self.substeps + 1, len(state.q)))
        multipliers = np.empty((self.substeps, len(tree.closed.kind)))
        now = (h, state.q, state.p, state.v)
        completed_steps = kernels.simulate(
            tree, np.zeros(0), drive, *now, q, p, multipliers, UNSTEERED, TOLERANCE, ITERATIONS
        )
        if completed_steps < self.substeps:
            raise DivergedError(
                f"{self.made_at}: the robot's step from t = {begin + completed_steps * h:.6g} s "
                "has no "
                f"solution. Its substeps are {h:g} s: increase substeps, or reduce the forces."
            )
        b = q[-3:, self.driven]
        return PlantState(
            q=q[-1],
            p=p[-1],
            v=(q[-1] - q[-2]) / h,
            b=b[2],
            speed=(1.5 * b[2] - 2.0 * b[1] + 0.5 * b[0]) / h,  # of second order, from one side
            count=state.count + 1,
        )

    def _show(self, time: float) -> None:
        """Set frames and Data."""
        state = self.state
        at = kernels.frames(self.robot.tree, np.zeros(0), state.q)
        turned = Rotation.from_matrix(at.R[self.shown]).as_quat()
        self.frames.position.value = np.hstack([at.x[self.shown], turned]).tolist()
        now = np.array([time])
        torque = self.motors.torque(now, state.b[None], state.speed[None])[0]
        noise = np.random.default_rng((self.seed, state.count)).standard_normal((2, len(torque)))
        measured = {
            "torque": torque + self.torque_noise * noise[0],
            "angle": state.b + self.angle_noise * noise[1],
            "wanted": self.motors.motion(now)[0][0],
            "true_angle": state.b,
        }
        for name, value in measured.items():
            self.outputs[name].value = value.tolist()
