"""Nodes that multipliers hold together, or at a position."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint, StateRows
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.constraint.pair import PairConstraint
from sofa_softctl.runtime.core.data.types import Bool, Derivs, Integers, Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import BILATERAL, BLOCK, row_parameters
from sofa_softctl.runtime.kernels.mapping import rigid


def rows_on(state: MechanicalState, nodes: np.ndarray, sign: float) -> StateRows:
    """Return a row for each number of each node's velocity, one node after the other."""
    width = state.deriv_size
    row = np.arange(len(nodes) * width)
    node, direction = np.repeat(nodes, width), np.tile(sign * np.eye(width), (len(nodes), 1))
    return (state, *state.kind.entries(row, node, direction))


class NodeRows(LagrangianConstraint):
    """Rows that hold all numbers of some nodes."""

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3", "Rigid3", "Vec1")

    def node_indices(self) -> np.ndarray:
        """Return the held nodes."""
        raise NotImplementedError

    @override
    def parts(self) -> list[StateRows]:
        return [rows_on(self.state, self.node_indices(), 1.0)]

    @property
    @override
    def row_count(self) -> int:
        return len(self.node_indices()) * self.state.deriv_size

    def resolution(self) -> np.ndarray:
        """Return parameters that couple three rows: of a point, of a body's centre or rotation."""
        kind = BILATERAL if self.state.kind.name == "Vec1" else BLOCK
        return np.tile(row_parameters(kind, 1.0), (self.row_count, 1))


class FixedLagrangianConstraint(NodeRows):
    """Holds nodes at their rest position by multipliers, which start from the last step's.

    As in SOFA, the violation of a body's rotation is the angles about x, y and z (Rz Ry Rx) of the
    rotation from rest.
    """

    indices = Integers([], "Nodes that are held.", of="node")
    fixAll = Bool(False, "Hold all nodes.")

    def init(self) -> None:
        """Check the nodes."""
        self.node_indices()
        self.starts_from = None

    @override
    def node_indices(self) -> np.ndarray:
        if self.fixAll.get():
            return np.arange(self.state.count)
        return self.check_indices(self.indices.get())

    @override
    def violation(self) -> np.ndarray:
        nodes, state = self.node_indices(), self.state
        if self.starts_from is not None and len(self.starts_from) != self.row_count:
            self.starts_from = None  # the nodes differ from the last step's: a moving region
        free, rest = state.free_position.get()[nodes], state.rest_position.get()[nodes]
        if self.state.kind.name == "Rigid3":
            turn = rigid.product(free[:, 3:], rigid.conjugate(rest[:, 3:]))
            return np.hstack([free[:, :3] - rest[:, :3], _angles(turn)]).ravel()
        return (free - rest).ravel()

    @override
    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        self.starts_from = lam.copy() if self.state.kind.name != "Vec1" else None

    def reset(self) -> None:
        """Forget the last step."""
        self.starts_from = None

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"starts_from": self.starts_from}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self.starts_from = snapshot["starts_from"]


class UniformLagrangianConstraint(NodeRows):
    """Holds all nodes at zero, or with constrainToRestPos at their rest position."""

    aliases = ("UniformConstraint",)
    acts_on = ("Vec1",)
    by_velocity = True

    iterative = Bool(True, "Solve each row separately, or all simultaneously.")
    constrainToRestPos = Bool(False, "Hold them at the rest position, not at zero.")

    @property
    @override
    def solved_at_once(self) -> bool:  # type: ignore[override]
        return not self.iterative.get()

    def init(self) -> None:
        """Check nothing: it acts on all nodes."""

    @override
    def node_indices(self) -> np.ndarray:
        return np.arange(self.state.count)

    @override
    def resolution(self) -> np.ndarray:
        return np.tile(row_parameters(BILATERAL), (self.row_count, 1))

    @override
    def violation(self) -> np.ndarray:
        free: np.ndarray = self.state.free_position.get().ravel()
        if self.constrainToRestPos.get():
            free = free - self.state.rest_position.get().ravel()
        return free.copy()


class BilateralLagrangianConstraint(PairConstraint, NodeRows):
    """Holds each node second_point of object2 at first_point of object1, plus rest_vector.

    For bodies it holds the rotation as well, or with keepOrientationDifference the relative pose at
    init. Points start from the multipliers of the last step; `load` scales each sweep's change.
    """

    acts_on = ("Vec3", "Rigid3")
    aliases = ("BilateralInteractionConstraint",)

    first_point = Integers([], "Nodes of the first state.", of="node")
    second_point = Integers(
        [], "Nodes of the second state, one each.", per="first_point", shared=False, of="object2"
    )
    rest_vector = Derivs(
        [], "From first to second nodes.", unit="length", per="first_point", shared=False
    )
    activate = Bool(True, "Hold the nodes.")
    keepOrientationDifference = Bool(
        False, "Keep the relative pose of bodies at init.", follows="start"
    )
    load = Real(1.0, "Fraction of each sweep's change to apply, from 0 to 1.")
    numericalTolerance = Real(0.0001, "Unused.")
    activateAtIteration = Integers([0], "Unused.")
    merge = Bool(False, "Unused.")
    derivative = Bool(False, "Unused.")
    topology1 = LinkType("Unused: the mesh does not change.")
    topology2 = LinkType("Unused: the mesh does not change.")

    def init(self) -> None:
        """Reset; the states may come later."""
        self._reset()

    def _reset(self) -> None:
        self._start_lambda: np.ndarray | None = None
        self._offset: tuple[np.ndarray, np.ndarray] | None = None

    reset = _reset

    def bwdInit(self) -> None:
        """Check states and nodes.

        Raises:
            SceneError: a node does not exist, or the states have different kinds.
        """
        if self.state.kind.name != self.partner.kind.name:
            raise self.fault(
                f"joins {self.state.describe()} ({self.state.getTemplateName()}) and "
                f"{self.partner.describe()} ({self.partner.getTemplateName()}): they must be alike."
            )
        load = self.load.get()
        if not 0.0 <= load <= 1.0:
            complain(self, self.fault(f"takes a 'load' from 0 to 1, got {load:g}."))
            self.load.set(min(max(load, 0.0), 1.0))
        i, j = self._pairs()
        if self.keepOrientationDifference.get() and self.state.kind.name == "Rigid3":
            a, b = self._read_pairs("position", i, j)
            self._offset = b[:, :3] - a[:, :3], _turn(b[:, 3:], a[:, 3:])

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        i, j = self.first_point.get(), self.second_point.get()
        count = min(len(i), len(j))
        self.check_indices(i, "first_point")
        self.check_indices(j, "second_point", self.partner)
        return i[:count], j[:count]

    def _read_pairs(self, name: str, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = (s._data[name].get() for s in (self.state, self.partner))
        return a[i], b[j]

    @override
    def node_indices(self) -> np.ndarray:
        return self._pairs()[0] if self.activate.get() else np.empty(0, dtype=np.int64)

    @override
    def parts(self) -> list[StateRows]:
        i, j = self._pairs()
        if not self.activate.get():
            i, j = i[:0], j[:0]
        a, b = rows_on(self.state, i, -1.0), rows_on(self.partner, j, 1.0)
        if self.state is not self.partner:
            return [a, b]
        row, node, direction = (np.concatenate(part) for part in zip(a[1:], b[1:], strict=True))
        return [(self.state, row, node, direction)]

    @override
    def violation(self) -> np.ndarray:
        if not self.activate.get():
            return np.zeros(0)
        a, b = self._read_pairs("free_position", *self._pairs())
        if self.state.kind.name == "Rigid3":
            delta = self._body_violation(a, b)
        else:
            delta = b - a
        offsets = self.rest_vector.get()[: len(delta)] if self._offset is None else np.empty((0, 6))
        if len(offsets):
            delta[: len(offsets)] -= offsets
        return delta.ravel()

    def _body_violation(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        centre, q = a[:, :3], a[:, 3:]
        if self._offset is not None:
            centre, q = (centre + self._offset[0], rigid.product(q, self._offset[1]))
        turn = rigid.rotate_vectors(q, rigid.rotation_vector(_turn(b[:, 3:], q)))
        return np.hstack([b[:, :3] - centre, turn])

    @override
    def resolution(self) -> np.ndarray:
        factor = self.load.get() if self.state.kind.name == "Vec3" else 1.0
        return np.tile(row_parameters(BLOCK, factor), (self.row_count, 1))

    @property
    @override
    def starts_from(self) -> np.ndarray | None:  # type: ignore[override]
        fits = self._start_lambda is not None and len(self._start_lambda) == self.row_count
        return self._start_lambda if fits else None

    @override
    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        if self.state.kind.name == "Vec3":
            self._start_lambda = lam.copy()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"start": self._start_lambda, "apart": self._offset}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._start_lambda, self._offset = snapshot["start"], snapshot["apart"]


def _angles(q: np.ndarray) -> np.ndarray:
    """Return the angles about x, y and z of rotations Rz Ry Rx, shape (k, 3)."""
    x, y, z, w = q.T
    return np.column_stack(
        [
            np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
            np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0)),
            np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)),
        ]
    )


def _turn(q: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the rotation from `start` to q, in the axes of `start`; shapes (k, 4)."""
    nearest = np.where((q * start).sum(axis=1, keepdims=True) < 0.0, -q, q)
    return rigid.product(rigid.conjugate(start), nearest)
