"""Linear systems, which hold the matrix of a linear solver in SOFA, for scripts.

Also orderings and projections, which our linear solvers include.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.solvers import LinearSolver, MechanicalSystem
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Vector
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix

_PARTS = (
    "assembleStiffness",
    "assembleMass",
    "assembleDamping",
    "assembleGeometricStiffness",
    "applyProjectiveConstraints",
    "applyMappedComponents",
)


class MatrixFreeSystem(Component):
    """The matrix of a linear solver as products; accepted, without effect."""

    category: ClassVar[str] = "linear system"

    matrixSize = Vector(2, [0, 0], "Unused.")


class RotationMatrixSystem(MatrixFreeSystem):
    """Rotations of SOFA's WarpPreconditioner; accepted, without effect."""


class MatrixLinearSystem(MatrixFreeSystem):
    """The matrix of a linear solver, which assembles it and shows it here.

    The solver is one that links to it, directly or through a CompositeLinearSystem, by default the
    nearest one. A system that the solver does not use may leave out parts of the matrix.
    """

    assembleStiffness = Bool(True, "Assemble the stiffness.", follows="start")
    assembleMass = Bool(True, "Assemble the mass.", follows="start")
    assembleDamping = Bool(True, "Assemble the damping of force fields.", follows="start")
    assembleGeometricStiffness = Bool(True, "Assemble the mappings' stiffness.", follows="start")
    applyProjectiveConstraints = Bool(True, "Rows of fixed nodes are identity.", follows="start")
    applyMappedComponents = Bool(True, "Assemble components on mapped states.", follows="start")
    applyMappingComponents = Bool(True, "Unused.")
    checkIndices = Bool(False, "Unused.")
    parallelAssemblyIndependentMatrices = Bool(False, "Unused.")

    def bwdInit(self) -> None:
        """Warn, once all systems exist, of parts that a solver's matrix should omit."""
        if self._omissions() and not self._is_auxiliary():
            complain(
                self,
                self.fault(
                    f"has {self._omissions()[0]}=False; here a solver's matrix is always whole. "
                    "Leave it out, or list this system beside the solver's own in a "
                    "CompositeLinearSystem."
                ),
            )

    def A(self) -> Any:
        """Return the last step's matrix, shape (3 n, 3 n), dense with template FullMatrix."""
        solver = self._solver()
        matrix = self._assemble_parts(solver) if self._omissions() else solver.A()
        return matrix.toarray() if self.template.get() == "FullMatrix" else matrix

    def b(self) -> np.ndarray:
        """Return the right-hand side of the last solve, shape (3 n,)."""
        return self._solver().b()

    def x(self) -> np.ndarray:
        """Return the solution of the last solve, shape (3 n,)."""
        return self._solver().x()

    get_system_matrix = A
    get_rhs_vector = b
    get_solution_vector = x

    def _omissions(self) -> list[str]:
        return [name for name in _PARTS if not self._data[name].get()]

    def _composites(self) -> list[CompositeLinearSystem]:
        assert self._context is not None
        return [
            component
            for node in self._context.getRoot().walk()
            for component in node.of("linear system")
            if isinstance(component, CompositeLinearSystem)
            and self in component._links["linearSystems"].getLinkedBases()
        ]

    def _is_auxiliary(self) -> bool:
        """Return True if the solver uses another system than this one."""
        composites = self._composites()
        return bool(composites) and all(
            composite._links["solverLinearSystem"].getLinkedBase() not in (None, self)
            for composite in composites
        )

    def _solver(self) -> LinearSolver:
        assert self._context is not None
        systems = [self, *self._composites()]
        for node in self._context.getRoot().walk():
            for solver in node.of("linear solver"):
                link = solver._links.get("linearSystem")
                if link is not None and any(link.getLinkedBase() is system for system in systems):
                    return solver  # type: ignore[return-value]
        nearest: Any = self._context.find_upward("linear solver")
        if nearest is None:
            raise self.fault("belongs to no linear solver: none links to it or stands above it.")
        return nearest

    def _assemble_parts(self, solver: LinearSolver) -> sparse.csr_matrix:
        """Assemble the enabled parts with the factors of the solver's last matrix."""
        system: MechanicalSystem = copy.copy(solver.system)
        enabled = {name: self._data[name].get() for name in _PARTS}
        system.masses = system.masses if enabled["assembleMass"] else []
        system.force_fields = [
            field
            for field in system.force_fields
            if enabled[
                "assembleGeometricStiffness"
                if field in system.geometric
                else "assembleDamping"
                if field.damps
                else "assembleStiffness"
            ]
        ]
        if not enabled["applyMappedComponents"]:
            ids = system.offset  # of the independent states
            system.masses = [mass for mass in system.masses if id(mass.state) in ids]
            system.force_fields = [field for field in system.force_fields if id(field.state) in ids]
        if not enabled["applyProjectiveConstraints"]:
            system.identity = np.zeros_like(system.identity)
        matrix = SystemMatrix(system)
        A = matrix.pattern.to_csr(matrix.assemble(*solver.factors))
        A.eliminate_zeros()
        return sparse.csr_matrix(A)


class ConstantSparsityPatternSystem(MatrixLinearSystem):
    """MatrixLinearSystem; here the pattern is always constant."""


class AssemblingMatrixSystem(MatrixLinearSystem):
    """Old name of MatrixLinearSystem."""


class CompositeLinearSystem(MatrixFreeSystem):
    """Several linear systems, of which the solver uses one."""

    linearSystems = LinkType("Systems that hold the matrix, or parts of it.", many=True)
    solverLinearSystem = LinkType("System that is solved.")


class OrderingMethod(Component):
    """Order of a direct solver's rows, without effect except on rounding."""


class AMDOrderingMethod(OrderingMethod):
    """Approximate minimum degree; accepted, without effect."""


class COLAMDOrderingMethod(OrderingMethod):
    """Approximate minimum degree of columns; accepted, without effect."""


class NaturalOrderingMethod(OrderingMethod):
    """Rows in their given order; accepted, without effect."""


class ConstantSparsityProjectionMethod(Component):
    """Projection of mapped matrices to the independent states; accepted, without effect."""

    mechanicalStates = LinkType("Unused.", many=True)
    parallelProduct = Bool(True, "Unused.")


class MatrixProjectionMethod(Component):
    """Projection of mapped matrices to the independent states; accepted, without effect."""

    mechanicalStates = LinkType("Unused.", many=True)
