"""Orderings and linear systems, which our linear solvers have inside."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Vector
from sofa_softctl.runtime.core.link import LinkType

_PARTS = (
    "assembleStiffness",
    "assembleMass",
    "assembleDamping",
    "assembleGeometricStiffness",
    "applyProjectiveConstraints",
    "applyMappedComponents",
)


class OrderingMethod(Component):
    """Order in which a direct solver takes the rows; ours chooses it itself, rounding apart."""


class AMDOrderingMethod(OrderingMethod):
    """Approximate minimum degree; accepted, without effect."""


class COLAMDOrderingMethod(OrderingMethod):
    """Approximate minimum degree of columns; accepted, without effect."""


class NaturalOrderingMethod(OrderingMethod):
    """Rows as they come; accepted, without effect."""


class MatrixFreeSystem(Component):
    """The matrix of a linear solver, as products; accepted, without effect."""

    category: ClassVar[str] = "linear system"

    matrixSize = Vector(2, [0, 0], "Unused.")


class RotationMatrixSystem(MatrixFreeSystem):
    """Where SOFA's WarpPreconditioner keeps rotations; accepted, without effect."""


class MatrixLinearSystem(MatrixFreeSystem):
    """The matrix of a linear solver: every solver assembles its own, as if it were here."""

    assembleStiffness = Bool(True, "Not supported: only True.")
    assembleMass = Bool(True, "Not supported: only True.")
    assembleDamping = Bool(True, "Not supported: only True.")
    assembleGeometricStiffness = Bool(True, "Not supported: only True.")
    applyProjectiveConstraints = Bool(True, "Not supported: only True.")
    applyMappedComponents = Bool(True, "Not supported: only True.")
    applyMappingComponents = Bool(True, "Unused.")
    checkIndices = Bool(False, "Unused.")
    parallelAssemblyIndependentMatrices = Bool(False, "Unused.")

    def init(self) -> None:
        """Check that the whole matrix is wanted.

        Raises:
            SceneError: A part of it shall be left out.
        """
        for name in _PARTS:
            if not self._data[name].get():
                raise self.fault(
                    f"has {name}=False; here the matrix is always whole. Leave it out."
                )


class ConstantSparsityPatternSystem(MatrixLinearSystem):
    """MatrixLinearSystem; here the pattern is always constant."""


class AssemblingMatrixSystem(MatrixLinearSystem):
    """MatrixLinearSystem under its name of old."""


class ConstantSparsityProjectionMethod(Component):
    """How to carry mapped matrices to the independent states; accepted, without effect."""

    mechanicalStates = LinkType("Unused.", many=True)
    parallelProduct = Bool(True, "Unused.")


class MatrixProjectionMethod(Component):
    """How to carry mapped matrices to the independent states; accepted, without effect."""

    mechanicalStates = LinkType("Unused.", many=True)


class CompositeLinearSystem(MatrixFreeSystem):
    """Several linear systems beside each other; the solver assembles its own matrix once."""

    linearSystems = LinkType("Unused: the matrix is that of the integrator's system.", many=True)
    solverLinearSystem = LinkType("Unused: the matrix is that of the integrator's system.")
