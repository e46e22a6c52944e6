"""Roles of integrators and linear solvers, and the system that they act on.

Vectors and rows are those of `mechanics`.
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
from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.node import Node


class MechanicalSystem:
    """States, masses and forces of one time integrator.

    The vectors of all independent states lie one after the other in arrays of shape (size, 3), of
    which each state's own arrays are views: `v`, `v_free`, `force`. Mapped states have their own.
    """

    solver: OdeSolver
    linear_solver: LinearSolver
    nodes: list[Node]
    """The nodes below the integrator, in the order of the graph; one among them does nothing."""
    states: list[MechanicalState]
    """Independent states."""
    mapped: list[MechanicalState]
    """States mapped onto them."""
    mappings: list[Mapping]
    masses: list[Mass]
    force_fields: list[ForceField]
    geometric: list[Any]
    """Stiffness of mappings whose J turns; see `GeometricStiffness`."""
    projective: list[ProjectiveConstraint]
    mapping_of: dict[int, Mapping]
    """The mapping that a state follows, by the state's id."""
    offset: dict[int, int]
    """First row of an independent state, by the state's id."""
    size: int
    """Rows of three scalars."""
    v: np.ndarray
    v_free: np.ndarray
    force: np.ndarray
    fixed: np.ndarray
    """Scalar degrees of freedom that are held, bool (size, 3)."""
    identity: np.ndarray
    """Rows of the matrix that are identity, bool (size, 3); mostly those that are held."""

    @property
    def all_states(self) -> list[MechanicalState]:
        """Independent states and those mapped onto them."""
        return [*self.states, *self.mapped]

    def part(self, whole: np.ndarray, state: MechanicalState) -> np.ndarray:
        """The view of one independent state in an array of the system."""
        raise NotImplementedError

    def acted_on(self) -> set[int]:
        """Ids of the states on which a mass or force acts, also through mappings."""
        raise NotImplementedError

    def compute_force(self, *, mass_factor: float = 0.0, stiffness_factor: float = 0.0) -> None:
        """system.force = f(x, v) + mass_factor M v + stiffness_factor K v, mapped forces included.

        A mapping with mapForces=False keeps the forces of what hangs on it to itself; its
        stiffness and mass still enter the matrix (SOFA's semantics, section 2).
        """
        raise NotImplementedError

    def gather(self) -> None:
        """Pass the forces on mapped states on to the independent ones."""
        raise NotImplementedError

    def add_product(self, out: np.ndarray, v: np.ndarray, m: float, k: float, h: float) -> None:
        """out += (m M + k K) v, matrix-free, with the components' own Rayleigh damping."""
        raise NotImplementedError

    def project(self, vector: np.ndarray) -> None:
        """Clear the held degrees of freedom of a force or velocity."""
        raise NotImplementedError

    def propagate(self) -> None:
        """Positions and velocities of mapped states from the independent ones."""
        raise NotImplementedError

    def settle(self) -> None:
        """Positions and velocities as its projective constraints want them, then `propagate`."""
        raise NotImplementedError

    def propagate_free(self, h: float) -> None:
        """Free velocities of mapped states, and everyone's free position x + h v_free."""
        raise NotImplementedError

    def move(self, h: float, v: np.ndarray) -> None:
        """position += h v, velocity = v, for the independent states."""
        raise NotImplementedError

    def correct(self, displacement: np.ndarray, change: np.ndarray) -> None:
        """position = free position + displacement, velocity = free velocity + change."""
        raise NotImplementedError


class OdeSolver(Component):
    """Integrates in time what stands in its node and below."""

    category: ClassVar[str] = "ode solver"

    system: MechanicalSystem
    """What it moves; known after `attach`."""

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
        """Take charge of the states and forces of `system`."""
        raise NotImplementedError

    def allows_no_mass(self) -> bool:
        """Whether force fields without any mass make sense."""
        return False

    def integrate(self, h: float) -> None:
        """One whole step without constraints: positions and velocities of the states move."""
        self.solve(h)
        self.system.move(h, self.system.v_free)
        self.finish(h, self.system.v)

    def solve(self, h: float) -> None:
        """One step without constraints: the new velocity goes to system.v_free."""
        raise NotImplementedError

    def finish(self, h: float, v: np.ndarray) -> None:
        """Change the new velocity: without constraints after the states moved, else before."""

    def check_differentiable(self) -> None:
        """Check that its step is that of `derivatives.implicit_step`, for its present Data.

        That is linearly implicit Euler with Rayleigh damping by its Data rayleighMass and
        rayleighStiffness.

        Raises:
            SceneError: It is another one, as by default.
        """
        raise self.fault(
            "is an integrator whose derivative is not known; it is known of "
            f"{factory.components_with_method(OdeSolver, 'check_differentiable')}."
        )


class LinearSolver(Component):
    """Solves A x = b for an integrator, A = m M + k K with held degrees of freedom as identity."""

    category: ClassVar[str] = "linear solver"

    system: MechanicalSystem
    """Whose matrix it has; known after `attach`."""
    factors: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """m, k and h of the last `set_matrix`."""

    def attach(self, system: MechanicalSystem) -> None:
        """Take charge of the matrix of `system`."""
        raise NotImplementedError

    def renew(self) -> None:
        """Take over that forces have come to the system, or have left it."""
        self.attach(self.system)

    def set_matrix(self, m: float, k: float, h: float) -> None:
        """A = m M + k K; h weighs the components' own Rayleigh damping."""
        raise NotImplementedError

    def solve(self, b: np.ndarray) -> np.ndarray:
        """A^-1 b, shapes (n, 3)."""
        raise NotImplementedError

    def delassus(self, rows: ConstraintRows) -> np.ndarray:
        """H A^-1 H^T for constraint rows, shape (rows.count, rows.count)."""
        raise NotImplementedError

    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        """A^-1 H^T lam for the rows of the last `delassus`, shape (n, 3)."""
        raise NotImplementedError

    def A(self) -> sparse.csr_matrix:
        """The matrix of the last step, shape (3 n, 3 n)."""
        raise NotImplementedError

    def b(self) -> np.ndarray:
        """Right-hand side of the last solve, shape (3 n,)."""
        raise NotImplementedError

    def x(self) -> np.ndarray:
        """Solution of the last solve, shape (3 n,)."""
        raise NotImplementedError

    def require_direct(self, purpose: str) -> DirectLinearSolver:
        """This solver, if it is a direct one.

        Args:
            purpose: What needs factors, for the message: "equilibria".

        Raises:
            SceneError: It is iterative.
        """
        raise self.fault(
            f"is iterative, but {purpose} need factors: use a direct solver, such as "
            "SparseLDLSolver."
        )


class DirectLinearSolver(LinearSolver):
    """A linear solver that keeps the factors of the last `set_matrix`."""

    @property
    def positive_definite(self) -> bool:
        """Whether the matrix of the last `set_matrix` was."""
        raise NotImplementedError

    def solve_columns(self, b: np.ndarray) -> np.ndarray:
        """A^-1 b for several right-hand sides, shape (3 n, m)."""
        raise NotImplementedError

    def product(self, m: float, k: float, h: float, v: np.ndarray) -> np.ndarray:
        """(m M + k K) v without a factorisation, held rows as identity, shape (n, 3).

        The factors of the last `set_matrix` stay.
        """
        raise NotImplementedError

    @override
    def require_direct(self, purpose: str) -> DirectLinearSolver:
        return self


class ConstraintCorrection(Component):
    """Turns multipliers into motion: W and the corrected state."""

    category: ClassVar[str] = "constraint correction"

    system: MechanicalSystem
    """Whose motion it corrects; known after `attach`."""
    states: list[MechanicalState]
    """Independent states that it corrects; known after `attach`."""

    def attach(self, system: MechanicalSystem) -> None:
        """Take charge of states of `system`."""
        raise NotImplementedError

    def delassus(self, rows: ConstraintRows, k: float) -> np.ndarray:
        """Its part of W, k included, shape (rows.count, rows.count)."""
        raise NotImplementedError

    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        """Motion by the multipliers, A^-1 H^T lam, shape (n, 3)."""
        raise NotImplementedError

    def factors(self) -> tuple[float, float]:
        """What turns `correction` into a displacement, and into a change of velocity."""
        return self.system.solver.position_factor, self.system.solver.velocity_factor


class ConstraintSolver(Component):
    """Finds the multipliers; exposes W, delta_free and lambda as writable views."""

    category: ClassVar[str] = "constraint solver"

    problem: ConstraintSystem

    def attach(self, problem: ConstraintSystem) -> None:
        """Take charge of the constraints of a scene."""
        self.problem = problem

    def solve(self, problem: ConstraintSystem) -> None:
        """Write problem.lam."""
        raise NotImplementedError

    def W(self) -> np.ndarray:
        """Compliance of the present step, shape (n, n): a view to be written in place."""
        return self.problem.W

    def dfree(self) -> np.ndarray:
        """delta_free of the present step, shape (n,): a view to be written in place."""
        return self.problem.delta_free

    def lambda_force(self) -> np.ndarray:
        """lambda of the present step, shape (n,): a view to be written in place."""
        return self.problem.lam


class AnimationLoop(Component):
    """Orders the phases of a time step."""

    category: ClassVar[str] = "animation loop"

    def prepare(self) -> None:
        """Get ready to step the graph as it is now."""
        raise NotImplementedError

    def propagate(self) -> None:
        """Place mapped states where the independent ones say."""
        raise NotImplementedError

    def step(self, h: float) -> None:
        """One step of length h."""
        raise NotImplementedError
