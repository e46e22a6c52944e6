"""SlidingLagrangianConstraint: a point that slides along a segment."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import StateRows
from sofa_softctl.runtime.components.constraint.pair import PairConstraint
from sofa_softctl.runtime.core.data.types import Int, Vector
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    BILATERAL,
    UNILATERAL,
    row_parameters,
)


class SlidingLagrangianConstraint(PairConstraint):
    """Holds a node of object1 on the segment between two nodes of object2.

    Two rows are perpendicular to the segment, the first away from it; beyond an end, a third row
    pushes back along it, at that end. All follow the positions after the free motion.
    """

    aliases = ("SlidingConstraint",)
    acts_on = ("Vec3",)

    sliding_point = Int(0, "Node of the first state that slides.", of="object1")
    axis_1 = Int(0, "Node of the second state at the start of the segment.", of="object2")
    axis_2 = Int(0, "Node of the second state at its end.", of="object2")
    force = Vector(3, [0.0] * 3, "Multipliers of the last step, along their directions.")

    def init(self) -> None:
        """Reset the rows; the states may come later."""
        self._directions = np.zeros((0, 3))

    def bwdInit(self) -> None:
        """Check the nodes.

        Raises:
            SceneError: a node does not exist, or the segment has no length.
        """
        for name, state in (
            ("sliding_point", self.state),
            ("axis_1", self.partner),
            ("axis_2", self.partner),
        ):
            node = self._data[name].get()
            if not 0 <= node < state.count:
                raise self.fault(
                    f"has node {node} as '{name}', but {state.describe()} has {state.count} nodes."
                )
        self._segment("position")

    def _segment(self, name: str) -> tuple[np.ndarray, np.ndarray, float]:
        """Return start, direction and length of the segment."""
        x = self.partner._data[name].get()
        start, end = x[self.axis_1.get()], x[self.axis_2.get()]
        length = float(np.linalg.norm(end - start))
        if length == 0.0:
            raise self.fault(
                f"slides along no segment: nodes {self.axis_1.get()} and {self.axis_2.get()} of "
                f"{self.partner.describe()}, 'axis_1' and 'axis_2', are at one place."
            )
        return start, (end - start) / length, length

    @override
    def parts(self) -> list[StateRows]:
        start, axis, length = self._segment("free_position")
        point = self.state.free_position.get()[self.sliding_point.get()]
        along = float((point - start) @ axis)
        away = point - start - along * axis
        distance = float(np.linalg.norm(away))
        first = away / distance if distance > 0.0 else _perpendicular_to(axis)
        rows, gaps = [first, np.cross(first, axis)], [distance, 0.0]
        fraction = along / length
        ends = [[1.0 - fraction, fraction], [1.0 - fraction, fraction]]
        if along < 0.0:
            rows.append(axis)
            gaps.append(along)
            ends.append([1.0, 0.0])
        elif along > length:
            rows.append(-axis)
            gaps.append(length - along)
            ends.append([0.0, 1.0])
        self._directions, self._gaps = np.array(rows), np.array(gaps)
        weights = -np.array(ends).ravel()[:, None]
        row = np.arange(len(rows))
        node_1, node_2 = self.axis_1.get(), self.axis_2.get()
        directions = np.repeat(self._directions, 2, axis=0) * weights
        slides = (row, np.full(len(rows), self.sliding_point.get()), self._directions)
        carries = (np.repeat(row, 2), np.tile([node_1, node_2], len(rows)), directions)
        if self.state is not self.partner:
            return [(self.state, *slides), (self.partner, *carries)]
        row, node, direction = (np.concatenate(part) for part in zip(slides, carries, strict=True))
        return [(self.state, row, node, direction)]

    @property
    @override
    def row_count(self) -> int:
        return len(self._directions)

    @override
    def violation(self) -> np.ndarray:
        return self._gaps

    @override
    def resolution(self) -> np.ndarray:
        kinds = [BILATERAL, BILATERAL, UNILATERAL][: self.row_count]
        return np.array([row_parameters(kind) for kind in kinds])

    @override
    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        self.force.set(lam @ self._directions)

    def reset(self) -> None:
        """Forget the last step."""
        self.force.set(np.zeros(3))


def _perpendicular_to(axis: np.ndarray) -> np.ndarray:
    """Return any direction perpendicular to an axis, for a point on it."""
    vector = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    return vector / np.linalg.norm(vector)
