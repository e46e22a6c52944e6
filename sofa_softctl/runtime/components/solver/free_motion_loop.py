"""FreeMotionAnimationLoop: free motion, multipliers, correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.runtime.behavior.solvers import (
    ConstraintCorrection,
    ConstraintSolver,
    MechanicalSystem,
)
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.constraint.rows import add_rows_transposed
from sofa_softctl.runtime.simulation.constraint_system import ConstraintProblem
from sofa_softctl.runtime.simulation.loop import SteppingLoop

_MOTION = ("position", "velocity")


class FreeMotionAnimationLoop(SteppingLoop):
    """SOFA's order of a constrained step.

    AnimateBegin, free motion with all multipliers zero, rows, W and delta_free at the positions of
    the step's start, BuildConstraintSystemEnd, constraint solver, SolveConstraintSystemEnd,
    correction with the present lambda, AnimateEnd.
    """

    solveVelocityConstraintFirst = Bool(
        False, "Solve in velocities; for contacts and UniformLagrangianConstraint."
    )
    parallelCollisionDetectionAndFreeMotion = Bool(False, "Unused.")
    parallelODESolving = Bool(False, "Unused.")
    computeBoundingBox = Bool(True, "Unused.")
    threadSafeVisitor = Bool(False, "Unused.")
    constraintSolver = LinkType("Constraint solver; the node's by default.")
    targetNode = LinkType("Unused: the root.")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.problem: ConstraintProblem | None = None
        self._uncorrected: list[MechanicalState] = []

    def init(self) -> None:
        """Add the default constraint solver if the scene has none, as SOFA does."""
        assert self._context is not None
        linked = self._links["constraintSolver"].getLinkedBase()
        if not self._context.of("constraint solver") and linked is None:
            self._context.addObject("GenericConstraintSolver")

    def prepare(self) -> None:
        """Find the systems and their corrections."""
        super().prepare()
        self._check_free_motion()
        corrections: list[tuple[ConstraintCorrection, MechanicalSystem]] = []
        for node in self.root.walk():
            for correction in node.of("constraint correction"):
                assert isinstance(correction, ConstraintCorrection)
                system = self._system_of(correction)
                correction.attach(system)
                corrections.append((correction, system))
        self._check_corrections([correction for correction, _ in corrections])
        self.problem = ConstraintProblem(self.root, self.systems, corrections)
        for system in self.systems:
            for state in system.all_states:
                state.find_rows = self._rows_on
        self.solver.attach(self.problem)

    def reset(self) -> None:
        """Forget the constraints of the last step."""
        super().reset()
        if self.problem is not None:
            self.problem.clear()

    def _check_free_motion(self) -> None:
        for system in self.systems:
            if not system.solver.has_free_motion:
                raise system.solver.fault(
                    "moves nothing under FreeMotionAnimationLoop, which keeps only velocities (in "
                    "SOFA too, without a word). Use DefaultAnimationLoop, without constraints, or "
                    "an EulerImplicitSolver."
                )

    def _check_corrections(self, corrections: list[ConstraintCorrection]) -> None:
        by_state: dict[int, ConstraintCorrection] = {}
        for correction in corrections:
            for state in correction.states:
                twin = by_state.setdefault(id(state), correction)
                if twin is not correction:
                    raise correction.fault(
                        f"corrects {state.describe()}, as {twin.describe()} does: its compliance "
                        "would count twice. Remove one of them."
                    )
        self._uncorrected = []
        for system in self.systems:
            for state in system.states:
                if id(state) not in by_state:
                    self._uncorrected.append(state)
                    if _would_move(state, system):
                        problem = system.solver.fault(
                            f"has no constraint correction for {state.describe()}: under "
                            "FreeMotionAnimationLoop it never moves. Add a "
                            "LinearSolverConstraintCorrection to the integrator's node."
                        )
                        complain(system.solver, problem)

    def _system_of(self, correction: ConstraintCorrection) -> MechanicalSystem:
        for system in self.systems:
            if any(node is correction._context for node in system.nodes):
                return system
            if system.solver._context in list(correction._context.walk()):  # type: ignore[union-attr]
                return system
        raise correction.fault("finds no time integrator (ODE solver) in its node or around it.")

    @property
    def solver(self) -> ConstraintSolver:
        """Constraint solver of the scene."""
        assert self._context is not None
        linked: Any = self._links["constraintSolver"].getLinkedBase()
        solver: Any = linked or self._context.of("constraint solver")[0]
        return solver

    @override
    def step(self, h: float) -> None:
        self.begin(h)
        problem, clock = self.problem, self.clock
        assert problem is not None
        for system in self.systems:
            system.solver.solve(h)
            system.solver.finish(h, system.v_free)
            system.project(system.v_free)
            system.propagate_free(h)
        for state in self.unmoved:  # a script may have moved them, or set a velocity
            np.copyto(state.free_velocity.get(), state.velocity.get())
            state.advance(state.velocity.get(), h, state.free_position.get())
        self.check_free_motion()
        clock.lap("free motion")
        self.collide()
        problem.contacts = [contact for pipeline in self.pipelines for contact in pipeline.contacts]
        clock.lap("collision")
        problem.build(self.root.time.get())
        if self.solveVelocityConstraintFirst.get():
            self._scale_to_velocities(problem)
        clock.lap("constraint rows and W")
        self.root.send(Event("BuildConstraintSystemEndEvent"))
        clock.lap("controllers")
        self.solver.solve(problem)
        clock.lap("constraint solver")
        self.root.send(Event("SolveConstraintSystemEndEvent"))
        clock.lap("controllers")
        problem.store()
        self._correct(h)
        self._store_lambda(problem, h)
        clock.lap("correction")
        self.end(h)

    def _correct(self, h: float) -> None:
        """Apply free motion and multipliers; states without a correction do not move."""
        assert self.problem is not None
        unchanged = [state._data[name] for state in self._uncorrected for name in _MOTION]
        values = [data.get().copy() for data in unchanged]
        self.problem.correct(h, by_velocity=self.solveVelocityConstraintFirst.get())
        for data, value in zip(unchanged, values, strict=True):
            np.copyto(data.get(), value)

    def _scale_to_velocities(self, problem: ConstraintProblem) -> None:
        """Divide W and delta_free by dt; this changes only multipliers with friction.

        Raises:
            SceneError: This is not true for a constraint or correction in SOFA.
        """
        dt = self.root.dt.get()
        for correction, _ in problem.corrections:
            k, l = correction.factors()  # noqa: E741
            if abs(k - dt * l) > 1e-12 * dt:
                raise self.fault(
                    f"does not support solveVelocityConstraintFirst=True with "
                    f"{correction.describe()} without the integrator's factors: leave one out."
                )
        for constraint in problem.active:
            if not constraint.by_velocity:
                raise self.fault(
                    f"does not support solveVelocityConstraintFirst=True with "
                    f"{constraint.describe()}: leave it out."
                )
            problem.rows_of(constraint, problem.delta_free)[:] = constraint.motion_violation()
        problem.W /= dt
        problem.delta_free /= dt

    def _rows_on(self, state: MechanicalState) -> sparse.csr_matrix:
        """Return the directions of this step's rows on a state, shape (rows, velocity numbers).

        A mapped state has only rows of constraints that act on it directly.
        """
        problem = self.problem
        row, node = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        direction = np.zeros((0, 3))
        assert problem is not None
        for system in self.systems:
            start, rows = system.offset.get(id(state)), problem.rows.get(id(system))
            if start is not None and rows is not None:
                is_on_state = (rows.node >= start) & (rows.node < start + state.block_count)
                row, node = rows.row[is_on_state], rows.node[is_on_state] - start
                direction = rows.direction[is_on_state]
        if not any(id(state) in system.offset for system in self.systems):
            for first, owner, entries in problem.given:
                if owner is state:
                    row = np.concatenate([row, entries.row + first])
                    node = np.concatenate([node, entries.node])
                    direction = np.concatenate([direction, entries.direction])
        places = (np.repeat(row, 3), (3 * node[:, None] + np.arange(3)).ravel())
        shape = (problem.count, 3 * state.block_count)
        H = sparse.coo_matrix((direction.ravel(), places), shape=shape).tocsr()
        H.eliminate_zeros()
        return H[:, : state.count * state.deriv_size]

    def _store_lambda(self, problem: ConstraintProblem, h: float) -> None:
        for system in self.systems:
            rows = problem.rows.get(id(system))
            if rows is None or not system.geometric:  # nothing else reads them
                continue
            forces = rows.apply_transposed(problem.lam, system.size)
            for state in system.states:
                np.copyto(state.lam, system.part(forces, state))
            self._store_mapped_lambda(problem, system)

    @staticmethod
    def _store_mapped_lambda(problem: ConstraintProblem, system: MechanicalSystem) -> None:
        """Store the multipliers' forces on mapped states and on states mapped to these."""
        for state in system.mapped:
            state.lam[:] = 0.0
        for start, state, (row, node, direction) in problem.given:
            if id(state) in system.mapping_of:
                rows = np.zeros((state.block_count, 3))
                add_rows_transposed(row + start, node, direction, problem.lam, rows)
                state.lam += rows.ravel()[: state.lam.size].reshape(state.lam.shape)
        for mapping in reversed(system.mappings):
            drivers = [
                driver.lam if id(driver) in system.mapping_of else np.zeros_like(driver.lam)
                for driver in mapping.drivers
            ]
            mapping.add_jt_to(mapping.child.lam, drivers)


def _would_move(state: MechanicalState, system: MechanicalSystem) -> bool:
    """Return True if the state has forces or a velocity and is not fixed."""
    is_driven = id(state) in system.acted_on() or state.velocity.get().any()
    return bool(is_driven and not system.part(system.fixed, state).all())
