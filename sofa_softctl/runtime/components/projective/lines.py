"""Nodes that stay on lines, planes and points, or move in planes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.types import Bool, Coord, Integers, Real, Vector
from sofa_softctl.runtime.helper.message import complain


class ProjectingConstraint(NodeConstraint):
    """Projects forces, velocities and positions of nodes; needs an iterative linear solver."""

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3",)
    matrix_rows = False

    drawSize = Real(0.0, "Size of the drawn nodes.")

    def init(self) -> None:
        """Check nodes and solver.

        Raises:
            SceneError: a node does not exist, or the linear solver is a direct one.
        """
        super().init()
        self.refuse_direct_solver()

    def projection(self) -> np.ndarray:
        """Return the matrix that is applied to forces and velocities, shape (3, 3)."""
        raise NotImplementedError

    def fixed_dofs(self) -> np.ndarray:
        """Return False for all numbers: none is fixed."""
        return self.mask(False)

    @override
    def project_response(self, part: Callable[[MechanicalState], np.ndarray | None]) -> None:
        vector = part(self.state)
        if vector is not None:
            self._project(vector)

    def _project(self, vector: np.ndarray) -> None:
        nodes = self.nodes()
        vector[nodes, :3] = vector[nodes, :3] @ self.projection().T

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        self._project(velocity)
        self.state.velocity.touch()


def _unit(vector: np.ndarray, instead: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector * (1.0 / length) if length else instead


class LineProjectiveConstraint(ProjectingConstraint):
    """Keeps nodes on a line."""

    aliases = ("ProjectToLineConstraint",)

    origin = Vector(3, [0.0, 0.0, 0.0], "A point of the line.", unit="length")
    direction = Vector(3, [0.0, 0.0, 0.0], "Direction of the line; x if it is 0.")

    def init(self) -> None:
        """Normalise the direction."""
        super().init()
        self.direction.set(_unit(self.direction.get(), np.array([1.0, 0.0, 0.0])))

    @override
    def projection(self) -> np.ndarray:
        n = self.direction.get()
        return np.outer(n, n)

    def _origins(self) -> np.ndarray:
        return self.origin.get()

    @override
    def project_position(self, position: np.ndarray) -> None:
        nodes, n, start = self.nodes(), self.direction.get(), self._origins()
        position[nodes] = start + n * ((position[nodes] - start) @ n)[:, None]
        self.state.position.touch()


class DirectionProjectiveConstraint(LineProjectiveConstraint):
    """Keeps each node on a line through its initial position."""

    aliases = ("ProjectDirectionConstraint",)

    origin = Vector(3, [0.0, 0.0, 0.0], "Unused: each line goes through its node.", unit="length")
    direction = Vector(3, [0.0, 0.0, 0.0], "Direction of the lines; 0 fixes the nodes.")

    def init(self) -> None:
        """Normalise the direction, and store the nodes' positions."""
        ProjectingConstraint.init(self)
        self.direction.set(_unit(self.direction.get(), np.zeros(3)))
        self._initial = self.state.position.get().copy()

    def _origins(self) -> np.ndarray:
        return self._initial[self.nodes()]


class PlaneProjectiveConstraint(ProjectingConstraint):
    """Keeps nodes in a plane."""

    aliases = ("ProjectToPlaneConstraint",)

    origin = Vector(3, [0.0, 0.0, 0.0], "A point of the plane.", unit="length")
    normal = Vector(3, [0.0, 0.0, 0.0], "Normal of the plane; 0 has no effect.")

    def init(self) -> None:
        """Normalise the normal."""
        super().init()
        self.normal.set(_unit(self.normal.get(), np.zeros(3)))

    @override
    def projection(self) -> np.ndarray:
        n = self.normal.get()
        return np.eye(3) - np.outer(n, n)

    @override
    def project_position(self, position: np.ndarray) -> None:
        nodes, n = self.nodes(), self.normal.get()
        position[nodes] -= n * ((position[nodes] - self.origin.get()) @ n)[:, None]
        self.state.position.touch()


class PointProjectiveConstraint(NodeConstraint):
    """Keeps nodes at one point."""

    acts_on = ("Vec3", "Vec1")
    aliases = ("ProjectToPointConstraint",)

    point = Coord("Point of the nodes; the origin by default.", unit="length")
    fixAll = Bool(False, "Keep all nodes at the point.")
    drawSize = Real(0.0, "Size of the drawn nodes.")

    @override
    def nodes(self) -> np.ndarray:
        return np.arange(self.state.count) if self.fixAll.get() else super().nodes()

    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        """Return True for rows of the `indices`; fixAll does not count, as in SOFA."""
        rows = np.zeros((self.state.count, self.state.deriv_size), dtype=bool)
        rows[super().nodes()] = True
        return rows

    @override
    def project_position(self, position: np.ndarray) -> None:
        position[self.nodes()] = self.point.get()
        self.state.position.touch()

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        velocity[self.nodes()] = 0.0
        self.state.velocity.touch()


class FixedPlaneProjectiveConstraint(ProjectingConstraint):
    """Lets nodes move only in planes through their positions, without changing their velocity.

    The nodes are `indices`, and all with dmin < direction . x < dmax at init. With a direct solver
    the direction must be an axis.
    """

    acts_on = ("Vec3", "Rigid3")
    aliases = ("FixedPlaneConstraint",)

    indices = Integers([], "Nodes on which it acts.", of="node")
    direction = Vector(3, [0.0, 0.0, 0.0], "Normal of the planes, of length 1.")
    dmin = Real(0.0, "Smallest direction . x of nodes to choose.", unit="length", follows="start")
    dmax = Real(
        0.0, "Largest direction . x; equal to dmin for none.", unit="length", follows="start"
    )

    def init(self) -> None:
        """Choose nodes and check the direction.

        Raises:
            SceneError: the direction is oblique with a direct solver.
        """
        n = self.direction.get()
        if abs(float(n @ n) - 1.0) > 1e-6:
            fault = self.fault(f"needs a 'direction' of length 1, got {n.tolist()}.")
            complain(
                self, fault, " It is taken as it is, as in SOFA, so that nodes leave their planes."
            )
        NodeConstraint.init(self)
        if (n != 0.0).sum() > 1:
            self.refuse_direct_solver()
        if self.dmin.get() != self.dmax.get():
            height = self.state.position.get()[:, :3] @ n
            nodes = np.flatnonzero((height > self.dmin.get()) & (height < self.dmax.get()))
            self.indices.set(np.concatenate([self.indices.get(), nodes]))

    @override
    def projection(self) -> np.ndarray:
        n = self.direction.get()
        return np.eye(3) - np.outer(n, n)

    @override
    def fixed_dofs(self) -> np.ndarray:
        return self._mask_axes(np.abs(self.direction.get()) == 1.0)

    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        """Return True for the rows of the direction, of any length."""
        return self._mask_axes(self.direction.get() != 0.0)

    def _mask_axes(self, axes: np.ndarray) -> np.ndarray:
        mask = self.mask()
        mask[:, :3] &= axes
        mask[:, 3:] = False
        return mask

    def project_velocity(self, velocity: np.ndarray) -> None:
        """Change nothing."""
