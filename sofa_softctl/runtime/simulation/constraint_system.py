"""Constraint system of a step: rows H, delta_free, W and the multipliers lambda."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from sofa_softctl.runtime.behavior.constraint import (
    ActiveRows,
    ConstraintRows,
    ConstraintSystem,
    LagrangianConstraint,
    RowBlock,
    StateRows,
)
from sofa_softctl.runtime.behavior.solvers import ConstraintCorrection, MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.data.data import DataWatch
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
        self.row_blocks = [block for system in systems for block in self._create_blocks(system)]
        self._member_of = {
            id(member): (block, number)
            for block, _ in self.row_blocks
            for number, member in enumerate(block.members)
        }
        self._ends = DataWatch(constraint.endTime for constraint in self.constraints)
        self._indices = DataWatch(constraint.constraintIndex for constraint in self.constraints)
        self.clear()

    def _create_blocks(self, system: MechanicalSystem) -> list[tuple[RowBlock, MechanicalSystem]]:
        vectors = system.vectors
        members: dict[type[RowBlock], list[LagrangianConstraint]] = {}
        for constraint in self.constraints:
            block_type, states = constraint.block_type, constraint.states
            if block_type is not None and id(states[0]) in vectors.first:
                if vectors.has_points(states[0]):
                    members.setdefault(block_type, []).append(constraint)
        return [(block_type(group, vectors.first), system) for block_type, group in members.items()]

    def clear(self) -> None:
        """Remove all rows, as before the first step."""
        self.W = np.zeros((0, 0))
        self.delta_free = np.zeros(0)
        self.lam = np.zeros(0)
        self.rows: dict[int, ConstraintRows] = {}
        self.active: list[LagrangianConstraint] = []
        self.blocks, self.single = [], []
        self._with_violation: list[LagrangianConstraint] = []
        self._layouts: dict[int, RowLayout] = {}
        self._parts: dict[int, list[ConstraintPart]] = {}
        self._updated: list[UpdatedRows] = []
        self.given: list[tuple[int, MechanicalState, Entries]] = []
        """First row, state and entries of each constraint's part in this step."""

    def build(self, time: float) -> None:
        """Compute rows, W and delta_free at the start-of-step position and the free motion."""
        active = self._find_active(time)
        has_changes = any([block.read_changes() for block, _ in self.row_blocks])
        has_changes |= self._indices.has_changed()  # a snapshot that returns has its own
        for block, system in self.row_blocks:
            block.compute(system.vectors.position, system.vectors.free_position)
        if self.contacts or has_changes or active != self.active or not self._update_rows():
            self._arrange_rows(active)
        for system in self.systems:
            if (parts := self._parts.get(id(system))) is not None:
                layout = self._layouts[id(system)]
                jacobians = self._jacobians[id(system)]
                jacobians.update()
                direction = layout.expand_directions(parts, jacobians, system.fixed)
                self.rows[id(system)] = ConstraintRows(
                    self.count, layout.row, layout.node, direction
                )
        self.W[:] = 0.0
        self.lam[:] = 0.0
        for correction, system in self.corrections:
            rows = self.rows.get(id(system))
            if rows is not None:
                self.W += correction.delassus(rows, system.solver.position_factor)
        for block, source, target, _ in self.blocks:
            self.delta_free[target] = block.violation[source]
        for constraint in self._with_violation:
            self.rows_of(constraint, self.delta_free)[:] = constraint.violation()

    def _find_active(self, time: float) -> list[LagrangianConstraint]:
        if self._ends.has_changed():
            self._is_timed = any(c.endTime.get() >= 0.0 for c in self.constraints)
        if not self._is_timed or keeps_sofa_defects():  # SOFA does not check it
            return self.constraints
        return [c for c in self.constraints if not 0.0 <= c.endTime.get() <= time]

    def _arrange_rows(self, active: list[LagrangianConstraint]) -> None:
        """Number the rows of active constraints, and collect the entries on the systems."""
        active = sorted([*active, *self.contacts], key=self._order_of) if self.contacts else active
        has_same_rows = active == self.active
        self.active = active
        self._parts, self.given, self._updated, self.rows = {}, [], [], {}
        count = 0
        for constraint in active:
            constraint.constraintIndex.set(count)
            updated = UpdatedRows(constraint, [])
            for state, row, node, direction in self._entries_of(constraint):
                pullback = self._pullback_of(constraint, state)
                if pullback is None:
                    continue  # an obstacle that nothing moves
                has_same_rows &= pullback.matches_last_pattern(row, node)
                parts = self._parts.setdefault(id(pullback.system), [])
                updated.places.append((len(self.given), parts, len(parts)))
                self.given.append((count, state, Entries(row, node, direction)))
                parts.append(ConstraintPart(count, pullback, direction))
            self._updated += [] if id(constraint) in self._member_of else [updated]
            count += constraint.row_count
        self._indices.has_changed()
        if not has_same_rows or not self._layouts:
            self._layouts = {key: RowLayout(group) for key, group in self._parts.items()}
        if count != self.count:
            self.W = np.zeros((count, count))
            self.delta_free = np.zeros(count)
            self.lam = np.zeros(count)
        self._arrange_blocks()

    def _arrange_blocks(self) -> None:
        """Find the rows of the blocks' members that act in this step."""
        is_active = set(map(id, self.active))
        self.blocks = []
        for block, _ in self.row_blocks:
            sources, targets = [np.empty(0, int)], [np.empty(0, int)]
            members, start, count = [], 0, 0
            for member in block.members:
                rows = np.arange(member.row_count)
                if id(member) in is_active:
                    sources.append(start + rows)
                    targets.append(member.constraintIndex.get() + rows)
                    members.append((member, slice(count, count + len(rows))))
                    count += len(rows)
                start += len(rows)
            rows_of_block = (np.concatenate(sources), np.concatenate(targets))
            self.blocks.append(ActiveRows(block, *rows_of_block, members))
        self.single = [c for c in self.active if id(c) not in self._member_of]
        self._with_violation = list(filter(self._has_own_violation, self.active))

    def _has_own_violation(self, constraint: LagrangianConstraint) -> bool:
        if id(constraint) not in self._member_of:
            return True
        block, _ = self._member_of[id(constraint)]
        return not block.has_violation(constraint)

    def _update_rows(self) -> bool:
        """Update directions that no block computes in place; return False if rows changed."""
        for constraint, places in self._updated:
            start, count = constraint.constraintIndex.get(), constraint.row_count
            remaining = iter(places)
            for state, row, node, direction in self._entries_of(constraint):
                pullback = self._pullback_of(constraint, state)
                if pullback is None:
                    continue
                if not pullback.matches_last_pattern(row, node):
                    self._layouts = {}
                    return False
                number, parts, position = next(remaining)
                self.given[number] = (start, state, Entries(row, node, direction))
                parts[position] = ConstraintPart(start, pullback, direction)
            if constraint.row_count != count:
                return False
        return True

    def _entries_of(self, constraint: LagrangianConstraint) -> Sequence[StateRows]:
        if id(constraint) not in self._member_of:
            return constraint.parts()
        block, number = self._member_of[id(constraint)]
        return [(constraint.states[0], *block.entries[number])]

    def rows_of(self, constraint: LagrangianConstraint, vector: np.ndarray) -> np.ndarray:
        """Return the view of a constraint's rows in a vector of the problem."""
        start = constraint.constraintIndex.get()
        return vector[start : start + constraint.row_count]

    def store(self) -> None:
        """Store the multipliers and the resulting delta in every constraint."""
        delta = self.W @ self.lam + self.delta_free
        for rows in self.blocks:
            lam, motion = self.lam[rows.target], delta[rows.target]
            for member, part in rows.members:
                member.store(lam[part], motion[part])
        for constraint in self.single:
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


class UpdatedRows(NamedTuple):
    """Constraint whose directions are asked for, or mapped, in every step."""

    constraint: LagrangianConstraint
    places: list[tuple[int, list[ConstraintPart], int]]
    """Index in `given`, list of parts and index there, for each of its parts."""


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
        self, parts: list[ConstraintPart], jacobians: SystemJacobians, fixed: np.ndarray
    ) -> np.ndarray:
        """Return the direction of every entry, 0 in fixed rows (n, 3), shape (k, 3)."""
        directions = np.concatenate([part.direction for part in parts])
        out = np.empty((len(self.node), 3))
        blocks = (self.index, jacobians.blocks, jacobians.is_weight)
        pull_directions(directions, self.source, *blocks, self.node, fixed, out)
        return out
