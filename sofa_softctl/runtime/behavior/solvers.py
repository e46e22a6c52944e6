"""The parts that solvers play in a time step, and what the step asks of each.

Vectors and rows are those of `roles`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.core.component import Component

if TYPE_CHECKING:
    from sofa_softctl.runtime.components.state.mechanical_object import MechanicalObject
    from sofa_softctl.runtime.simulation.constraint_system import ConstraintProblem, Rows
    from sofa_softctl.runtime.simulation.system import MechanicalSystem


class OdeSolver(Component):
    """Integrates in time what stands in its node and below."""

    category: ClassVar[str] = "ode solver"

    system: MechanicalSystem
    """What it moves; known after `attach`."""

    position_factor = 0.0
    """k of x = x_free + k A^-1 H^T lambda, for the last step."""

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


class LinearSolver(Component):
    """Solves A x = b for an integrator, A = m M + k K with held degrees of freedom as identity."""

    category: ClassVar[str] = "linear solver"

    def attach(self, system: MechanicalSystem) -> None:
        """Take charge of the matrix of `system`."""
        raise NotImplementedError

    def set_matrix(self, m: float, k: float, h: float) -> None:
        """A = m M + k K; h weighs the components' own Rayleigh damping."""
        raise NotImplementedError

    def solve(self, b: np.ndarray) -> np.ndarray:
        """A^-1 b, shapes (n, 3)."""
        raise NotImplementedError

    def delassus(self, rows: Rows) -> np.ndarray:
        """H A^-1 H^T for constraint rows, shape (rows.count, rows.count)."""
        raise NotImplementedError

    def correction(self, rows: Rows, lam: np.ndarray) -> np.ndarray:
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


class ConstraintCorrection(Component):
    """Turns multipliers into motion: W and the corrected state."""

    category: ClassVar[str] = "constraint correction"

    states: list[MechanicalObject]
    """Independent states that it corrects; known after `attach`."""

    def attach(self, system: MechanicalSystem) -> None:
        """Take charge of states of `system`."""
        raise NotImplementedError

    def delassus(self, rows: Rows, k: float) -> np.ndarray:
        """Its part of W, k included, shape (rows.count, rows.count)."""
        raise NotImplementedError

    def correction(self, rows: Rows, lam: np.ndarray) -> np.ndarray:
        """Change of the velocity, A^-1 H^T lam, shape (n, 3)."""
        raise NotImplementedError


class ConstraintSolver(Component):
    """Finds the multipliers; shows W, delta_free and lambda to those who look on."""

    category: ClassVar[str] = "constraint solver"

    problem: ConstraintProblem

    def attach(self, problem: ConstraintProblem) -> None:
        """Take charge of the constraints of a scene."""
        self.problem = problem

    def solve(self, problem: ConstraintProblem) -> None:
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
