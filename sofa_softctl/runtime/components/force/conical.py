"""ConicalForceField: a penalty force that keeps nodes in a cone."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.force.shape import ShapeForceField, outer
from sofa_softctl.runtime.core.data.types import Color, Real, Vector


class ConicalForceField(ShapeForceField):
    """A force back into the cone on nodes outside of it; its apex is coneCenter.

    Nodes farther from the apex than coneHeight is long: toward the apex, stiffness times the excess
    distance. Nodes beside the cone: toward the nearest point of its side. Nodes behind the apex:
    toward the apex. The step's stiffness is that along the direction of the force only.
    """

    coneCenter = Vector(3, [0.0, 0.0, 0.0], "Apex of the cone.", unit="length")
    coneHeight = Vector(
        3, [0.0, 0.0, 0.0], "From the apex to the center of the base.", unit="length"
    )
    coneAngle = Real(10.0, "Angle between axis and side.", unit="degree")
    color = Color([0.0, 0.0, 1.0, 1.0], "Color of the drawn cone.")

    def init(self) -> None:
        """Check the cone.

        Raises:
            SceneError: it has no height.
        """
        super().init()
        if not self.coneHeight.get().any():
            raise self.fault("needs a 'coneHeight' that is not zero.")

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        height = float(np.linalg.norm(self.coneHeight.get()))
        axis, half = self.coneHeight.get() / height, np.radians(self.coneAngle.get())
        offset, v = self.points() - self.coneCenter.get(), self.velocities()
        distance = np.linalg.norm(offset, axis=1)
        along = offset @ axis
        with np.errstate(invalid="ignore", divide="ignore"):
            angle = np.arccos(np.clip(along / distance, -1.0, 1.0))
        nodes = np.flatnonzero((distance > height) | (angle > half))
        forces, directions = np.zeros((len(nodes), 3)), np.zeros((len(nodes), 3))
        k, c = self.stiffness.get(), self.damping.get()
        for i, node in enumerate(nodes):
            p, r = offset[node], distance[node]
            if r > height:
                directions[i] = p / r
                forces[i] = directions[i] * (-k * (r - height)) + v[node] * (c * (r - height))
                continue
            if along[node] > 0.0:
                side = p - along[node] * axis
                ray = np.cos(half) * axis + np.sin(half) * side / np.linalg.norm(side)
                back = (ray @ p) * ray - p
            else:
                back = -p
            depth = float(np.linalg.norm(back))
            directions[i] = back / depth
            forces[i] = directions[i] * (k * depth - c * (directions[i] @ v[node]))
        self.apply(force, nodes, forces, k * outer(directions, directions))
