"""The bodies of a scene: independent states, with what acts on them; warnings about them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.scene.graph.nodes import (
    body_of,
    box_size,
    elements_of,
    nodes_of,
    objects_of,
    own_state,
)


class StartWarning(NamedTuple):
    """Something implausible, for `Sofa.msg_warning`."""

    component: Any
    """Component or node that it is about."""
    text: str
    """Fault, location, actual and expected number, and remedy."""


def is_bare(node: Any) -> bool:
    """Return True if a node holds only a state and its solvers, such as a target's node."""
    bare = ("MechanicalObject", "Solver", "ConstraintCorrection")
    return not len(node.children) and all(e.getClassName().endswith(bare) for e in node.objects)


def at(component: Any) -> str:
    """Return a text such as `scenes/trunk.py:41: CableConstraint '/trunk/left/cable'`."""
    location = getattr(component, "_where", None)
    line = f"{describe(location)}: " if location is not None else ""
    kind = component.getClassName() if hasattr(component, "getClassName") else "Node"
    return f"{line}{kind} '{component.getPathName()}'"


def point(position: np.ndarray) -> str:
    """Return a point as text."""
    return f"[{', '.join(f'{value:.4g}' for value in position)}]"


@dataclass(frozen=True)
class Body:
    """An independent state, with its node."""

    node: Any
    """Node of the state."""
    state: Any
    """MechanicalObject of the body."""

    @cached_property
    def entries(self) -> list[Any]:
        """Components of the node and those below."""
        return [component for node in nodes_of(self.node) for component in node.objects]

    @cached_property
    def size(self) -> float:
        """Largest side of the box around the body [length]."""
        return box_size(self.node)

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.state.position.value)

    @cached_property
    def rest(self) -> np.ndarray:
        """Rest positions, or else present positions [length], shape (n, 3)."""
        rest = np.asarray(self.state.rest_position.value, dtype=float)
        if len(rest) != self.count:
            rest = np.asarray(self.state.position.value, dtype=float)
        return rest[:, :3]

    @cached_property
    def topology(self) -> Any:
        """Topology with the tetrahedra or hexahedra, or None."""
        for kind in ("tetrahedra", "hexahedra"):
            for component in self.node.objects:
                elements = elements_of(component, kind)
                is_topology = "Topology" in component.getClassName()
                if is_topology and len(elements) and elements.max() < self.count:
                    return component
        return None

    @cached_property
    def elements(self) -> np.ndarray:
        """Vertex numbers of tetrahedra, shape (m, 4), or else hexahedra, shape (m, 8)."""
        if self.topology is None:
            return np.empty((0, 4), dtype=int)
        tetrahedra = elements_of(self.topology, "tetrahedra")
        return tetrahedra if len(tetrahedra) else elements_of(self.topology, "hexahedra")

    @property
    def volume(self) -> float:
        """Volume of the elements at rest [length^3]; 0 without elements."""
        return float(np.abs(signed_volumes(self.rest, self.elements)).sum())

    def with_data(self, name: str) -> list[Any]:
        """Return the components with a Data of that name."""
        return [component for component in self.entries if component.findData(name) is not None]

    @property
    def elastic(self) -> bool:
        """Return True if the body has a material."""
        names = (component.getClassName() for component in self.entries)
        is_fem = any("FEMForceField" in name for name in names)
        return is_fem or bool(self.with_data("youngModulus"))

    @property
    def masses(self) -> list[Any]:
        """Masses of the body and of what it carries."""
        names = ((component, component.getClassName()) for component in self.entries)
        return [e for e, name in names if name.endswith("Mass") and name != "GenerateRigidMass"]


def bodies_of(root: Any) -> list[Body]:
    """Return the bodies of a scene in the order of the graph, without empty states."""
    return [
        Body(node, state)
        for node in nodes_of(root)
        if (state := own_state(node)) is not None
        and node.getMechanicalMapping() is None
        and len(state.position.value)
    ]


def gravity_of(root: Any) -> float:
    """Return the size of the scene's gravity [length/time^2]."""
    return float(np.linalg.norm(root.gravity.value))


def solver_above(node: Any) -> Any:
    """Return the time integrator at or above a node, or None."""
    while node is not None:
        for component in node.objects:
            if "OdeSolver" in component.getCategories():
                return component
        node = next(iter(node.parents), None)
    return None


def is_linear(component: Any) -> bool:
    """Return True for a force field of elements that is linear in the displacements."""
    method = component.findData("method")
    is_elastic = method is not None and component.findData("youngModulus") is not None
    return is_elastic and str(method.value) in ("small", "none", "linear")


def carried_goal(effector: Any, source: Any) -> str | None:
    """Return a sentence if the body of an effector's node carries its goal along, a Data."""
    state, body = source.getOwner(), body_of(effector)
    carrier = body_of(state.getContext()) if hasattr(state, "getContext") else None
    if body is None or carrier is None or carrier.getPathName() != body.getPathName():
        return None
    if np.shape(body.getMechanicalState().position.value)[1] != 3 or source.getName() != "position":
        return None  # a frame of the robot's base may carry goals
    return (
        f"'{state.getPathName()}' is the goal of effector '{effector.getPathName()}', and on the "
        f"same body, '{body.getPathName()}', which carries the goal along as it moves. Make its "
        "node a child of the root, without a mapping."
    )


def is_followed(states: Sequence[Any], but: Collection[Any], name: str = "position") -> bool:
    """Return True if components except `but` refer to states, or scripts read their positions.

    For another Data than 'position', references to that Data or to the state count.

    SOFA does not note what scripts read.
    """
    if any(getattr(state.findData(name), "is_read", True) for state in states):
        return True
    entries = [e for e in objects_of(states[0].getContext().getRoot()) if e not in but]
    sources = [data.getParent() for component in entries for data in component.getDataFields()]
    linked = [link.getLinkedBase() for component in entries for link in component.getLinks()]
    sources = [s for s in sources if s is not None and name in ("position", s.getName())]
    owners = [source.getOwner() for source in sources]
    return any(state in states for state in (*linked, *owners))
