"""Linear systems: where SOFA keeps the matrix of a linear solver, for scripts to look at.

Besides, orderings and projections, which our linear solvers have inside.
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
    """The matrix of a linear solver, as products; accepted, without effect."""

    category: ClassVar[str] = "linear system"

    matrixSize = Vector(2, [0, 0], "Unused.")


class RotationMatrixSystem(MatrixFreeSystem):
    """Where SOFA's WarpPreconditioner keeps rotations; accepted, without effect."""


class MatrixLinearSystem(MatrixFreeSystem):
    """The matrix of a linear solver: every solver assembles its own, and shows it here.

    It is that of the solver which links to it, itself or through a CompositeLinearSystem, or else
    of the nearest one. One that the solver does not use may leave out parts of the matrix.
    """

    assembleStiffness = Bool(True, "Assemble the stiffness.", follows="start")
    assembleMass = Bool(True, "Assemble the mass.", follows="start")
    assembleDamping = Bool(True, "Assemble the damping of force fields that damp.", follows="start")
    assembleGeometricStiffness = Bool(True, "Assemble that of mappings.", follows="start")
    applyProjectiveConstraints = Bool(True, "Rows of what is held are identity.", follows="start")
    applyMappedComponents = Bool(True, "Assemble what acts on mapped states.", follows="start")
    applyMappingComponents = Bool(True, "Unused.")
    checkIndices = Bool(False, "Unused.")
    parallelAssemblyIndependentMatrices = Bool(False, "Unused.")

    def bwdInit(self) -> None:
        """Warn, once all systems are there, of a solver's matrix that is not to be whole."""
        if self._missing() and not self._beside():
            complain(
                self,
                self.fault(
                    f"has {self._missing()[0]}=False; here a solver's matrix is always whole. "
                    "Leave it out, or list this system beside the solver's own in a "
                    "CompositeLinearSystem."
                ),
            )

    def A(self) -> Any:
        """The matrix of the last step, shape (3 n, 3 n); an array with template FullMatrix."""
        solver = self._solver()
        found = self._part(solver) if self._missing() else solver.A()
        return found.toarray() if self.template.get() == "FullMatrix" else found

    def b(self) -> np.ndarray:
        """Right-hand side of the last solve, shape (3 n,)."""
        return self._solver().b()

    def x(self) -> np.ndarray:
        """Solution of the last solve, shape (3 n,)."""
        return self._solver().x()

    get_system_matrix = A
    get_rhs_vector = b
    get_solution_vector = x

    def _missing(self) -> list[str]:
        return [name for name in _PARTS if not self._data[name].get()]

    def _composites(self) -> list[CompositeLinearSystem]:
        assert self._context is not None
        return [
            entry
            for node in self._context.getRoot().walk()
            for entry in node.of("linear system")
            if isinstance(entry, CompositeLinearSystem)
            and self in entry._links["linearSystems"].getLinkedBases()
        ]

    def _beside(self) -> bool:
        """Whether another system than this one is the solver's."""
        found = self._composites()
        return bool(found) and all(
            entry._links["solverLinearSystem"].getLinkedBase() not in (None, self)
            for entry in found
        )

    def _solver(self) -> LinearSolver:
        assert self._context is not None
        mine = [self, *self._composites()]
        for node in self._context.getRoot().walk():
            for solver in node.of("linear solver"):
                link = solver._links.get("linearSystem")
                if link is not None and any(link.getLinkedBase() is entry for entry in mine):
                    return solver  # type: ignore[return-value]
        found: Any = self._context.find_upward("linear solver")
        if found is None:
            raise self.fault("belongs to no linear solver: none links to it or stands above it.")
        return found  # type: ignore[no-any-return]

    def _part(self, solver: LinearSolver) -> sparse.csr_matrix:
        """What is to be assembled, with the factors of the solver's last matrix."""
        system: MechanicalSystem = copy.copy(solver.system)
        wanted = {name: self._data[name].get() for name in _PARTS}
        system.masses = system.masses if wanted["assembleMass"] else []
        system.force_fields = [
            field
            for field in system.force_fields
            if wanted[
                "assembleGeometricStiffness"
                if field in system.geometric
                else "assembleDamping"
                if field.damps
                else "assembleStiffness"
            ]
        ]
        if not wanted["applyMappedComponents"]:
            own = system.offset
            system.masses = [mass for mass in system.masses if id(mass.state) in own]
            system.force_fields = [field for field in system.force_fields if id(field.state) in own]
        if not wanted["applyProjectiveConstraints"]:
            system.identity = np.zeros_like(system.identity)
        matrix = SystemMatrix(system)
        found = matrix.pattern.to_csr(matrix.assemble(*solver.factors))
        found.eliminate_zeros()
        return sparse.csr_matrix(found)


class ConstantSparsityPatternSystem(MatrixLinearSystem):
    """MatrixLinearSystem; here the pattern is always constant."""


class AssemblingMatrixSystem(MatrixLinearSystem):
    """MatrixLinearSystem under its name of old."""


class CompositeLinearSystem(MatrixFreeSystem):
    """Several linear systems beside each other, of which one is the solver's."""

    linearSystems = LinkType("Systems that hold the matrix, or parts of it.", many=True)
    solverLinearSystem = LinkType("The one that is solved.")


class OrderingMethod(Component):
    """Order in which a direct solver takes the rows; ours chooses it itself, rounding apart."""


class AMDOrderingMethod(OrderingMethod):
    """Approximate minimum degree; accepted, without effect."""


class COLAMDOrderingMethod(OrderingMethod):
    """Approximate minimum degree of columns; accepted, without effect."""


class NaturalOrderingMethod(OrderingMethod):
    """Rows as they come; accepted, without effect."""


class ConstantSparsityProjectionMethod(Component):
    """How to carry mapped matrices to the independent states; accepted, without effect."""

    mechanicalStates = LinkType("Unused.", many=True)
    parallelProduct = Bool(True, "Unused.")


class MatrixProjectionMethod(Component):
    """How to carry mapped matrices to the independent states; accepted, without effect."""

    mechanicalStates = LinkType("Unused.", many=True)
