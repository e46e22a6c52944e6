"""The constraint system of one step: rows H, delta_free, W and the multipliers lambda."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from sofa_softctl.runtime.simulation.system_matrix import mappings_above


class ConstraintProblem(ConstraintSystem):
    """Builds the rows of all Lagrangian constraints, and keeps W, delta_free and lambda."""

    def __init__(
        self,
        root: Node,
        systems: Sequence[MechanicalSystem],
        corrections: list[tuple[ConstraintCorrection, MechanicalSystem]],
    ) -> None:
        self.constraints: list[LagrangianConstraint] = [
            entry
            for node in root.walk()
            for entry in node.of("constraint")
            if isinstance(entry, LagrangianConstraint)
        ]
        self.systems = systems
        self.corrections = corrections
        self.contacts: Sequence[LagrangianConstraint] = []
        """Constraints of this step alone; those of a node follow its other ones."""
        self._order = {id(node): number for number, node in enumerate(root.walk())}
        self._places: dict[tuple[int, int], RowPullback | None] = {}
        for entry in self.constraints:
            if all(self._place_of(entry, state) is None for state in entry.states):
                raise entry.state.fault(
                    "holds constraints, but no time integrator (ODE solver) moves it."
                )
        self.forget()

    def forget(self) -> None:
        """Be as before the first step: without rows."""
        self.W = np.zeros((0, 0))
        self.delta_free = np.zeros(0)
        self.lam = np.zeros(0)
        self.rows: dict[int, ConstraintRows] = {}
        self.active: list[LagrangianConstraint] = []
        self._layouts: dict[int, RowLayout] = {}
        self.given: list[tuple[int, MechanicalState, Entries]] = []
        """First row, state and entries of each constraint's part in this step."""

    def build(self, time: float) -> None:
        """Rows, W and delta_free at the start-of-step position and the free motion."""
        active = [entry for entry in self.constraints if _acts(entry, time)]
        active = sorted([*active, *self.contacts], key=self._order_of) if self.contacts else active
        same = active == self.active
        self.active = active
        parts: dict[int, list[ConstraintBlock]] = {}
        self.given = []
        count = 0
        for constraint in active:
            constraint.constraintIndex.set(count)
            for state, row, node, direction in constraint.parts():
                place = self._place_of(constraint, state)
                if place is None:
                    continue  # an obstacle that nothing moves
                same &= place.fits(row, node)
                self.given.append((count, state, Entries(row, node, direction)))
                part = ConstraintBlock(count, place, place.carry(direction))
                parts.setdefault(id(place.system), []).append(part)
            count += constraint.row_count
        if not same:
            self._layouts = {key: RowLayout(found) for key, found in parts.items()}
        if count != self.count:
            self.W = np.zeros((count, count))
            self.delta_free = np.zeros(count)
            self.lam = np.zeros(count)
        self.W[:] = 0.0
        self.lam[:] = 0.0
        for system in self.systems:
            found = parts.get(id(system))
            if found:
                layout = self._layouts[id(system)]
                direction = layout.spread(found)
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
            self.of(constraint, self.delta_free)[:] = constraint.violation()

    def of(self, constraint: LagrangianConstraint, vector: np.ndarray) -> np.ndarray:
        """The view of one constraint's rows in a vector of the problem."""
        start = constraint.constraintIndex.get()
        return vector[start : start + constraint.row_count]

    def store(self) -> None:
        """Tell every constraint its multipliers and what they made of delta."""
        delta = self.W @ self.lam + self.delta_free
        for constraint in self.active:
            constraint.store(self.of(constraint, self.lam).copy(), self.of(constraint, delta))

    def correct(self, h: float, *, by_velocity: bool = False) -> None:
        """x = x_free + k A^-1 H^T lambda, v = v_free + l A^-1 H^T lambda, for each system.

        k and l are the factors of each correction. By velocity x is moved by h v instead.
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

    def _place_of(
        self, constraint: LagrangianConstraint, state: MechanicalState
    ) -> RowPullback | None:
        key = (id(constraint), id(state))
        if key not in self._places:
            self._places[key] = self._place(state)
        return self._places[key]

    def _place(self, state: MechanicalState) -> RowPullback | None:
        for system in self.systems:
            if id(state) in system.offset or id(state) in system.mapping_of:
                return RowPullback(system, state)
        return None


class RowPullback:
    """J^T of the mappings between a constraint's state and the independent ones, by nodes.

    A constraint mostly names the same nodes as before: where they end up is then known. If all
    mappings have constant weights, so are the weights of the directions; else (a body turns) the
    directions are pulled through the mappings in every step.
    """

    def __init__(self, system: MechanicalSystem, state: MechanicalState) -> None:
        self.system, self.state = system, state
        self._constant = all(mapping.weighted for mapping in mappings_above(state, system))
        self._given = (b"", b"")
        self._entries = (np.empty(0, dtype=int), np.empty(0, dtype=int))
        self.row = self.node = self.source = np.empty(0, dtype=int)
        self.weight = np.empty((0, 1))

    def fits(self, row: np.ndarray, node: np.ndarray) -> bool:
        """Whether entries on the constraint's state are those of the step before; learns new ones.

        They become the entries `row`, `node` of the system, with `weight` times the direction of
        the entry `source` of those that `carry` gives.
        """
        given = (row.tobytes(), node.tobytes())
        if given == self._given:
            return True
        self._given, self._entries = given, (row, node)
        if self._constant:
            ends = self._pull(Entries(np.arange(len(row)), node, np.ones((len(row), 1))))
            self.row, self.node = row[ends.row], ends.node
            self.source, self.weight = ends.row, ends.direction
        else:
            ends = self._pull(Entries(row, node, np.zeros((len(row), 3))))
            self.row, self.node = ends.row, ends.node
            self.source, self.weight = np.arange(len(ends.row)), np.ones((len(ends.row), 1))
        return False

    def carry(self, direction: np.ndarray) -> np.ndarray:
        """The directions of which `source` speaks: those given, or what they become in the system.

        Args:
            direction: Of each entry on the constraint's state, shape (k, 3).
        """
        return direction if self._constant else self._pull(Entries(*self._entries, direction))[2]

    def _pull(self, entries: Entries) -> Entries:
        """Entries on the system from entries on the constraint's state."""
        found = list(self._pulled(self.state, entries))
        return Entries(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _pulled(self, state: MechanicalState, entries: Entries) -> Iterator[Entries]:
        start = self.system.offset.get(id(state))
        if start is not None:
            yield entries._replace(node=entries.node + start)
            return
        mapping = self.system.mapping_of.get(id(state))
        if mapping is None:  # nothing moves it
            yield Entries(*(part[:0] for part in entries))
            return
        for driver, pulled in zip(mapping.drivers, mapping.pull(entries), strict=True):
            yield from self._pulled(driver, pulled)


class ConstraintBlock(NamedTuple):
    """Rows of one constraint in a system."""

    start: int
    """Its first row."""
    place: RowPullback
    """Where its entries are in the system."""
    direction: np.ndarray
    """Direction of each of its own entries, shape (n, 3)."""


class RowLayout:
    """The entries of all constraints of a system, while only their directions change."""

    def __init__(self, parts: list[ConstraintBlock]) -> None:
        first = np.cumsum([0, *(len(part.direction) for part in parts)])
        self.row = np.concatenate([part.place.row + part.start for part in parts])
        self.node = np.concatenate([part.place.node for part in parts])
        self.source = np.concatenate(
            [part.place.source + k for k, part in zip(first[:-1], parts, strict=True)]
        )
        self.weight = np.concatenate([part.place.weight for part in parts])

    def spread(self, parts: list[ConstraintBlock]) -> np.ndarray:
        """Direction of every entry, shape (k, 3)."""
        given = np.concatenate([part.direction for part in parts])
        spread: np.ndarray = given[self.source] * self.weight
        return spread


def _acts(constraint: LagrangianConstraint, time: float) -> bool:
    end = constraint.endTime.get()
    return end < 0.0 or time < end or keeps_sofa_defects()  # SOFA asks none
