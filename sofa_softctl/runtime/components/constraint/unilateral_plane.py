"""UnilateralPlaneConstraint: a point stays on one side of a plane through three others."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.core.data.types import Bool, Integers
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import IMPOSE_DELTA, row_parameters


class UnilateralPlaneConstraint(LagrangianConstraint):
    """One row: the distance of a point from the plane of three others stays positive.

    With points p0 and p1, p2, p3 and n = (p2 - p1) x (p3 - p1), twice the triangle's area long:
    H = (n, -n/3, -n/3, -n/3), delta = H (x_free - x) + (p0 - p1) . n / |n|. As in SoftRobots, the
    first summand has n and the second n / |n|: the distance is held if |n| = 1, and approached in
    steps or overshot otherwise.

    Source: SoftRobots' UnilateralPlaneConstraint.
    """

    indices = Integers([0, 0, 0, 0], "The point, and the three of the plane.", of="node")
    flipNormal = Bool(False, "The point is on the side to which -n points.")
    row_count = 1

    def init(self) -> None:
        """Check the points.

        Raises:
            SceneError: a point does not exist.
        """
        indices = self.indices.get()
        if len(indices) != 4:
            problem = self.fault(f"takes four points in 'indices', got {len(indices)}.")
            complain(self, problem, " What is missing is 0, and the rest is left out, as in SOFA.")
            self.indices.set(np.append(indices, [0] * 4)[:4])
        self.check_indices(self._points())
        self._row = np.zeros(4, dtype=np.int64)
        self._directions = np.zeros((4, 3))

    def reinit(self) -> None:
        """Check the points again."""
        self.init()

    def _points(self) -> np.ndarray:
        points: np.ndarray = self.indices.get()
        if len(points) != 4:
            raise self.fault(f"takes four points in 'indices', got {len(points)}.")
        return points

    def _normal(self, x: np.ndarray) -> np.ndarray:
        _, p1, p2, p3 = x[self._points()]
        normal: np.ndarray = np.cross(p2 - p1, p3 - p1)
        if not normal.any():
            raise self.fault("has three points of the plane on a line: there is no plane.")
        return -normal if self.flipNormal.get() else normal

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        normal = self._normal(self.state.position.get())
        self._directions[0], self._directions[1:] = normal, -normal / 3.0
        return self._row, self.indices.get(), self._directions

    @override
    def violation(self) -> np.ndarray:
        state, points = self.state, self.indices.get()
        x = state.position.get()
        motion = state.free_position.get()[points] - x[points]
        normal = self._normal(x)
        gap = (x[points[0]] - x[points[1]]) @ normal / np.linalg.norm(normal)
        return np.array([np.vdot(self._directions, motion) + gap])

    @override
    def resolution(self) -> np.ndarray:
        return row_parameters(IMPOSE_DELTA, 0.0, 0.0, np.inf)[None, :]
