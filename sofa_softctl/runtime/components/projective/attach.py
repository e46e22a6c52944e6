"""AttachProjectiveConstraint: nodes of one state that follow nodes of another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Reals, Vector
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.mapping.rigid import conjugate, product, rotate_vectors


class AttachProjectiveConstraint(NodeConstraint):
    """Moves nodes indices2 of object2 to nodes indices1 of object1 after each step.

    Bodies get position, orientation and velocity. Points, as in SOFA, move half of the distance,
    and both get the mean velocity; positionFactor and velocityFactor scale that, constraintFactor
    per pair. Nodes of object2 get no force, or with `twoWay` both get the mean of their forces,
    which the matrix ignores. In the matrix of a direct solver SOFA v25.06 fixes nodes indices2 of
    object1; here nodes of object2 are fixed, as by CGLinearSolver.
    """

    aliases = ("AttachConstraint",)

    object1 = LinkType("State to follow.", kind="state")
    object2 = LinkType("State that follows.", kind="state")
    indices = Integers([], "Unused: see indices1 and indices2.")
    indices1 = Integers([], "Nodes to follow.", of="object1")
    indices2 = Integers([], "Nodes that follow, one per node of indices1.", of="node")
    twoWay = Bool(False, "Forces act on both.")
    freeRotations = Bool(False, "Bodies keep their orientations.")
    lastFreeRotation = Bool(False, "The last body keeps its orientation.")
    restRotations = Bool(
        False, "Bodies keep the angle of x to their next node at rest.", follows="start"
    )
    lastPos = Vector(
        3, [0.0, 0.0, 0.0], "Not supported: leave lastDir out.", unit="length", follows="start"
    )
    lastDir = Vector(3, [0.0, 0.0, 0.0], "Not supported: only 0.", follows="start")
    clamp = Bool(False, "Unused without lastDir.")
    minDistance = Real(-1.0, "Distance beyond which nodes are free; -1 for never.", unit="length")
    positionFactor = Real(1.0, "Weight of the step of positions of points.")
    velocityFactor = Real(1.0, "Weight of the step of velocities of points.")
    responseFactor = Real(1.0, "Weight of the step of forces of points.")
    constraintFactor = Reals(
        [], "Weight of each pair of points, 0 to 1; 1 by default.", per="indices1", shared=False
    )

    @cached_property
    def state(self) -> MechanicalState:  # type: ignore[override]
        """The state that follows."""
        return self.linked_state("object2")

    @cached_property
    def leader(self) -> MechanicalState:
        """The state to follow."""
        return self.linked_state("object1")

    def init(self) -> None:
        """Check nothing yet; the states may come later."""

    def bwdInit(self) -> None:
        """Check states and nodes.

        Raises:
            SceneError: nodes do not exist or are not pairs, states have different kinds, or a Data
                is not supported.
        """
        if self.lastDir.get().any():
            raise self.fault("does not support 'lastDir': leave it out.")
        if self.leader.kind.name != self.state.kind.name:
            raise self.fault(
                f"attaches {self.state.describe()} ({self.state.getTemplateName()}) to "
                f"{self.leader.describe()} ({self.leader.getTemplateName()}): they must be alike."
            )
        i, j = self.indices1.get(), self.indices2.get()
        if len(i) != len(j):
            problem = self.fault(f"has {len(i)} indices1, but {len(j)} indices2.")
            complain(self, problem, " Those without a partner are free, as in SOFA.")
        self._is_free = self._is_too_far() & False
        self._rest_turns = _rotations_to_next(self.state) if self.restRotations.get() else None

    def nodes(self) -> np.ndarray:
        """Return the nodes that follow, after a check of both lists."""
        i, j = self._node_pairs()
        self.check_indices(i, "indices1", self.leader)
        return self.check_indices(j, "indices2")

    def _node_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return indices1 and indices2, cut to the length of the shorter one, as in SOFA."""
        i, j = self.indices1.get(), self.indices2.get()
        count = min(len(i), len(j))
        return i[:count], j[:count]

    def _is_too_far(self) -> np.ndarray:
        """Return True for pairs with a distance above minDistance, shape (k,)."""
        x1, x2 = (s.position.get()[:, :3] for s in (self.leader, self.state))
        distance = np.linalg.norm(x2[self.nodes()] - x1[self._node_pairs()[0]], axis=1)
        limit = self.minDistance.get()
        return distance > limit if limit != -1.0 else np.zeros(len(distance), dtype=bool)

    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return nodes of both states, and the weight, of the pairs that are not free."""
        nodes, factors = self.nodes(), self.constraintFactor.get()
        are_known = len(self._is_free) == len(nodes)  # else the pairs have changed
        is_held = ~self._is_free if are_known else np.ones(len(nodes), dtype=bool)
        # SOFA reads beyond a list that is too short, and finds a 0
        weight = np.full(len(is_held), 0.0 if len(factors) and keeps_sofa_defects() else 1.0)
        weight[: len(factors)] = factors[: len(is_held)]
        return self._node_pairs()[0][is_held], nodes[is_held], 0.5 * weight[is_held, None]

    def _mask_of(self, nodes: np.ndarray) -> np.ndarray:
        mask = np.zeros((self.state.count, self.state.deriv_size), dtype=bool)
        mask[nodes] = True
        mask[nodes[~self._is_rotated(nodes)], 3:] = False
        return mask

    def _is_rotated(self, nodes: np.ndarray) -> np.ndarray:
        """Return True for bodies that are also rotated, shape (k,)."""
        is_rotated = np.full(len(nodes), not self.freeRotations.get())
        if self.lastFreeRotation.get():
            is_rotated &= nodes != self._node_pairs()[1][-1]
        return is_rotated

    @override
    def fixed_dofs(self) -> np.ndarray:
        return self.mask(False) if self.twoWay.get() else self._mask_of(self._pairs()[1])

    @override
    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        if self.twoWay.get():
            return self.mask(False)
        mask = self._mask_of(self.nodes())
        if keeps_sofa_defects():  # also nodes without a partner, and rotations of the second half
            nodes = self.indices2.get()
            mask |= self._mask_of(nodes)
            mask[nodes[len(nodes) // 2 :], 3:] = not self.lastFreeRotation.get()
        return mask

    @override
    def project_response(self, part: Callable[[MechanicalState], np.ndarray | None]) -> None:
        a, b = part(self.leader), part(self.state)
        if not self.twoWay.get() or a is None or b is None:
            return
        i, j, weight = self._pairs()
        if self.state.kind.name == "Rigid3":
            for columns, k in ((slice(3), slice(None)), (slice(3, 6), self._is_rotated(j))):
                a[i[k], columns] += b[j[k], columns]
                b[j[k], columns] = a[i[k], columns]
        else:
            _move_together(a, b, i, j, weight * self.responseFactor.get())

    @override
    def project_position(self, position: np.ndarray) -> None:
        self._is_free = self._is_too_far()
        i, j, weight = self._pairs()
        x1 = self.leader.position.get()
        if self.state.kind.name == "Rigid3":
            position[j, :3], k = x1[i, :3], self._is_rotated(j)
            turn = x1[i[k], 3:]
            rest = self._rest_turns
            position[j[k], 3:] = turn if rest is None else product(turn, rest[j[k]])
        else:
            gap = position[j] - x1[i]
            position[j] -= gap * (weight * self.positionFactor.get())
        self.state.position.touch()

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        i, j, weight = self._pairs()
        v1 = self.leader.velocity.get()
        if self.state.kind.name == "Rigid3":
            velocity[j, :3], k = v1[i, :3], self._is_rotated(j)
            velocity[j[k], 3:] = v1[i[k], 3:]
        else:
            _move_together(v1, velocity, i, j, weight * self.velocityFactor.get())
        self.leader.velocity.touch()
        self.state.velocity.touch()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"free": self._is_free.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._is_free = snapshot["free"].copy()


def _move_together(
    a: np.ndarray, b: np.ndarray, i: np.ndarray, j: np.ndarray, weight: np.ndarray
) -> None:
    """Move rows of two arrays towards each other."""
    step = (b[j] - a[i]) * weight
    a[i] += step
    b[j] -= step


def _rotations_to_next(state: MechanicalState) -> np.ndarray:
    """Return the rotation in each body's rest frame from its next node to x, (n, 4).

    The last body has none. The quaternion has the axis from there to x and their angle, as in SOFA.
    """
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (state.count, 1))
    if state.kind.name != "Rigid3":
        return turns
    rest = state.rest_position.get()
    direction = rotate_vectors(conjugate(rest[:-1, 3:]), np.diff(rest[:, :3], axis=0))
    direction /= np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-300)
    axis = np.cross(direction, [1.0, 0.0, 0.0])
    axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-300)
    half = np.arccos(direction[:, :1]) / 2.0
    turns[:-1] = np.concatenate([axis * np.sin(half), np.cos(half)], axis=1)
    return turns
