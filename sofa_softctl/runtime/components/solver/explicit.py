"""Explicit integrators: forces at known positions and velocities only."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import Mass
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem, OdeSolver
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.mass.lumped import LumpedMass
from sofa_softctl.runtime.core.data.types import Bool, Real
from sofa_softctl.runtime.core.link import LinkType


class ExplicitSolver(OdeSolver):
    """a = M^-1 f, for masses without coupling between nodes; others need a linear solver.

    The step must be shorter than a third of the period of the stiffest vibration. Multipliers of
    constraints are forces.
    """

    needs_linear_solver = False

    threadSafeVisitor = Bool(False, "Unused.")
    linearSolver = LinkType("Linear solver, for masses that couple nodes.", kind="linear solver")

    def attach(self, system: MechanicalSystem) -> None:
        """Attach to a system, and find the masses.

        Raises:
            SceneError: a state has no mass, or its mass needs a solver.
        """
        self.system = system
        self._masses = {id(state): self._mass_of(state) for state in system.states}
        masses = self._masses.values()
        self.has_matrix = not all(isinstance(mass, LumpedMass) for mass in masses)
        if self.has_matrix:
            if system.linear_solver is None:
                raise self.fault(
                    "needs a linear solver, such as a SparseLDLSolver, for a mass that couples "
                    "nodes; or take a UniformMass or DiagonalMass."
                )
            system.linear_solver.attach(system)

    @property
    @override
    def velocity_factor(self) -> float:  # type: ignore[override]
        assert self._context is not None
        return self._context.dt.get()

    @property
    @override
    def position_factor(self) -> float:  # type: ignore[override]
        return self.velocity_factor**2

    def _mass_of(self, state: MechanicalState) -> Mass:
        match = [mass for mass in self.system.masses if mass.state is state]
        if len(match) != 1:
            raise self.fault(
                f"needs one mass for {state.describe()}, got {len(match)}: it divides forces by it."
            )
        return match[0]

    def acceleration(self) -> np.ndarray:
        """Return M^-1 f at the present positions, in the shape of the system's vectors."""
        system = self.system
        system.compute_force()
        a = system.force.copy()
        if self.has_matrix:
            system.project(a)
            system.linear_solver.set_matrix(1.0, 0.0, 0.0)
            return system.linear_solver.solve(a)
        with np.errstate(divide="ignore", invalid="ignore"):
            for state in system.states:
                mass, part = self._masses[id(state)], system.part(a, state)
                assert isinstance(mass, LumpedMass)
                if state.kind.name == "Rigid3":
                    part[:, :3] /= mass.masses
                    part[:, 3:] = np.linalg.solve(mass.moments, part[:, 3:, None])[:, :, 0]
                else:
                    part /= mass.masses
        system.project(a)
        return a

    def add_separate_gravity(self, h: float) -> None:
        """Add h g to velocities of masses with separateGravity."""
        for mass in self.system.masses:
            if mass.separateGravity.get() and id(mass.state) in self.system.offset:
                assert mass._context is not None
                part = self.system.part(self.system.v, mass.state)
                part += h * mass.state.kind.linear(mass._context.gravity.get())

    def advance(self, *moves: tuple[np.ndarray, float]) -> None:
        """Move positions by each velocity times its time, one after the other."""
        for state in self.system.states:
            position = state.position
            for v, h in moves:
                state.advance(self.system.part(v, state), h, position.get())
            position.touch()
            state.velocity.touch()


class EulerExplicitSolver(ExplicitSolver):
    """v += h a, then x += h v; with symplectic=False x first.

    As in SOFA, under FreeMotionAnimationLoop velocities always come first, and a mass with
    separateGravity has no weight; with symplectic=False constraints would move nothing.
    """

    aliases = ("EulerSolver", "ExplicitEuler")

    symplectic = Bool(True, "Velocities first.")

    @override
    def integrate(self, h: float) -> None:
        self.add_separate_gravity(h)
        v_before = self.system.v.copy()
        self.system.v += h * self.acceleration()
        self.advance((self.system.v if self.symplectic.get() else v_before, h))

    def solve(self, h: float) -> None:
        """Compute the free velocities.

        Raises:
            SceneError: symplectic is False.
        """
        if not self.symplectic.get():
            raise self.fault(
                "has symplectic=False, with which constraints move nothing (in SOFA neither): "
                "leave it out, or use DefaultAnimationLoop without constraints."
            )
        self.system.v_free[:] = self.system.v + h * self.acceleration()


class CentralDifferenceSolver(ExplicitSolver):
    """Velocities are half a step before positions: v = (v (1/h - r/2) + a) / (1/h + r/2), x += h v.

    r is rayleighMass.
    """

    rayleighMass = Real(0.0, "Damping proportional to the mass.", unit="1/time")

    @override
    def integrate(self, h: float) -> None:
        self.solve(h)
        self.system.v[:] = self.system.v_free
        self.advance((self.system.v, h))

    @override
    def solve(self, h: float) -> None:
        self.add_separate_gravity(h)
        a, v, r = self.acceleration(), self.system.v, self.rayleighMass.get()
        v = v + h * a if r == 0.0 else ((1.0 / h - r / 2.0) * v + a) / (1.0 / h + r / 2.0)
        self.system.v_free[:] = v


class RungeKuttaSolver(ExplicitSolver):
    """Base class of methods that combine several accelerations per step.

    Before each of them the projective constraints act on positions and velocities.
    """

    def attach(self, system: MechanicalSystem) -> None:
        """Attach to a system of a loop without constraints.

        Raises:
            SceneError: as for ExplicitSolver, or the loop is for constraints.
        """
        root = system.nodes[0].getRoot()
        if any(
            loop.getClassName() == "FreeMotionAnimationLoop" for loop in root.of("animation loop")
        ):
            raise self.fault(
                "does not work with a FreeMotionAnimationLoop: constraints would move nothing (in "
                "SOFA neither). Use DefaultAnimationLoop, or another integrator."
            )
        super().attach(system)

    def start(self, h: float) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Return positions, velocities and accelerations at the start of the step."""
        self.add_separate_gravity(h)
        self.system.settle()
        return self._positions(), self.system.v.copy(), self.acceleration()

    def acceleration_at(
        self, start: list[np.ndarray], v: np.ndarray, u: np.ndarray, h: float
    ) -> np.ndarray:
        """Return the acceleration at the positions start + h u, with velocities v.

        The projective constraints change v in place.
        """
        system = self.system
        v_before = system.v.copy()
        self._set_positions(start)
        self.advance((u, h))
        system.v[:] = v
        system.settle()
        v[:] = system.v
        a = self.acceleration()
        system.v[:] = v_before
        self._set_positions(start)
        return a

    def _positions(self) -> list[np.ndarray]:
        return [state.position.get().copy() for state in self.system.states]

    def _set_positions(self, positions: list[np.ndarray]) -> None:
        for state, position in zip(self.system.states, positions, strict=True):
            np.copyto(state.position.get(), position)


class RungeKutta2Solver(RungeKuttaSolver):
    """The midpoint method: velocity and acceleration in the middle of the step."""

    @override
    def integrate(self, h: float) -> None:
        start, v, first = self.start(h)
        middle = v + (h / 2.0) * first
        a = self.acceleration_at(start, middle, v, h / 2.0)
        self.advance((middle, h))
        self.system.v[:] = v + h * a


class RungeKutta4Solver(RungeKuttaSolver):
    """The classical method of fourth order."""

    @override
    def integrate(self, h: float) -> None:
        start, v1, a1 = self.start(h)
        v2 = v1 + (h / 2.0) * a1
        a2 = self.acceleration_at(start, v2, v1, h / 2.0)
        v3 = v1 + (h / 2.0) * a2
        a3 = self.acceleration_at(start, v3, v2, h / 2.0)
        v4 = v1 + h * a3
        a4 = self.acceleration_at(start, v4, v3, h)
        self.advance((v1, h / 6.0), (v2, h / 3.0), (v3, h / 3.0), (v4, h / 6.0))
        self.system.v[:] = v1 + (h / 6.0) * (a1 + a4) + (h / 3.0) * (a2 + a3)
