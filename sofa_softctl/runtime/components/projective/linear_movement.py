"""Nodes that move along prescribed paths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.types import Bool, Bools, Derivs, Real, Reals, UInt
from sofa_softctl.runtime.kernels.mapping import rigid
from sofa_softctl.runtime.mesh.rotation import quaternion_zyx


class LinearMovementProjectiveConstraint(NodeConstraint):
    """Moves nodes by `movements`, interpolated between their `keyTimes`.

    A movement is relative to the initial position, or with relativeMovements=False the position
    itself; for bodies it is a translation, then angles about x, y and z. A step moves nodes to the
    positions at its start, with the velocity at that time. Before the first time and from the last
    time on nothing moves them, but a direct solver's matrix still has identity rows for them, so
    that SOFA, and this class, treat a force as an acceleration: give times up to the end.
    """

    aliases = ("LinearMovementConstraint",)

    keyTimes = Reals([0.0], "Times of `movements`, ascending.", unit="time")
    movements = Derivs([], "Movements at the `keyTimes`.", unit="length")
    relativeMovements = Bool(True, "Movements are relative to the initial position.")
    showMovement = Bool(False, "Draw the movement.")

    def init(self) -> None:
        """Check nodes and times.

        Raises:
            SceneError: a node does not exist, or there is not one movement per time.
        """
        super().init()
        self._x0: np.ndarray | None = None
        if not self.movements.isSet():
            self.movements.set(np.zeros((1, self.state.deriv_size)))
        self.check_times("keyTimes", "movements")

    def span(self) -> Span | None:
        """Return the span of the present time, or None."""
        times, movements = self.check_times("keyTimes", "movements")
        span = span_at(self.time(), times, movements)
        if span is None and len(times) > 1 and self.time() >= times[-1]:
            self.warn_of_release(float(times[-1]))
        return span

    @override
    def fixed_dofs(self) -> np.ndarray:
        return self.mask(self.span() is not None)

    @override
    def project_position(self, position: np.ndarray) -> None:
        if self._x0 is None:
            self._x0 = position.copy()
        span = self.span()
        if span is None:
            return
        t = (self.time() - span.start) / (span.end - span.start)
        movement = span.first + (span.last - span.first) * t
        nodes = self.nodes()
        if self.state.kind.name == "Rigid3":
            rotation = interpolate_rotation(span.first[3:], span.last[3:], t)
            self._set_bodies(position, nodes, movement[:3], rotation)
        else:
            self._set_points(position, nodes, movement)
        self.state.position.touch()

    def _set_points(self, position: np.ndarray, nodes: np.ndarray, movement: np.ndarray) -> None:
        assert self._x0 is not None
        relative = self.relativeMovements.get()
        position[nodes] = self._x0[nodes] + movement if relative else movement

    def _set_bodies(
        self, position: np.ndarray, nodes: np.ndarray, shift: np.ndarray, rotation: np.ndarray
    ) -> None:
        assert self._x0 is not None
        if self.relativeMovements.get():
            position[nodes, :3] = self._x0[nodes, :3] + shift
            position[nodes, 3:] = rigid.product(self._x0[nodes, 3:], rotation[None])
        else:
            position[nodes] = np.concatenate([shift, rotation])

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        span = self.span()
        if span is not None:
            velocity[self.nodes()] = (span.last - span.first) * (1.0 / (span.end - span.start))
            self.state.velocity.touch()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"x0": None if self._x0 is None else self._x0.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._x0 = snapshot["x0"]


class PartialLinearMovementProjectiveConstraint(LinearMovementProjectiveConstraint):
    """Moves nodes in some directions, as LinearMovementProjectiveConstraint does in all.

    As in SOFA, the velocity is the movement's in every direction, moved or not, and bodies move in
    all directions.
    """

    aliases = ("PartialLinearMovementConstraint",)

    movedDirections = Bools((3, 6, 1), [1, 1, 1], "Directions in which nodes move.")
    linearMovementBetweenNodesInIndices = Bool(False, "Not supported: only False.", follows="start")
    mainIndice = UInt(0, "Unused.")
    minDepIndice = UInt(0, "Unused.")
    maxDepIndice = UInt(0, "Unused.")
    imposedDisplacmentOnMacroNodes = Reals([], "Unused.")
    X0 = Real(0.0, "Unused.")
    Y0 = Real(0.0, "Unused.")
    Z0 = Real(0.0, "Unused.")

    @override
    def init(self) -> None:
        if self.linearMovementBetweenNodesInIndices.get():
            raise self.fault("does not support linearMovementBetweenNodesInIndices=True.")
        super().init()

    def _directions(self) -> np.ndarray:
        moved, width = self.movedDirections.get(), self.state.deriv_size
        if self.movedDirections.isSet() and len(moved) != width:
            raise self.fault(f"has {len(moved)} 'movedDirections', but a node moves in {width}.")
        return moved if len(moved) == width else np.ones(width, dtype=bool)

    @override
    def mask(self, active: bool = True) -> np.ndarray:
        return super().mask(active) & self._directions()

    def _set_points(self, position: np.ndarray, nodes: np.ndarray, movement: np.ndarray) -> None:
        assert self._x0 is not None
        for axis in np.flatnonzero(self._directions()):
            position[nodes, axis] = self._x0[nodes, axis] + movement[axis]


class Span(NamedTuple):
    """Two successive times, and the values at them."""

    start: float
    end: float
    first: np.ndarray
    last: np.ndarray


def span_at(time: float, times: np.ndarray, values: np.ndarray) -> Span | None:
    """Return the span of a time, or None before the first time and from the last one on."""
    if not len(times) or not times[0] <= time < times[-1]:
        return None
    k = int(np.argmax(times > time)) - 1
    return Span(float(times[k]), float(times[k + 1]), values[k], values[k + 1])


def interpolate_rotation(first: np.ndarray, last: np.ndarray, t: float) -> np.ndarray:
    """Interpolate two rotations, angles [rad] about x, y, z as Rz Ry Rx, as a quaternion (4,).

    As in SOFA, rotations closer than 0.002 rad give their middle for any t.
    """
    a, b = quaternion_zyx(np.degrees(first)), quaternion_zyx(np.degrees(last))
    cosine = float(a @ b)
    if abs(cosine) >= 1.0:
        return a
    half = np.arccos(cosine)
    sine = np.sqrt(1.0 - cosine * cosine)
    if abs(sine) < 0.001:
        return 0.5 * a + 0.5 * b
    return a * (np.sin((1.0 - t) * half) / sine) + b * (np.sin(t * half) / sine)
