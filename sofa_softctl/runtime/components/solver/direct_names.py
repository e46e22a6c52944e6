"""SOFA's other direct linear solvers.

They solve the same linear system, so each is the sparse Cholesky factorisation of SparseLDLSolver
under its own name: the solutions agree to rounding.
"""

from __future__ import annotations

from sofa_softctl.runtime.components.solver.direct import SparseLDLSolver
from sofa_softctl.runtime.core.data.types import Bool, Int, Real


class AsyncSparseLDLSolver(SparseLDLSolver):
    """SparseLDLSolver; here it does not run beside the step, so it is never a step late.

    SOFA's uses the factors of an earlier step, whichever is ready: it is meant for a
    PCGLinearSolver.
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

    SOFA's knows blocks beside the diagonal only and leaves the others out; this one solves the
    whole matrix.
    """

    showProblem = Bool(False, "Unused.")
    subpartSolve = Bool(False, "Unused.")
    verification = Bool(False, "Unused.")


class SVDLinearSolver(SparseLDLSolver):
    """A dense direct solver; SparseLDLSolver under another name.

    SOFA's leaves out directions whose singular value is below minSingularValue; here a singular
    matrix is an error.
    """

    minSingularValue = Real(1e-6, "Unused: a singular matrix is an error.")
    conditionNumber = Real(0.0, "Unused.")


class PrecomputedLinearSolver(SparseLDLSolver):
    """SparseLDLSolver under another name; it does not keep the first step's inverse."""

    jmjt_twostep = Bool(True, "Unused.")
    use_file = Bool(True, "Unused.")
    init_Tolerance = Real(1e-20, "Unused.")
    init_MaxIter = Int(5000, "Unused.")
