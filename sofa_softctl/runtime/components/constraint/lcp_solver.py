"""LCPConstraintSolver: contacts with one coefficient of friction."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.constraint import ConstraintSystem
from sofa_softctl.runtime.components.constraint.contact import UnilateralLagrangianConstraint
from sofa_softctl.runtime.components.constraint.generic_solver import GenericConstraintSolver
from sofa_softctl.runtime.core.data.types import Bool, Int, Real, Text
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import COULOMB


class LCPConstraintSolver(GenericConstraintSolver):
    """Projected Gauss-Seidel for contacts only, all with the friction `mu` of the solver.

    Its solution equals SOFA's up to the tolerance. SOFA treats every row as a contact; here other
    constraints, such as cables, are an error.
    """

    aliases = ()

    tolerance = Real(0.001, "Sum of |W_jj change of lambda_j| at which to stop.", unit="length")
    mu = Real(0.6, "Coefficient of friction of all contacts.")
    scaleTolerance = Bool(False, "Multiply the tolerance by the number of rows.")
    displayDebug = Bool(False, "Unused.")
    displayTime = Bool(False, "Unused.")
    initial_guess = Bool(True, "Unused: it starts from zero.")
    build_lcp = Bool(True, "Unused: W is always built.")
    minW = Real(0.0, "Not supported: only 0.", unit="length/force", follows="start")
    maxF = Real(0.0, "Not supported: only 0.", unit="force", follows="start")
    multi_grid = Bool(False, "Unused.")
    multi_grid_levels = Int(2, "Unused.")
    merge_method = Int(0, "Unused.")
    merge_spatial_step = Int(2, "Unused.")
    merge_local_levels = Int(2, "Unused.")
    group = Text("", "Unused.")
    graph = Text("", "Unused.", linkable=False)
    showLevels = Int(0, "Unused.")
    showCellWidth = Real(0.0, "Unused.")
    showTranslation = Text("", "Unused.")
    showLevelTranslation = Text("", "Unused.")

    def init(self) -> None:
        """Check that minW and maxF are unset.

        Raises:
            SceneError: minW or maxF is set.
        """
        for name in ("minW", "maxF"):
            if self._data[name].get():
                raise self.fault(f"does not support '{name}': leave it out.")

    def attach(self, problem: ConstraintSystem) -> None:
        """Check that all constraints are contacts.

        Raises:
            SceneError: there is another constraint.
        """
        super().attach(problem)
        for constraint in problem.constraints:
            if not isinstance(constraint, UnilateralLagrangianConstraint):
                raise constraint.fault(
                    f"is no contact, but {self.describe()} takes every constraint for one, in SOFA "
                    "too: use a GenericConstraintSolver."
                )

    def adjust(self, parameters: np.ndarray) -> None:
        """Replace the friction of contacts by the solver's."""
        parameters[parameters[:, 0] == COULOMB, 1] = self.mu.get()
