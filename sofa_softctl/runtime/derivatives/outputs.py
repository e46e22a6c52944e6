"""Measured outputs of a robot: points on it, lengths of cables, volumes of cavities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.roles import Cable, Cavity
from sofa_softctl.runtime.derivatives.drives import Drives
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep


class StepOutputs:
    """y(x): first the points, each with its three coordinates, then lengths and volumes.

    Args:
        step: The robot.
        points: Weights of its nodes in each point, sparse, shape (p, n).
        measured: Cables whose length, and cavities whose volume is measured.
    """

    def __init__(
        self,
        step: ImplicitStep,
        points: sparse.csr_array,
        measured: Sequence[Cable | Cavity] = (),
    ) -> None:
        self.points, self.points_t = points, points.T.tocsr()
        self.measured = Drives(step.system, measured)
        self.signs = np.array([-1.0 if isinstance(one, Cable) else 1.0 for one in measured])
        """Of displacements: cables get shorter, cavities larger; shape (k,)."""

    @property
    def count(self) -> int:
        """Number of outputs."""
        return 3 * self.points.shape[0] + len(self.measured)

    def at(self, x: np.ndarray) -> np.ndarray:
        """Outputs at x, whose derivatives are then those here, shape (n_y,)."""
        self.measured.measure(x)
        return np.concatenate([(self.points @ x).ravel(), self.measured.sizes])

    def forward(self, dx: np.ndarray) -> np.ndarray:
        """How they change when positions do, by dx of shape (p, n, 3); shape (n_y, p)."""
        found = np.empty((self.count, len(dx)))
        for k, one in enumerate(dx):
            sizes = self.signs * self.measured.displaced(one)
            found[:, k] = np.concatenate([(self.points @ one).ravel(), sizes])
        return found

    def backward(self, by_outputs: np.ndarray) -> np.ndarray:
        """Derivatives by positions from those by outputs (n_y,), shape (n, 3)."""
        end = 3 * self.points.shape[0]
        found: np.ndarray = self.points_t @ by_outputs[:end].reshape(-1, 3)
        if len(self.measured):
            found += self.measured.displaced_transposed(self.signs * by_outputs[end:])
        return found
