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
        """See Contribution; there is no stiffness."""

    @override
    def pairs(self) -> Pairs:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution; there is no stiffness."""


class ConstantForceField(ForceWithoutStiffness):
    """The same forces in every step, on `indices` or on all nodes.

    `forces` holds one for each node, or one that all get; without it the nodes share `totalForce`
    equally. With several `forces`, not as many as there are nodes, nothing acts, as in SOFA.
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
        """All nodes: in SOFA as many as its topology has points, or as there are by now."""
        topology: Any = self._links["topology"].getLinkedBase() or topology_of(self._context)
        known = self.state.known_count
        if topology is not None:
            topology.make_ready()
            known = len(topology.nodes()) or topology.getNbPoints()
        if known != (count := self.state.count):
            there = "it has" if topology is None else f"{topology.describe()} has points for"
            way = "these count, as in SOFA" if known < count else "all share it, in SOFA more do"
            problem = f"has no 'indices', and of the {count} nodes of its state {there} {known}: "
            complain(self, self.fault(f"{problem}{way}. Give 'indices'."))
        return np.arange(min(known, count))

    def _distribute(self) -> None:
        """Forces of each node, after a Data changed."""
        sources = (self.indices, self.forces, self.totalForce)
        if tuple(data.getCounter() for data in sources) == self._seen:
            return
        self._nodes = self.checked(self.indices.get())
        if self.indexFromEnd.get():
            self._nodes = self.state.count - 1 - self._nodes
        count, given = len(self._nodes), self.forces.get()
        if self._by_total:
            share = self.totalForce.get() / max(count, 1)
            self.forces.set(np.tile(share, (count, 1)))
        else:
            if len(given) not in (1, count):
                complain(self, self._mismatch(len(given), count))
                self._nodes = self._nodes[:0]
                given = given[:0]
            elif len(given) == 1:
                given = np.tile(given, (count, 1))
            self.forces.set(given)
            self.totalForce.set(given.sum(axis=0))
        self._seen = tuple(data.getCounter() for data in sources)  # type: ignore[assignment]

    def _mismatch(self, given: int, wanted: int) -> SceneError:
        return self.fault(
            f"has {given} 'forces' for {wanted} nodes, so that none acts: give one for each, or "
            "one for all."
        )

    @override
    def add_force(self, force: np.ndarray) -> None:
        self._distribute()
        np.add.at(force, self._nodes, self.forces.get())

    def check_differentiable(self) -> None:
        """See ForceField: the stiffness is zero."""

    @override
    def step_term(self) -> StepTerm:
        return ConstantStiffnessTerm(self.add_product)


class LinearForceField(ForceWithoutStiffness):
    """A force on `points`, interpolated between its values `forces` at given `times`.

    Before the first time there is none. Between first and last it is multiplied by `force`; from
    the last time on it is the last of `forces` as it stands, as in SOFA.
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
        self.checked(self.points.get(), "points")
        self.check_times("times", "forces")

    @override
    def add_force(self, force: np.ndarray) -> None:
        assert self._context is not None
        time = self._context._data["time"].get()
        times, forces = self.check_times("times", "forces")
        if not len(times) or time < times[0]:
            return
        if time >= times[-1]:
            now = forces[-1]
        else:
            k = int(np.argmax(times > time)) - 1
            slope = (forces[k + 1] - forces[k]) * (1.0 / (times[k + 1] - times[k]))
            now = (slope * (time - times[k]) + forces[k]) * self.force.get()
        np.add.at(force, self.points.get(), now)


class Gravity(Component):
    """The gravity of its node and those below it, in place of the parent's, as in SOFA."""

    category: ClassVar[str] = "context"

    gravity = Vector(3, [0.0, 0.0, 0.0], "Gravity here and below.", unit="length/time^2")

    @override
    def added(self) -> None:
        assert self._context is not None
        self._context.contexts.append(self)

    def cleanup(self) -> None:
        """See Component: it is taken out of its node."""
        if self._context is not None and self in self._context.contexts:
            self._context.contexts.remove(self)

    def apply(self) -> None:
        """Set it, after the node took over its parent's: at init and at the end of each step."""
        assert self._context is not None
        np.copyto(self._context._data["gravity"].get(), self.gravity.get())
