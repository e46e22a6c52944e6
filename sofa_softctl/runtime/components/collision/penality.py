"""PenalityContactForceField: contacts that push by stiff springs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.runtime.behavior.mapping import Mapping, Weights
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.collision.models import CollisionModel
from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.components.state.mechanical_object import MechanicalObject
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.kernels.contact.proximity import Proximities

STEP_ATTRIBUTES = ("near", "identity", "contact_distance", "stiffness")
"""Attributes that `set_contacts` sets and `take_over` restores."""


class PenalityContactForceField(BlockForceField):
    """f = k (d - u . n) n if that pushes, with u from the first point of a contact to the second.

    The collision pipeline creates one per pair of models that touch, without friction. d is the
    distance that contacts keep, n their direction at detection, and k the product of the models'
    contactStiffness divided by d less the radii of spheres on bodies. The points are fixed in their
    elements during the step; Intersection.nearest_of_each selects the contacts. Spheres on bodies
    push the bodies' centres, since normal forces pass through them.

    With an iterative linear solver the numbers are SOFA's. The matrix of SOFA's direct solvers has
    only a part of contacts on lines and triangles, so that bodies are thrown off there.

    As in SOFA, contacts of two simulated bodies are in the pipeline's node: below an integrator
    they act implicitly, above it as external forces, and there not at all under
    FreeMotionAnimationLoop.
    """

    category: ClassVar[str] = "contact"
    acts_alone = True

    object1 = LinkType("State of the first body.", kind="state")
    object2 = LinkType("State of the second body.", kind="state")

    def connect(self, first: CollisionModel, second: CollisionModel) -> None:
        """Set the two models."""
        self.models = (first, second)
        self._links["object1"].setLinkedBase(first.state)
        self._links["object2"].setLinkedBase(second.state)
        self._initialised = True

    def set_contacts(
        self, hits: Proximities, contact_distance: float, identity: np.ndarray
    ) -> None:
        """Set the contacts of this step, as in UnilateralLagrangianConstraint."""
        first, second = self.models
        self.near, self.identity = hits, identity
        reach = first.reach[hits.element[:, 0]] + second.reach[hits.element[:, 1]]
        self.contact_distance = d = contact_distance + reach
        stiffness = first.contactStiffness.get() * second.contactStiffness.get()
        # SOFA measures from the surface of a sphere on a body, but from the centre on a point.
        d = d - first.body_radius(hits.element[:, 0]) - second.body_radius(hits.element[:, 1])
        self.stiffness = stiffness / np.where(d != 0.0, d, 1.0)
        self._points.set_hits(self.models, hits)
        nodes = np.arange(len(d))
        self.set_pairs(nodes, nodes)

    def contacts(self) -> dict[str, Any]:
        """Return the contacts of this step, for `take_over`."""
        return {name: vars(self)[name] for name in STEP_ATTRIBUTES}  # created in each step

    def take_over(self, contacts: dict[str, Any]) -> None:
        """Restore the result of `contacts`."""
        vars(self).update(contacts)
        self._points.set_hits(self.models, self.near)
        nodes = np.arange(self.contact_count)
        self.set_pairs(nodes, nodes)

    @property
    def contact_count(self) -> int:
        """Number of contacts in this step."""
        return len(self.near.distance)

    def gaps(self) -> np.ndarray:
        """Return the present distances of points along the normals of their contacts [length].

        Below 0, a point has passed the other surface in this step, and the next contact pushes it
        further through. Spheres on bodies have inf, since their surfaces may overlap.
        """
        self._points.read_states()
        gaps = np.einsum("ni,ni->n", self.state.position.get(), self.near.normal)
        for side, model in enumerate(self.models):
            gaps[model.body_radius(self.near.element[:, side]) > 0.0] = np.inf
        return np.asarray(gaps)

    @cached_property
    def _points(self) -> ContactPoints:
        return ContactPoints(self.getName(), [model.state for model in self.models])

    @cached_property
    def state(self) -> MechanicalState:  # type: ignore[override]
        """State of the vectors from first to second points."""
        return self._points.child

    @override
    def joint(self) -> ContactPoints:
        return self._points

    @override
    def add_force(self, force: np.ndarray) -> None:
        self._points.read_states()
        normal = self.near.normal
        u = self.state.position.get()
        depth = self.contact_distance - np.einsum("ni,ni->n", u, normal)
        pushing = np.flatnonzero(depth > 0.0)
        n, k = normal[pushing], self.stiffness[pushing]
        force[pushing] += (k * depth[pushing])[:, None] * n
        self.set_blocks(pushing, pushing, k[:, None, None] * n[:, :, None] * n[:, None, :])


class ContactPoints(Mapping):
    """Maps to a state outside the graph: the vectors from first to second points of contacts."""

    def __init__(self, name: str, states: list[MechanicalState]) -> None:
        self._context = None
        super().__init__(name=f"{name}_points")
        child = MechanicalObject.__new__(MechanicalObject)
        child._context = None
        child.__init__(name=f"{name}_vectors", template="Vec3")  # type: ignore[misc]
        child.init()
        drivers = [states[0]] if states[0] is states[1] else states
        self.__dict__.update(child=child, drivers=drivers)
        self._initialised = True
        self.outside: set[int] = set()  # ids of states that the system does not solve for
        self._jacobians: list[sparse.csr_array] = []

    @property
    @override
    def mechanical(self) -> bool:
        return True

    def set_hits(self, models: Sequence[CollisionModel], hits: Proximities) -> None:
        """Set the points of contacts."""
        count = len(hits.distance)
        blocks = []
        for side, model in enumerate(models):
            nodes, weights = model.carriers(
                hits.element[:, side], hits.weight[:, side], hits.point[:, side]
            )
            weights = (-1.0, 1.0)[side] * weights
            is_used = weights != 0.0
            row = np.broadcast_to(np.arange(count)[:, None], nodes.shape)
            state = model.state
            places = (row[is_used], nodes[is_used] * (state.deriv_size // 3))
            shape = (count, state.block_count)
            blocks.append(sparse.coo_array((weights[is_used], places), shape=shape).tocsr())
        self._jacobians = blocks if len(self.drivers) == 2 else [sparse.csr_array(sum(blocks))]
        self._transposed = [sparse.csr_array(jacobian.T) for jacobian in self._jacobians]
        self.child.resize(np.zeros((count, 3)))
        self.read_states()

    def read_states(self) -> None:
        """Apply the mapping to positions and velocities of both bodies."""
        for name in ("position", "velocity"):
            parts = [driver._data[name].get() for driver in self.drivers]
            self.apply_from(parts, self.child._data[name].get())

    @override
    def apply_from(self, xs: Sequence[np.ndarray], out: np.ndarray) -> None:
        terms = zip(self._jacobians, xs, strict=True)
        out[:] = sum(jacobian @ _in_rows(x) for jacobian, x in terms)

    @override
    def apply_j_from(self, vs: Sequence[np.ndarray], out: np.ndarray) -> None:
        self.apply_from(vs, out)

    def add_jt_to(self, force: np.ndarray, outs: Sequence[np.ndarray]) -> None:
        """Add forces to the states that the system solves for."""
        for out, driver, transposed in zip(outs, self.drivers, self._transposed, strict=True):
            if id(driver) not in self.outside:
                out += (transposed @ force).reshape(out.shape)

    @override
    def weights(self, driver: int = 0) -> Weights:
        jacobian = self._jacobians[driver]
        return jacobian.indptr, jacobian.indices, jacobian.data


def _in_rows(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of points (n, 3) unchanged; of bodies linear and angular part as rows of 3."""
    return vectors if vectors.shape[1] == 3 else vectors[:, :6].reshape(-1, 3)
