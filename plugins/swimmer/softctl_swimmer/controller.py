"""The swimmer in a scene: motors lead its hinges, body and fluid keep their momentum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation
from typing_extensions import override

from sofa_softctl import SceneController
from sofa_softctl.errors import SceneError
from sofa_softctl.scene import pauses_on_error
from sofa_softctl.scene.control.report import History, Line, Report, Summary
from softctl_swimmer.motion.connection import local_connection
from softctl_swimmer.motion.inertia import FlowInertia
from softctl_swimmer.motion.se3 import cayley


@dataclass(frozen=True, eq=False)
class BasePose:
    """Pose of link 0."""

    R: np.ndarray
    """Orientation, shape (3, 3)."""
    x: np.ndarray
    """Position [m], shape (3,)."""


@dataclass(frozen=True)
class SwimmerSummary(Summary):
    """Displacement and rotation of a swimmer."""

    way: list[float]
    """Displacement of the centre of mass, in the axes of link 0 at the start [m]."""
    turned: float
    """Angle of the rotation of link 0, about any axis [rad]."""

    @override
    def report(self, units: dict[str, str]) -> Report:
        del units
        way = ", ".join(f"{100.0 * distance:.4g}" for distance in self.way)
        text = f"The centre of mass swam {way} cm along x, y and z; link 0 turned by"
        return Report(lines=[Line(f"{text} {self.turned:.4g} rad.")])


class SwimmerController(SceneController):
    """A swimmer whose hinges follow a gait, as a robot in a scene; in SI units.

    From rest in fluid at rest, link 0 moves so that the momentum of body and fluid stays zero: each
    step solves the flow once, at the angles in its middle. The controller sets the frames of the
    links; nothing else may move them.

    Args:
        root: Root of the scene.
        inertia: Bodies and flow.
        gait: Joint angles [rad] at times [s], (K,) -> (K, n), such as a `gaits.GaitTable`.
        frames: MechanicalObject of template Rigid3 with a frame for each link.
        name: Name of the component.

    Data:
        angle: Joint angles [rad].
        place: Position of link 0 [m].
        centre: Position of the centre of mass [m].
        turned: Angle that link 0 has turned by, about any axis [rad].

    Raises:
        SceneError: The number of frames or of angles is wrong; in a step, two links touch.

    Source: `motion.connection.prescribed_motion`, a step at a time.
    """

    recorded: ClassVar[dict[str, tuple[str, str]]] = {
        "angle": ("rad", "Joint angles"),
        "place": ("m", "Position of link 0"),
        "centre": ("m", "Position of the centre of mass"),
        "turned": ("rad", "Angle that link 0 has turned by"),
    }

    def __init__(
        self,
        *,
        root: Any,
        inertia: FlowInertia,
        gait: Callable[[np.ndarray], np.ndarray],
        frames: Any,
        name: str = "swimmer",
    ) -> None:
        super().__init__(name=name, root=root)
        self.swimmer, self.inertia, self.gait, self.frames = (
            inertia.flow.swimmer,
            inertia,
            gait,
            frames,
        )
        links, frame_count = len(self.swimmer.links), len(frames.position.value)
        if frame_count != links:
            raise SceneError(
                f"{self.made_at}: the swimmer has {links} links. Got: a state of {frame_count} "
                "frames."
            )
        start = np.asarray(gait(np.zeros(1)))
        if start.shape != (1, self.swimmer.hinge_count):
            raise SceneError(
                f"{self.made_at}: the gait must have an angle for each of "
                f"{self.swimmer.hinge_count} hinges, shape (K, {self.swimmer.hinge_count}) at K "
                f"times. Got: {start.shape} at one."
            )
        self.add_output("angle", start[0], "Joint angles [rad].")
        self.add_output("place", np.zeros(3), "Position of link 0 [m].")
        self.add_output("centre", np.zeros(3), "Position of the centre of mass [m].")
        self.add_output("turned", [0.0], "Angle that link 0 has turned by [rad].")
        masses = self.swimmer.link_inertias[:, 0, 0]
        self.mass_fractions = masses / masses.sum()
        self.reset()
        self.begin = np.array(self.outputs["centre"].value)

    def reset(self) -> None:
        """Restore the start: link 0 at the origin."""
        self.keep(place=BasePose(np.eye(3), np.zeros(3)), failed=False)
        self._show(0.0)

    def snapshot(self) -> dict[str, Any]:
        """Return the pose of link 0."""
        return {"place": self.place}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state of `snapshot`."""
        self.keep(**snapshot)

    def summary(self, history: History) -> SwimmerSummary | None:
        """Return displacement and rotation, or None without a step."""
        if not history.values["centre"]:
            return None
        way = history["centre"][-1] - self.begin
        return SwimmerSummary(way.tolist(), float(history["turned"][-1, 0]))

    def plot(self, figure: Any, history: Any) -> bool:
        """Plot the path of the centre of mass from above, and the angles."""
        way, course = figure.subplots(1, 2)
        x, y = (100.0 * (history["centre"] - self.begin)[:, :2]).T
        way.plot(x, y)
        way.plot(x[-1], y[-1], "o")
        way.set(xlabel="x of the centre of mass [cm]", ylabel="y [cm]", aspect="equal")
        for j, angle in enumerate(history["angle"].T):
            course.plot(history.time, angle, label=f"hinge {j + 1}")
        course.set(xlabel="time [s]", ylabel="angle [rad]")
        course.legend()
        return True

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Move by a step, and set frames and Data to its end."""
        del event
        begin, dt = float(self.time.value), float(self.dt.value)
        angles_begin, angles_end = self.gait(np.array([begin, begin + dt]))
        connection = local_connection(self.inertia, 0.5 * (angles_begin + angles_end))
        turn, shift = cayley(connection @ (angles_end - angles_begin))
        pose = self.place
        self.keep(place=BasePose(pose.R @ turn, pose.x + pose.R @ shift))
        self._show(begin + dt)

    def _show(self, time: float) -> None:
        """Set frames and Data."""
        angles = self.gait(np.array([time]))[0]
        R, p = self.swimmer.poses(angles)
        R, p = self.place.R @ R, self.place.x + p @ self.place.R.T
        frames = np.hstack([p, Rotation.from_matrix(R).as_quat()])
        self.frames.position.value = frames.tolist()
        self.outputs["angle"].value = angles.tolist()
        self.outputs["place"].value = self.place.x.tolist()
        self.outputs["centre"].value = (self.mass_fractions @ p).tolist()
        turned = Rotation.from_matrix(self.place.R).magnitude()
        self.outputs["turned"].value = [float(turned)]
