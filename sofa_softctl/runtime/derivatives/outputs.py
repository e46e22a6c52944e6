"""Measured outputs of a robot: points on it, lengths of cables, volumes of cavities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.roles import Cable, Cavity
from sofa_softctl.runtime.derivatives.drives import StepConstraints
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep


class StepOutputs:
    """Outputs y(x): x, y and z of each point, then lengths and volumes.

    Args:
        step: Step of the robot.
        points: Weights of the nodes in each point, sparse, shape (p, n).
        measured: Cables whose length, and cavities whose volume is measured.
    """

    def __init__(
        self,
        step: ImplicitStep,
        points: sparse.csr_array,
        measured: Sequence[Cable | Cavity] = (),
    ) -> None:
        self.points, self.points_t = points, points.T.tocsr()
        self.measured = StepConstraints(step.system, measured)
        # Sign: a displacement shortens a cable, and enlarges a cavity.
        self.signs = np.array([-1.0 if isinstance(c, Cable) else 1.0 for c in measured])
        """Change of each length or volume per displacement [-], shape (k,)."""

    @property
    def count(self) -> int:
        """Number of outputs."""
        return 3 * self.points.shape[0] + len(self.measured)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs at x, and set x for derivatives, shape (n_y,)."""
        self.measured.measure(x)
        return np.concatenate([(self.points @ x).ravel(), self.measured.sizes])

    def forward(self, dx: np.ndarray) -> np.ndarray:
        """Return the change of outputs for changes dx of positions (p, n, 3), shape (n_y, p)."""
        dy = np.empty((self.count, len(dx)))
        for k, direction in enumerate(dx):
            sizes = self.signs * self.measured.displacement_change(direction)
            dy[:, k] = np.concatenate([(self.points @ direction).ravel(), sizes])
        return dy

    def backward(self, by_outputs: np.ndarray) -> np.ndarray:
        """Return derivatives by positions from derivatives by outputs (n_y,), shape (n, 3)."""
        end = 3 * self.points.shape[0]
        by_x: np.ndarray = self.points_t @ by_outputs[:end].reshape(-1, 3)
        if len(self.measured):
            by_x += self.measured.displacement_change_transposed(self.signs * by_outputs[end:])
        return by_x
