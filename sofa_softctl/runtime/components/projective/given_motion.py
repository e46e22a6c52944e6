"""Nodes on prescribed trajectories: oscillations, affine maps, velocities over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.types import Bool, Derivs, Integers, Matrix, Real, Reals, Vector
from sofa_softctl.runtime.helper.message import keeps_sofa_defects
from sofa_softctl.runtime.kernels.mapping import rigid


class OscillatorProjectiveConstraint(NodeConstraint):
    """x = mean + amplitude sin(pulsation t + phase), for each of some nodes.

    The mean of a body is a position and a quaternion, the amplitude a motion along x, y, z, then
    about them. It needs an iterative linear solver.
    """

    aliases = ("OscillatorConstraint",)
    matrix_rows = False

    indices = Integers([], "Unused: the nodes are named in `oscillators`.")
    oscillators = Reals([], "For each: node, mean (x y z), amplitude (x y z), pulsation, phase.")

    def init(self) -> None:
        """Check the numbers.

        Raises:
            SceneError: there are not nine numbers per point, or a node does not exist.
        """
        width = self.state.coord_size + self.state.deriv_size + 3
        numbers = self.oscillators.get()
        if len(numbers) % width:
            raise self.fault(f"takes {width} numbers for each node, got {len(numbers)} in all.")
        self._rows = numbers.reshape(-1, width)
        super().init()
        self.refuse_direct_solver()

    @override
    def nodes(self) -> np.ndarray:
        self.indices.set(self._rows[:, 0].astype(np.int64))
        return super().nodes()

    def _parts(self) -> tuple[np.ndarray, ...]:
        first = 1 + self.state.coord_size
        last = first + self.state.deriv_size
        _, mean, amplitude, rate, phase = np.split(self._rows, [1, first, last, last + 1], axis=1)
        return mean, amplitude, rate, phase

    @override
    def project_position(self, position: np.ndarray) -> None:
        mean, amplitude, rate, phase = self._parts()
        x = np.empty_like(mean)
        motion = amplitude * np.sin(rate * self.time() + phase)
        self.state.kind.advance(mean, motion, 1.0, x)
        position[self.nodes()] = x
        self.state.position.touch()

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        _, amplitude, rate, phase = self._parts()
        velocity[self.nodes()] = amplitude * rate * np.cos(rate * self.time() + phase)
        self.state.velocity.touch()


class AffineMovementProjectiveConstraint(NodeConstraint):
    """Moves nodes on straight lines from initial positions x0 to rotation x0 + translation.

    The motion lasts from beginConstraintTime to endConstraintTime; at any time, velocities are
    cleared and forces do not move the nodes. It needs an iterative linear solver. Bodies rotate
    only at the end.
    """

    acts_on = ("Vec3", "Rigid3")
    aliases = ("AffineMovementConstraint",)
    matrix_rows = False

    indices = Integers([], "Nodes to move.", of="node")
    meshIndices = Integers([], "Unused.")
    beginConstraintTime = Real(0.0, "Start of the movement.", unit="time")
    endConstraintTime = Real(20.0, "End of the movement.", unit="time")
    rotation = Matrix(9, [0.0] * 9, "Matrix that is applied to positions of points, by rows.")
    quaternion = Vector(4, [0.0, 0.0, 0.0, 1.0], "Rotation that is applied to bodies.")
    translation = Vector(3, [0.0, 0.0, 0.0], "Translation.", unit="length")
    drawConstrainedPoints = Bool(False, "Draw the nodes.")

    def init(self) -> None:
        """Check nodes and solver.

        Raises:
            SceneError: a node does not exist, or the linear solver is a direct one.
        """
        super().init()
        self.refuse_direct_solver()
        self._first: np.ndarray | None = None

    def _last(self, first: np.ndarray) -> np.ndarray:
        """Return the final positions of the nodes."""
        last = first.copy()
        if self.state.kind.name == "Rigid3":
            rotation = self.quaternion.get()[None]
            last[:, :3] = rigid.rotate_vectors(rotation, first[:, :3]) + self.translation.get()
            last[:, 3:] = rigid.product(first[:, 3:], np.broadcast_to(rotation, first[:, 3:].shape))
            return last
        return first @ self.rotation.get().reshape(3, 3).T + self.translation.get()

    @override
    def project_position(self, position: np.ndarray) -> None:
        if self._first is None:
            self._first = position.copy()
        time, nodes = self.time(), self.nodes()
        begin, end = self.beginConstraintTime.get(), self.endConstraintTime.get()
        first = self._first[nodes]
        last = self._last(first)
        if begin < time <= end:
            x, y = first[:, :3], last[:, :3]
            position[nodes, :3] = ((y - x) * time + (x * end - y * begin)) / (end - begin)
        elif time > end:
            position[nodes] = last
        self.state.position.touch()

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        velocity[self.nodes()] = 0.0
        self.state.velocity.touch()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"first": self._first}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._first = snapshot["first"]


class LinearVelocityProjectiveConstraint(NodeConstraint):
    """Moves nodes with `velocities`, interpolated between their `keyTimes`.

    Every step, and the initialisation, adds dt times the velocity at its start. After the last time
    nodes are free, or with continueAfterEnd keep the last velocity. `coordinates` limits this to
    some numbers of a node; as in SOFA, forces do not move the others. For bodies they are indices
    in the velocity (0 to 5), and as there the same indices in the position.
    """

    aliases = ("LinearVelocityConstraint",)

    keyTimes = Reals([0.0], "Times of `velocities`, ascending.", unit="time")
    velocities = Derivs([], "Velocities at the `keyTimes`.", unit="length/time")
    coordinates = Integers(
        [], "Indices in a node's velocity to prescribe; all by default.", of="coordinate"
    )
    continueAfterEnd = Bool(False, "Keep the last velocity after the last time.")

    def init(self) -> None:
        """Check nodes and times.

        Raises:
            SceneError: a node does not exist, or there is not one velocity per time.
        """
        super().init()
        if not self.velocities.isSet():
            self.velocities.set(np.zeros((1, self.state.deriv_size)))
        self.check_times("keyTimes", "velocities")
        self.reset()

    @override
    def range_of(self, of: str) -> tuple[int, str] | None:
        size = self.state.deriv_size
        return (size, "numbers in a velocity") if of == "coordinate" else super().range_of(of)

    def reset(self) -> None:
        """Restart at the initial position."""
        self._last: np.ndarray | None = None

    def _present_velocity(self) -> np.ndarray | None:
        """Return the present velocity, or None if nodes are free."""
        times, velocities = self.check_times("keyTimes", "velocities")
        time = self.time()
        if not len(times) or times[0] == times[-1] or time < times[0]:
            return None
        if time > times[-1]:
            if self.continueAfterEnd.get():
                return velocities[-1]
            self.warn_of_release(float(times[-1]))
            return None
        if time == times[-1]:
            return velocities[-1]
        k = int(np.argmax(times > time)) - 1
        fraction = (time - times[k]) / (times[k + 1] - times[k])
        return (velocities[k + 1] - velocities[k]) * fraction + velocities[k]

    @override
    def fixed_dofs(self) -> np.ndarray:
        return self.mask(self._present_velocity() is not None)

    @override
    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        return fixed

    def _axes(self) -> np.ndarray:
        axes = self.coordinates.get()
        return axes if len(axes) else np.arange(self.state.deriv_size)

    @override
    def project_position(self, position: np.ndarray) -> None:
        if self._last is None:
            self._last = position.copy()
        v = self._present_velocity()
        if v is None:
            return
        assert self._context is not None
        dt, nodes = self._context.dt.get(), self.nodes()
        last = self._last[nodes]
        # SOFA moves nodes that are named twice for a second time
        times = np.bincount(nodes)[nodes] if keeps_sofa_defects() else np.ones(len(nodes))
        if len(self.coordinates.get()):
            for axis in self._axes():  # in SOFA all but the first start from other positions
                position[nodes, axis] = last[:, axis] + v[axis] * dt * times
                last = position[nodes]
        else:
            x = np.empty_like(last)
            self.state.kind.advance(last, times[:, None] * v, dt, x)
            position[nodes] = x
        self._last[nodes] = position[nodes]
        self.state.position.touch()

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        v = self._present_velocity()
        if v is not None:
            for axis in self._axes():
                velocity[self.nodes(), axis] = v[axis]
            self.state.velocity.touch()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"last": None if self._last is None else self._last.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._last = None if snapshot["last"] is None else snapshot["last"].copy()
