"""CGLinearSolver, with SOFA's stopping rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import ConstraintRows
from sofa_softctl.runtime.behavior.solvers import LinearSolver, MechanicalSystem
from sofa_softctl.runtime.core.data.types import Bool, Int, Real, Text, UInt
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import timer
from sofa_softctl.runtime.helper.message import not_negative
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix


class CGLinearSolver(LinearSolver):
    """Conjugate gradients without a matrix.

    Stops after `iterations`, when |r| <= tolerance |b|, or when |p^T A p| <= threshold (except in
    the first iteration of the very first solve). Its defaults do not lead to convergence; a scene
    that uses them gets SOFA's result.
    """

    iterations = UInt(25, "Largest number of iterations.")
    tolerance = Real(1e-5, "Residual at which to stop, relative to the right-hand side.")
    threshold = Real(1e-5, "Smallest p^T A p, in the scene's units.")
    warmStart = Bool(False, "Start from the last solution.")
    verbose = Bool(False, "Unused.")
    graph = Text("", "Unused.", linkable=False)
    parallelInverseProduct = Bool(False, "Unused.")
    linearSystem = LinkType("Unused: the matrix is the integrator's.")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._is_first_solve = True
        self._x = np.zeros((0, 3))  # until a system is attached
        self.solve_count, self.load_sum, self.residual_sum = 0, 0.0, 0.0

    def init(self) -> None:
        """Replace negative tolerances, but as in SOFA not in derived solvers."""
        if self.getClassName() in ("CGLinearSolver", "ParallelCGLinearSolver"):
            not_negative(self, "tolerance", 1e-5)
            not_negative(self, "threshold", 1e-5)

    @override
    def attach(self, system: MechanicalSystem) -> None:
        self.system = system
        self.factors = (0.0, 0.0, 0.0)
        self._matrix: SystemMatrix | None = None
        self._is_first_solve = True
        self._b = np.zeros((system.size, 3))
        self._x = np.zeros((system.size, 3))

    @override
    def renew(self) -> None:
        self._matrix = None

    @override
    def set_matrix(self, m: float, k: float, h: float) -> None:
        self.factors = (m, k, h)

    def _product(self, v: np.ndarray) -> np.ndarray:
        out = np.zeros_like(v)
        self.system.add_product(out, v, *self.factors)
        self.system.project(out)
        return out

    @override
    def solve(self, b: np.ndarray) -> np.ndarray:
        self._b = b
        x = self._x.copy() if self.warmStart.get() else np.zeros_like(b)
        r = b - self._product(x) if self.warmStart.get() else b.copy()
        norm_b = float(np.sqrt(np.vdot(b, b)))
        if norm_b == 0.0:
            self._is_first_solve = False
            self._x = np.zeros_like(b)
            return self._x
        tolerance, threshold = self.tolerance.get(), self.threshold.get()
        p, rho_old, iteration = np.zeros_like(b), 0.0, 0
        for iteration in range(1, self.iterations.get() + 1):
            rho = float(np.vdot(r, r))
            if np.sqrt(rho) / norm_b <= tolerance:
                break
            p = r.copy() if iteration == 1 else r + (rho / rho_old) * p
            q = self._product(p)
            curvature = float(np.vdot(p, q))
            can_stop = iteration > 1 or not self._is_first_solve
            if curvature == 0.0 or (abs(curvature) <= threshold and can_stop):
                break
            x += (rho / curvature) * p
            r -= (rho / curvature) * q
            rho_old = rho
        self._is_first_solve = False
        self._x = x
        self._record_solve(b, float(np.sqrt(np.vdot(r, r))))
        timer.set_value("CG iterations", iteration)
        return x

    def _record_solve(self, b: np.ndarray, residual: float) -> None:
        """Add a solve to the sums for `scene.watch`."""
        self.solve_count += 1
        self.load_sum += float(np.sqrt(np.vdot(b, b)))
        self.residual_sum += residual

    def delassus(self, rows: ConstraintRows) -> np.ndarray:
        """Return H A^-1 H^T with one solve per row."""
        self._columns = np.zeros((rows.count, self.system.size, 3))
        unit = np.zeros(rows.count)
        for i in range(rows.count):
            unit[:] = 0.0
            unit[i] = 1.0
            self._columns[i] = self.solve(rows.apply_transposed(unit, self.system.size))
        W = np.zeros((rows.count, rows.count))
        terms = np.einsum("ikd,kd->ik", self._columns[:, rows.node], rows.direction)
        np.add.at(W.T, rows.row, terms.T)
        return W

    @override
    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        return self.solve(rows.apply_transposed(lam, self.system.size))

    def reset(self) -> None:
        """Forget the last solution."""
        self._is_first_solve = True
        self._x[:] = 0.0

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"first": self._is_first_solve, "x": self._x.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._is_first_solve, self._x = snapshot["first"], snapshot["x"].copy()

    def A(self) -> sparse.csr_matrix:
        """Assemble the matrix of the last step, shape (3 n, 3 n)."""
        if self._matrix is None:
            self._matrix = SystemMatrix(self.system)
        self._matrix.assemble(*self.factors)
        return sparse.csr_matrix(self._matrix.pattern.to_csr(self._matrix.values))

    def b(self) -> np.ndarray:
        """Return the right-hand side of the last solve."""
        return self._b.ravel()

    def x(self) -> np.ndarray:
        """Return the solution of the last solve."""
        return self._x.ravel()


class ParallelCGLinearSolver(CGLinearSolver):
    """CGLinearSolver; here it uses one processor."""

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")
