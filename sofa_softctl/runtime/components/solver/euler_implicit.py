"""EulerImplicitSolver: linearly implicit Euler, first and second order."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.solvers import MechanicalSystem, OdeSolver
from sofa_softctl.runtime.core.data.types import Bool, Int, Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import timer


class EulerImplicitSolver(OdeSolver):
    """Linearly implicit Euler: one linear system per step.

    With f all forces at (x, v), K = -df/dx, alpha and beta the Rayleigh coefficients, h = dt and
    tau = 1 (1/2 with trapezoidalScheme):

        second order  ((1 + tau h alpha) M + tau h (tau h + beta) K) dv
                          = h (f - alpha M v - (tau h + beta) K v),  v += dv,  x += h v
        first order   (M + tau h K) v = f,  x += h v

    Source: SOFA's EulerImplicitSolver; Coevoet, Escande, Duriez 2019, eq. (3), whose printed
    powers of h are swapped.
    """

    aliases = ("EulerImplicit", "ImplicitEulerSolver")

    rayleighStiffness = Real(0.0, "Damping proportional to the stiffness.", unit="time")
    rayleighMass = Real(0.0, "Damping proportional to the mass.", unit="1/time")
    vdamping = Real(0.0, "Velocity decay: v exp(-h vdamping) after each step.", unit="1/time")
    firstOrder = Bool(False, "Solve for velocities without inertia: M v = f instead of M dv = h f.")
    trapezoidalScheme = Bool(False, "Average of start and end of the step.")
    solveConstraint = Bool(False, "Unused.")
    threadSafeVisitor = Bool(False, "Unused.")
    computeResidual = Bool(False, "Unused.")
    maxIter = Int(0, "Unused.")
    residual = Real(0.0, "Unused.")
    linearSolver = LinkType("Linear solver; the node's by default.", kind="linear solver")

    @override
    def attach(self, system: MechanicalSystem) -> None:
        self.system = system
        system.linear_solver.attach(system)

    def works_without_mass(self) -> bool:
        """Return True in first order, which needs only stiffness."""
        return self.firstOrder.get()

    @property
    def position_factor(self) -> float:  # type: ignore[override]
        """The node's dt, also in first order, as in SOFA."""
        assert self._context is not None
        return self._context.dt.get()

    @property
    def effort_factor(self) -> float:
        """The lambda of a unit of effort: h in second order (an impulse), 1 in first order."""
        return 1.0 if self.firstOrder.get() else self.position_factor

    @property
    def tau(self) -> float:
        """Weight of the end of the step."""
        return 0.5 if self.trapezoidalScheme.get() else 1.0

    def matrix_factors(self, h: float) -> tuple[float, float, float]:
        """Return m, k and h of `LinearSolver.set_matrix` for a step of length h."""
        tau = self.tau
        if self.firstOrder.get():
            return 1.0, tau * h, 0.0
        alpha, beta = self.rayleighMass.get(), self.rayleighStiffness.get()
        return 1.0 + tau * h * alpha, tau * h * (tau * h + beta), tau * h

    def decay(self, h: float) -> float:
        """Return the factor of `vdamping` on velocities in a step of length h."""
        return math.exp(-h * self.vdamping.get())

    def check_differentiable(self) -> None:
        """Check that derivatives are known: in second order, without decay and averages."""
        for name in ("firstOrder", "trapezoidalScheme", "vdamping"):
            if self._data[name].get():
                raise self.fault(f"has '{name}' set: derivatives are known of the step without it.")

    @override
    def solve(self, h: float) -> None:
        system = self.system
        if self.firstOrder.get():
            system.compute_force()
            b = system.force.copy()
        else:
            alpha, beta = self.rayleighMass.get(), self.rayleighStiffness.get()
            system.compute_force(mass_factor=-alpha, stiffness_factor=-(self.tau * h + beta))
            b = h * system.force
        system.project(b)
        system.linear_solver.set_matrix(*self.matrix_factors(h))
        with timer.record_steps("MBKSolve"):
            change = system.linear_solver.solve(b)
        if self.firstOrder.get():
            np.copyto(system.v_free, change)
        else:
            np.add(system.v, change, out=system.v_free)

    def finish(self, h: float, v: np.ndarray) -> None:
        """Add separate gravity, then apply the velocity decay."""
        for mass in self.system.masses:
            if mass.separateGravity.get() and id(mass.state) in self.system.offset:
                assert mass._context is not None
                part = self.system.part(v, mass.state)
                part += h * mass.state.kind.linear(mass._context.gravity.get())
        v *= self.decay(h)
