"""EdgePressureForceField: forces on edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.components.force.pressure import ElementPressure, between
from sofa_softctl.runtime.core.data.types import Elements, Integers, Real, Reals, Text, Vector


class EdgePressureForceField(ElementPressure):
    """`pressure` times length at rest on edges, half of it on each end.

    Without a pressure: p_intensity times length at rest along the edges' normals, binormal x edge,
    at the positions of the last step, as in SOFA, whose k-th force there has the length of the
    topology's k-th edge, whichever is chosen. The edges are those of `edgeIndices`, or `edges`,
    or those that lie between the planes normal . x = dmin and dmax.
    """

    edgeIndices = Integers([], "Numbers of the edges.")
    edges = Elements(2, [], "The edges, by their ends.")
    normal = Vector(3, [0.0, 0.0, 0.0], "Direction along which edges are chosen.")
    dmin = Real(0.0, "Least normal . x.", unit="length")
    dmax = Real(0.0, "Greatest normal . x.", unit="length")
    p_intensity = Reals([], "Force on a unit of length along the normal, one or one an edge.")
    binormal = Vector(3, [0.0, 0.0, 0.0], "Normal of the plane in which the edges lie.")
    arrowSizeCoef = Real(0.0, "Size of the drawn arrows.")
    edgePressureMap = Text("", "Unused.", linkable=False)

    def init(self) -> None:
        """Find the edges and their forces.

        Raises:
            SceneError: an edge does not exist, or there is no direction for the forces.
        """
        self._edges = self.chosen("edges", self._numbers(), "edgeIndices")
        a, b = (self.rest()[self._edges[:, i]] for i in range(2))
        self._lengths = np.linalg.norm(b - a, axis=1)
        first = self.find_topology().elements("edges")[: len(self._edges)]
        self._first_lengths = np.linalg.norm(np.subtract(*self.rest()[first.T]), axis=1)
        along_normals = len(self.p_intensity.get()) and not self.pressure.get().any()
        if along_normals and not self.binormal.get().any():
            raise self.fault(
                "has 'p_intensity' but no 'binormal', and does not look for the edges' triangles: "
                "give the normal of the plane in which the edges lie as 'binormal'."
            )
        self._forces = self._present()

    def _numbers(self) -> np.ndarray:
        every = self.find_topology().elements("edges")
        if len(self.edges.get()):
            place = {tuple(edge): i for i, edge in enumerate(every.tolist())}
            missing = [edge for edge in self.edges.get().tolist() if tuple(edge) not in place]
            if missing:
                raise self.fault(f"names the edge {missing[0]}, which its topology does not have.")
            return np.array([place[tuple(edge)] for edge in self.edges.get().tolist()])
        if len(self.edgeIndices.get()):
            return self.edgeIndices.get()
        if self.dmin.get() != self.dmax.get():
            return between(self, every)
        return np.empty(0, dtype=np.int64)

    def _present(self) -> np.ndarray:
        """Force on each edge at the present positions, shape (k, 3)."""
        if self.pressure.get().any() or not len(self.p_intensity.get()):
            return self.pressure.get() * self._lengths[:, None]
        x = self.state._data["position"].get()
        tangent = x[self._edges[:, 1]] - x[self._edges[:, 0]]
        normal = np.cross(self.binormal.get(), tangent)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        given = self.p_intensity.get()
        numbers = np.arange(len(self._edges))
        intensity = given[np.where(numbers < len(given), numbers, 0)]
        forces: np.ndarray = normal * (intensity * self._first_lengths)[:, None]
        return forces

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        self.share(force, self._edges, self._forces)
        self._forces = self._present()

    def snapshot(self) -> dict[str, Any]:
        """See Component."""
        return {"forces": self._forces.copy()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """See Component."""
        self._forces = snapshot["forces"].copy()
