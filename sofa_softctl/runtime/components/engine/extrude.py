"""ExtrudeQuadsAndGenerateHexas: layers of hexahedra on a surface of quads."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.core.data.types import Bool, Elements, Int, Real, Vector, Vectors
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.mesh.faces import unit_vectors

_VERTICES_MAX = 10**7


class ExtrudeQuadsAndGenerateHexas(Engine):
    """Layers of hexahedra from a surface of quads along its normals.

    Copies of a vertex follow each other, from the innermost to the outermost. As in SOFA, normals
    are computed before the scale, and changes of other Data count once vertices or quads change.
    """

    inputs: ClassVar[tuple[str, ...]] = ("surfaceQuads", "surfaceVertices")

    isVisible = Bool(True, "Unused: nothing is drawn.")
    scale = Vector(3, [1.0, 1.0, 1.0], "Scale of the surface along x, y and z.", follows="reinit")
    thicknessIn = Real(0.0, "Start of layers against normals.", unit="length", follows="reinit")
    thicknessOut = Real(1.0, "End of layers along normals.", unit="length", follows="reinit")
    numberOfSlices = Int(1, "Layers.", follows="reinit")
    flipNormals = Bool(
        False, "Corners the other way round: positive volumes along the normals.", follows="reinit"
    )
    surfaceVertices = Vectors(3, [], "Vertices of the surface.", unit="length")
    surfaceQuads = Elements(4, [], "Quads of the surface.")
    extrudedVertices = Vectors(3, [], "Vertices of the layers.", unit="length", computed=True)
    extrudedSurfaceQuads = Elements(4, [], "Quads where the layers begin.", computed=True)
    extrudedQuads = Elements(
        4, [], "Quads of all hexahedra; those between two layers, in either sense.", computed=True
    )
    extrudedHexas = Elements(8, [], "Hexahedra.", computed=True)

    def compute(self) -> None:
        """Extrude the quads.

        Raises:
            SceneError: there are no layers, or quads have vertices that do not exist.
        """
        vertices, quads = self.surfaceVertices.get(), self.surfaceQuads.get()
        layers = self.numberOfSlices.get()
        if not (len(vertices) and len(quads)):
            complain(self, self.fault("has no vertices or no quads to extrude."))
            return
        if layers < 1:
            raise self.fault(f"needs a 'numberOfSlices' of 1 or more, got {layers}.")
        if layers * len(vertices) > _VERTICES_MAX:
            raise self.fault(f"has {layers} layers of {len(vertices)} vertices: too many to make.")
        wrong = quads[(quads < 0) | (quads >= len(vertices))]
        if len(wrong):
            raise self.fault(
                f"has vertex {wrong[0]} in 'surfaceQuads', but there are {len(vertices)} vertices."
            )
        self.extrudedVertices.set(self._layers(vertices, _normals(vertices, quads), layers))
        first = quads * (layers + 1)  # the copies have the following numbers
        self.extrudedSurfaceQuads.set(first)
        self.extrudedQuads.set(_quads(first, layers))
        low = first if self.flipNormals.get() else first[:, ::-1]
        level = np.arange(layers)[:, None]
        hexas = np.concatenate((low[:, None] + level, low[:, None] + level + 1), axis=2)
        self.extrudedHexas.set(hexas.reshape(-1, 8))

    def _layers(self, vertices: np.ndarray, normals: np.ndarray, layers: int) -> np.ndarray:
        """Return copies of each vertex, one after the other, shape (n (layers + 1), 3)."""
        inner, outer = self.thicknessIn.get(), self.thicknessOut.get()
        level = np.arange(layers + 1.0)[:, None]
        step = normals * ((inner + outer) / layers)
        shift = -normals[:, None] * inner + step[:, None] * level
        points: np.ndarray = (vertices * self.scale.get())[:, None] + shift
        return points.reshape(-1, 3)


def _normals(vertices: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """Return the normalised sum of unit normals around each vertex; zero without quads."""
    a, b, c = (vertices[quads[:, k]] for k in range(3))
    sums = np.zeros_like(vertices)
    for corner in quads.T:
        np.add.at(sums, corner, unit_vectors(np.cross(b - a, c - a)))
    return unit_vectors(sums)


def _quads(first: np.ndarray, layers: int) -> np.ndarray:
    """Return the quads around and between the hexahedra on each quad, in SOFA's order.

    The outermost two, the ones between layers in both senses, then four sides per layer.
    """
    quads = [first, first[:, ::-1] + layers]
    for level in range(1, layers):
        quads += [first + level, first[:, ::-1] + level]
    following = np.roll(first, -1, axis=1)
    for level in range(layers):
        for a, b in zip(first.T + level, following.T + level, strict=True):
            quads.append(np.column_stack((a, a + 1, b + 1, b)))
    return np.stack(quads, axis=1).reshape(-1, 4)
