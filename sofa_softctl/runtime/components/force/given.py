"""Forces that a scene gives: constant, over time, and gravity of a part of it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.behavior.step_term import ConstantStiffnessTerm, StepTerm
from sofa_softctl.runtime.components.topology.base import topology_of
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Color,
    Deriv,
    Derivs,
    Integers,
    Real,
    Reals,
    Vector,
)
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain


class ForceWithoutStiffness(ForceField):
    """A force that does not depend on positions."""

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3", "Rigid3", "Vec1")

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """Add nothing: there is no stiffness."""

    @override
    def pairs(self) -> Pairs:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """Add nothing: there is no stiffness."""


class ConstantForceField(ForceWithoutStiffness):
    """The same forces in every step, on `indices` or on all nodes.

    `forces` has one force for each node, or one for all; without it the nodes share `totalForce`
    equally. With another number of `forces`, nothing acts, as in SOFA.
    """

    indices = Integers([], "Nodes on which forces act; all when empty.", of="node")
    indexFromEnd = Bool(False, "Count `indices` from the last node.", follows="start")
    forces = Derivs([], "Force on each node, or one for all.", unit="force")
    totalForce = Deriv("Force that the nodes share.", unit="force")
    showArrowSize = Real(0.0, "Size of the drawn arrows.")
    showColor = Color([0.2, 0.9, 0.3, 1.0], "Color of the drawn arrows.")
    topology = LinkType("Topology whose points it knows; the nearest by default.")

    def init(self) -> None:
        """Distribute the force.

        Raises:
            SceneError: no force was given, or a node does not exist.
        """
        if not self.indices.isSet() or not len(self.indices.get()):
            self.indices.set(self._every())
        forces, total = self.forces, self.totalForce
        if not (forces.isSet() or total.isSet()):
            complain(self, self.fault("has no force: give 'forces' or 'totalForce'."))
        elif forces.isSet() and total.isSet():
            problem = "has both 'forces' and 'totalForce'; 'forces' counts. Give only one of them."
            complain(self, self.fault(problem))
        self._by_total = not forces.isSet()
        self._seen = (-1, -1, -1)
        self._distribute()

    def _every(self) -> np.ndarray:
        """Return all nodes: in SOFA the topology's points, or the nodes that exist at init."""
        topology: Any = self._links["topology"].getLinkedBase() or topology_of(self._context)
        known_count = self.state.known_count
        if topology is not None:
            topology.make_ready()
            known_count = len(topology.nodes()) or topology.getNbPoints()
        if known_count != (count := self.state.count):
            source = "it has" if topology is None else f"{topology.describe()} has points for"
            consequence = (
                "these count, as in SOFA"
                if known_count < count
                else "all share it, in SOFA more do"
            )
            problem = (
                f"has no 'indices', and of the {count} nodes of its state {source} {known_count}: "
            )
            complain(self, self.fault(f"{problem}{consequence}. Give 'indices'."))
        return np.arange(min(known_count, count))

    def _distribute(self) -> None:
        """Update the force of each node after a Data changed."""
        sources = (self.indices, self.forces, self.totalForce)
        if tuple(data.getCounter() for data in sources) == self._seen:
            return
        self._nodes = self.check_indices(self.indices.get())
        if self.indexFromEnd.get():
            self._nodes = self.state.count - 1 - self._nodes
        count, forces = len(self._nodes), self.forces.get()
        if self._by_total:
            node_force = self.totalForce.get() / max(count, 1)
            self.forces.set(np.tile(node_force, (count, 1)))
        else:
            if len(forces) not in (1, count):
                complain(self, self._mismatch(len(forces), count))
                self._nodes = self._nodes[:0]
                forces = forces[:0]
            elif len(forces) == 1:
                forces = np.tile(forces, (count, 1))
            self.forces.set(forces)
            self.totalForce.set(forces.sum(axis=0))
        self._seen = tuple(data.getCounter() for data in sources)  # type: ignore[assignment]

    def _mismatch(self, force_count: int, node_count: int) -> SceneError:
        return self.fault(
            f"has {force_count} 'forces' for {node_count} nodes, so that none acts: give one for "
            "each, or one for all."
        )

    @override
    def add_force(self, force: np.ndarray) -> None:
        self._distribute()
        np.add.at(force, self._nodes, self.forces.get())

    def check_differentiable(self) -> None:
        """Raise nothing: the stiffness is zero."""

    @override
    def step_term(self) -> StepTerm:
        return ConstantStiffnessTerm(self.add_product)


class LinearForceField(ForceWithoutStiffness):
    """A force on `points`, interpolated between its values `forces` at given `times`.

    Before the first time it is zero. Between first and last it is multiplied by `force`; after the
    last time it is the last of `forces`, not multiplied, as in SOFA.
    """

    points = Integers([], "Nodes on which the force acts.", of="node")
    force = Real(1.0, "Factor of the interpolated forces.")
    times = Reals([], "Times of `forces`, ascending.", unit="time")
    forces = Derivs([], "Forces at the `times`.", unit="force")
    arrowSizeCoef = Real(0.0, "Size of the drawn arrows.")
    topology = LinkType("Unused: the mesh does not change.")

    def init(self) -> None:
        """Check nodes and times.

        Raises:
            SceneError: a node does not exist, or there is not one force for each time.
        """
        self.check_indices(self.points.get(), "points")
        self.check_times("times", "forces")

    @override
    def add_force(self, force: np.ndarray) -> None:
        assert self._context is not None
        time = self._context.time.get()
        times, forces = self.check_times("times", "forces")
        if not len(times) or time < times[0]:
            return
        if time >= times[-1]:
            present_force = forces[-1]
        else:
            k = int(np.argmax(times > time)) - 1
            slope = (forces[k + 1] - forces[k]) * (1.0 / (times[k + 1] - times[k]))
            present_force = (slope * (time - times[k]) + forces[k]) * self.force.get()
        np.add.at(force, self.points.get(), present_force)


class Gravity(Component):
    """Gravity of its node and the nodes below it; it replaces the parent's, as in SOFA."""

    category: ClassVar[str] = "context"

    gravity = Vector(3, [0.0, 0.0, 0.0], "Gravity here and below.", unit="length/time^2")

    @override
    def on_added(self) -> None:
        assert self._context is not None
        self._context.contexts.append(self)

    def cleanup(self) -> None:
        """Remove it from the contexts of its node."""
        if self._context is not None and self in self._context.contexts:
            self._context.contexts.remove(self)

    def apply(self) -> None:
        """Set the node's gravity after its parent's: at init and at the end of each step."""
        assert self._context is not None
        np.copyto(self._context.gravity.get(), self.gravity.get())
