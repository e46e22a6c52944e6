"""Capture an animation from a running session."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.base import colors
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.graph.nodes import cable_components, elements_of, own_state
from sofa_softctl.scene.session.geometry import body_states, is_obstacle, surface_of
from sofa_softctl.scene.session.run import Observer
from sofa_softctl.scene.session.session import Session
from sofa_softctl.units import symbol
from sofa_softctl.view.movie.animation import (
    AnimatedCable,
    AnimatedSurface,
    Animation,
    Forces,
    markers_of,
)
from sofa_softctl.view.movie.direction import View
from sofa_softctl.view.movie.movie import Progress, check_suffix, save_movie
from sofa_softctl.view.movie.surface import balls, surface_triangles

ALL_FRAMES = slice(None)


class Camera(Observer):
    """Observer that captures a frame after each step and makes a movie of them."""

    def __init__(
        self, session: Session, path: Path | None = None, view: View | None = None
    ) -> None:
        if path is not None:
            check_suffix(path)
        self.session = session
        self.path, self.view = path, view
        self._bodies = bodies_of(session.nodes())
        self._cables = cable_components(session.nodes())
        self._balls = _balls_of(session)
        self._controllers = [
            controller
            for controller in session.controllers
            if getattr(controller, "markers", lambda: None)() is not None
        ]
        if not (self._bodies or self._cables or self._balls or self._controllers):
            raise SoftctlError(
                f"There is nothing to show: '{session.name}' has no body with "
                "tetrahedra or triangles, no spheres, no cables, no controller with markers."
            )
        self._colors = cable_colors(self._cables, session.controllers)
        self._obstacles = [is_obstacle(state) for state, _ in self._bodies]
        self._names = {
            kind: [item.getPathName() for item in items]
            for kind, items in {
                "body": [state for state, _ in self._bodies],
                "ball": [state for state, _ in self._balls],
                "cable": self._cables,
            }.items()
        }
        self._time: list[float] = []
        self._frames: list[dict[Any, np.ndarray]] = []

    @override
    def step(self, session: Session, count: int) -> None:
        self.capture_frame()

    def capture_frame(self) -> None:
        """Capture the current state as a frame."""
        self._time.append(self.session.time)
        self._frames.append(self._current_frame())

    def clear(self) -> None:
        """Remove all frames."""
        self._time, self._frames = [], []

    def forget_after(self, time: float) -> None:
        """Remove the frames from a time on."""
        count = bisect_left(self._time, time)
        del self._time[count:], self._frames[count:]

    def thin_out(self) -> None:
        """Remove every second frame of the older three quarters."""
        old = slice(1, 3 * len(self._frames) // 4, 2)
        del self._time[old], self._frames[old]

    @property
    def times(self) -> list[float]:
        """Time of each frame [time]."""
        return self._time

    @property
    def memory(self) -> int:
        """Memory of the frames, all taken to be like the last one [byte]."""
        last = self._frames[-1].values() if self._frames else ()
        return len(self._frames) * sum(values.nbytes for values in last)

    def _current_frame(self) -> dict[Any, np.ndarray]:
        frame: dict[Any, np.ndarray] = {}
        for k, (state, _) in enumerate(self._bodies):
            frame["body", k] = np.array(state.position.value, dtype=np.float32)
        for k, (state, _) in enumerate(self._balls):
            frame["ball", k] = np.array(state.position.value, dtype=np.float32)[:, :3]
        for k, cable in enumerate(self._cables):
            frame["cable", k] = cable_points(cable)
            frame["tension", k] = np.array(float(cable.force.value))
        for k, controller in enumerate(self._controllers):
            marks = controller.markers()
            frame["goal", k], frame["tip", k] = marks.goals, marks.tips
            frame["contacts", k] = np.array([marks.points, marks.forces])
        return frame

    @property
    def frames(self) -> int:
        """Number of captured frames."""
        return len(self._frames)

    def animation(self, which: slice = ALL_FRAMES) -> Animation:
        """Return the animation of the captured frames, or of some of them."""
        frames = self._frames[which]

        def over_time(kind: str, number: int) -> np.ndarray:
            return np.array([frame[kind, number] for frame in frames])

        bodies: list[AnimatedSurface] = []
        names = self._names
        for k, (_, triangles) in enumerate(self._bodies):
            obstacle = self._obstacles[k]
            color = colors.GROUND
            if not obstacle:
                color = colors.body(sum(not body.obstacle for body in bodies))
            points = over_time("body", k)
            bodies.append(AnimatedSurface(names["body"][k], points, triangles, color, obstacle))
        for k, (_, radii) in enumerate(self._balls):
            points, triangles = balls(over_time("ball", k), radii)
            bodies.append(AnimatedSurface(names["ball"][k], points, triangles, colors.BALL))
        lines = [
            AnimatedCable(
                names["cable"][k], over_time("cable", k), over_time("tension", k), self._colors[k]
            )
            for k in range(len(self._cables))
        ]
        markers = []
        for k in range(len(self._controllers)):
            goals, tips = over_time("goal", k), over_time("tip", k)
            markers += markers_of(goals, tips)
        gravity = np.asarray(self.session.root.gravity.value, dtype=float)
        up = -gravity if gravity.any() else np.array([0.0, 1.0, 0.0])
        forces = [
            _forces([frame["contacts", k] for frame in frames])
            for k in range(len(self._controllers))
        ]
        unit = symbol(self.session.units, "time") if self.session.units else ""
        return Animation(np.array(self._time[which]), bodies, lines, markers, forces, up, unit)

    def save(self, *, progress: Progress | None = None) -> None:
        """Write the movie."""
        assert self.path is not None, "a camera without a path writes no movie"
        save_movie(self.animation(), self.path, view=self.view, progress=progress)


def _forces(contacts: list[np.ndarray]) -> Forces:
    """Return the forces that a controller marks, over time."""
    points = np.zeros((2, len(contacts), max(len(contact[0]) for contact in contacts), 3))
    for k, contact in enumerate(contacts):
        points[:, k, : len(contact[0])] = contact
    return Forces(*points)


def bodies_of(nodes: list[Any]) -> list[tuple[Any, np.ndarray]]:
    """Return the states of meshes with their surface triangles."""
    bodies = []
    for state, topology in body_states(nodes):
        tetrahedra = elements_of(topology, "tetrahedra")
        if len(tetrahedra):
            triangles = surface_triangles(tetrahedra, np.array(state.position.value))
        else:
            triangles = surface_of(topology)
        bodies.append((state, triangles))
    return bodies


def _balls_of(session: Session) -> list[tuple[Any, np.ndarray]]:
    """Return the states with a SphereCollisionModel, and the radii of their spheres."""
    balls = []
    for node in session.nodes():
        for model in node.objects:
            state = own_state(node)
            if model.getClassName() == "SphereCollisionModel" and state is not None:
                radii = np.array(model.listRadius.value, dtype=float)
                count = len(state.position.value)
                radius = float(model.radius.value)
                balls.append((state, radii if len(radii) == count else np.full(count, radius)))
    return balls


def cable_colors(cables: list[Any], controllers: list[Any]) -> list[str]:
    """Return the color of each cable's actuator in plots, or a color by the cable's index."""
    numbers = {
        actuator.getPathName(): number
        for controller in controllers
        for number, actuator in enumerate(getattr(controller, "actuators", ()))
    }
    return [colors.actuator(numbers.get(cable.getPathName(), k)) for k, cable in enumerate(cables)]


def cable_points(cable: Any) -> np.ndarray:
    """Return the pull point, if there is one, and the points of the cable, shape (m, 3)."""
    state = cable.getContext().getMechanicalState()
    points = np.asarray(state.position.value)[np.asarray(cable.indices.value, dtype=int)]
    if cable.hasPullPoint.value:
        return np.concatenate([[np.array(cable.pullPoint.value)], points])
    return points
