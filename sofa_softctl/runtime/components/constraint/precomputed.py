"""PrecomputedConstraintCorrection: motion by multipliers with the matrix of the start."""

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

    The compliance C is that of the initialisation, however the body turns and deforms later: the
    velocity after a step dt by a unit force, dt A^-1 exp(-dt vdamping), or A^-1 in first order, for
    the matrix A of an EulerImplicitSolver at the positions at the start. Of the states in its node;
    how they are coupled with others of the same integrator is left out.

    SOFA keeps C, in a file too; here the factors of A are kept, and no file is read or written. In
    the run in which SOFA finds C, a direct linear solver keeps A for the free motion as well; here
    the free motion has the matrix of each step, as in SOFA when C comes from a file.
    """

    rotations = Bool(False, "Without effect, with a warning.")
    restDeformations = Bool(False, "Unused.")
    recompute = Bool(False, "Unused: C is found at every initialisation.")
    regularizationTerm = Real(0.0, "Added to the diagonal of W for each node of the row.")
    debugViewFrameScale = Real(1.0, "Unused: nothing is drawn.")
    fileCompliance = Text("", "Not read, with a warning.", aliases=("filePrefix",))
    fileDir = Text("", "Unused: C is not kept in a file.")
    constraintSolvers = LinkType("Unused: the constraint solver of the scene.", many=True)

    _factors: SparseLDLSolver | None = None

    def init(self) -> None:
        """Warn of what has no effect."""
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
        """See ConstraintCorrection; the compliance is found the first time.

        Raises:
            SceneError: The integrator is no EulerImplicitSolver, or the state's size changed.
        """
        assert self._context is not None
        own = [state for state in self._context.of("state") if id(state) in system.offset]
        self.system, self.states = system, own or system.states  # type: ignore[assignment]
        parts = [system.offset[id(s)] + np.arange(s.block_count) for s in self.states]
        self._nodes: np.ndarray = np.concatenate(parts)
        if self._factors is None:
            self._precompute()
        if len(self._nodes) != len(self._first):
            raise self.fault(
                f"has the compliance of {len(self._first)} nodes, but {len(self._nodes)} are there "
                "now: it cannot follow a mesh that changes. Use a LinearSolverConstraintCorrection."
            )
        self._place = np.full(system.size, -1)
        self._place[self._nodes] = self._first

    def _precompute(self) -> None:
        """Factors of the matrix of the start."""
        system, solver = self.system, self.system.solver
        if not isinstance(solver, EulerImplicitSolver):
            raise self.fault(
                f"needs an EulerImplicitSolver (in SOFA too), but {solver.describe()} moves its "
                "state: use a LinearSolverConstraintCorrection."
            )
        h = self._dt()
        system.compute_force()  # elements learn how they are turned
        self._warn_of_forces()
        self._held = system.fixed.copy()
        for state in system.states:
            if id(state) not in system.acted_on():  # such as a target: without rows in the matrix
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
        """Forces at the start: SOFA's unit forces come on top of them, but for the own gravity."""
        assert self._context is not None
        force = self.system.force.copy()
        for mass in self._context.of("mass"):
            if id(mass.state) in self.system.offset:  # type: ignore[attr-defined]
                own = self.system.part(force, mass.state)  # type: ignore[attr-defined]
                mass.add_gravity(own, -self._context.gravity.get())  # type: ignore[attr-defined]
        self.system.project(force)
        largest = np.abs(force).max(initial=0.0)
        if largest > 1e-6:  # beside unit forces
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()}: forces up to {largest:.3g} act at "
                "the start. Here the compliance is without them; SOFA counts them in it as parts "
                "of each unit force, so that its multipliers and motion differ.",
            )

    def _dt(self) -> float:
        assert self._context is not None
        dt: float = self._context.dt.get()
        return dt

    @override
    def factors(self) -> tuple[float, float]:
        return 1.0, 1.0 / self._dt()

    @override
    def delassus(self, rows: ConstraintRows, k: float) -> np.ndarray:
        assert self._factors is not None
        own = self._own(rows)
        W = self._scale * self._factors.delassus(own)
        touched = own.direction.any(axis=1)
        places = np.unique(np.stack([own.row[touched], own.node[touched]]), axis=1)
        np.add.at(W, (places[0], places[0]), self.regularizationTerm.get())
        return W

    @override
    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        assert self._factors is not None
        motion = np.zeros((self.system.size, 3))
        found = self._factors.correction(self._own(rows), lam)
        motion[self._nodes] = self._scale * found[self._first]
        return motion

    def _own(self, rows: ConstraintRows) -> ConstraintRows:
        """The rows on the own states, by the nodes of the matrix of the start."""
        node = self._place[rows.node]
        mine = node >= 0
        direction = np.where(self._held[node[mine]], 0.0, rows.direction[mine])
        return ConstraintRows(rows.count, rows.row[mine], node[mine], direction)
