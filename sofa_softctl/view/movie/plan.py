"""Movie of a plan: the full shape of the robot, its cables, its task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.scene.graph.nodes import nodes_of
from sofa_softctl.scene.session.geometry import is_obstacle
from sofa_softctl.surrogate.costs.costs import Following, Laser
from sofa_softctl.surrogate.costs.obstacles import Box, HalfSpace, Sphere
from sofa_softctl.units import symbol
from sofa_softctl.view.movie.animation import (
    AnimatedCable,
    AnimatedPoint,
    AnimatedSurface,
    Animation,
    frames_at,
)
from sofa_softctl.view.movie.capture import (
    bodies_of,
    cable_colors,
    cable_points,
)
from sofa_softctl.view.movie.direction import View
from sofa_softctl.view.movie.movie import Progress, save_movie
from sofa_softctl.view.movie.surface import balls

FRAME_RATE = 20.0
"""Frames per second."""
LANDSCAPE, PORTRAIT = (640, 480), (400, 600)
"""Sizes [pixel]; PORTRAIT is for robots that stand or hang."""
PLATE_COLOR, BEAM_COLOR = "#aeb6c1", "#ff2a1a"
BOX = np.array([(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)])
"""Faces of a box whose corners are counted in binary, x last; counterclockwise from outside."""


def save_plan_movie(
    path: str | Path, result: Any, *, view: View | None = None, progress: Progress | None = None
) -> None:
    """Write a movie in real time, .gif or .mp4; `view` as for `save_movie`."""
    animation = plan_animation(result)
    low, high = animation.bounds()
    along = np.abs(animation.up) / np.linalg.norm(animation.up)
    tall = along @ (high - low) > ((1.0 - along) * (high - low)).max()
    size = PORTRAIT if tall else LANDSCAPE
    save_movie(animation, path, size=size, frame_rate=FRAME_RATE, view=view, progress=progress)


def plan_animation(result: Any) -> Animation:
    """Return the animation of a `ScenePlan`.

    The robot and its cables move in a copy of the scene, so that all that they carry follows.
    """
    robot, plan = result.robot, result.plan
    time = robot.dynamics.dt * np.arange(len(plan.a))
    shown = frames_at(time, FRAME_RATE)
    bodies, lines = _robot(result, shown)
    gravity = np.asarray(_root(robot).gravity.value, dtype=float)
    up = -gravity if gravity.any() else np.array([0.0, 1.0, 0.0])
    unit = symbol(result.units, "time") if result.units else ""
    scene = Animation(time[shown], bodies, lines, up=up, time_unit=unit)
    goals = [term.goal for term in result.task.outputs if isinstance(term, Following)]
    if isinstance(result.task.probe, Laser):
        _add_laser(scene, result, goals, shown)
    else:
        scene.markers.append(AnimatedPoint("point", result.spot[shown], colors.TIP, 0.7))
        scene.markers.extend(AnimatedPoint("goal", goal[shown], colors.GOAL) for goal in goals)
    low, high = scene.bounds()
    for obstacle in result.task.obstacles:
        scene.bodies.extend(_solid(obstacle.shape, len(shown), 0.5 * (low + high), high - low))
    return scene


def _root(robot: Any) -> Any:
    return robot.map.map.cables[0].getContext().getRoot()


def _robot(result: Any, shown: np.ndarray) -> tuple[list[AnimatedSurface], list[AnimatedCable]]:
    """Return bodies and cables of the scene in the frames, as the plan moves them."""
    robot, plan = result.robot, result.plan
    system, cables = robot.map.map.system, robot.map.map.cables
    surfaces = bodies_of(nodes_of(_root(robot)))
    positions: list[list[np.ndarray]] = [[] for _ in surfaces]
    paths: list[list[np.ndarray]] = [[] for _ in cables]
    for x in robot.positions(plan.a[shown]):
        for state in system.states:
            first = system.offset[id(state)]
            state.position.value = x[first : first + state.count]
        system.propagate()
        for moved, (state, _) in zip(positions, surfaces, strict=True):
            moved.append(np.array(state.position.value, dtype=np.float32))
        for moved, cable in zip(paths, cables, strict=True):
            moved.append(cable_points(cable))
    tension = robot.dynamics.force * np.vstack((plan.u[:1], plan.u))[shown]
    bodies = []
    for number, (moved, (state, triangles)) in enumerate(zip(positions, surfaces, strict=True)):
        obstacle = is_obstacle(state)
        color = colors.GROUND if obstacle else colors.body(number)
        bodies.append(
            AnimatedSurface(state.getPathName(), np.array(moved), triangles, color, obstacle)
        )
    lines = [
        AnimatedCable(cable.getPathName(), np.array(moved), pull, color)
        for cable, moved, pull, color in zip(
            cables, paths, tension.T, cable_colors(cables, []), strict=True
        )
    ]
    return bodies, lines


def _add_laser(scene: Animation, result: Any, goals: list[np.ndarray], shown: np.ndarray) -> None:
    """Add the beam, the plate that it cuts, the target path, and the cut up to each frame.

    Future points of the cut lie at the spot. The plate faces away from the robot, so that it is
    opaque from the robot's side.
    """
    probe, frames = result.task.probe, len(shown)
    y = result.outputs[shown]
    start, spot = y[:, list(probe.base)], result.spot[shown]
    normal = np.asarray(probe.normal) / np.linalg.norm(probe.normal)
    if normal @ (start[0] - spot[0]) < 0.0:
        normal = -normal  # towards the robot
    reached = np.concatenate([result.spot, *goals])
    low, high = reached.min(axis=0), reached.max(axis=0)
    plate, triangles = _plate(0.5 * (low + high), -normal, 0.75 * float((high - low).max()))
    scene.bodies.append(
        AnimatedSurface("plate", np.tile(plate, (frames, 1, 1)), triangles, PLATE_COLOR)
    )
    low, high = scene.bounds()
    width = 0.007 * float(np.linalg.norm(high - low))
    for goal in goals:
        strip, triangles = _strip(goal + 0.15 * width * normal, normal, 1.8 * width)
        color = colors.pale(colors.GOAL, 0.5)
        scene.bodies.append(_still("goal", strip, triangles, color, frames, lit=False))
    strip, triangles = _strip(result.spot + 0.3 * width * normal, normal, width)
    until = np.minimum(np.arange(len(result.spot)), shown[:, None])  # (frames, K)
    cut = strip.reshape(-1, 2, 3)[until].reshape(frames, -1, 3)
    look = {"obstacle": True, "lit": False}
    scene.bodies.append(AnimatedSurface("cut", cut, triangles, colors.TIP, **look))
    beam, triangles = _beam(start, spot, normal, 0.4 * width)
    scene.bodies.append(AnimatedSurface("beam", beam, triangles, BEAM_COLOR, obstacle=True))
    points, triangles = balls(spot[:, None], np.array([width]))
    scene.bodies.append(AnimatedSurface("spot", points, triangles, BEAM_COLOR, obstacle=True))


def _solid(shape: Any, frames: int, middle: np.ndarray, size: np.ndarray) -> list[AnimatedSurface]:
    """Return an obstacle's surface, near the robot for a half-space; [] for other shapes."""
    if isinstance(shape, Sphere):
        points, triangles = balls(np.array([[shape.center]], float), np.array([shape.radius]))
        points = np.tile(points, (frames, 1, 1))
        return [AnimatedSurface("obstacle", points, triangles, colors.OBSTACLE)]
    if isinstance(shape, Box):
        ends = np.array([shape.lower, shape.upper], float)
        corners = [(ends[i, 0], ends[j, 1], ends[k, 2]) for k, j, i in np.ndindex(2, 2, 2)]
        points = np.tile(np.array(corners), (frames, 1, 1))
        return [AnimatedSurface("obstacle", points, _halves(BOX), colors.OBSTACLE)]
    if isinstance(shape, HalfSpace):
        normal = np.asarray(shape.normal, float) / np.linalg.norm(shape.normal)
        foot = middle + (shape.offset - middle @ normal) * normal
        wall = _plate(foot, normal, 0.6 * float(size.max()))
        return [_still("obstacle", *wall, colors.GROUND, frames)]
    return []


def _still(
    name: str,
    points: np.ndarray,
    triangles: np.ndarray,
    color: str,
    frames: int,
    *,
    lit: bool = True,
) -> AnimatedSurface:
    points = np.tile(points, (frames, 1, 1))
    return AnimatedSurface(name, points, triangles, color, obstacle=True, lit=lit)


def _halves(faces: np.ndarray) -> np.ndarray:
    """Return two triangles for each face of four corners."""
    return np.concatenate((faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]))


def _normal_pair(normal: np.ndarray) -> np.ndarray:
    """Return two unit vectors normal to `normal` and to each other, shape (2, 3)."""
    first = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    first /= np.linalg.norm(first)
    return np.stack((first, np.cross(normal, first)))


def _plate(middle: np.ndarray, normal: np.ndarray, half: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a square of side 2 `half`: points (4, 3), triangles."""
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    return middle + half * signs @ _normal_pair(normal), _halves(np.array([[0, 1, 2, 3]]))


def _strip(path: np.ndarray, normal: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a band along a path (m, 3): points (2 m, 3), left and right in turn; triangles.

    At points where the path rests, its direction is the last one, or else the first.
    """
    side = np.cross(normal, np.gradient(path, axis=0))
    length = np.linalg.norm(side, axis=1)
    moving = np.flatnonzero(length > 1e-9 * max(1e-300, length.max()))
    if len(moving):
        count = np.searchsorted(moving, np.arange(len(path)), side="right") - 1
        index = moving[np.maximum(count, 0)]
        side = 0.5 * width * side[index] / length[index, None]
    points = np.stack((path + side, path - side), axis=1).reshape(-1, 3)
    k = 2 * np.arange(len(path) - 1)[:, None]
    return points, _halves(k + [0, 1, 3, 2])


def _beam(
    start: np.ndarray, end: np.ndarray, normal: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return an eight-sided rod between moving points (frames, 3): (frames, 16, 3), triangles."""
    angle = np.arange(8) * np.pi / 4.0
    ring = radius * np.stack((np.cos(angle), np.sin(angle)), axis=1) @ _normal_pair(normal)
    k = np.arange(8)[:, None]
    sides = np.hstack((k, (k + 1) % 8, (k + 1) % 8 + 8, k + 8))
    return np.concatenate((start[:, None] + ring, end[:, None] + ring), axis=1), _halves(sides)
