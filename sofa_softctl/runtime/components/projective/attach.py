"""AttachProjectiveConstraint: nodes of one state that follow those of another."""

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
    """Puts nodes indices2 of object2 where nodes indices1 of object1 are, after each step.

    Bodies take over position, orientation and velocity. Points, as in SOFA, move half of the
    distance and both get the mean velocity; positionFactor and velocityFactor weigh that, and
    constraintFactor one a pair.
    Nodes of object2 feel no force, or with `twoWay` both share the mean of their forces, of which
    the matrix does not know. In the matrix of a direct solver SOFA v25.06 holds the nodes of
    object1 that have the numbers indices2; here those of object2 are held, as by CGLinearSolver.
    """

    aliases = ("AttachConstraint",)

    object1 = LinkType("State that is followed.", kind="state")
    object2 = LinkType("State that follows.", kind="state")
    indices = Integers([], "Unused: see indices1 and indices2.")
    indices1 = Integers([], "Nodes that are followed.", of="object1")
    indices2 = Integers([], "Nodes that follow, one for each.", of="node")
    twoWay = Bool(False, "Forces act on both.")
    freeRotations = Bool(False, "Bodies keep their own orientations.")
    lastFreeRotation = Bool(False, "The last body keeps its own orientation.")
    restRotations = Bool(
        False, "Bodies keep the angle of x to their next node at rest.", follows="start"
    )
    lastPos = Vector(
        3, [0.0, 0.0, 0.0], "Not supported: leave lastDir out.", unit="length", follows="start"
    )
    lastDir = Vector(3, [0.0, 0.0, 0.0], "Not supported: only 0.", follows="start")
    clamp = Bool(False, "Unused without lastDir.")
    minDistance = Real(-1.0, "Distance beyond which nodes are free; -1: never.", unit="length")
    positionFactor = Real(1.0, "Weight of the step of positions of points.")
    velocityFactor = Real(1.0, "Weight of the step of velocities of points.")
    responseFactor = Real(1.0, "Weight of the step of forces of points.")
    constraintFactor = Reals(
        [],
        "Weight of each pair of points, from 0 to 1; 1 when empty.",
        per="indices1",
        shared=False,
    )

    @cached_property
    def state(self) -> MechanicalState:  # type: ignore[override]
        """The state that follows."""
        return self.linked_state("object2")

    @cached_property
    def first(self) -> MechanicalState:
        """The state that is followed."""
        return self.linked_state("object1")

    def init(self) -> None:
        """The states may come later."""

    def bwdInit(self) -> None:
        """Check states and nodes.

        Raises:
            SceneError: nodes do not exist or are no pairs, states are of two kinds, or something
                is wanted that is not supported.
        """
        if self.lastDir.get().any():
            raise self.fault("does not support 'lastDir': leave it out.")
        if self.first.kind.name != self.state.kind.name:
            raise self.fault(
                f"attaches {self.state.describe()} ({self.state.getTemplateName()}) to "
                f"{self.first.describe()} ({self.first.getTemplateName()}): they must be alike."
            )
        ones, twos = self.indices1.get(), self.indices2.get()
        if len(ones) != len(twos):
            problem = self.fault(f"has {len(ones)} indices1, but {len(twos)} indices2.")
            complain(self, problem, " Those without a partner are free, as in SOFA.")
        self._free = self._too_far() & False
        self._rest = _turns_to_next(self.state) if self.restRotations.get() else None

    def nodes(self) -> np.ndarray:
        """The nodes that follow, after a check of both lists."""
        ones, twos = self._numbers()
        self.checked(ones, "indices1", self.first)
        return self.checked(twos, "indices2")

    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """indices1 and indices2, of the longer one as many as the shorter one has, as in SOFA."""
        ones, twos = self.indices1.get(), self.indices2.get()
        count = min(len(ones), len(twos))
        return ones[:count], twos[:count]

    def _too_far(self) -> np.ndarray:
        """Pairs that are farther from each other than minDistance, bool (k,)."""
        x1, x2 = (s.position.get()[:, :3] for s in (self.first, self.state))
        distance = np.linalg.norm(x2[self.nodes()] - x1[self._numbers()[0]], axis=1)
        limit = self.minDistance.get()
        return distance > limit if limit != -1.0 else np.zeros(len(distance), dtype=bool)

    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes of both states, and the weight, of the pairs that hold."""
        nodes, given = self.nodes(), self.constraintFactor.get()
        same = len(self._free) == len(nodes)  # else there are other pairs since the last step
        holds = ~self._free if same else np.ones(len(nodes), dtype=bool)
        # SOFA reads beyond a list that is too short, where a 0 lies
        weight = np.full(len(holds), 0.0 if len(given) and keeps_sofa_defects() else 1.0)
        weight[: len(given)] = given[: len(holds)]
        return self._numbers()[0][holds], nodes[holds], 0.5 * weight[holds, None]

    def _held(self, nodes: np.ndarray) -> np.ndarray:
        mask = np.zeros((self.state.count, self.state.deriv_size), dtype=bool)
        mask[nodes] = True
        mask[nodes[~self._turned(nodes)], 3:] = False
        return mask

    def _turned(self, nodes: np.ndarray) -> np.ndarray:
        """Which of the nodes, all of them bodies, are turned too, bool (k,)."""
        turned = np.full(len(nodes), not self.freeRotations.get())
        if self.lastFreeRotation.get():
            turned &= nodes != self._numbers()[1][-1]
        return turned

    @override
    def fixed(self) -> np.ndarray:
        return self.mask(False) if self.twoWay.get() else self._held(self._pairs()[1])

    @override
    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        if self.twoWay.get():
            return self.mask(False)
        held = self._held(self.nodes())
        if keeps_sofa_defects():  # those without a partner too, and rotations of the second half
            nodes = self.indices2.get()
            held |= self._held(nodes)
            held[nodes[len(nodes) // 2 :], 3:] = not self.lastFreeRotation.get()
        return held

    @override
    def project_response(self, part: Callable[[MechanicalState], np.ndarray | None]) -> None:
        one, two = part(self.first), part(self.state)
        if not self.twoWay.get() or one is None or two is None:
            return
        ones, twos, weight = self._pairs()
        if self.state.kind.name == "Rigid3":
            for columns, k in ((slice(3), slice(None)), (slice(3, 6), self._turned(twos))):
                one[ones[k], columns] += two[twos[k], columns]
                two[twos[k], columns] = one[ones[k], columns]
        else:
            _approach(one, two, ones, twos, weight * self.responseFactor.get())

    @override
    def project_position(self, position: np.ndarray) -> None:
        self._free = self._too_far()
        ones, twos, weight = self._pairs()
        x1 = self.first.position.get()
        if self.state.kind.name == "Rigid3":
            position[twos, :3], k = x1[ones, :3], self._turned(twos)
            turn = x1[ones[k], 3:]
            position[twos[k], 3:] = (
                turn if self._rest is None else product(turn, self._rest[twos[k]])
            )
        else:
            gap = position[twos] - x1[ones]
            position[twos] -= gap * (weight * self.positionFactor.get())
        self.state.position.touch()

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        ones, twos, weight = self._pairs()
        v1 = self.first.velocity.get()
        if self.state.kind.name == "Rigid3":
            velocity[twos, :3], k = v1[ones, :3], self._turned(twos)
            velocity[twos[k], 3:] = v1[ones[k], 3:]
        else:
            _approach(v1, velocity, ones, twos, weight * self.velocityFactor.get())
        self.first.velocity.touch()
        self.state.velocity.touch()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"free": self._free.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._free = snapshot["free"].copy()


def _approach(
    one: np.ndarray, two: np.ndarray, ones: np.ndarray, twos: np.ndarray, weight: np.ndarray
) -> None:
    """Move the rows of two arrays towards each other."""
    step = (two[twos] - one[ones]) * weight
    one[ones] += step
    two[twos] -= step


def _turns_to_next(state: MechanicalState) -> np.ndarray:
    """Rotation in each body's frame at rest from its next node to x, (n, 4); none for the last.

    As in SOFA the quaternion is that of the axis from there to x and the angle between them.
    """
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (state.count, 1))
    if state.kind.name != "Rigid3":
        return turns
    rest = state.rest_position.get()
    way = rotate_vectors(conjugate(rest[:-1, 3:]), np.diff(rest[:, :3], axis=0))
    way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
    axis = np.cross(way, [1.0, 0.0, 0.0])
    axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-300)
    half = np.arccos(way[:, :1]) / 2.0
    turns[:-1] = np.concatenate([axis * np.sin(half), np.cos(half)], axis=1)
    return turns
