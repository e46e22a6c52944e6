"""Penalty forces that keep nodes outside, or inside, of a shape."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.core.data.types import Bool, Color, Real, Text, Vector
from sofa_softctl.runtime.helper.message import complain, not_negative


class ShapeForceField(BlockForceField):
    """Forces on those nodes that are on the wrong side of a shape."""

    stiffness = Real(500.0, "Force by depth.", unit="force/length")
    damping = Real(5.0, "Damping: force against the velocity, by velocity and depth.")

    def init(self) -> None:
        """Declare a stiffness block of each node."""
        nodes = np.arange(self.state.count) * (self.state.deriv_size // 3)
        self.set_pairs(nodes, nodes)

    def points(self) -> np.ndarray:
        """Return the positions of the nodes, shape (n, 3)."""
        return self.state.position.get()[:, :3]

    def velocities(self) -> np.ndarray:
        """Return the velocities of the nodes, shape (n, 3)."""
        return self.state.velocity.get()[:, :3]

    def apply(self, force: np.ndarray, nodes: np.ndarray, added: np.ndarray, K: np.ndarray) -> None:
        """Add forces (k, 3) to nodes (k,); their stiffness -df/dx has shape (k, 3, 3)."""
        force[nodes, :3] += added
        rows = nodes * (self.state.deriv_size // 3)
        self.set_blocks(rows, rows, K)

    def in_range(self, local_range: np.ndarray) -> np.ndarray:
        """Return a mask of the nodes from the first to the last of a localRange; -1 means all."""
        count, (first, last) = self.state.count, local_range.astype(int)
        is_in_range = np.zeros(count, dtype=bool)
        is_in_range[max(first, 0) : last + 1 if 0 <= last < count - 1 else count] = True
        return is_in_range


LOCAL_RANGE = "First and last node that the shape acts on; all by default."


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a b^T of each row, shape (k, 3, 3)."""
    return a[:, :, None] * b[:, None, :]


class PlaneForceField(ShapeForceField):
    """f = -stiffness (n . x - d) n on nodes below the plane n . x = d, or with `bilateral` on all.

    In addition, a force of damping times depth acts against the velocity. n is not normalised. With
    maxForce the force is shortened to that length, but its stiffness is not.
    """

    acts_on = ("Vec3", "Rigid3")

    normal = Vector(3, [0.0, 1.0, 0.0], "Normal n of the plane.")
    d = Real(0.0, "Distance of the plane from the origin along n.", unit="length")
    maxForce = Real(0.0, "Greatest force; 0 for any.", unit="force")
    bilateral = Bool(False, "Act on both sides.")
    localRange = Vector(2, [-1, -1], LOCAL_RANGE)
    showPlane = Bool(False, "Draw the plane.")
    planeColor = Color([0.0, 0.5, 0.2, 1.0], "Color of the drawn plane.")
    showPlaneSize = Real(10.0, "Size of the drawn plane.", unit="length")

    def init(self) -> None:
        """Check the numbers."""
        super().init()
        not_negative(self, "stiffness", 500.0)
        not_negative(self, "damping", 5.0)
        not_negative(self, "maxForce", 0.0)
        first, last = self.localRange.get()
        if (first < 0 or last < 0 or first > last) and (first, last) != (-1, -1):
            problem = f"has a localRange from {first:g} to {last:g}: all nodes count, as in SOFA."
            complain(self, self.fault(problem))
            self.localRange.set(np.full(2, -1.0))

    @override
    def add_force(self, force: np.ndarray) -> None:
        n, k = self.normal.get(), self.stiffness.get()
        depth = self.points() @ n - self.d.get()
        is_pushed = self.in_range(self.localRange.get())
        if not self.bilateral.get():
            is_pushed &= depth < 0.0
        nodes = np.flatnonzero(is_pushed)
        depth = depth[nodes, None]
        added = n * (-k * depth) - self.velocities()[nodes] * (-self.damping.get() * depth)
        if (force_max := self.maxForce.get()) > 0.0:
            length = np.linalg.norm(added, axis=1, keepdims=True)
            added = np.where(
                length > force_max, added * (force_max / np.maximum(length, 1e-300)), added
            )
        self.apply(force, nodes, added, np.tile(k * np.outer(n, n), (len(nodes), 1, 1)))


class SphereForceField(ShapeForceField):
    """f = -stiffness (|x - c| - r) (x - c) / |x - c| on nodes within the sphere.

    With `bilateral` on all nodes. In addition, a force of damping times depth acts against the
    velocity.
    """

    center = Vector(3, [0.0, 0.0, 0.0], "Centre c.", unit="length")
    radius = Real(1.0, "Radius r.", unit="length")
    bilateral = Bool(False, "Act on both sides.")
    localRange = Vector(2, [-1, -1], LOCAL_RANGE)
    color = Color([0.0, 0.0, 1.0, 1.0], "Color of the drawn sphere.")
    contacts = Text("", "Unused.", linkable=False)

    @override
    def add_force(self, force: np.ndarray) -> None:
        r, k = self.radius.get(), self.stiffness.get()
        offset = self.points() - self.center.get()
        squared = (offset * offset).sum(axis=1)
        is_pushed = self.in_range(self.localRange.get())
        if not self.bilateral.get():
            is_pushed &= squared < r * r
        nodes = np.flatnonzero(is_pushed & (squared > 0.0))  # SOFA's force at the centre is NaN
        length = np.sqrt(squared[nodes])[:, None]
        depth, normal = length - r, offset[nodes] / length
        added = offset[nodes] * (-k * depth / length)
        added -= self.velocities()[nodes] * (-self.damping.get() * depth)
        part = (r / length)[:, :, None]
        K = k * (part * outer(normal, normal) + (1.0 - part) * np.eye(3))
        self.apply(force, nodes, added, K)


class EllipsoidForceField(ShapeForceField):
    """A force on nodes inside an ellipsoid, outward; with a negative stiffness outside, inward.

    With u = x - c, v = |u / r| - 1 and g = u / r^2 by coordinates: f = -|stiffness| v g / |g| where
    v stiffness < 0, and a force of damping times |v| against the velocity. The stiffness that the
    step uses is SOFA's, which is not quite the derivative and not symmetric: a direct solver takes
    its symmetric part, SOFA's takes a triangle of it, which depends on the order of elimination.
    """

    center = Vector(3, [0.0, 0.0, 0.0], "Centre c.", unit="length")
    vradius = Vector(3, [0.0, 0.0, 0.0], "Half axes r.", unit="length")
    stiffness = Real(500.0, "Force by v: positive acts outward, negative inward.", unit="force")
    color = Color([0.0, 0.5, 1.0, 1.0], "Color of the drawn ellipsoid.")
    contacts = Text("", "Unused.", linkable=False)

    def init(self) -> None:
        """Check the half axes.

        Raises:
            SceneError: One of them is 0, and all nodes would be pulled to it.
        """
        super().init()
        if (self.vradius.get() > 0.0).all():
            return
        problem = self.fault(f"needs positive half axes 'vradius', got {self.vradius.get()}.")
        if self.vradius.get().all() or self.stiffness.get() >= 0.0:
            complain(
                self, problem, " Signs do not count, and with a 0 nothing is inside, as in SOFA."
            )
        else:
            raise problem

    @override
    def add_force(self, force: np.ndarray) -> None:
        k, offset = self.stiffness.get(), self.points() - self.center.get()
        with np.errstate(divide="ignore", invalid="ignore"):  # a half axis of 0
            inverse = 1.0 / self.vradius.get() ** 2
            squared = (offset * offset * inverse).sum(axis=1)
        nodes = np.flatnonzero((squared - 1.0) * k < 0.0)
        norm = np.sqrt(squared[nodes])[:, None]
        v, gradient, k = norm - 1.0, offset[nodes] * inverse, abs(k)
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        added = gradient * (-k * v / length)
        added -= self.velocities()[nodes] * (self.damping.get() * abs(v))
        K = outer(gradient, gradient * (k / (norm * length) + (k * v / length**2) * inverse))
        K += (k * v / length * inverse)[:, :, None] * np.eye(3)
        self.apply(force, nodes, added, K)


class ConicalForceField(ShapeForceField):
    """A force back into the cone on nodes outside of it; its apex is coneCenter.

    Nodes farther from the apex than coneHeight is long: toward the apex, stiffness times the excess
    distance. Nodes at the side of the cone: toward the nearest point of its side. Nodes behind the
    apex: toward the apex. The step's stiffness acts only along the direction of the force.
    """

    coneCenter = Vector(3, [0.0, 0.0, 0.0], "Apex of the cone.", unit="length")
    coneHeight = Vector(
        3, [0.0, 0.0, 0.0], "From the apex to the center of the base.", unit="length"
    )
    coneAngle = Real(10.0, "Angle between axis and side.", unit="degree")
    color = Color([0.0, 0.0, 1.0, 1.0], "Color of the drawn cone.")

    def init(self) -> None:
        """Check the cone."""
        super().init()
        if not self.coneHeight.get().any():
            problem = self.fault("needs a 'coneHeight' that is not zero.")
            complain(self, problem, " All nodes are drawn to its apex, as in SOFA.")

    @override
    def add_force(self, force: np.ndarray) -> None:
        height = float(np.linalg.norm(self.coneHeight.get()))
        axis, half_angle = self.coneHeight.get() / (height or 1.0), np.radians(self.coneAngle.get())
        offset, v = self.points() - self.coneCenter.get(), self.velocities()
        distance = np.linalg.norm(offset, axis=1)
        height_along_axis = offset @ axis
        with np.errstate(invalid="ignore", divide="ignore"):
            angle = np.arccos(np.clip(height_along_axis / distance, -1.0, 1.0))
        nodes = np.flatnonzero((distance > height) | (angle > half_angle))
        forces, directions = np.zeros((len(nodes), 3)), np.zeros((len(nodes), 3))
        k, c = self.stiffness.get(), self.damping.get()
        for i, node in enumerate(nodes):
            p, r = offset[node], distance[node]
            if r > height:
                directions[i] = p / r
                forces[i] = directions[i] * (-k * (r - height)) + v[node] * (c * (r - height))
                continue
            if height_along_axis[node] > 0.0:
                side = p - height_along_axis[node] * axis
                ray = np.cos(half_angle) * axis + np.sin(half_angle) * side / np.linalg.norm(side)
                to_cone = (ray @ p) * ray - p
            else:
                to_cone = -p
            depth = float(np.linalg.norm(to_cone))
            directions[i] = to_cone / depth
            forces[i] = directions[i] * (k * depth - c * (directions[i] @ v[node]))
        self.apply(force, nodes, forces, k * outer(directions, directions))
