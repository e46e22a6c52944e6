"""SphereForceField and EllipsoidForceField: penalty forces of spheres and ellipsoids."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.force.shape import LOCAL_RANGE, ShapeForceField, outer
from sofa_softctl.runtime.core.data.types import Bool, Color, Real, Text, Vector


class SphereForceField(ShapeForceField):
    """f = -stiffness (|x - c| - r) (x - c) / |x - c| on nodes within the sphere.

    With `bilateral` on all nodes. Besides, a force of damping times depth against the velocity.
    """

    center = Vector(3, [0.0, 0.0, 0.0], "Centre c.", unit="length")
    radius = Real(1.0, "Radius r.", unit="length")
    bilateral = Bool(False, "Act on both sides.")
    localRange = Vector(2, [-1, -1], LOCAL_RANGE)
    color = Color([0.0, 0.0, 1.0, 1.0], "Color of the drawn sphere.")
    contacts = Text("", "Unused.", linkable=False)

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        r, k = self.radius.get(), self.stiffness.get()
        offset = self.points() - self.center.get()
        squared = (offset * offset).sum(axis=1)
        inside = self.in_range(self.localRange.get())
        if not self.bilateral.get():
            inside &= squared < r * r
        nodes = np.flatnonzero(inside & (squared > 0.0))  # SOFA's force at the centre is NaN
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
            SceneError: one of them is not positive.
        """
        super().init()
        if not (self.vradius.get() > 0.0).all():
            raise self.fault(f"needs positive half axes 'vradius', got {self.vradius.get()}.")

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        inverse, k = 1.0 / self.vradius.get() ** 2, self.stiffness.get()
        offset = self.points() - self.center.get()
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
