"""Base class of topologies: positions, elements, derived elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.topology.parts import OWNERS, first_of_each
from sofa_softctl.runtime.components.topology.queries import TopologyQueries
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Elements, Text, Vectors
from sofa_softctl.runtime.helper.message import complain

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.node import Node


class ElementsOfVertices(Elements):
    """Elements of a topology's vertices."""

    def __init__(self, width: int, help: str, **options: Any) -> None:
        super().__init__(width, [], help, optional_link=True, of="vertex", **options)


class Topology(TopologyQueries):
    """Vertices and elements. Kinds that the scene does not give are derived on demand."""

    category: ClassVar[str] = "topology"

    position = Vectors(
        3,
        [],
        "Vertices.",
        unit="length",
        aliases=("points", "vertices"),
        optional_link=True,
        follows="start",
    )
    edges = ElementsOfVertices(2, "Edges.", aliases=("lines",), follows="start")
    triangles = ElementsOfVertices(3, "Triangles.", follows="start")
    quads = ElementsOfVertices(4, "Quadrilaterals.", follows="start")
    tetrahedra = ElementsOfVertices(4, "Tetrahedra.", aliases=("tetras",), follows="start")
    hexahedra = ElementsOfVertices(8, "Hexahedra.", aliases=("hexas",), follows="start")
    filename = Text("", "Unused: only MeshTopology reads a file.", aliases=("fileTopology",))

    def init(self) -> None:
        """Check the elements, then derive the missing kinds."""
        self.check_elements()
        self.derive()

    def derive(self) -> None:
        """Fill in the kinds of elements that the scene does not give, as SOFA does."""
        for kind in ("quads", "triangles", "edges"):
            if not len(self._data[kind].get()) and len(elements := self.elements(kind)):
                self._data[kind].set(np.ascontiguousarray(elements))

    def check_elements(self) -> None:
        """Raise SceneError if an element names a vertex that does not exist.

        Nothing is checked before the topology, or a state of points in its node, has vertices.
        """
        count = self.count
        states = [] if self._context is None else self._context.of("state")
        has_state_vertices = bool(states) and states[0]._initialised and states[0].coord_size >= 3
        if not len(self.position.get()) and not has_state_vertices:
            return
        for name in ("edges", "triangles", "quads", "tetrahedra", "hexahedra"):
            elements = self._data[name].get()
            bad = ((elements < 0) | (elements >= count)).any(axis=1)
            if bad.any():
                first = int(np.flatnonzero(bad)[0])
                raise self.fault(
                    f"has {int(bad.sum())} of {len(elements)} {name} that name a vertex which does "
                    f"not exist, first {name}[{first}] = {elements[first].tolist()}; there are "
                    f"{count} vertices."
                )

    @override
    def range_of(self, of: str) -> tuple[int, str] | None:
        return (self.count, "vertices") if self.count else None

    def nodes(self) -> np.ndarray:
        """Return the positions of the nodes of a state in its node, shape (n, 3)."""
        return self.position.get()

    @property
    def count(self) -> int:
        """Number of vertices, or of nodes of the node's state if there are no positions."""
        points = self.position.get()
        if not len(points) and self._context is not None:
            for state in self._context.of("state"):
                return len(state.position.get())
        return len(points)

    def elements(self, kind: str) -> np.ndarray:
        """Return the elements of a kind, from the scene or derived from a higher dimension."""
        from_scene = self._data[kind].get()
        if len(from_scene):
            return from_scene
        for owners in OWNERS.get(kind, []):
            parts = [
                parts_of(elements)
                for owner, parts_of in owners.items()
                if len(elements := self._data[owner].get())
            ]
            if parts:
                return parts[0] if len(parts) == 1 else first_of_each(np.concatenate(parts))[0]
        return from_scene

    def cells_at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return hexahedron and coordinates in it of points, or None if this is not a grid."""
        return None


def topology_of(node: Node | None) -> Topology | None:
    """Return the topology of a node's force fields and masses: the last one of the nearest node.

    SOFA's Node::getMeshTopology; mappings and regions take the first instead.
    """
    while node is not None:
        topologies: list[Any] = node.of("topology")
        if topologies:
            topologies[-1].make_ready()
            return topologies[-1]
        node = node.parents[0] if node.parents else None
    return None


def linked_topology(component: Component, advice: str) -> Topology:
    """Return the target of the link `topology`, by default the node's topology.

    Args:
        component: Component that has the link.
        advice: Text of the error, after the component's name.

    Raises:
        SceneError: No topology is found.
    """
    topology: Any = component._links["topology"].getLinkedBase()
    if topology is None:
        topology = topology_of(component._context)
    if topology is None:
        raise component.fault(advice)
    topology.make_ready()
    return topology


def complain_without_elements(
    component: Component, kind: str, topology: Component, advice: str = ""
) -> None:
    """Warn that a force field finds no elements and so has no effect, as in SOFA."""
    problem = component.fault(f"finds no {kind} in {topology.describe()}.{advice}")
    complain(component, problem, " It has no effect, as in SOFA.")
