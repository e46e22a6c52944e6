"""ConicalForceField: keeps nodes in a cone."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.force.near import ShapeForceField, outer
from sofa_softctl.runtime.core.data.types import Color, Real, Vector


class ConicalForceField(ShapeForceField):
    """Pulls nodes that are outside back into a cone with its tip at coneCenter and a round base.

    Farther from the tip than the base: towards it, -stiffness times the distance beyond; beside
    the cone: to the nearest point of its side; behind the tip: to the tip. The step's stiffness is
    that along this direction alone.
    """

    coneCenter = Vector(3, [0.0, 0.0, 0.0], "Tip of the cone.", unit="length")
    coneHeight = Vector(
        3, [0.0, 0.0, 0.0], "From the tip to the middle of the base.", unit="length"
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
        way, v = self.points() - self.coneCenter.get(), self.velocities()
        distance = np.linalg.norm(way, axis=1)
        along = way @ axis
        with np.errstate(invalid="ignore", divide="ignore"):
            angle = np.arccos(np.clip(along / distance, -1.0, 1.0))
        nodes = np.flatnonzero((distance > height) | (angle > half))
        pushes, directions = np.zeros((len(nodes), 3)), np.zeros((len(nodes), 3))
        k, c = self.stiffness.get(), self.damping.get()
        for i, node in enumerate(nodes):
            p, r = way[node], distance[node]
            if r > height:
                directions[i] = p / r
                pushes[i] = directions[i] * (-k * (r - height)) + v[node] * (c * (r - height))
                continue
            if along[node] > 0.0:
                side = p - along[node] * axis
                ray = np.cos(half) * axis + np.sin(half) * side / np.linalg.norm(side)
                back = (ray @ p) * ray - p
            else:
                back = -p
            depth = float(np.linalg.norm(back))
            directions[i] = back / depth
            pushes[i] = directions[i] * (k * depth - c * (directions[i] @ v[node]))
        self.touch(force, nodes, pushes, k * outer(directions, directions))
