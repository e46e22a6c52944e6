"""StringMeshCreator and GridMeshCreator: meshes of a line and of a square, without a file."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.loader.mesh_loader import MeshLoader
from sofa_softctl.runtime.components.topology.parts import first_of_each
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Counts, Int, Text
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.mesh.mesh import Mesh


class MeshCreator(MeshLoader):
    """Generates its mesh at creation; the transformations of loaders act on it."""

    turns_faces = False
    filename = Text("", "Unused: the mesh is made.")

    _is_in_node = False

    def load(self) -> None:
        """Generate the mesh; as in SOFA, `flipNormals` has no effect."""
        if self.flipNormals.get():
            complain(
                self, self.fault("does not turn its faces over, as in SOFA: no 'flipNormals'.")
            )
        super().load()

    def on_added(self) -> None:
        """Generate the mesh."""
        self._is_in_node = True
        self.load()

    def data_changed(self, data: Data) -> None:
        """Generate the mesh again if its options change in a node."""
        if data.type.name in ("resolution", "trianglePattern") and self._is_in_node:
            self.load()
        else:
            super().data_changed(data)


class StringMeshCreator(MeshCreator):
    """Vertices on the x axis from 0 to 1, with the edges between them."""

    resolution = Int(2, "Number of vertices; none unless it is given.", follows="start")

    def init(self) -> None:
        """Warn if there is no vertex."""
        super().init()
        if not len(self.position.get()):
            problem = self.fault("needs a 'resolution' from 1 on.")
            complain(self, problem, " It has no vertex, as in SOFA.")

    def _placement(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the identity with a warning: SOFA undoes the placement at init."""
        matrix, translation = super()._placement()
        if not (matrix - np.eye(3)).any() and not translation.any():
            return matrix, translation
        placements = ("translation", "rotation", "scale", "scale3d", "transformation")
        names = [name for name in placements if self.getData(name).isSet()]
        problem = (
            f"stays on the x axis from 0 to 1, as in SOFA, whatever {', '.join(names)} is: place "
            "the MechanicalObject instead."
        )
        complain(self, self.fault(problem))
        return np.eye(3) if self.scale3d.get().all() else matrix, np.zeros(3)

    @override
    def read(self) -> Mesh:
        has_vertices = self.resolution.isSet() or self.filename.get()  # as in SOFA
        count = max(self.resolution.get(), 0) if has_vertices else 0
        positions = np.zeros((count, 3))
        positions[:, 0] = np.arange(count) / max(count - 1, 1)
        return Mesh(positions, edges=np.stack([np.arange(count - 1), np.arange(1, count)], axis=1))


class GridMeshCreator(MeshCreator):
    """The unit square in the xy plane, of triangles or quads, in SOFA's order."""

    resolution = Counts(2, [2, 2], "Vertices along x and y.", follows="start")
    trianglePattern = Int(
        2, "Diagonals: 1 alternating, 2 upward, 3 downward; 0 leaves quads.", follows="start"
    )

    def read(self) -> Mesh:
        """Generate vertices and faces.

        Raises:
            SceneError: The resolution is not two numbers from 2 on.
        """
        n = self.resolution.get()
        if self.filename.get():
            problem = "has a 'filename', for which SOFA makes its mesh before it knows the others"
            complain(self, self.fault(f"{problem} of its Data: leave it out."))
        if n.min() < 2:
            raise self.fault(f"needs a 'resolution' of two numbers from 2 on, got {n.tolist()}.")
        y, x = np.indices(n[::-1].tolist()).reshape(2, -1)
        positions = np.stack([x / (n[0] - 1), y / (n[1] - 1), np.zeros(len(x))], axis=1)
        number = np.arange(len(x)).reshape(n[::-1])
        corners = [number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]]
        quads = np.stack([corner.ravel() for corner in corners], axis=1)
        pattern = self.trianglePattern.get()
        if pattern not in (1, 2, 3):
            quads = quads[: 0 if pattern else None]
            if pattern:
                problem = f"has trianglePattern {pattern}, where 0 to 3 is expected."
                complain(self, self.fault(problem), " It has no faces, as in SOFA.")
            return Mesh(positions, quads=quads, edges=_edges(quads))
        up, down = quads[:, [(0, 1, 2), (0, 2, 3)]], quads[:, [(0, 1, 3), (1, 2, 3)]]
        is_downward = np.full(len(quads), pattern == 3)
        if pattern == 1:
            is_downward = (np.indices((n[::-1] - 1).tolist()).sum(axis=0) % 2 == 1).ravel()
        triangles = np.where(is_downward[:, None, None], down, up).reshape(-1, 3)
        return Mesh(positions, triangles=triangles, edges=_edges(triangles))


def _edges(faces: np.ndarray) -> np.ndarray:
    """Return the distinct sides of faces, oriented as first met, sorted by their vertices."""
    sides = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    edges, _ = first_of_each(sides)
    return edges[np.lexsort(edges.T[::-1])]
