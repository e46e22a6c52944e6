"""StaticSolver: an equilibrium in each step."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem, OdeSolver
from sofa_softctl.runtime.components.solver.newton_raphson import NewtonRaphsonSolver
from sofa_softctl.runtime.core.data.types import Bool, Int, Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message, timer

_NEW_NAMES = {
    "newton_iterations": "maxNbIterationsNewton",
    "absolute_correction_tolerance_threshold": "absoluteEstimateDifferenceThreshold",
    "relative_correction_tolerance_threshold": "relativeEstimateDifferenceThreshold",
    "absolute_residual_tolerance_threshold": "absoluteResidualStoppingThreshold",
    "relative_residual_tolerance_threshold": "relativeEstimateDifferenceThreshold",  # as in SOFA
}
"""Data of SOFA before v25.06, and the corresponding ones of NewtonRaphsonSolver."""


class StaticSolver(OdeSolver):
    """Moves to the balance of all forces, K(x) dx = f(x), by Newton's method.

    Velocities do not change, masses are not needed, and time advances by dt. A NewtonRaphsonSolver
    in its node or below sets the iterations and criteria; by default one with SOFA's defaults, a
    single iteration per step, is added.

    Source: SOFA's component of the same name.
    """

    has_free_motion = False

    newtonSolver = LinkType(
        "Newton's method; from the node or below by default.", kind="newton solver"
    )
    linearSolver = LinkType("Linear solver; the node's by default.", kind="linear solver")
    newton_iterations = Int(1, "Old name of NewtonRaphsonSolver's maxNbIterationsNewton.")
    absolute_correction_tolerance_threshold = Real(
        0.0, "Old name of absoluteEstimateDifferenceThreshold.", follows="start", unit="length"
    )
    relative_correction_tolerance_threshold = Real(
        0.0, "Old name of relativeEstimateDifferenceThreshold.", follows="start"
    )
    absolute_residual_tolerance_threshold = Real(
        1e-5, "Old name of absoluteResidualStoppingThreshold.", follows="start", unit="force"
    )
    relative_residual_tolerance_threshold = Real(
        0.0, "Taken, as in SOFA, for relativeEstimateDifferenceThreshold.", follows="start"
    )
    should_diverge_when_residual_is_growing = Bool(False, "Unused, as in SOFA.")

    def init(self) -> None:
        """Find Newton's method, or add one with the Data of old scenes."""
        newton: Any = self._links["newtonSolver"].getLinkedBase() or self._find_newton()
        old = [name for name in _NEW_NAMES if self._data[name].isSet()]
        if newton is None:
            newton = self._add_newton(old)
        elif old:
            message.warning(
                self,
                f"{describe(self._where)}: '{old[0]}' of {self.describe()} does nothing beside a "
                f"NewtonRaphsonSolver: set '{_NEW_NAMES[old[0]]}' of {newton.describe()} instead.",
            )
        self.newton: NewtonRaphsonSolver = newton

    def _find_newton(self) -> Any:
        assert self._context is not None
        solvers = (solver for node in self._context.walk() for solver in node.of("newton solver"))
        return next(solvers, None)

    def _add_newton(self, old: list[str]) -> Any:
        assert self._context is not None
        values = {_NEW_NAMES[name]: self._data[name].get() for name in old}
        newton = self._context.addObject("NewtonRaphsonSolver", **values)
        newton.init()
        text = ", ".join(f"{name}={value:g}" for name, value in values.items()) or "its defaults"
        message.warning(
            self,
            f"{describe(self._where)}: {self.describe()} has no NewtonRaphsonSolver; one was added "
            f"with {text}.",
        )
        return newton

    @override
    def attach(self, system: MechanicalSystem) -> None:
        self.system = system
        system.linear_solver.attach(system)

    def works_without_mass(self) -> bool:
        """Return True, since masses count only by their weight."""
        return True

    @property
    def position_factor(self) -> float:  # type: ignore[override]
        """The node's dt, as in SOFA."""
        assert self._context is not None
        return self._context.dt.get()

    def integrate(self, h: float) -> None:
        """Solve for the equilibrium; h has no effect."""
        del h  # statics
        with timer.record_steps("StaticSolver::Solve"):
            self.newton.solve(Balance(self.system))


class Balance:
    """The forces of a system as a NonlinearFunction to solve for zero.

    Fixed degrees of freedom have no forces, and identity rows in the matrix.
    """

    def __init__(self, system: MechanicalSystem) -> None:
        self.system = system
        self.change = np.zeros_like(system.v)

    def evaluate(self) -> float:
        """Compute the forces at the present positions, and return their squared norm."""
        self.system.compute_force()
        self.system.project(self.system.force)
        return float(np.vdot(self.system.force, self.system.force))

    def solve(self) -> float:
        """Solve K dx = f, and return |dx|^2."""
        solver = self.system.linear_solver
        solver.set_matrix(0.0, 1.0, 0.0)
        with timer.record_steps("MBKSolve"):
            self.change = solver.solve(self.system.force.copy()).copy()
        return float(np.vdot(self.change, self.change))

    def advance(self, alpha: float) -> None:
        """Add alpha dx to x, and apply the mappings."""
        for state in self.system.states:
            position = state.position
            state.advance(self.system.part(self.change, state), alpha, position.get())
            position.touch()
        self.system.propagate()

    def squared_estimate(self) -> float:
        """Return |x|^2 of the independent states."""
        positions = [state.position.get() for state in self.system.states]
        return float(sum(np.vdot(x, x) for x in positions))
