"""SparseLDLSolver: factors of the system matrix.

SOFA's other direct solvers solve the same linear system, so each is this sparse Cholesky
factorisation under another name: the solutions agree to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.behavior.constraint import ConstraintRows
from sofa_softctl.runtime.behavior.solvers import DirectLinearSolver, MechanicalSystem
from sofa_softctl.runtime.core.data.types import Bool, Int, Real, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.kernels.cholesky.cholesky import BlockCholesky, FactorSizeError
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix

NODES_LISTED_MAX = 8
"""Number of nodes that a message lists."""


class SparseLDLSolver(DirectLinearSolver):
    """Sparse factorisation of the system matrix.

    Cholesky, with a fill-reducing ordering and symbolic analysis that are computed once. SciPy
    factorises a matrix that is not positive definite as LU, which is slower.
    """

    linearSystem = LinkType("Unused: the matrix is the integrator's.")
    parallelInverseProduct = Bool(False, "Unused.")
    orderingMethod = LinkType("Unused: the ordering is chosen by the solver.")
    precomputeSymbolicDecomposition = Bool(True, "Unused: always precomputed.")
    L_nnz = Int(0, "Unused.")
    saveMatrixToFile = Bool(False, "Unused.")
    savingMatrixToFile = Bool(False, "Unused.")
    precision = Int(6, "Unused.")
    parallelODESolving = Bool(False, "Unused.")
    applyPermutation = Bool(True, "Unused: rows are always reordered.")
    permutation = Text("", "Unused: the ordering is chosen by the solver.")
    ordering = Text("", "Unused: the ordering is chosen by the solver.")
    verbose = Bool(False, "Unused.")
    problemSize = Int(0, "Unused.")
    tolerance = Real(0.0, "Unused.")

    @override
    def attach(self, system: MechanicalSystem) -> None:
        self.system = system
        self.matrix = SystemMatrix(system)
        self._identity = system.identity
        self._fixed: np.ndarray = np.all(system.identity, axis=1)
        self._factor = self._new_factor()
        self._lu: Any = None
        self._right_side: Callable[[], np.ndarray] = lambda: np.zeros((system.size, 3))
        self._x: np.ndarray = np.zeros((system.size, 3))

    @override
    def product(self, m: float, k: float, h: float, v: np.ndarray) -> np.ndarray:
        self.matrix.assemble(m, k, h)
        return (self.A() @ v.ravel()).reshape(v.shape)

    @override
    def set_matrix(self, m: float, k: float, h: float) -> None:
        self.factors = (m, k, h)
        if self.system.identity is not self._identity:
            self._identity = self.system.identity
            fixed: np.ndarray = np.all(self._identity, axis=1)
            if not np.array_equal(fixed, self._fixed):
                self._fixed = fixed
                self._factor = self._new_factor()
        values = self.matrix.assemble(m, k, h)
        self._lu = None
        if not self._factor.factorize(values):
            self._factorize_indefinite()

    @property
    @override
    def positive_definite(self) -> bool:
        return self._lu is None

    def _new_factor(self) -> BlockCholesky:
        try:
            return BlockCholesky(self.matrix.pattern, ~self._fixed, row_positions(self.system))
        except FactorSizeError as error:
            raise self.fault(
                f"cannot factorise {3 * self.system.size} degrees of freedom: {error} Use a "
                "coarser mesh, or a CGLinearSolver, which has no factor."
            ) from error

    def _factorize_indefinite(self) -> None:
        matrix = self.A()
        if not np.isfinite(matrix.data).all():
            return  # the loop reports the object that diverged
        try:
            self._lu = sparse_linalg.splu(matrix.tocsc())
        except RuntimeError as error:
            raise self.fault(
                f"cannot factorise the system matrix: it is singular. {self._explain(matrix)}"
            ) from error

    def _explain(self, matrix: Any) -> str:
        """Name a state, or nodes of it, with neither mass nor stiffness, and a remedy."""
        size = np.abs(matrix.diagonal()).reshape(-1, 3)
        is_empty = size.max(axis=1) <= np.finfo(float).eps * size.max()
        for state in self.system.states:
            start = self.system.offset[id(state)]
            rows = np.flatnonzero(is_empty[start : start + state.block_count])
            if len(rows) and len(rows) == state.block_count:
                return (
                    f"{state.describe()} has neither mass nor stiffness: map it to a body, with a "
                    "BarycentricMapping or RigidMapping in its node, or give it a mass."
                )
            free_count = np.count_nonzero(~self._fixed[start : start + state.block_count])
            if 0 < len(rows) < free_count:
                nodes = np.unique(3 * rows // state.deriv_size)
                listed = ", ".join(map(str, nodes[:NODES_LISTED_MAX]))
                ellipsis = ", ..." if len(nodes) > NODES_LISTED_MAX else ""
                return (
                    f"{len(nodes)} of the {state.count} nodes of {state.describe()} have neither "
                    f"mass nor stiffness: {listed}{ellipsis}. They are in no element: leave them "
                    "out of the mesh, hold them with a FixedProjectiveConstraint, or give them "
                    "a mass."
                )
        return (
            "Something can move freely without mass or stiffness: give every body a mass, or hold "
            "it."
        )

    @override
    def solve(self, b: np.ndarray) -> np.ndarray:
        self._right_side = lambda: b
        if self._lu is not None:
            self._x = self._lu.solve(b.ravel()).reshape(b.shape)
        else:
            self._x = self._factor.solve(b.ravel()).reshape(b.shape)
        return self._x

    @override
    def solve_columns(self, b: np.ndarray) -> np.ndarray:
        return self._lu.solve(b) if self._lu is not None else self._factor.solve(b)

    @override
    def delassus(self, rows: ConstraintRows) -> np.ndarray:
        if self._lu is not None:
            H = self._dense(rows)
            return H @ self._lu.solve(H.T)
        self._Y = self._factor.forward(rows.row, rows.node, rows.direction, rows.count)
        return self._factor.compliance(self._Y)

    @override
    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        self._right_side = lambda: rows.apply_transposed(lam, self.system.size)
        if self._lu is not None:
            self._x = self._lu.solve(self.b()).reshape(-1, 3)
        else:
            self._x = self._factor.correction(self._Y, lam).reshape(-1, 3)
        return self._x

    def _dense(self, rows: ConstraintRows) -> np.ndarray:
        H = np.zeros((rows.count, self.system.size, 3))
        np.add.at(H, (rows.row, rows.node), rows.direction)
        return H.reshape(rows.count, -1)

    def A(self) -> sparse.csr_matrix:
        """Return the matrix of the last step, shape (3 n, 3 n); fixed rows are identity."""
        return sparse.csr_matrix(self.matrix.pattern.to_csr(self.matrix.values))

    def b(self) -> np.ndarray:
        """Return the last right-hand side: H^T lambda after a step with constraints."""
        return self._right_side().ravel()

    def x(self) -> np.ndarray:
        """Return the solution of the last solve."""
        return self._x.ravel()


def row_positions(system: MechanicalSystem) -> np.ndarray:
    """Return the position of the node of each row of three scalars, shape (n, 3); 0 for joints."""
    positions = np.zeros((system.size, 3))
    for state in system.states:
        if (rows := state.deriv_size // 3) > 0:
            start = system.offset[id(state)]
            x = state.position.get()[:, :3]
            positions[start : start + state.block_count] = np.repeat(x, rows, axis=0)
    return positions


class AsyncSparseLDLSolver(SparseLDLSolver):
    """SparseLDLSolver; here it is synchronous, so its factors belong to the present step.

    SOFA's solver uses the last factors that are ready, as a preconditioner for PCGLinearSolver.
    """

    enableAssembly = Bool(True, "Unused.")


class SparseCholeskySolver(SparseLDLSolver):
    """A direct solver for symmetric matrices; SparseLDLSolver under another name."""


class SparseLUSolver(SparseLDLSolver):
    """A direct solver; SparseLDLSolver under another name, so the lower triangle counts."""


class EigenSimplicialLDLT(SparseLDLSolver):
    """A direct solver for symmetric matrices; SparseLDLSolver under another name."""


class EigenSimplicialLLT(SparseLDLSolver):
    """A direct solver for symmetric matrices; SparseLDLSolver under another name."""


class EigenSparseLU(SparseLDLSolver):
    """A direct solver; SparseLDLSolver under another name, so the lower triangle counts."""


class EigenSparseQR(SparseLDLSolver):
    """A direct solver; SparseLDLSolver under another name, so the lower triangle counts."""


class CholeskySolver(SparseLDLSolver):
    """A dense direct solver; SparseLDLSolver under another name."""


class BTDLinearSolver(SparseLDLSolver):
    """A direct solver for chains; SparseLDLSolver under another name.

    SOFA's solver ignores blocks that are not next to the diagonal; this one solves the whole
    matrix, with a warning.
    """

    showProblem = Bool(False, "Unused.")
    subpartSolve = Bool(False, "Unused.")
    verification = Bool(False, "Unused.")

    def init(self) -> None:
        """Warn that SOFA solves another system."""
        super().init()
        message.warning(
            self,
            f"{describe(self._where)}: {self.describe()} solves the whole matrix here. SOFA's "
            "leaves out what couples blocks of six rows that are no neighbours; of chains, as of "
            "beams in their order, both are the same.",
        )


class SVDLinearSolver(SparseLDLSolver):
    """A dense direct solver; SparseLDLSolver under another name.

    SOFA's solver ignores directions with a singular value below minSingularValue; here a singular
    matrix is an error.
    """

    minSingularValue = Real(1e-6, "Unused: a singular matrix is an error.")
    conditionNumber = Real(0.0, "Unused.")


class PrecomputedLinearSolver(SparseLDLSolver):
    """SparseLDLSolver that keeps the factors of its first matrix: for small motions.

    SOFA's solver keeps the inverse, and reads it from a file if there is one.
    """

    jmjt_twostep = Bool(True, "Unused.")
    use_file = Bool(True, "Unused: no file is read or written.")
    init_Tolerance = Real(1e-20, "Unused.")
    init_MaxIter = Int(5000, "Unused.")

    @override
    def attach(self, system: MechanicalSystem) -> None:
        super().attach(system)
        self._has_factors = False

    def set_matrix(self, m: float, k: float, h: float) -> None:
        """Factorise the first matrix; keep its factors for later ones."""
        if not self._has_factors:
            super().set_matrix(m, k, h)
            self._has_factors = True
