"""Constraint system of a step: rows H, delta_free, W and the multipliers lambda."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from sofa_softctl.runtime.behavior.constraint import (
    ConstraintRows,
    ConstraintSystem,
    LagrangianConstraint,
)
from sofa_softctl.runtime.behavior.solvers import ConstraintCorrection, MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper.message import keeps_sofa_defects
from sofa_softctl.runtime.kernels.constraint.rows import Entries
from sofa_softctl.runtime.kernels.mapping.jacobian import pull_directions
from sofa_softctl.runtime.simulation.jacobian import SystemJacobians, expand


class ConstraintProblem(ConstraintSystem):
    """Rows of all Lagrangian constraints of a scene, with W, delta_free and lambda."""

    def __init__(
        self,
        root: Node,
        systems: Sequence[MechanicalSystem],
        corrections: list[tuple[ConstraintCorrection, MechanicalSystem]],
    ) -> None:
        self.constraints: list[LagrangianConstraint] = [
            constraint
            for node in root.walk()
            for constraint in node.of("constraint")
            if isinstance(constraint, LagrangianConstraint)
        ]
        self.systems = systems
        self.corrections = corrections
        self._jacobians = {id(system): SystemJacobians(system) for system in systems}
        self.contacts: Sequence[LagrangianConstraint] = []
        """Constraints of this step only; they follow the other constraints of their node."""
        self._order = {id(node): number for number, node in enumerate(root.walk())}
        self._pullbacks: dict[tuple[int, int], RowPullback | None] = {}
        for constraint in self.constraints:
            if all(self._pullback_of(constraint, state) is None for state in constraint.states):
                problem = "holds constraints, but no time integrator (ODE solver) moves it."
                raise constraint.state.fault(problem)
        self.clear()

    def clear(self) -> None:
        """Remove all rows, as before the first step."""
        self.W = np.zeros((0, 0))
        self.delta_free = np.zeros(0)
        self.lam = np.zeros(0)
        self.rows: dict[int, ConstraintRows] = {}
        self.active: list[LagrangianConstraint] = []
        self._layouts: dict[int, RowLayout] = {}
        self.given: list[tuple[int, MechanicalState, Entries]] = []
        """First row, state and entries of each constraint's part in this step."""

    def build(self, time: float) -> None:
        """Compute rows, W and delta_free at the start-of-step position and the free motion."""
        active = [c for c in self.constraints if _acts(c, time)]
        active = sorted([*active, *self.contacts], key=self._order_of) if self.contacts else active
        has_same_rows = active == self.active
        self.active = active
        parts: dict[int, list[ConstraintPart]] = {}
        self.given = []
        count = 0
        for constraint in active:
            constraint.constraintIndex.set(count)
            for state, row, node, direction in constraint.parts():
                pullback = self._pullback_of(constraint, state)
                if pullback is None:
                    continue  # an obstacle that nothing moves
                has_same_rows &= pullback.matches_last_pattern(row, node)
                self.given.append((count, state, Entries(row, node, direction)))
                part = ConstraintPart(count, pullback, direction)
                parts.setdefault(id(pullback.system), []).append(part)
            count += constraint.row_count
        if not has_same_rows:
            self._layouts = {key: RowLayout(group) for key, group in parts.items()}
        if count != self.count:
            self.W = np.zeros((count, count))
            self.delta_free = np.zeros(count)
            self.lam = np.zeros(count)
        self.W[:] = 0.0
        self.lam[:] = 0.0
        for system in self.systems:
            if id(system) in parts:
                layout = self._layouts[id(system)]
                jacobians = self._jacobians[id(system)]
                jacobians.update()
                direction = layout.expand_directions(parts[id(system)], jacobians)
                if system.fixed.any():
                    direction = np.where(system.fixed[layout.node], 0.0, direction)
                self.rows[id(system)] = ConstraintRows(count, layout.row, layout.node, direction)
            else:
                self.rows.pop(id(system), None)
        for correction, system in self.corrections:
            rows = self.rows.get(id(system))
            if rows is not None:
                self.W += correction.delassus(rows, system.solver.position_factor)
        for constraint in self.active:
            self.rows_of(constraint, self.delta_free)[:] = constraint.violation()

    def rows_of(self, constraint: LagrangianConstraint, vector: np.ndarray) -> np.ndarray:
        """Return the view of a constraint's rows in a vector of the problem."""
        start = constraint.constraintIndex.get()
        return vector[start : start + constraint.row_count]

    def store(self) -> None:
        """Store the multipliers and the resulting delta in every constraint."""
        delta = self.W @ self.lam + self.delta_free
        for constraint in self.active:
            lam = self.rows_of(constraint, self.lam).copy()
            constraint.store(lam, self.rows_of(constraint, delta))

    def correct(self, h: float, *, by_velocity: bool = False) -> None:
        """Set x = x_free + k A^-1 H^T lambda, v = v_free + l A^-1 H^T lambda, for each system.

        k and l are the factors of each correction. `by_velocity` moves x by h v instead.
        """
        for system in self.systems:
            rows = self.rows.get(id(system))
            if rows is None:
                system.move(h, system.v_free)
                continue
            motions: list[np.ndarray] = []
            changes: list[np.ndarray] = []
            for correction, corrected in self.corrections:
                if corrected is system:
                    motion = correction.correction(rows, self.lam)
                    k, l = correction.factors()  # noqa: E741
                    motions.append(k * motion)
                    changes.append(motion if l == 1.0 else l * motion)
            if not motions:
                motions = changes = [np.zeros_like(system.v_free)]
            displacement, change = reduce(np.add, motions), reduce(np.add, changes)
            if by_velocity:
                system.move(h, system.v_free + change)
            else:
                system.correct(displacement, change)

    def _order_of(self, constraint: LagrangianConstraint) -> int:
        return self._order[id(constraint._context)]

    def _pullback_of(
        self, constraint: LagrangianConstraint, state: MechanicalState
    ) -> RowPullback | None:
        key = (id(constraint), id(state))
        if key not in self._pullbacks:
            self._pullbacks[key] = self._new_pullback(state)
        return self._pullbacks[key]

    def _new_pullback(self, state: MechanicalState) -> RowPullback | None:
        for system in self.systems:
            if id(state) in system.offset or id(state) in system.mapping_of:
                return RowPullback(self._jacobians[id(system)], state)
        return None


class RowPullback:
    """J^T of the mappings between a constraint's state and independent states, by nodes.

    The nodes of a constraint rarely change, so their nodes in the system are stored.
    """

    def __init__(self, jacobians: SystemJacobians, state: MechanicalState) -> None:
        self.system, self._jacobian = jacobians.system, jacobians.of(state)
        self._last_pattern = (b"", b"")
        self.row = self.node = self.source = self.index = np.empty(0, np.int64)

    def matches_last_pattern(self, row: np.ndarray, node: np.ndarray) -> bool:
        """Return True if rows and nodes on the state are unchanged; store a new pattern.

        They become the entries `row`, `node` of the system, with J^T times the direction `source`,
        J the block `index` of the system's Jacobians.
        """
        pattern = (row.tobytes(), node.tobytes())
        if pattern == self._last_pattern:
            return True
        self._last_pattern = pattern
        self.source, entry = expand(self._jacobian.starts, node)
        self.row, self.node = row[self.source], self._jacobian.nodes[entry]
        self.index = self._jacobian.first + entry
        return False


class ConstraintPart(NamedTuple):
    """Rows of a constraint in a system."""

    start: int
    """First row of the constraint."""
    pullback: RowPullback
    """Map of its entries to the system."""
    direction: np.ndarray
    """Direction of each entry on the constraint's state, shape (n, 3)."""


class RowLayout:
    """Entries of all constraints of a system, while only their directions change."""

    def __init__(self, parts: list[ConstraintPart]) -> None:
        first = np.cumsum([0, *(len(part.direction) for part in parts)])
        self.row = np.concatenate([part.pullback.row + part.start for part in parts])
        self.node = np.concatenate([part.pullback.node for part in parts])
        self.source = np.concatenate(
            [part.pullback.source + k for k, part in zip(first[:-1], parts, strict=True)]
        )
        self.index = np.concatenate([part.pullback.index for part in parts])

    def expand_directions(
        self, parts: list[ConstraintPart], jacobians: SystemJacobians
    ) -> np.ndarray:
        """Return the direction of every entry, shape (k, 3)."""
        directions = np.concatenate([part.direction for part in parts])
        out = np.empty((len(self.source), 3))
        blocks, is_weight = jacobians.blocks, jacobians.is_weight
        pull_directions(directions, self.source, self.index, blocks, is_weight, out)
        return out


def _acts(constraint: LagrangianConstraint, time: float) -> bool:
    end = constraint.endTime.get()
    return end < 0.0 or time < end or keeps_sofa_defects()  # SOFA does not check it
