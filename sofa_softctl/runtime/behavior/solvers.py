"""Roles of integrators and linear solvers, and the system on which they act.

Vectors and rows are defined in `mechanics`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import ConstraintRows, ConstraintSystem
from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.behavior.mechanics import ForceField, Mass, ProjectiveConstraint
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.behavior.state_vectors import StateVectors
from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.node import Node


class MechanicalSystem:
    """States, masses and forces of a time integrator.

    The vectors of all independent states lie one after the other in arrays of shape (size, 3), of
    which the arrays of states are views: `v`, `v_free`, `force`. Mapped states have other arrays.
    """

    solver: OdeSolver
    linear_solver: LinearSolver
    nodes: list[Node]
    """Nodes below the integrator, in the order of the graph."""
    states: list[MechanicalState]
    """Independent states."""
    mapped: list[MechanicalState]
    """States mapped onto them."""
    mappings: list[Mapping]
    masses: list[Mass]
    force_fields: list[ForceField]
    geometric: list[Any]
    """Stiffness of mappings whose J changes; see `GeometricStiffness`."""
    projective: list[ProjectiveConstraint]
    mapping_of: dict[int, Mapping]
    """Mapping that a state follows, by the state's id."""
    offset: dict[int, int]
    """First row of an independent state, by the state's id."""
    vectors: StateVectors
    """Vectors of independent and mapped states, of which `v`, `v_free` and `force` are parts."""
    size: int
    """Number of rows of three scalars."""
    v: np.ndarray
    v_free: np.ndarray
    force: np.ndarray
    fixed: np.ndarray
    """True for fixed scalar degrees of freedom, shape (size, 3)."""
    identity: np.ndarray
    """True for identity rows of the matrix, shape (size, 3); in most cases the fixed ones."""

    @property
    def all_states(self) -> list[MechanicalState]:
        """Independent states and states mapped onto them."""
        return [*self.states, *self.mapped]

    def part(self, array: np.ndarray, state: MechanicalState) -> np.ndarray:
        """Return the view of an independent state in an array of the system."""
        raise NotImplementedError

    def acted_on(self) -> set[int]:
        """Return the ids of states on which a mass or force acts, also through mappings."""
        raise NotImplementedError

    def compute_force(self, *, mass_factor: float = 0.0, stiffness_factor: float = 0.0) -> None:
        """Compute force = f(x, v) + mass_factor M v + stiffness_factor K v, with mapped forces.

        A mapping with mapForces=False does not pass on forces of its followers; their stiffness
        and mass still enter the matrix (SOFA's semantics, section 2).
        """
        raise NotImplementedError

    def gather(self) -> None:
        """Add the forces on mapped states to the forces on independent states."""
        raise NotImplementedError

    def add_product(self, out: np.ndarray, v: np.ndarray, m: float, k: float, h: float) -> None:
        """Add (m M + k K) v to out, matrix-free, with the components' Rayleigh damping."""
        raise NotImplementedError

    def project(self, vector: np.ndarray) -> None:
        """Clear the fixed degrees of freedom of a force or velocity."""
        raise NotImplementedError

    def propagate(self) -> None:
        """Compute positions and velocities of mapped states from independent states."""
        raise NotImplementedError

    def settle(self) -> None:
        """Apply projective constraints to positions and velocities, then `propagate`."""
        raise NotImplementedError

    def propagate_free(self, h: float) -> None:
        """Compute free velocities of mapped states, and all free positions x + h v_free."""
        raise NotImplementedError

    def move(self, h: float, v: np.ndarray) -> None:
        """Set position += h v, velocity = v, for the independent states."""
        raise NotImplementedError

    def correct(self, displacement: np.ndarray, change: np.ndarray) -> None:
        """Set position = free position + displacement, velocity = free velocity + change."""
        raise NotImplementedError


class OdeSolver(Component):
    """Time integrator of the objects in its node and below."""

    category: ClassVar[str] = "ode solver"

    system: MechanicalSystem
    """System that it moves; known after `attach`."""

    position_factor = 0.0
    """k of x = x_free + k A^-1 H^T lambda, for the last step."""

    velocity_factor = 1.0
    """k of v = v_free + k A^-1 H^T lambda, for the last step."""

    needs_linear_solver: ClassVar[bool] = True
    """Whether it works only with a linear solver in its node."""

    has_matrix: bool = True
    """Whether its linear solver has a matrix after a step; known after `attach`."""

    has_free_motion: ClassVar[bool] = True
    """Whether there is a `solve`, to which constraints add; if not, only `integrate`."""

    def attach(self, system: MechanicalSystem) -> None:
        """Use the states and forces of `system`."""
        raise NotImplementedError

    def works_without_mass(self) -> bool:
        """Return True if force fields without any mass are possible."""
        return False

    def integrate(self, h: float) -> None:
        """Make a full step without constraints, of positions and velocities of the states."""
        self.solve(h)
        self.system.move(h, self.system.v_free)
        self.finish(h, self.system.v)

    def solve(self, h: float) -> None:
        """Compute the new velocity of a step without constraints, system.v_free."""
        raise NotImplementedError

    def finish(self, h: float, v: np.ndarray) -> None:
        """Change the new velocity: without constraints after the states moved, else before."""

    def check_differentiable(self) -> None:
        """Check that its step is the step of `derivatives.implicit_step`, for its present Data.

        This is linearly implicit Euler with Rayleigh damping by its Data rayleighMass and
        rayleighStiffness.

        Raises:
            SceneError: It is another step, as by default.
        """
        raise self.fault(
            "is an integrator whose derivative is not known; it is known of "
            f"{factory.components_with_method(OdeSolver, 'check_differentiable')}."
        )


class LinearSolver(Component):
    """Solver of A x = b for an integrator, A = m M + k K, identity for fixed dofs."""

    category: ClassVar[str] = "linear solver"

    system: MechanicalSystem
    """System of its matrix; known after `attach`."""
    factors: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """m, k and h of the last `set_matrix`."""

    def attach(self, system: MechanicalSystem) -> None:
        """Use the matrix of `system`."""
        raise NotImplementedError

    def renew(self) -> None:
        """Adapt to forces that were added to the system or removed."""
        self.attach(self.system)

    def set_matrix(self, m: float, k: float, h: float) -> None:
        """Set A = m M + k K; h weighs the components' Rayleigh damping."""
        raise NotImplementedError

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return A^-1 b, shapes (n, 3)."""
        raise NotImplementedError

    def delassus(self, rows: ConstraintRows) -> np.ndarray:
        """Return H A^-1 H^T for constraint rows, shape (rows.count, rows.count)."""
        raise NotImplementedError

    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        """Return A^-1 H^T lam for the rows of the last `delassus`, shape (n, 3)."""
        raise NotImplementedError

    def A(self) -> sparse.csr_matrix:
        """Return the matrix of the last step, shape (3 n, 3 n)."""
        raise NotImplementedError

    def b(self) -> np.ndarray:
        """Return the right-hand side of the last solve, shape (3 n,)."""
        raise NotImplementedError

    def x(self) -> np.ndarray:
        """Return the solution of the last solve, shape (3 n,)."""
        raise NotImplementedError

    def require_direct(self, purpose: str) -> DirectLinearSolver:
        """Return this solver, if it is direct.

        Args:
            purpose: Feature that needs factors, for the message: "equilibria".

        Raises:
            SceneError: It is iterative.
        """
        raise self.fault(
            f"is iterative, but {purpose} need factors: use a direct solver, such as "
            "SparseLDLSolver."
        )


class DirectLinearSolver(LinearSolver):
    """Linear solver with the factors of the last `set_matrix`."""

    @property
    def positive_definite(self) -> bool:
        """True if the matrix of the last `set_matrix` is positive definite."""
        raise NotImplementedError

    def solve_columns(self, b: np.ndarray) -> np.ndarray:
        """Return A^-1 b for several right-hand sides, shape (3 n, m)."""
        raise NotImplementedError

    def product(self, m: float, k: float, h: float, v: np.ndarray) -> np.ndarray:
        """Return (m M + k K) v without a factorisation, identity for fixed rows, shape (n, 3).

        The factors of the last `set_matrix` stay valid.
        """
        raise NotImplementedError

    @override
    def require_direct(self, purpose: str) -> DirectLinearSolver:
        return self


class ConstraintCorrection(Component):
    """Correction of the motion by multipliers: W and the corrected state."""

    category: ClassVar[str] = "constraint correction"

    system: MechanicalSystem
    """System whose motion it corrects; known after `attach`."""
    states: list[MechanicalState]
    """Independent states that it corrects; known after `attach`."""

    def attach(self, system: MechanicalSystem) -> None:
        """Use states of `system`."""
        raise NotImplementedError

    def delassus(self, rows: ConstraintRows, k: float) -> np.ndarray:
        """Return its part of W, including k, shape (rows.count, rows.count)."""
        raise NotImplementedError

    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        """Return the motion by the multipliers, A^-1 H^T lam, shape (n, 3)."""
        raise NotImplementedError

    def factors(self) -> tuple[float, float]:
        """Return the factors of `correction` in the displacement and in the change of velocity."""
        return self.system.solver.position_factor, self.system.solver.velocity_factor


class ConstraintSolver(Component):
    """Solver for the multipliers, with W, delta_free and lambda as writable views."""

    category: ClassVar[str] = "constraint solver"

    problem: ConstraintSystem

    def attach(self, problem: ConstraintSystem) -> None:
        """Use the constraints of a scene."""
        self.problem = problem

    def solve(self, problem: ConstraintSystem) -> None:
        """Solve for problem.lam."""
        raise NotImplementedError

    def W(self) -> np.ndarray:
        """Return the compliance of the present step, shape (n, n), a writable view."""
        return self.problem.W

    def dfree(self) -> np.ndarray:
        """Return delta_free of the present step, shape (n,), a writable view."""
        return self.problem.delta_free

    def lambda_force(self) -> np.ndarray:
        """Return lambda of the present step, shape (n,), a writable view."""
        return self.problem.lam


class AnimationLoop(Component):
    """Order of the phases of a time step."""

    category: ClassVar[str] = "animation loop"

    def prepare(self) -> None:
        """Prepare for steps of the present graph."""
        raise NotImplementedError

    def propagate(self) -> None:
        """Compute mapped states from independent states."""
        raise NotImplementedError

    def step(self, h: float) -> None:
        """Make a step of length h."""
        raise NotImplementedError
