"""Goals of effectors as handles that viewers drag."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sofa_softctl.scene.session.session import Session
from sofa_softctl.view.browser.stage import Stage

HANDLE_SIZE = 0.12
"""Length of a handle's arrows by the size of the scene [-]."""
HOLD_TIME = 0.6
"""Wall time after a movement in which a handle is its viewer's alone [s]."""


class GoalPoint:
    """One row of a Data that holds goals.

    Args:
        name: Name in the page.
        data: Data of positions [length], shape (n, 3).
        row: Row in it.
        follow: Function that follows the scene's own goal again, or None.
    """

    def __init__(
        self, name: str, data: Any, row: int, follow: Callable[[], None] | None = None
    ) -> None:
        self.name, self.data, self.row, self.follow = name, data, row, follow

    @property
    def position(self) -> np.ndarray:
        """Position [length], shape (3,)."""
        return np.array(self.data.value, dtype=float).reshape(-1, 3)[self.row]

    def move(self, position: np.ndarray) -> None:
        """Set the position [length], shape (3,)."""
        points = np.array(self.data.value, dtype=float).reshape(-1, 3)
        points[self.row] = position
        self.data.value = points.tolist()


def goal_points(session: Session) -> list[GoalPoint]:
    """Return the goals of a scene: of controllers, and of SoftRobots' effectors."""
    points = []
    for controller in session.controllers:
        goals = getattr(controller, "goals", None)
        data = getattr(controller, "outputs", {}).get("goal")
        if goals is None or data is None:
            continue
        path = controller.getPathName()
        for row in range(len(np.reshape(data.value, (-1, 3)))):
            points.append(GoalPoint(f"{path}/goal {row}", data, row, _follower(controller)))
    for node in session.nodes():
        for component in node.objects:
            if component.getClassName() == "PositionEffector":
                points += _points_of_effector(component)
    return points


def _follower(controller: Any) -> Callable[[], None]:
    """Return a function that follows the controller's own goals again."""
    goals, root = controller.goals, controller.root
    function = goals.function

    def follow_own_goals() -> None:
        goals.follow(function)
        goals.show(goals.at(float(root.time.value) + float(root.dt.value)))

    return follow_own_goals


def _points_of_effector(effector: Any) -> list[GoalPoint]:
    """Return the goals of a PositionEffector, which often are the positions of a state."""
    data = effector.effectorGoal
    data = data.getParent() or data
    path = effector.getPathName()
    return [
        GoalPoint(f"{path}/goal {row}", data, row)
        for row in range(len(np.reshape(data.value, (-1, 3))))
    ]


class GoalHandles:
    """Handles of goals in a page.

    A handle belongs to the viewer who moves it until `HOLD_TIME` after: others are told so.

    Args:
        server: Server of viser.
        stage: Objects of the page.
        points: Goals.
        request: Function that has something done between two steps.
    """

    def __init__(
        self, server: Any, stage: Stage, points: list[GoalPoint], request: Callable[..., None]
    ) -> None:
        self._stage, self._points, self._request = stage, points, request
        self._holders: list[tuple[int | None, float]] = [(None, 0.0)] * len(points)
        self._handles = []
        for number, point in enumerate(points):
            handle = server.scene.add_transform_controls(
                f"/goals{point.name}", HANDLE_SIZE, disable_rotations=True, depth_test=False
            )
            handle.on_update(self._mover(number, handle))
            self._handles.append(handle)
        self.show()

    def _mover(self, number: int, handle: Any) -> Callable[[Any], None]:
        def move(event: Any) -> None:
            holder, moved = self._holders[number]
            now = time.monotonic()
            if holder not in (None, event.client_id) and now - moved < HOLD_TIME:
                if event.client is not None and event.phase == "start":
                    event.client.add_notification(
                        "This goal is being moved",
                        "Another viewer moves it. Try again in a moment.",
                        auto_close_seconds=4.0,
                    )
                return
            position = self._stage.to_scene(handle.position)
            if np.isfinite(position).all():
                self._holders[number] = event.client_id, now
                self._request(lambda: self._points[number].move(position))

        return move

    def show(self) -> None:
        """Move the handles that nobody holds to their goals."""
        now = time.monotonic()
        for number, (point, handle) in enumerate(zip(self._points, self._handles, strict=True)):
            position = self._stage.to_page(point.position)
            is_held = now - self._holders[number][1] < HOLD_TIME
            if not is_held and np.isfinite(position).all():
                if not np.array_equal(position, handle.position):
                    handle.position = position

    def follow_scene(self) -> None:
        """Follow the goals of the scene again, as before they were moved by hand."""
        for point in self._points:
            if point.follow is not None:
                point.follow()
