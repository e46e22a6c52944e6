"""PrecomputedConstraintCorrection: motion by multipliers with the initial matrix."""

from __future__ import annotations

from copy import copy

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.behavior.constraint import ConstraintRows
from sofa_softctl.runtime.behavior.solvers import ConstraintCorrection, MechanicalSystem
from sofa_softctl.runtime.components.solver.direct import SparseLDLSolver
from sofa_softctl.runtime.components.solver.euler_implicit import EulerImplicitSolver
from sofa_softctl.runtime.core.data.types import Bool, Real, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain


class PrecomputedConstraintCorrection(ConstraintCorrection):
    """W = H C H^T, x = x_free + C H^T lambda, v = v_free + C H^T lambda / dt.

    The compliance C is computed at init, and kept when the body turns and deforms: the velocity
    after a step dt by a unit force, dt A^-1 exp(-dt vdamping), or A^-1 in first order, for the
    matrix A of an EulerImplicitSolver at the initial positions. It covers the states in its node,
    without their coupling to others of the same integrator.

    SOFA keeps C, also in a file; here the factors of A are kept, without files. In the run in which
    SOFA computes C, a direct linear solver keeps A for the free motion as well; here the free
    motion uses the matrix of each step, as in SOFA when C comes from a file.
    """

    rotations = Bool(False, "Without effect, with a warning.")
    restDeformations = Bool(False, "Unused.")
    recompute = Bool(False, "Unused: C is computed at every initialisation.")
    regularizationTerm = Real(0.0, "Added to the diagonal of W for each node of the row.")
    debugViewFrameScale = Real(1.0, "Unused: nothing is drawn.")
    fileCompliance = Text("", "Not read, with a warning.", aliases=("filePrefix",))
    fileDir = Text("", "Unused: C is not kept in a file.")
    constraintSolvers = LinkType("Unused: the constraint solver of the scene.", many=True)

    _factors: SparseLDLSolver | None = None

    def init(self) -> None:
        """Warn of Data without effect."""
        super().init()
        if self.rotations.get():
            problem = (
                "has rotations=True, which has no effect: the compliance is that of the start. In "
                "SOFA v25.06 the turned directions are lost; under an LCPConstraintSolver the "
                "motion alone is turned there. Use a LinearSolverConstraintCorrection for a body "
                "that turns."
            )
            complain(self, self.fault(problem))
        if self.fileCompliance.get():
            problem = (
                f"reads no compliance from '{self.fileCompliance.get()}': it computes that of the "
                "scene as it is. Leave 'fileCompliance' out."
            )
            complain(self, self.fault(problem))

    def attach(self, system: MechanicalSystem) -> None:
        """Attach to a system, and compute the compliance the first time.

        Raises:
            SceneError: The integrator is not an EulerImplicitSolver, or the state's size changed.
        """
        assert self._context is not None
        states = [state for state in self._context.of("state") if id(state) in system.offset]
        self.system, self.states = system, states or system.states  # type: ignore[assignment]
        parts = [system.offset[id(s)] + np.arange(s.block_count) for s in self.states]
        self._nodes: np.ndarray = np.concatenate(parts)
        if self._factors is None:
            self._precompute()
        if len(self._nodes) != len(self._first):
            raise self.fault(
                f"has the compliance of {len(self._first)} nodes, but {len(self._nodes)} are there "
                "now: it cannot follow a mesh that changes. Use a LinearSolverConstraintCorrection."
            )
        self._index = np.full(system.size, -1)
        self._index[self._nodes] = self._first

    def _precompute(self) -> None:
        """Factorise the initial matrix."""
        system, solver = self.system, self.system.solver
        if not isinstance(solver, EulerImplicitSolver):
            raise self.fault(
                f"needs an EulerImplicitSolver (in SOFA too), but {solver.describe()} moves its "
                "state: use a LinearSolverConstraintCorrection."
            )
        h = self._dt()
        system.compute_force()  # elements compute their rotations
        self._warn_of_forces()
        self._held = system.fixed.copy()
        for state in system.states:
            if id(state) not in system.acted_on():  # without rows in the matrix, such as a target
                system.part(self._held, state)[:] = True
        start = copy(system)
        start.identity = system.identity | self._held
        self._factors = SparseLDLSolver(name=self.getName())
        self._factors._context, self._factors._where = self._context, self._where
        self._factors.attach(start)
        self._factors.set_matrix(*solver.matrix_factors(h))
        self._scale = (1.0 if solver.firstOrder.get() else h) * solver.decay(h)
        self._first = self._nodes

    def _warn_of_forces(self) -> None:
        """Warn of initial forces, except gravity: SOFA adds its unit forces to them."""
        assert self._context is not None
        force = self.system.force.copy()
        for mass in self._context.of("mass"):
            if id(mass.state) in self.system.offset:  # type: ignore[attr-defined]
                part = self.system.part(force, mass.state)  # type: ignore[attr-defined]
                mass.add_gravity(part, -self._context.gravity.get())  # type: ignore[attr-defined]
        self.system.project(force)
        largest = np.abs(force).max(initial=0.0)
        if largest > 1e-6:  # relative to unit forces
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()}: forces up to {largest:.3g} act at "
                "the start. Here the compliance is without them; SOFA counts them in it as parts "
                "of each unit force, so that its multipliers and motion differ.",
            )

    def _dt(self) -> float:
        assert self._context is not None
        return self._context.dt.get()

    @override
    def factors(self) -> tuple[float, float]:
        return 1.0, 1.0 / self._dt()

    @override
    def delassus(self, rows: ConstraintRows, k: float) -> np.ndarray:
        assert self._factors is not None
        local_rows = self._restrict_rows(rows)
        W = self._scale * self._factors.delassus(local_rows)
        is_used = local_rows.direction.any(axis=1)
        entries = np.unique(np.stack([local_rows.row[is_used], local_rows.node[is_used]]), axis=1)
        np.add.at(W, (entries[0], entries[0]), self.regularizationTerm.get())
        return W

    @override
    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        assert self._factors is not None
        motion = np.zeros((self.system.size, 3))
        solution = self._factors.correction(self._restrict_rows(rows), lam)
        motion[self._nodes] = self._scale * solution[self._first]
        return motion

    def _restrict_rows(self, rows: ConstraintRows) -> ConstraintRows:
        """Return the rows on its states, by the nodes of the initial matrix."""
        node = self._index[rows.node]
        is_local = node >= 0
        direction = np.where(self._held[node[is_local]], 0.0, rows.direction[is_local])
        return ConstraintRows(rows.count, rows.row[is_local], node[is_local], direction)
