"""What all components share that look at positions of nodes along directions."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.data_types import Bools, Integers, Reals, Vectors
from sofa_softctl.runtime.roles import LagrangianConstraint


class PositionModel(LagrangianConstraint):
    """One row for each node and each used direction: w_j d_j . x.

    Source: SoftRobots' PositionModel.
    """

    indices = Integers([0], "Nodes.")
    directions = Vectors(3, np.eye(3), "Directions; the axes by default, made of length one.")
    useDirections = Bools(3, [1, 1, 1], "Which directions count.")
    weight = Reals([1.0, 1.0, 1.0], "Factor of each direction's row.")
    delta = Reals([], "Distance of each row in the last step.", unit="length", read_only=True)

    def init(self) -> None:
        """Check nodes, directions and weights.

        Raises:
            SceneError: a node does not exist, or the directions are not three.
        """
        nodes = self._nodes()
        count = self.state.count
        if not len(nodes):
            raise self.fault("needs at least one node in 'indices'.")
        if nodes.min() < 0 or nodes.max() >= count:
            raise self.fault(f"has 'indices' up to {nodes.max()}, but there are {count} nodes.")
        directions = self.directions.get()
        if directions.shape != (3, 3):
            raise self.fault(f"needs three directions, got {len(directions)}.")
        lengths = np.linalg.norm(directions, axis=1)
        used = self.useDirections.get()
        if not used.any():
            used[:] = True
        if (lengths[used] == 0.0).any():
            raise self.fault("has a direction of length zero.")
        directions /= np.where(lengths == 0.0, 1.0, lengths)[:, None]
        weights = self.weight.get()
        if len(weights) != 3:
            weights = np.full(3, weights[0] if len(weights) else 1.0)
            self.weight.set(weights)
        chosen = weights[used, None] * directions[used]  # (used, 3)
        self.row_directions = np.tile(chosen, (len(nodes), 1))
        self.row_nodes = np.repeat(nodes, int(used.sum()))
        self.row_numbers = np.arange(len(self.row_nodes))

    def _nodes(self) -> np.ndarray:
        return self.indices.get()

    def reinit(self) -> None:
        """Check again."""
        self.init()

    @property
    def row_count(self) -> int:
        """See LagrangianConstraint."""
        return len(self.row_nodes)

    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See LagrangianConstraint."""
        return self.row_numbers, self.row_nodes, self.row_directions

    def along(self, vectors: np.ndarray) -> np.ndarray:
        """Component of each row's vector along its direction, shape (row_count,)."""
        return np.einsum("ij,ij->i", self.row_directions, vectors)

    def free_motion(self) -> np.ndarray:
        """J (x_free - x) of each row."""
        state = self.state._data
        motion = state["free_position"].get() - state["position"].get()
        return self.along(motion[self.row_nodes])

    def positions(self) -> np.ndarray:
        """Position of each row's node at the start of the step, shape (row_count, 3)."""
        return self.state._data["position"].get()[self.row_nodes]
