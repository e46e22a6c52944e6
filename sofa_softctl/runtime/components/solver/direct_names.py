"""SOFA's other direct linear solvers.

They solve the same linear system, so each is the sparse Cholesky factorisation of SparseLDLSolver
under its own name: the solutions agree to rounding.
"""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.components.solver.direct import SparseLDLSolver
from sofa_softctl.runtime.core.data.types import Bool, Int, Real
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import describe


class DifferentInSofa(SparseLDLSolver):
    """A solver that is another one in SOFA; it says so when the scene is loaded."""

    differs: ClassVar[str]
    """What it does, and what SOFA's does."""

    def init(self) -> None:
        """Say it."""
        super().init()
        message.warning(self, f"{describe(self._where)}: {self.describe()} {self.differs}")


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


class BTDLinearSolver(DifferentInSofa):
    """A direct solver for chains; SparseLDLSolver under another name.

    SOFA's knows blocks beside the diagonal only and leaves the others out; this one solves the
    whole matrix, and says so.
    """

    differs = (
        "solves the whole matrix here. SOFA's leaves out what couples blocks of six rows that are "
        "no neighbours; of chains, as of beams in their order, both are the same."
    )

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


class PrecomputedLinearSolver(DifferentInSofa):
    """SparseLDLSolver under another name; it keeps no inverse of the first step, and says so."""

    differs = (
        "solves with the matrix of each step here. SOFA's keeps the inverse of the first step's, "
        "and reads it from a file where there is one."
    )

    jmjt_twostep = Bool(True, "Unused.")
    use_file = Bool(True, "Unused.")
    init_Tolerance = Real(1e-20, "Unused.")
    init_MaxIter = Int(5000, "Unused.")
