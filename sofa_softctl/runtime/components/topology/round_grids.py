"""CylinderGridTopology and SphereGridTopology: a grid whose squares become circles."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.topology.grid import GridTopology
from sofa_softctl.runtime.core.data.types import Real, Vector


class CylinderGridTopology(GridTopology):
    """A cylinder along an axis; squares around the axis become circles."""

    center = Vector(3, [0.0, 0.0, 0.0], "Centre of the first disc.", unit="length")
    axis = Vector(3, [0.0, 0.0, 1.0], "Direction of the cylinder.")
    radius = Real(1.0, "Radius of the cylinder.", unit="length")
    length = Real(1.0, "Length along the axis.", unit="length")

    def points(self, steps: np.ndarray) -> np.ndarray:
        """See GridTopology."""
        n, radius = self.n.get(), self.radius.get()
        square = steps[:, :2] * 2.0 * radius / _intervals(n[:2]) - radius
        places = np.zeros((len(steps), 3))
        places[:, :2] = _rounded(square)
        if n[2] > 1:
            places[:, 2] = steps[:, 2] * self.length.get() / (n[2] - 1)
        return self.center.get() + places @ _frame(self.axis.get())


class SphereGridTopology(GridTopology):
    """A ball; cubes around the centre become spheres."""

    center = Vector(3, [0.0, 0.0, 0.0], "Centre of the ball.", unit="length")
    axis = Vector(3, [0.0, 0.0, 1.0], "Third direction of the grid.")
    radius = Real(1.0, "Radius of the ball.", unit="length")

    def points(self, steps: np.ndarray) -> np.ndarray:
        """See GridTopology."""
        radius = self.radius.get()
        cube = steps * 2.0 * radius / _intervals(self.n.get()) - radius
        return self.center.get() + _rounded(cube) @ _frame(self.axis.get())


def _intervals(n: np.ndarray) -> np.ndarray:
    """Cells along each direction; 1 where there is none, where SOFA divides by 0."""
    return np.maximum(n - 1, 1)


def _rounded(places: np.ndarray) -> np.ndarray:
    """Places (n, d) moved along the ray from the origin: as far as their largest coordinate."""
    lengths = np.linalg.norm(places, axis=1)
    reach = np.abs(places).max(axis=1)
    factors = np.where(lengths > 1e-7, reach / np.where(lengths > 1e-7, lengths, 1.0), 1.0)
    return places * factors[:, None]


def _frame(axis: np.ndarray) -> np.ndarray:
    """Directions of a grid as rows, the third along the axis."""
    z = axis / np.linalg.norm(axis)
    x = np.array([1.0, 0.0, 0.0])
    if np.linalg.norm(z - x) < 1e-6:
        x = np.array([0.0, 1.0, 0.0])
    y = np.cross(z, x)
    x = np.cross(y, z)
    return np.array([x / np.linalg.norm(x), y / np.linalg.norm(y), z])
