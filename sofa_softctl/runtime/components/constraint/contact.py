"""Contacts between two collision models as constraint rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint, StateRows
from sofa_softctl.runtime.components.collision.models import CollisionModel
from sofa_softctl.runtime.core.data.types import Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import keeps_sofa_defects
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import COULOMB, UNILATERAL, row_parameters
from sofa_softctl.runtime.kernels.contact.frames import contact_frames
from sofa_softctl.runtime.kernels.contact.proximity import Proximities
from sofa_softctl.runtime.kernels.contact.rows import (
    contact_rows,
    contact_violation,
    point_motions,
)
from sofa_softctl.runtime.kernels.mapping import rigid

STEP_ATTRIBUTES = ("near", "identity", "contact_distance", "frames", "force", "gap", "free_slide")
"""Attributes of one step."""


class UnilateralLagrangianConstraint(LagrangianConstraint):
    """Contacts of two collision models in one step: gap >= 0, push >= 0, Coulomb friction.

    The collision pipeline creates one per pair of models that touch. Rows of a contact: along the
    normal, from the first body to the second, and with friction two tangents. Its points are fixed
    in the elements during the step.

    Source: SOFA's contact constraint, including the gap and the sliding (only the tangential motion
    in the remainder of the step after the gap has closed).
    """

    category: ClassVar[str] = "contact"

    by_velocity = True

    mu = Real(0.8, "Coefficient of friction.", read_only=True)
    object1 = LinkType("State of the first body.", kind="state")
    object2 = LinkType("State of the second body.", kind="state")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.in_velocities = False  # True once `motion_violation` is called
        self.near = Proximities(
            *(np.empty((0, *shape)) for shape in ((2,), (2, 3), (2, 3), (3,), ()))
        )
        self.identity = np.empty((0, 2), dtype=np.int64)
        self.contact_distance = np.empty(0)
        self.force = self.gap = np.empty((0, 3))
        self.free_slide = np.empty((0, 2))

    def connect(self, first: CollisionModel, second: CollisionModel, mu: float) -> None:
        """Set the two models and the friction."""
        self.models = (first, second)
        self.mu.set(mu)
        self._links["object1"].setLinkedBase(first.state)
        self._links["object2"].setLinkedBase(second.state)
        self.rows_each = 3 if mu > 0.0 else 1
        self._initialised = True

    def set_contacts(
        self, hits: Proximities, contact_distance: float, identity: np.ndarray
    ) -> None:
        """Set the contacts of this step.

        Args:
            hits: Pairs of near points.
            contact_distance: Distance that contacts keep, without the elements' reach [length].
            identity: Names of the two elements, constant over steps, shape (p, 2).
        """
        first, second = self.models
        self.near, self.identity = hits, identity
        reach = first.reach[hits.element[:, 0]] + second.reach[hits.element[:, 1]]
        self.contact_distance = contact_distance + reach
        self.frames = contact_frames(hits.normal)
        self.force = self.gap = np.zeros((len(hits.distance), 3))

    def contacts(self) -> dict[str, Any]:
        """Return the contacts of this step, for `take_over`."""
        return {name: getattr(self, name) for name in STEP_ATTRIBUTES}  # created in each step

    def take_over(self, contacts: dict[str, Any]) -> None:
        """Restore the result of `contacts`."""
        vars(self).update(contacts)

    @property
    def contact_count(self) -> int:
        """Number of contacts in this step."""
        return len(self.near.distance)

    @property
    def pushes(self) -> bool:
        """Return False if the `contactStiffness` of a model is 0, which switches contacts off."""
        return all(model.contactStiffness.get() for model in self.models)

    @property
    @override
    def row_count(self) -> int:
        return self.rows_each * self.contact_count

    def parts(self) -> list[StateRows]:
        """Return the rows on the first state, and on the second if it differs."""
        a, b = self._rows_on(0), self._rows_on(1)
        if a[0] is not b[0]:
            return [a, b]
        row, node, direction = (np.concatenate(part) for part in zip(a[1:], b[1:], strict=True))
        return [(a[0], row, node, direction)]

    def _rows_on(self, side: int) -> StateRows:
        model = self.models[side]
        if model.state.kind.name == "Rigid3":
            return self._rows_on_bodies(side)
        hits = self.near
        return model.state, *contact_rows(
            model.elements, hits.element, hits.weight, side, self.frames, self.rows_each
        )

    def _rows_on_bodies(self, side: int) -> StateRows:
        """Return rows on bodies with spheres: a push at the surface turns the body as well."""
        model, count = self.models[side], self.rows_each
        bodies = np.repeat(model.elements[self.near.element[:, side], 0], count)
        push = (-1.0, 1.0)[side] * self.frames[:, :count]  # (p, count, 3)
        arm = self._arms(side)[2]
        turn = np.cross(arm[:, None], push)
        rows = np.concatenate([push, turn], axis=2).reshape(-1, 6)
        return (model.state, *model.state.kind.entries(np.arange(len(rows)), bodies, rows))

    def _arms(self, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return vectors from centres of bodies to the contact points of spheres, shapes (p, 3).

        Before and after the free motion, in which the surface moves past the contact point, and
        for the push. In SOFA the point turns with the body, so that a rolling ball is pushed up
        behind its centre and rolls ever faster (see `keeps_sofa_defects`).
        """
        model, state = self.models[side], self.models[side].state
        touched = self.near.element[:, side]
        radius = model.reach[touched] - model.proximity.get()
        start_arm = (radius * (1.0, -1.0)[side])[:, None] * self.near.normal
        bodies = model.elements[touched, 0]
        start, free = (x.get()[bodies] for x in (state.position, state.free_position))
        rotation = model.state.kind.difference(free, start)[:, 3:]
        if not keeps_sofa_defects():
            return start_arm, start_arm + np.cross(rotation, start_arm), start_arm
        arm = rigid.rotate_vectors(
            rigid.product(free[:, 3:], rigid.conjugate(start[:, 3:])), start_arm
        )
        return start_arm, start_arm + np.cross(rotation, arm) if self.in_velocities else arm, arm

    def _motion(self, side: int) -> np.ndarray:
        """Return the free motion of each contact point, shape (p, 3)."""
        model, hits = self.models[side], self.near
        positions = model.state.position.get(), model.state.free_position.get()
        motions = point_motions(model.elements, hits.element, hits.weight, side, *positions)
        if model.state.kind.name == "Rigid3":
            before, after, _ = self._arms(side)
            motions += after - before
        return motions

    @property
    def distance(self) -> np.ndarray:
        """Distance from first to second points along the normals [length], shape (p,)."""
        offsets = self.near.point[:, 1] - self.near.point[:, 0]
        return np.einsum("pc,pc->p", offsets, self.frames[:, 0])

    @override
    def violation(self) -> np.ndarray:
        violation, self.free_slide = contact_violation(
            self.near.point,
            self.frames,
            self.contact_distance,
            self._motion(0),
            self._motion(1),
            self.rows_each,
        )
        return violation

    def motion_violation(self) -> np.ndarray:
        """Return the violation in velocities, where the whole tangential motion is sliding."""
        self.in_velocities = True
        violation = self.violation().reshape(-1, self.rows_each)
        violation[:, 1:] = self.free_slide[:, : self.rows_each - 1]
        return violation.ravel()

    @override
    def resolution(self) -> np.ndarray:
        kind, mu = (COULOMB, self.mu.get()) if self.rows_each == 3 else (UNILATERAL, 0.0)
        return np.tile(row_parameters(kind, mu), (self.row_count, 1))

    def check_differentiable(self) -> None:
        """Check that the derivative of a time step is known with these contacts.

        Raises:
            SceneError: they do not push along the shortest connection.
        """
        names = " and ".join(model.describe() for model in self.models)
        offsets = self.near.point[:, 1] - self.near.point[:, 0]
        sideways = offsets - self.distance[:, None] * self.near.normal
        if (np.abs(sideways) > 1e-6 * np.abs(self.distance)[:, None] + 1e-12).any():
            raise self.fault(
                f"pushes between {names} along the normal of a surface, not along the shortest "
                "way: derivatives of a step are known for that alone. Leave useSurfaceNormals out."
            )

    @override
    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        self.force, self.gap = np.zeros((2, self.contact_count, 3))
        self.force[:, : self.rows_each] = lam.reshape(-1, self.rows_each)
        self.gap[:, : self.rows_each] = delta.reshape(-1, self.rows_each)
