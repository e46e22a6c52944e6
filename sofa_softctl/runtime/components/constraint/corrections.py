"""Constraint corrections: motion caused by multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.behavior.constraint import ConstraintRows
from sofa_softctl.runtime.behavior.solvers import ConstraintCorrection, MechanicalSystem
from sofa_softctl.runtime.components.mass.rigid_mass import RigidMass
from sofa_softctl.runtime.components.mass.uniform import UniformMass
from sofa_softctl.runtime.core.data.types import Bool, Real, Reals
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain


class LinearSolverConstraintCorrection(ConstraintCorrection):
    """W = k H A^-1 H^T with the matrix of the free motion."""

    wire_optimization = Bool(False, "Unused.")
    linearSolver = LinkType("Unused: the linear solver of the integrator.")
    linearSolvers = LinkType("Unused: the linear solver of the integrator.", many=True)
    solverName = LinkType("Older name of `linearSolver`.", many=True)
    constraintSolvers = LinkType("Unused: the constraint solver of the scene.", many=True)
    ODESolver = LinkType("Unused: the integrator of the node or above.")
    regularizationTerm = Real(0.0, "Added to the diagonal of W.")

    def attach(self, system: MechanicalSystem) -> None:
        """Attach to the system of an integrator with a matrix.

        Raises:
            SceneError: The integrator divides by masses, without a matrix.
        """
        if not system.solver.has_matrix:
            raise self.fault(
                f"needs a matrix, but {system.solver.describe()} has none: it divides forces by "
                "masses. Use an UncoupledConstraintCorrection with the compliance of the nodes."
            )
        self.system, self.states = system, system.states

    @override
    def delassus(self, rows: ConstraintRows, k: float) -> np.ndarray:
        W = k * self.factor() * self.system.linear_solver.delassus(rows)
        term = self.regularizationTerm.get()
        if term > 0.0:
            rows_used = np.unique(rows.row)
            W[rows_used, rows_used] += term
        return W

    def factor(self) -> float:
        """Return the factor of the compliance."""
        return 1.0

    @override
    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        return self.factor() * self.system.linear_solver.correction(rows, lam)


class GenericConstraintCorrection(LinearSolverConstraintCorrection):
    """W = k H A^-1 H^T for all states below the integrator."""

    complianceFactor = Real(1.0, "Factor of the compliance.")

    @override
    def factor(self) -> float:
        if not self.complianceFactor.get():
            complain(self, self.fault("has complianceFactor=0: its constraints do not hold."))
        return abs(self.complianceFactor.get())  # W and the motion have its sign: it cancels


class UncoupledConstraintCorrection(ConstraintCorrection):
    """W = k C H H^T, with a separate compliance C for each node of its state.

    A body's compliance has 7 numbers: one of the centre, then the upper triangle of the rotation's
    matrix. By default it is the inverse of the UniformMass in the node. As in SOFA, the mass is
    read at init: a mass that comes later counts as 1 with a unit matrix, whatever totalMass is.
    With only a defaultCompliance the rotation has the unit matrix.

    With useOdeSolverIntegrationFactors=False, C lambda times correctionPositionFactor is a
    displacement, and times correctionVelocityFactor / dt a velocity; a compliance from the mass is
    then dt^2 / mass.
    """

    compliance = Reals([], "Compliance of each node.", unit="length/force", follows="start")
    defaultCompliance = Real(
        1e-5, "Compliance of all nodes unless each has one.", unit="length/force", follows="start"
    )
    useOdeSolverIntegrationFactors = Bool(True, "k is the integrator's factor; else 1.")
    f_verbose = Bool(False, "Unused.")
    verbose = Bool(False, "Unused.")
    correctionVelocityFactor = Real(1.0, "Unused with useOdeSolverIntegrationFactors.")
    correctionPositionFactor = Real(1.0, "Unused with useOdeSolverIntegrationFactors.")
    topology = LinkType("Unused: the mesh does not change.")
    constraintSolvers = LinkType("Unused: the constraint solver of the scene.", many=True)

    def init(self) -> None:
        """Read the mass."""
        self._mass_at_init: str | None = None
        self._is_early = False
        assert self._context is not None
        for mass in self._context.of("mass"):
            if isinstance(mass, UniformMass):
                self._mass_at_init = str(mass.vertexMass.get())
                self._is_early = not mass._initialised

    @override
    def attach(self, system: MechanicalSystem) -> None:
        assert self._context is not None
        states = [state for state in self._context.of("state") if id(state) in system.offset]
        self.system, self.states = system, states or system.states  # type: ignore[assignment]
        self._compliance = np.zeros((system.size, 3, 3))
        for state in self.states:
            start = system.offset[id(state)]
            part = self._compliance[start : start + state.block_count]
            if state.kind.name == "Rigid3":
                part[::2], part[1::2] = self._body_compliance()
                continue
            scalars = np.repeat(self._node_compliances(state.count), state.deriv_size)
            rows, axes = np.divmod(np.arange(len(scalars)), 3)
            part[rows, axes, axes] = scalars

    def _node_compliances(self, count: int) -> np.ndarray:
        values, default = self.compliance.get(), self.defaultCompliance
        if len(values) == count:
            compliances = values
        else:
            common = values[0] if len(values) and not default.isSet() else default.get()
            compliances = np.full(count, common)
            if len(values) > 1:
                problem = f"has {len(values)} numbers in 'compliance' for {count} nodes: all get "
                complain(self, self.fault(f"{problem}{common:g}."))
        self._check_positive(compliances)
        return compliances

    def _check_positive(self, compliances: np.ndarray) -> None:
        if (compliances <= 0.0).any():
            problem = f"needs positive compliances, got {compliances.min():g}: constraints do not "
            complain(self, self.fault(f"{problem}hold what has it."))

    def _body_compliance(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the compliance of the centre and of the rotation of each body, shapes (3, 3)."""
        values = self.compliance.get()
        if len(values) != 7:
            if len(values):
                problem = self.fault(
                    f"has {len(values)} numbers in 'compliance', which do not count for bodies: "
                    "these take 7, that of the centre, then xx, xy, xz, yy, yz, zz of the "
                    "rotation. As in SOFA it is that of the defaultCompliance, or of the mass."
                )
                complain(self, problem)
            values = self._compliance_from_mass()
            self.compliance.set(values)
        self._check_positive(values[[0, 1, 4, 6]])
        return values[0] * np.eye(3), values[[1, 2, 3, 2, 4, 5, 3, 5, 6]].reshape(3, 3)

    def _compliance_from_mass(self) -> np.ndarray:
        if self.defaultCompliance.isSet():
            return np.array([self.defaultCompliance.get(), 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
        if self._mass_at_init is None:
            problem = self.fault(
                "needs 'compliance' or 'defaultCompliance', or a UniformMass in its node from "
                "which to take it."
            )
            complain(
                self, problem, " It counts as that of a mass of 1; SOFA's lacks a number then."
            )
        body = RigidMass.of(self._mass_at_init or "1")
        if not body.mass:
            raise self.fault("finds a UniformMass of 0, which any force moves without end.")
        moment = body.moment()
        if self._is_early:
            moment = np.eye(3)  # the mass has not inverted its inertia yet
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()} comes before the UniformMass of its "
                f"node. As in SOFA it moves the body as one of mass {body.mass:g} and a moment of "
                "inertia of 1, whatever totalMass is: put the mass before it.",
            )
        C = np.array([1.0 / body.mass, *np.linalg.inv(moment)[np.triu_indices(3)]])
        return C if self.useOdeSolverIntegrationFactors.get() else self._dt() ** 2 * C

    def _dt(self) -> float:
        assert self._context is not None
        return self._context.dt.get()

    def factors(self) -> tuple[float, float]:
        """Return the factors of the nearest integrator, even if it does nothing."""
        if self.useOdeSolverIntegrationFactors.get():
            assert self._context is not None
            solver: Any = self._context.find_upward("ode solver") or self.system.solver
            return solver.position_factor, solver.velocity_factor
        velocity = self.correctionVelocityFactor.get() / self._dt()
        return self.correctionPositionFactor.get(), velocity

    @override
    def delassus(self, rows: ConstraintRows, k: float) -> np.ndarray:
        k = self.factors()[0] if self.useOdeSolverIntegrationFactors.get() else 1.0
        nodes, index = np.unique(rows.node, return_inverse=True)
        H = np.zeros((rows.count, len(nodes), 3))
        np.add.at(H, (rows.row, index), rows.direction)
        scaled = np.einsum("rni,nij->rnj", H, self._compliance[nodes])
        size = 3 * len(nodes)
        return k * scaled.reshape(rows.count, size) @ H.reshape(rows.count, size).T

    @override
    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        push = rows.apply_transposed(lam, self.system.size)
        return np.einsum("nij,nj->ni", self._compliance, push)
