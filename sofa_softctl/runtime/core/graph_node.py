"""What is found in the scene graph from a node: its objects, what lies below, above, by name."""

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
"""Links to one object: the last that was added."""


class GraphNode(BaseNode, Context):
    """A node's objects, children and parents, and what is found by way of them."""

    objects: NodeIterator[Component]
    children: NodeIterator[Node]
    parents: NodeIterator[Node]

    def getChild(self, name: str, warning: bool = True) -> Node | None:
        """The child of that name, None when there is none."""
        return next((child for child in self.children if child.getName() == name), None)

    def getObject(self, name: str, warning: bool = True) -> Component | None:
        """The object of that name in this node, None when there is none."""
        return next((entry for entry in self.objects if entry.getName() == name), None)

    def hasObject(self, name: str) -> bool:
        """Whether the node holds an object of that name."""
        return self.getObject(name) is not None

    def getRoot(self) -> Node:
        """The node without parents above this one."""
        node: Any = self
        while node.parents:
            node = node.parents[0]
        return node

    def _depth(self) -> int:
        """Number of nodes above this one."""
        node, depth = self, 0
        while node.parents:
            node, depth = node.parents[0], depth + 1
        return depth

    def getRootContext(self) -> Node:
        """The node without parents above this one."""
        return self.getRoot()

    def getRootPath(self) -> str:
        """The way up to the root, such as '../../'."""
        return "../" * self.getPathName().rstrip("/").count("/")

    def getPathName(self) -> str:
        """Its place in the graph, such as `/trunk/cable`; '/' for the root."""
        if not self.parents:
            return "/"
        return f"{self.parents[0].getPathName().rstrip('/')}/{self.getName()}"

    def of(self, category: str) -> list[Component]:
        """This node's objects that play that part in a step."""
        return [entry for entry in self.objects if entry.category == category]

    def walk(self, *, everything: bool = False) -> Iterator[Node]:
        """This node and those below it, each after all its parents (SOFA's order, 1.1).

        Source: `Simulation` visitors; nodes that are not activated are left out, unless
        `everything` is asked for.
        """
        seen: set[int] = set()

        def visit(node: Any) -> Iterator[Node]:
            inside = [parent for parent in node.parents if id(parent) in below]
            if id(node) in seen:
                return
            if not (everything or node.activated.get()):
                seen.add(id(node))  # passed, as in SOFA: a child with another parent can follow
                return
            if node is not self and any(id(parent) not in seen for parent in inside):
                return
            seen.add(id(node))
            yield node
            for child in node.children:
                yield from visit(child)

        below = self._below()
        return visit(self)

    def find_box(self) -> np.ndarray:
        """Smallest and largest corner of the states and visual models here and below."""
        inside = [*self.objects, *(child for child in self.children if child.activated.get())]
        boxes = np.array([NO_BOX, *(entry.bbox.get() for entry in inside)])
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])

    def _below(self) -> set[int]:
        found: set[int] = set()
        stack = [self]
        while stack:
            node = stack.pop()
            if id(node) not in found:
                found.add(id(node))
                stack.extend(node.children)
        return found

    def find_upward(self, category: str) -> Component | None:
        """The first object of that category here or in the nodes above."""
        found = self.of(category)
        if found:
            return found[0]
        for parent in self.parents:
            above = parent.find_upward(category)
            if above is not None:
                return above
        return None

    def getMass(self) -> Component | None:
        """The node's mass."""
        masses = self.of("mass")
        return masses[0] if masses else None

    def getForceField(self, index: int) -> Component | None:
        """The node's force field of that number; masses are force fields too, as in SOFA."""
        fields = [entry for entry in self.objects if entry.category in ("mass", "force field")]
        return fields[index] if index < len(fields) else None

    def getMechanicalMapping(self) -> Component | None:
        """The node's mapping."""
        mappings = self.of("mapping")
        return mappings[0] if mappings else None

    def hasODESolver(self) -> bool:
        """Whether the node has a time integrator."""
        return bool(self.of("ode solver"))

    def findLink(self, name: str) -> Any:
        """The link of that name: to its children, parents, objects, or those of one kind."""
        graph: dict[str, list[Any]] = {
            "child": self.children,
            "parents": self.parents,
            "object": self.objects,
        }
        if name not in graph and name not in _LINKS:
            return super().findLink(name)
        kind = _LINKS.get(name, "object" if name == "object" else "node")
        linked = graph[name] if name in graph else self.of(kind)
        single = name in _SINGLE
        help = (
            f"The {name[0].upper()}{name[1:]} attached to this node"
            if single
            else (f"Every {kind} of this node")
        )
        if kind == "state":
            help += " (storing all state vectors)"
        return NodeLink(self, name, linked, kind=kind, help=help, single=single)

    def getLinks(self) -> list[Any]:
        """Every link."""
        names = ("parents", "child", "object", *_LINKS)
        return [*super().getLinks(), *(self.findLink(name) for name in names)]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and "children" in self.__dict__:
            found = self.getObject(name) or self.getChild(name)
            if found is not None:
                return found
            if name in self.__dict__.get("_data", {}):
                return self._data[name]
            if name in _LINKS:
                return self.findLink(name)
            names = [entry.getName() for entry in (*self.objects, *self.children)]
            hint = did_you_mean(name, [*names, *self._data, *self._method_names(name)])
            raise AttributeError(
                f"Node '{self.getPathName()}' has no Data, object or child '{name}'.{hint} "
                f"It holds: {', '.join(names) or 'nothing'}."
            )
        raise AttributeError(name)

    def __getitem__(self, path: str) -> Any:
        """By a path of names with dots: root['trunk.dofs.position']."""
        steps = [step for step in path.split(".") if step]
        if not steps:
            raise ValueError(f"'{path}' names nothing in node '{self.getPathName()}'.")
        current: Any = self
        for step in steps:
            current = getattr(current, step)
        return current
