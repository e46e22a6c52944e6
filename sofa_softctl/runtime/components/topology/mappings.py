"""Topological mappings: one topology filled from another, once at init."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.grid import cells_across
from sofa_softctl.runtime.components.topology.parts import (
    EDGES_OF_QUAD,
    EDGES_OF_TRIANGLE,
    boundary_triangles,
    faces_of_hexahedra,
    first_of_each,
    unique_parts,
)
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Int, Integers, Real, Vector
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.mapping.rigid import rotate_vectors


class TopologicalMapping(Component):
    """Fills a topology with elements derived from another topology.

    Vertices keep their numbers, unless a subclass says otherwise; a mapping of states gives their
    positions.
    """

    category: ClassVar[str] = "topological mapping"
    needs: ClassVar[str] = ""
    """Kind of elements that the input must have."""

    input = LinkType("Topology to read; of the node above by default.", kind="topology")
    output = LinkType("Topology to fill; the node's own by default.", kind="topology")

    def init(self) -> None:
        """Fill the output.

        Raises:
            SceneError: a topology is missing.
        """
        source, target = self.topologies()
        if self.needs and not len(source.elements(self.needs)):
            problem = self.fault(f"finds no {self.needs} in {source.describe()}.")
            complain(self, problem, " Its output stays empty, as in SOFA.")
        for kind, elements in self.map_elements(source).items():
            target._data[kind].set(np.ascontiguousarray(elements))
        target.derive()

    def map_elements(self, source: Topology) -> dict[str, np.ndarray]:
        """Return the elements to fill in, by kind."""
        raise NotImplementedError

    def topologies(self) -> tuple[Topology, Topology]:
        """Return input and output.

        Raises:
            SceneError: one is missing.
        """
        source: Any = self._links["input"].getLinkedBase()
        target: Any = self._links["output"].getLinkedBase()
        node = self._context
        if target is None and node is not None:
            target = next(iter(node.of("topology")), None)
        if source is None and node is not None and node.parents:
            source = node.parents[0].find_upward("topology")
        if source is None or target is None:
            missing, preposition = ("input", "above") if source is None else ("output", "in")
            raise self.fault(
                f"has no {missing}: add a topology {preposition} its node, or link it with "
                f"{missing}='@...'."
            )
        return source, target


class Quad2TriangleTopologicalMapping(TopologicalMapping):
    """Fills a topology with two triangles for each quad, whose diagonals alternate as in SOFA."""

    needs: ClassVar[str] = "quads"

    def map_elements(self, source: Topology) -> dict[str, np.ndarray]:
        """Return two triangles for each quad.

        Raises:
            SceneError: The input is a grid along one line.
        """
        quads = source.elements("quads")
        n_x, n_y = cells_across(source)
        row = n_x or n_y
        if not row:
            raise self.fault(f"needs a surface, but {source.describe()} is a line.")
        number = np.arange(len(quads))
        odd = (number % row ^ number // row) & 1 == 1
        triangles = quads[:, [(1, 2, 0), (3, 0, 2)]]
        triangles[odd] = quads[odd][:, [(0, 1, 3), (2, 3, 1)]]
        return {"triangles": triangles.reshape(-1, 3)}


class Tetra2TriangleTopologicalMapping(TopologicalMapping):
    """Fills a topology with the faces that belong to one tetrahedron only, in SOFA's order.

    Normals point out of tetrahedra of positive volume; each triangle starts with its smallest
    vertex. Departure from SOFA: triangles that the input lists are ignored; SOFA stops with
    errors, or crashes, if that list is not complete.
    """

    needs: ClassVar[str] = "tetrahedra"

    flipNormals = Bool(False, "Turn the normals round.")
    noNewTriangles = Bool(False, "Unused: the mesh does not change.")
    noInitialTriangles = Bool(False, "Leave the output empty.")

    @override
    def map_elements(self, source: Topology) -> dict[str, np.ndarray]:
        triangles = boundary_triangles(source.tetrahedra.get())
        if self.noInitialTriangles.get():
            triangles = triangles[:0]
        return {"triangles": triangles[:, [0, 2, 1] if self.flipNormals.get() else [0, 1, 2]]}


class Hexa2QuadTopologicalMapping(TopologicalMapping):
    """Fills a topology with the quads that belong to one hexahedron only, in SOFA's order.

    If the input lists quads, as a grid does, only these are examined.
    """

    needs: ClassVar[str] = "hexahedra"

    flipNormals = Bool(False, "Turn the normals round.")

    @override
    def map_elements(self, source: Topology) -> dict[str, np.ndarray]:
        quads = source.elements("quads")
        faces, counts = faces_of_hexahedra(source.hexahedra.get())
        sides = np.sort(faces[counts == 1], axis=1)
        outer = {tuple(side) for side in sides.tolist()}
        is_outer = [tuple(quad) in outer for quad in np.sort(quads, axis=1).tolist()]
        quads = quads[np.array(is_outer, dtype=bool)]
        return {"quads": quads[:, ::-1] if self.flipNormals.get() else quads}


class Triangle2EdgeTopologicalMapping(TopologicalMapping):
    """Fills a topology with the edges that belong to one triangle only, in SOFA's order."""

    needs: ClassVar[str] = "triangles"

    @override
    def map_elements(self, source: Topology) -> dict[str, np.ndarray]:
        triangles, edges = source.elements("triangles"), source.elements("edges")
        sides, counts = first_of_each(triangles[:, EDGES_OF_TRIANGLE].reshape(-1, 2))
        outer = {tuple(side) for side in np.sort(sides[counts == 1], axis=1).tolist()}
        is_outer = [tuple(edge) in outer for edge in np.sort(edges, axis=1).tolist()]
        return {"edges": edges[np.array(is_outer, dtype=bool)]}


class Edge2QuadTopologicalMapping(TopologicalMapping):
    """Tube of quads along edges, between circles of vertices in the y-z planes of frames.

    Vertex j of the circle around frame i has the number i N + j; the state beside the output gets
    them as its positions. For ellipses `radius` is the extent along the cross product of the focal
    axis and the first direction, `radiusFocal` the extent along the focal axis.
    """

    needs: ClassVar[str] = "edges"

    nbPointsOnEachCircle = Int(0, "Vertices of each circle.", follows="start")
    radius = Real(1.0, "Radius of the circles.", unit="length", follows="start")
    radiusFocal = Real(
        0.0, "Radius along the focal axis; a circle at 0.", unit="length", follows="start"
    )
    focalAxis = Vector(3, [0.0, 0.0, 1.0], "Axis of ellipses, in each frame.", follows="start")
    edgeList = Integers([], "Edges to surround; all by default.")
    flipNormals = Bool(False, "Turn the quads over.")
    toQuadContainer = LinkType("Unused: the output holds the quads.")
    toQuadModifier = LinkType("Unused: the mesh does not change.")

    def init(self) -> None:
        """Fill the output, and the state in its node.

        Raises:
            SceneError: there is no radius, or there are no frames.
        """
        if not (self.radius.isSet() or self.radiusFocal.isSet()):
            raise self.fault("needs 'radius' or 'radiusFocal'.")
        if self.radius.get() <= 0.0:
            raise self.fault(f"needs a positive 'radius', got {self.radius.get():g}.")
        if not 0 < (count := self.nbPointsOnEachCircle.get()) < 2**31:
            problem = f"needs 'nbPointsOnEachCircle' from 1 on, got {count}; 10 makes round tubes."
            if count:
                raise self.fault(problem)
            complain(self, self.fault(problem), " There is no tube, as in SOFA.")
        super().init()
        source, target = self.topologies()
        states = [] if target._context is None else target._context.of("state")
        if states:
            self._set_positions(source, states[0])

    @override
    def map_elements(self, source: Topology) -> dict[str, np.ndarray]:
        count = self.nbPointsOnEachCircle.get()
        edges, edge_indices = source.elements("edges"), self.edgeList.get()
        edges = edges[edge_indices] if len(edge_indices) else edges
        j = np.arange(count)
        first, second = (edges[:, [end]] * count for end in (0, 1))
        following = (j + 1) % max(count, 1)
        quads = np.stack([first + j, second + j, second + following, first + following], axis=2)
        if self.flipNormals.get():
            # SOFA begins with the last vertex, but with the first if `edgeList` is set
            quads = quads[:, :, [0, 3, 2, 1] if len(edge_indices) else [3, 2, 1, 0]]
        quads = quads.reshape(-1, 4)
        return {"quads": quads, "edges": unique_parts(quads, EDGES_OF_QUAD)}

    def _set_positions(self, source: Topology, state: Any) -> None:
        """Set the state's positions to circles around the present frames."""
        frames = None if source._context is None else source._context.find_upward("state")
        if frames is None or frames.position.get().shape[1] != 7:
            raise self.fault(
                f"needs frames beside {source.describe()}: a MechanicalObject with "
                "template='Rigid3'."
            )
        poses = frames.position.get()
        if not len(source.position.get()):  # its vertices are named by edges
            poses = poses[: source.elements("edges").max(initial=-1) + 1]
        radius, focal = self.radius.get(), self.radiusFocal.get()
        y, z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
        if focal > 0.0:
            z = self.focalAxis.get() / np.linalg.norm(self.focalAxis.get())
            y = np.cross(z, [1.0, 0.0, 0.0])
        count = self.nbPointsOnEachCircle.get()
        angles = 2.0 * np.arange(count) * np.pi / max(count, 1)
        circle = radius * np.outer(np.cos(angles), y)
        circle += (focal if focal > 0.0 else radius) * np.outer(np.sin(angles), z)
        offsets = rotate_vectors(
            np.repeat(poses[:, 3:], count, axis=0), np.tile(circle, (len(poses), 1))
        )
        positions = np.repeat(poses[:, :3], count, axis=0) + offsets
        state.resize(positions)
        state.position.set(positions)


PARTS = [(0, 5, 1, 6), (0, 1, 3, 6), (1, 3, 6, 2), (6, 3, 0, 7), (6, 7, 0, 5), (7, 5, 4, 0)]
"""SOFA's six tetrahedra of a hexahedron."""
_SWAPS = ([1, 0, 3, 2, 5, 4, 7, 6], [3, 2, 1, 0, 7, 6, 5, 4], [4, 5, 6, 7, 0, 1, 2, 3])
"""The hexahedron mirrored along its first, second and third direction."""


def six_tetrahedra(hexahedra: np.ndarray) -> np.ndarray:
    """Return six tetrahedra per hexahedron, one after the other, shape (6 m, 4)."""
    return hexahedra[:, PARTS].reshape(-1, 4)


def mirror_alternately(
    hexahedra: np.ndarray, cell_counts: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Mirror hexahedra of a grid so that neighbours cut their common side alike.

    A cell is mirrored along x if its x index is even, along y if its y index is odd, along z if
    its z index is odd, one after the other.

    Args:
        hexahedra: Shape (m, 8), in the order of a grid.
        cell_counts: Cells of the grid along its first two directions.

    Returns:
        The hexahedra, shape (m, 8), and True for those turned inside out, shape (m,).
    """
    number = np.arange(len(hexahedra))
    n_x, n_y = max(cell_counts[0], 1), max(cell_counts[1], 1)
    masks = [number % n_x % 2 == 0, number // n_x % n_y % 2 == 1, number // (n_x * n_y) % 2 == 1]
    cells, is_inverted = hexahedra.copy(), np.zeros(len(hexahedra), dtype=bool)
    for mirror, is_mirrored in zip(_SWAPS, masks, strict=True):
        cells[is_mirrored] = cells[is_mirrored][:, mirror]
        is_inverted ^= is_mirrored
    return cells, is_inverted


class Hexa2TetraTopologicalMapping(TopologicalMapping):
    """Fills a topology with six tetrahedra for each hexahedron, in SOFA's order."""

    needs: ClassVar[str] = "hexahedra"

    swapping = Bool(False, "Mirror cells alternately: favours no direction.", follows="start")

    @override
    def map_elements(self, source: Topology) -> dict[str, np.ndarray]:
        hexahedra = source.hexahedra.get()
        tetrahedra = six_tetrahedra(hexahedra)
        if self.swapping.get():
            cells, is_inverted = mirror_alternately(hexahedra, cells_across(source))
            tetrahedra = six_tetrahedra(cells)
            is_inverted = np.repeat(is_inverted, len(PARTS))
            tetrahedra[is_inverted] = tetrahedra[is_inverted][:, [0, 1, 3, 2]]
        no_elements = np.empty((0, 3), dtype=np.int64)
        return {"edges": no_elements[:, :2], "triangles": no_elements, "tetrahedra": tetrahedra}
