"""A QP solver whose errors name the problem."""

from __future__ import annotations

from scipy.sparse import csc_array

from sofa_softctl.qp.problem import QP, QPResult, QPSolver, SparseQP, SparseQPSolver


class NamedSolver:
    """A solver whose exceptions become an AssertionError that names the problem."""

    def __init__(self, solve: QPSolver) -> None:
        self.solve = solve
        self.problem = ""
        """Name of the current problem."""

    def __call__(self, qp: QP, warm: QPResult | None) -> QPResult:
        """Solve a QP, as a `qp.problem.QPSolver`."""
        try:
            result = self.solve(qp, warm)
        except Exception as error:
            raise AssertionError(
                f"{self.problem}: expected a QPResult, but the solver raised "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(result, QPResult):
            raise AssertionError(f"{self.problem}: expected a QPResult, got {result!r}.")
        return result


def of_sparse(solve: SparseQPSolver) -> QPSolver:
    """Return a solver of dense problems that calls a solver of sparse ones."""

    def solve_dense(qp: QP, warm: QPResult | None) -> QPResult:
        sparse = SparseQP(csc_array(qp.H), qp.g, csc_array(qp.A), qp.lower, qp.upper)
        return solve(sparse, warm)

    return solve_dense
