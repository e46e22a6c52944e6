"""PlaneForceField: the penalty force of a plane."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.force.shape import LOCAL_RANGE, ShapeForceField
from sofa_softctl.runtime.core.data.types import Bool, Color, Real, Vector


class PlaneForceField(ShapeForceField):
    """f = -stiffness (n . x - d) n on nodes below the plane n . x = d, or with `bilateral` on all.

    Besides, a force of damping times depth against the velocity. n is taken as given, also where
    its length is not 1. With maxForce the force is shortened to that length; its stiffness is not.
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
        self.not_negative("stiffness", 500.0)
        self.not_negative("damping", 5.0)
        self.not_negative("maxForce", 0.0)

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        n, k = self.normal.get(), self.stiffness.get()
        depth = self.points() @ n - self.d.get()
        inside = self.in_range(self.localRange.get())
        if not self.bilateral.get():
            inside &= depth < 0.0
        nodes = np.flatnonzero(inside)
        depth = depth[nodes, None]
        added = n * (-k * depth) - self.velocities()[nodes] * (-self.damping.get() * depth)
        if (most := self.maxForce.get()) > 0.0:
            length = np.linalg.norm(added, axis=1, keepdims=True)
            added = np.where(length > most, added * (most / np.maximum(length, 1e-300)), added)
        self.apply(force, nodes, added, np.tile(k * np.outer(n, n), (len(nodes), 1, 1)))
