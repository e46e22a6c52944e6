"""Preconditioners: linear solvers that are meant for a PCGLinearSolver."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import ConstraintRows
from sofa_softctl.runtime.behavior.solvers import LinearSolver, MechanicalSystem
from sofa_softctl.runtime.core.data.types import Bool, Real, UInt
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix


class Preconditioner(LinearSolver):
    """An approximate inverse P^-1 of the system matrix, with fixed rows as identity."""

    verbose = Bool(False, "Unused.")
    parallelInverseProduct = Bool(False, "Unused.")
    linearSystem = LinkType("Unused: the matrix is the integrator's.")

    @override
    def attach(self, system: MechanicalSystem) -> None:
        self.system = system
        self.matrix = SystemMatrix(system)
        self._b: np.ndarray = np.zeros((system.size, 3))
        self._x: np.ndarray = np.zeros((system.size, 3))

    @override
    def set_matrix(self, m: float, k: float, h: float) -> None:
        self.matrix.assemble(m, k, h)
        self.prepare(self.A())

    def prepare(self, matrix: sparse.csr_matrix) -> None:
        """Prepare P for a new matrix."""
        raise NotImplementedError

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return P^-1 b."""
        self._b = b
        self._x = self.apply(b.ravel()).reshape(b.shape)
        return self._x

    def apply(self, b: np.ndarray) -> np.ndarray:
        """Return P^-1 b, shape (3 n,)."""
        raise NotImplementedError

    def delassus(self, rows: ConstraintRows) -> np.ndarray:
        """Reject constraint rows.

        Raises:
            SceneError: always, since it solves no system.
        """
        raise self.fault(
            "only preconditions a PCGLinearSolver and solves nothing itself: name it in that "
            "solver's 'preconditioner', and add the PCGLinearSolver first."
        )

    def A(self) -> sparse.csr_matrix:
        """Return the last matrix, shape (3 n, 3 n)."""
        return sparse.csr_matrix(self.matrix.pattern.to_csr(self.matrix.values))

    def b(self) -> np.ndarray:
        """Return the right-hand side of the last solve."""
        return self._b.ravel()

    def x(self) -> np.ndarray:
        """Return the solution of the last solve."""
        return self._x.ravel()


class JacobiPreconditioner(Preconditioner):
    """The diagonal of the matrix."""

    aliases = ("JacobiLinearSolver", "JacobiSolver")

    @override
    def prepare(self, matrix: sparse.csr_matrix) -> None:
        self._diagonal = matrix.diagonal()

    @override
    def apply(self, b: np.ndarray) -> np.ndarray:
        return b / self._diagonal


class BlockJacobiPreconditioner(Preconditioner):
    """The 3x3 blocks on the diagonal of the matrix."""

    @override
    def prepare(self, matrix: sparse.csr_matrix) -> None:
        first = np.arange(0, matrix.shape[0], 3)[:, None]
        rows, columns = first + np.repeat(range(3), 3), first + np.tile(range(3), 3)
        blocks = np.asarray(matrix[rows.ravel(), columns.ravel()])
        self._inverse = np.linalg.inv(blocks.reshape(-1, 3, 3))

    @override
    def apply(self, b: np.ndarray) -> np.ndarray:
        return np.einsum("nij,nj->ni", self._inverse, b.reshape(-1, 3)).ravel()


class SSORPreconditioner(Preconditioner):
    """Symmetric successive over-relaxation.

    P = (D/w + L) (D/w)^-1 (D/w + L)^T / (2 - w), for the matrix L + D + L^T.
    """

    aliases = ("SSORLinearSolver", "SSORSolver")

    omega = Real(1.0, "w, above 0 and below 2.")

    @override
    def prepare(self, matrix: sparse.csr_matrix) -> None:
        w = self.omega.get()
        if not 0.0 < w < 2.0:
            problem = self.fault(f"takes an 'omega' above 0 and below 2, got {w:g}.")
            complain(self, problem, " Nothing is solved with it, as in SOFA.")
        self._scaled = matrix.diagonal() / (w or 1.0)
        lower = sparse.tril(matrix, -1) + sparse.diags_array(self._scaled)
        self._lower, self._upper = sparse.csr_array(lower), sparse.csr_array(lower.T)

    @override
    def apply(self, b: np.ndarray) -> np.ndarray:
        u = sparse_linalg.spsolve_triangular(self._upper, b, lower=False)
        z = sparse_linalg.spsolve_triangular(self._lower, self._scaled * u, lower=True)
        return (2.0 - self.omega.get()) * z if self.omega.get() else 0.0 * z


class WarpPreconditioner(Preconditioner):
    """Another solver's factors, which SOFA rotates with the elements and updates rarely.

    Here that solver, `linearSolver`, gets a new matrix each time, so nothing has to be rotated: the
    solution is at least as good.
    """

    linearSolver = LinkType("Linear solver whose factors are used; the node's by default.")
    solverName = LinkType("Older name of `linearSolver`.")
    useRotationFinder = UInt(0, "Unused.")
    update_step = UInt(1, "Unused: the matrix is always of the present step.")

    def attach(self, system: MechanicalSystem) -> None:
        """Attach the other solver to a system.

        Raises:
            SceneError: there is no other solver.
        """
        self.system = system
        self._inner: Any = self._find_solver()
        self._inner.attach(system)

    def _find_solver(self) -> Any:
        for name in ("linearSolver", "solverName"):
            solver: Any = self._links[name].getLinkedBase()
            if isinstance(solver, LinearSolver) and solver is not self:
                return solver
        solvers = self._context.of("linear solver") if self._context is not None else []
        direct = [candidate for candidate in solvers if hasattr(candidate, "solve_columns")]
        if not direct:
            raise self.fault(
                "takes a direct linear solver as 'linearSolver': add an "
                "AsyncSparseLDLSolver beside it and name it there."
            )
        return direct[0]

    @override
    def set_matrix(self, m: float, k: float, h: float) -> None:
        self._inner.set_matrix(m, k, h)

    @override
    def solve(self, b: np.ndarray) -> np.ndarray:
        return self._inner.solve(b)

    @override
    def A(self) -> sparse.csr_matrix:
        return self._inner.A()

    @override
    def b(self) -> np.ndarray:
        return self._inner.b()

    @override
    def x(self) -> np.ndarray:
        return self._inner.x()
