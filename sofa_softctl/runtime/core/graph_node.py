"""Search in the scene graph from a node: its objects, nodes below and above, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.runtime.core.children import NodeIterator, NodeLink
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.context import BaseNode, Context
from sofa_softctl.runtime.core.data.box import NO_BOX

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.node import Node

_LINKS = {
    "animationLoop": "animation loop",
    "animationManager": "animation loop",
    "collisionModel": "collision model",
    "collisionPipeline": "collision pipeline",
    "constraintSet": "constraint",
    "constraintSolver": "constraint solver",
    "forceField": "force field",
    "linearSolver": "linear solver",
    "mass": "mass",
    "mechanicalMapping": "mapping",
    "mechanicalState": "state",
    "meshTopology": "topology",
    "odeSolver": "ode solver",
    "projectiveConstraintSet": "projective constraint",
    "state": "state",
    "topology": "topology",
    "visualModel": "visual",
}
"""Links of a node in SOFA to its objects of one kind, by our category."""
_SINGLE = {
    "animationLoop",
    "animationManager",
    "collisionPipeline",
    "mass",
    "mechanicalMapping",
    "mechanicalState",
    "meshTopology",
    "state",
    "topology",
}
"""Links to one object, the last that was added."""


class GraphNode(BaseNode, Context):
    """Node with its objects, children and parents, and searches through them."""

    objects: NodeIterator[Component]
    children: NodeIterator[Node]
    parents: NodeIterator[Node]

    def getChild(self, name: str, warning: bool = True) -> Node | None:
        """Return the child of that name, or None."""
        return next((child for child in self.children if child.getName() == name), None)

    def getObject(self, name: str, warning: bool = True) -> Component | None:
        """Return the object of that name in this node, or None."""
        return next((item for item in self.objects if item.getName() == name), None)

    def hasObject(self, name: str) -> bool:
        """Return True if the node contains an object of that name."""
        return self.getObject(name) is not None

    def getRoot(self) -> Node:
        """Return the node without parents above this one."""
        node: Any = self
        while node.parents:
            node = node.parents[0]
        return node

    def _depth(self) -> int:
        """Return the number of nodes above this one."""
        node, depth = self, 0
        while node.parents:
            node, depth = node.parents[0], depth + 1
        return depth

    def getRootContext(self) -> Node:
        """Return the node without parents above this one."""
        return self.getRoot()

    def getRootPath(self) -> str:
        """Return the relative path to the root, such as '../../'."""
        return "../" * self.getPathName().rstrip("/").count("/")

    def getPathName(self) -> str:
        """Return its path in the graph, such as `/trunk/cable`; '/' for the root."""
        if not self.parents:
            return "/"
        return f"{self.parents[0].getPathName().rstrip('/')}/{self.getName()}"

    def of(self, category: str) -> list[Component]:
        """Return the objects of this node in a category."""
        return [item for item in self.objects if item.category == category]

    def walk(self, *, everything: bool = False) -> Iterator[Node]:
        """Yield this node and the nodes below, each after all its parents (SOFA's order, 1.1).

        Nodes that are not activated are left out, unless `everything` is True. Source:
        `Simulation` visitors.
        """
        visited: set[int] = set()

        def visit(node: Any) -> Iterator[Node]:
            parents_below = [parent for parent in node.parents if id(parent) in below]
            if id(node) in visited:
                return
            if not (everything or node.activated.get()):
                visited.add(id(node))  # as in SOFA, a child with another parent can follow
                return
            if node is not self and any(id(parent) not in visited for parent in parents_below):
                return
            visited.add(id(node))
            yield node
            for child in node.children:
                yield from visit(child)

        below = self._ids_below()
        return visit(self)

    def find_box(self) -> np.ndarray:
        """Return the smallest and largest corner of states and visual models here and below."""
        parts = [*self.objects, *(child for child in self.children if child.activated.get())]
        boxes = np.array([NO_BOX, *(part.bbox.get() for part in parts)])
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])

    def _ids_below(self) -> set[int]:
        ids: set[int] = set()
        stack = [self]
        while stack:
            node = stack.pop()
            if id(node) not in ids:
                ids.add(id(node))
                stack.extend(node.children)
        return ids

    def find_upward(self, category: str) -> Component | None:
        """Return the first object of this category in this node or the nodes above, or None."""
        local = self.of(category)
        if local:
            return local[0]
        for parent in self.parents:
            above = parent.find_upward(category)
            if above is not None:
                return above
        return None

    def getMass(self) -> Component | None:
        """Return the node's mass, or None."""
        masses = self.of("mass")
        return masses[0] if masses else None

    def getForceField(self, index: int) -> Component | None:
        """Return the node's force field of that number; masses are force fields, as in SOFA."""
        fields = [item for item in self.objects if item.category in ("mass", "force field")]
        return fields[index] if index < len(fields) else None

    def getMechanicalMapping(self) -> Component | None:
        """Return the node's mapping, or None."""
        mappings = self.of("mapping")
        return mappings[0] if mappings else None

    def hasODESolver(self) -> bool:
        """Return True if the node has a time integrator."""
        return bool(self.of("ode solver"))

    def findLink(self, name: str) -> Any:
        """Return the link of that name: to its children, parents, objects, or objects of a kind."""
        graph: dict[str, list[Any]] = {
            "child": self.children,
            "parents": self.parents,
            "object": self.objects,
        }
        if name not in graph and name not in _LINKS:
            return super().findLink(name)
        kind = _LINKS.get(name, "object" if name == "object" else "node")
        linked = graph[name] if name in graph else self.of(kind)
        is_single = name in _SINGLE
        help = f"Every {kind} of this node"
        if is_single:
            help = f"The {name[0].upper()}{name[1:]} attached to this node"
        if kind == "state":
            help += " (storing all state vectors)"
        return NodeLink(self, name, linked, kind=kind, help=help, single=is_single)

    def getLinks(self) -> list[Any]:
        """Return all links."""
        names = ("parents", "child", "object", *_LINKS)
        return [*super().getLinks(), *(self.findLink(name) for name in names)]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and "children" in self.__dict__:
            match = self.getObject(name) or self.getChild(name)
            if match is not None:
                return match
            if name in self.__dict__.get("_data", {}):
                return self._data[name]
            if name in _LINKS:
                return self.findLink(name)
            names = [item.getName() for item in (*self.objects, *self.children)]
            hint = did_you_mean(name, [*names, *self._data, *self._method_names(name)])
            raise AttributeError(
                f"Node '{self.getPathName()}' has no Data, object or child '{name}'.{hint} "
                f"It holds: {', '.join(names) or 'nothing'}."
            )
        raise AttributeError(name)

    def __getitem__(self, path: str) -> Any:
        """Return the end of a path of names with dots: root['trunk.dofs.position']."""
        steps = [step for step in path.split(".") if step]
        if not steps:
            raise ValueError(f"'{path}' names nothing in node '{self.getPathName()}'.")
        current: Any = self
        for step in steps:
            current = getattr(current, step)
        return current
