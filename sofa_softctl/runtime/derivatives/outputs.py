"""Measured outputs of a robot: points on it, and lengths of cables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.cable import Cable
from sofa_softctl.runtime.derivatives.cables import Lines
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep


class StepOutputs:
    """y(x): first the points, each with its three coordinates, then the cables' lengths.

    Args:
        step: The robot.
        points: Weights of its nodes in each point, sparse, shape (p, n).
        cables: Those whose length is measured.
    """

    def __init__(
        self,
        step: ImplicitStep,
        points: sparse.csr_array,
        cables: Sequence[Cable] = (),
    ) -> None:
        self.points, self.points_t = points, points.T.tocsr()
        self.lines = Lines(step.system, cables)

    @property
    def count(self) -> int:
        """Number of outputs."""
        return 3 * self.points.shape[0] + len(self.lines.cables)

    def at(self, x: np.ndarray) -> np.ndarray:
        """Outputs at x, whose derivatives are then those here, shape (n_y,)."""
        self.lines.measure(x)
        return np.concatenate([(self.points @ x).ravel(), self.lines.lengths])

    def forward(self, dx: np.ndarray) -> np.ndarray:
        """How they change when positions do, by dx of shape (p, n, 3); shape (n_y, p)."""
        found = np.empty((self.count, len(dx)))
        for k, one in enumerate(dx):
            found[:, k] = np.concatenate([(self.points @ one).ravel(), -self.lines.rows(one)])
        return found

    def backward(self, by_outputs: np.ndarray) -> np.ndarray:
        """Derivatives by positions from those by outputs (n_y,), shape (n, 3)."""
        end = 3 * self.points.shape[0]
        found: np.ndarray = self.points_t @ by_outputs[:end].reshape(-1, 3)
        if self.lines.cables:
            found -= self.lines.push(by_outputs[end:])
        return found
