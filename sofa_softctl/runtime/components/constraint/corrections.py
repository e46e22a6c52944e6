"""From multipliers to motion."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.constraint_problem import Rows
from sofa_softctl.runtime.data_types import Bool, Real, Reals
from sofa_softctl.runtime.link import LinkType
from sofa_softctl.runtime.roles import ConstraintCorrection
from sofa_softctl.runtime.system import MechanicalSystem


class LinearSolverConstraintCorrection(ConstraintCorrection):
    """W = k H A^-1 H^T with the matrix of the free motion."""

    wire_optimization = Bool(False, "Unused.")
    linearSolver = LinkType("Linear solver; that of the integrator by default.")
    ODESolver = LinkType("Unused: the integrator of the node or above.")
    regularizationTerm = Real(0.0, "Added to the diagonal of W.")

    def attach(self, system: MechanicalSystem) -> None:
        """See ConstraintCorrection."""
        self.system, self.states = system, system.states

    def delassus(self, rows: Rows, k: float) -> np.ndarray:
        """See ConstraintCorrection."""
        W = k * self.factor() * self.system.linear_solver.delassus(rows)
        term = self.regularizationTerm.get()
        if term:
            touched = np.unique(rows.row)
            W[touched, touched] += term
        return W

    def factor(self) -> float:
        """Factor of the compliance."""
        return 1.0

    def correction(self, rows: Rows, lam: np.ndarray) -> np.ndarray:
        """See ConstraintCorrection."""
        return self.factor() * self.system.linear_solver.correction(rows, lam)


class GenericConstraintCorrection(LinearSolverConstraintCorrection):
    """The same for all states below the integrator."""

    complianceFactor = Real(1.0, "Factor of the compliance.")

    def factor(self) -> float:
        """See LinearSolverConstraintCorrection."""
        return self.complianceFactor.get()


class UncoupledConstraintCorrection(ConstraintCorrection):
    """W = k c H H^T: every node of its state alone, with a compliance of its own."""

    compliance = Reals([], "Compliance of each node.", unit="length/force")
    defaultCompliance = Real(
        1e-5, "Compliance of all nodes when there is not one for each.", unit="length/force"
    )
    useOdeSolverIntegrationFactors = Bool(True, "Not supported: only True.")
    f_verbose = Bool(False, "Unused.")

    def attach(self, system: MechanicalSystem) -> None:
        """See ConstraintCorrection."""
        if not self.useOdeSolverIntegrationFactors.get():
            raise self.fault("does not support useOdeSolverIntegrationFactors=False.")
        assert self._context is not None
        own = [state for state in self._context.of("state") if id(state) in system.offset]
        self.system, self.states = system, own or system.states  # type: ignore[assignment]
        self._compliance = np.zeros(system.size)
        for state in self.states:
            start = system.offset[id(state)]
            self._compliance[start : start + state.count] = self._of_nodes(state.count)

    def _of_nodes(self, count: int) -> np.ndarray | float:
        given, default = self.compliance.get(), self.defaultCompliance
        if len(given) == count:
            return given
        return given[0] if len(given) and not default.isSet() else default.get()

    def delassus(self, rows: Rows, k: float) -> np.ndarray:
        """See ConstraintCorrection."""
        H = np.zeros((rows.count, self.system.size, 3))
        np.add.at(H, (rows.row, rows.node), rows.direction)
        scaled = (H * self._compliance[None, :, None]).reshape(rows.count, -1)
        return k * scaled @ H.reshape(rows.count, -1).T

    def correction(self, rows: Rows, lam: np.ndarray) -> np.ndarray:
        """See ConstraintCorrection."""
        return rows.transposed(lam, self.system.size) * self._compliance[:, None]
