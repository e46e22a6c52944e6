"""Statics of a scene's robot under line tensions: residual, tangent, forces of the lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.roles import Cable
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.equilibrium.exact_tangent import ExactTangent
from sofa_softctl.runtime.equilibrium.line_tension import LineTension
from sofa_softctl.runtime.simulation.simulation import loop_of


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """State of rest, and its derivative by the controls."""

    u: np.ndarray
    """Controls [-], shape (d,)."""
    x: np.ndarray
    """Positions of the independent nodes [length], shape (n, 3)."""
    x_u: np.ndarray
    """dx/du [length], shape (n, 3, d)."""
    lengths: np.ndarray
    """Lengths of the lines [length], shape (d,)."""
    lengths_u: np.ndarray
    """dL/du [length], shape (d, d); symmetric if the forces have an energy."""
    points: np.ndarray
    """Positions of the output points [length], shape (p, 3)."""
    points_u: np.ndarray
    """Derivative of the points [length], shape (p, 3, d)."""
    residual: float
    """Largest residual force on a node, relative to the lines' largest force [-]."""
    iterations: int
    """Number of Newton steps."""
    stable: bool
    """False at a saddle of the energy, whose tangent is not positive definite: the robot leaves it.
    Always True for elasticities without an energy, whose tangents are asymmetric."""


class Statics:
    """Forces 0 = p(x) + c(x, u) on a robot at rest, and their tangent.

    Args and errors as in `EquilibriumMap`.
    """

    def __init__(
        self,
        root: Node,
        cables: Sequence[Cable] | None = None,
        *,
        scale: float = 1.0,
        points: Sequence[Any] = (),
        tolerance: float = 1e-10,
    ) -> None:
        self.scale, self.tolerance, self.watched = scale, tolerance, list(points)
        constraints = [c for node in root.walk() for c in node.of("constraint")]
        self.cables: list[Any] = [c for c in constraints if isinstance(c, Cable)]
        self.cables = self.cables if cables is None else list(cables)
        if not self.cables:
            raise SceneError("The scene has no cables: an equilibrium map needs lines to pull.")
        self.lines = []
        for number, cable in enumerate(self.cables):
            line = LineTension(cable, name=f"line_tension_{number}")
            cable.getContext().addObject(line)
            line.init()
            line._initialised = True
            self.lines.append(line)
        self.dt = float(root.dt.get())
        """The scene's time step [time]."""
        loop: Any = loop_of(root)
        loop.prepare()
        loop.outer.refuse("equilibria")
        self.system = self._system(loop.systems)
        self.tangent = ExactTangent(self.system)
        self.rest = self.positions()
        self.size = float(np.ptp(self.rest, axis=0).max())
        self.count = 0
        """Number of equilibria that were found."""
        self.unit_force = self._unit_force()

    @property
    def dimension(self) -> int:
        """Number of controls."""
        return len(self.lines)

    @property
    def damping(self) -> tuple[float, float]:
        """The time integrator's rayleighMass [1 / time] and rayleighStiffness [time]; 0 if none."""
        data = self.system.solver._data
        names = ("rayleighMass", "rayleighStiffness")
        mass, stiffness = (float(data[n].get()) if n in data else 0.0 for n in names)
        return mass, stiffness

    def masses(self) -> np.ndarray:
        """Return the diagonal of the mass matrix, shape (n, 3)."""
        out = np.zeros_like(self.rest)
        ones = np.ones_like(self.rest)
        self.system.add_product(out, ones, 1.0, 0.0, 0.0)
        return out

    def pull(self, u: np.ndarray) -> None:
        """Set the tensions of controls u."""
        for line, tension in zip(self.lines, self.scale * u, strict=True):
            line.tension = tension

    def residual(self) -> np.ndarray:
        """Return all forces, 0 at fixed nodes, shape (n, 3)."""
        self.system.compute_force()
        force = self.system.force.copy()
        self.system.project(force)
        return force

    def line_force(self, line: LineTension) -> np.ndarray:
        """Return dc/dT of a line on the independent nodes, shape (n, 3)."""
        system = self.system
        system.force[:] = 0.0
        for state in system.mapped:
            state.force.get()[:] = 0.0
        line.add_unit_force(line.state.force.get())
        system.gather()
        system.project(system.force)
        return system.force.copy()

    def place(self, x: np.ndarray) -> None:
        """Move the independent nodes to x, shape (n, 3), and mapped states with them."""
        for state in self.system.states:
            start, data = self.system.offset[id(state)], state.position
            np.copyto(data.get(), x[start : start + state.count])
            data.touch()
        self.system.propagate()

    def positions(self) -> np.ndarray:
        """Return the positions of the independent nodes [length], shape (n, 3)."""
        positions: np.ndarray = np.concatenate(
            [state.position.get() for state in self.system.states]
        )
        return positions

    def _unit_force(self) -> float:
        self.place(self.rest)
        self.residual()
        largest = max(largest_force(self.line_force(line)) for line in self.lines)
        return self.scale * largest

    def _system(self, systems: list[MechanicalSystem]) -> MechanicalSystem:
        states = {id(line.state) for line in self.lines}
        for system in systems:
            if states <= {id(state) for state in system.all_states}:
                for state in system.states:
                    if state.kind.name != "Vec3":
                        raise state.fault("has bodies or joints: lines pull on points alone here.")
                return system
        raise SceneError("The cables belong to several bodies: give `cables` of one of them.")


def largest_force(force: np.ndarray) -> float:
    """Return the largest force on a node [force], of forces of shape (n, 3)."""
    return float(np.sqrt((force**2).sum(axis=1).max()))
