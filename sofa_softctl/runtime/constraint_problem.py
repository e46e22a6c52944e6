"""The constraint system of one step: rows H, delta_free, W and the multipliers lambda."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.runtime.roles import ConstraintCorrection, LagrangianConstraint, Mapping

if TYPE_CHECKING:
    from sofa_softctl.runtime.components.state.mechanical_object import MechanicalObject
    from sofa_softctl.runtime.node import Node
    from sofa_softctl.runtime.system import MechanicalSystem


@dataclass(frozen=True)
class Rows:
    """Constraint directions on the independent nodes of one system, as triplets."""

    count: int
    """Rows of the whole problem."""
    row: np.ndarray
    """Row of each entry, shape (k,)."""
    node: np.ndarray
    """Node of the system of each entry, shape (k,)."""
    direction: np.ndarray
    """Direction of each entry, shape (k, 3); entries of one row and node add up."""

    def transposed(self, lam: np.ndarray, size: int) -> np.ndarray:
        """H^T lam, shape (size, 3)."""
        out = np.zeros((size, 3))
        np.add.at(out, self.node, self.direction * lam[self.row, None])
        return out


class ConstraintProblem:
    """Builds the rows of all Lagrangian constraints, and keeps W, delta_free and lambda."""

    def __init__(
        self,
        root: Node,
        systems: list[MechanicalSystem],
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
        self.places = {id(entry): self._place(entry.state) for entry in self.constraints}
        self.W = np.zeros((0, 0))
        self.delta_free = np.zeros(0)
        self.lam = np.zeros(0)
        self.rows: dict[int, Rows] = {}

    @property
    def count(self) -> int:
        """Rows in this step."""
        return len(self.delta_free)

    def build(self, time: float) -> None:
        """Rows, W and delta_free at the start-of-step position and the free motion."""
        self.active = [entry for entry in self.constraints if _acts(entry, time)]
        entries: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
        count = 0
        for constraint in self.active:
            row, node, direction = constraint.build()
            constraint.data["constraintIndex"].set(count)
            place = self.places[id(constraint)]
            found = place.entries(row + count, node, direction)
            entries.setdefault(id(place.system), []).append(found)
            count += constraint.row_count
        if count != self.count:
            self.W = np.zeros((count, count))
            self.delta_free = np.zeros(count)
            self.lam = np.zeros(count)
        self.W[:] = 0.0
        self.lam[:] = 0.0
        for system in self.systems:
            parts = entries.get(id(system))
            if parts:
                row, node, direction = (
                    np.concatenate(column) for column in zip(*parts, strict=True)
                )
                if system.projective:
                    direction = np.where(system.fixed[node], 0.0, direction)
                self.rows[id(system)] = Rows(count, row, node, direction)
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
        start = constraint.data["constraintIndex"].get()
        return vector[start : start + constraint.row_count]

    def store(self) -> None:
        """Tell every constraint its multipliers and what they made of delta."""
        delta = self.W @ self.lam + self.delta_free
        for constraint in self.active:
            constraint.store(self.of(constraint, self.lam).copy(), self.of(constraint, delta))

    def correct(self, h: float) -> None:
        """x = x_free + k A^-1 H^T lambda, v = v_free + A^-1 H^T lambda, for each system."""
        for correction, system in self.corrections:
            rows = self.rows.get(id(system))
            v = system.v_free
            if rows is not None:
                v = v + correction.correction(rows, self.lam)
            system.move(h, v)

    def _place(self, state: MechanicalObject) -> Place:
        chain: list[Mapping] = []
        for system in self.systems:
            current = state
            while id(current) in system.mapping_of:
                chain.append(system.mapping_of[id(current)])
                current = chain[-1].parent
            if id(current) in system.offset:
                return Place(system, system.offset[id(current)], chain)
            chain.clear()
        raise state.error("holds constraints, but no time integrator (ODE solver) moves it.")


@dataclass(frozen=True)
class Place:
    """Where the entries of a constraint's state end up."""

    system: MechanicalSystem
    start: int
    """First node of the independent state in the system."""
    chain: list[Mapping]
    """Mappings from the constraint's state to the independent one."""

    def entries(
        self, row: np.ndarray, node: np.ndarray, direction: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Entries on the constraint's state as entries on the nodes of the system."""
        for mapping in self.chain:
            row, node, direction = _through(mapping, row, node, direction)
        return row, node + self.start, direction


def _through(
    mapping: Mapping, row: np.ndarray, node: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries on the follower as entries on the driver: J^T by nodes."""
    starts, nodes, weights = mapping.weights()
    counts = starts[node + 1] - starts[node]
    first = np.repeat(starts[node], counts)
    within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = first + within
    return (
        np.repeat(row, counts),
        nodes[entry],
        np.repeat(direction, counts, axis=0) * weights[entry, None],
    )


def _acts(constraint: LagrangianConstraint, time: float) -> bool:
    end = constraint.data["endTime"].get()
    return end < 0.0 or time <= end
