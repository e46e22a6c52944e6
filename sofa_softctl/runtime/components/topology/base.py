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


class _Given(Elements):
    """Elements of a topology's vertices."""

    def __init__(self, width: int, help: str, **options: Any) -> None:
        super().__init__(width, [], help, optional_link=True, of="vertex", **options)


class Topology(TopologyQueries):
    """Vertices and elements. Kinds that were not given are derived when somebody asks."""

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
    edges = _Given(2, "Edges.", aliases=("lines",), follows="start")
    triangles = _Given(3, "Triangles.", follows="start")
    quads = _Given(4, "Quadrilaterals.", follows="start")
    tetrahedra = _Given(4, "Tetrahedra.", aliases=("tetras",), follows="start")
    hexahedra = _Given(8, "Hexahedra.", aliases=("hexas",), follows="start")
    filename = Text("", "Unused: only MeshTopology reads a file.", aliases=("fileTopology",))

    def init(self) -> None:
        """Check that every element names vertices that exist, then list what can be derived."""
        self.check_elements()
        self.derive()

    def make_ready(self) -> None:
        """Make vertices and elements, where the scene did not give them; once.

        Asked for by what is initialised before the topology and reads it.
        """

    def derive(self) -> None:
        """Fill in the kinds of elements that were not given, as SOFA does."""
        for kind in ("quads", "triangles", "edges"):
            if not len(self._data[kind].get()) and len(found := self.elements(kind)):
                self._data[kind].set(np.ascontiguousarray(found))

    def check_elements(self) -> None:
        """SceneError where an element names a vertex that does not exist.

        Without vertices of its own, and before a state of points beside it has some, nobody knows.
        """
        count = self.count
        states = [] if self._context is None else self._context.of("state")
        known = bool(states) and states[0]._initialised and states[0].coord_size >= 3
        if not len(self.position.get()) and not known:
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
        """Positions of the nodes that a state in its node gets, shape (n, 3)."""
        points: np.ndarray = self.position.get()
        return points

    @property
    def count(self) -> int:
        """Number of vertices; that of the node's state when the topology has no positions."""
        points = self.position.get()
        if not len(points) and self._context is not None:
            for state in self._context.of("state"):
                return len(state.position.get())
        return len(points)

    def elements(self, kind: str) -> np.ndarray:
        """Elements of a kind, from the scene or else from those of higher dimension."""
        given = self._data[kind].get()
        if len(given):
            return given
        for owners in OWNERS.get(kind, []):
            parts = [
                parts_of(elements)
                for owner, parts_of in owners.items()
                if len(elements := self._data[owner].get())
            ]
            if parts:
                return parts[0] if len(parts) == 1 else first_of_each(np.concatenate(parts))[0]
        return given

    def cells_at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return hexahedron and coordinates in it of points, or None if this is not a grid."""
        return None


def topology_of(node: Node | None) -> Topology | None:
    """The topology on which a node's force fields and masses act: the last one of the nearest node.

    SOFA's Node::getMeshTopology; mappings and regions take the first instead.
    """
    while node is not None:
        found: list[Any] = node.of("topology")
        if found:
            found[-1].make_ready()
            return found[-1]  # type: ignore[no-any-return]
        node = node.parents[0] if node.parents else None
    return None


def linked_topology(component: Component, advice: str) -> Topology:
    """The topology that the link `topology` leads to, or else that of the node.

    Args:
        component: Has the link.
        advice: Said where there is none, after the component's name: what it needs.

    Raises:
        SceneError: there is none.
    """
    found: Any = component._links["topology"].getLinkedBase()
    if found is None:
        found = topology_of(component._context)
    if found is None:
        raise component.fault(advice)
    found.make_ready()
    return found  # type: ignore[no-any-return]


def say_without_elements(
    component: Component, kind: str, where: Component, advice: str = ""
) -> None:
    """Complain that a force field finds no elements, so that it has no effect, as in SOFA."""
    problem = component.fault(f"finds no {kind} in {where.describe()}.{advice}")
    complain(component, problem, " It has no effect, as in SOFA.")
