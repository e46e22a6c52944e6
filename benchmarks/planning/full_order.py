"""Simulation of the full-order robot, by the scene's own steps or implicit steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField, Mass, Pairs
from sofa_softctl.scene.copies.equilibrium import EquilibriumMap, KnownEquilibrium
from sofa_softctl.scene.session.session import Session
from sofa_softctl.surrogate.costs.line_dynamics import LinePull
from sofa_softctl.surrogate.scene.replay import lines_of


def simulate_scene(
    scene: Path, u: np.ndarray, x: np.ndarray, *, scale: float, parameters: dict[str, Any]
) -> np.ndarray:
    """The scene's own steps in a row, from rest at x, its cables pulling with scale * u.

    A step of `EulerImplicitSolver` solves one linear system, at the step's start, with the
    stiffness of the lines as in runs of plans: the first iteration of `simulate_balanced`.

    Args:
        scene: Scene file with one body, pulled by cables with valueType="force".
        u: Controls of each step [-], shape (K - 1, d).
        x: Positions of all nodes [length], shape (N, 3).
        scale: Tension of u = 1 [force].
        parameters: Of createScene.

    Returns:
        Positions [length], shape (K, N, 3).
    """
    pulls: list[LinePull] = []

    def attach(root: Any) -> None:
        pulls.append(LinePull(root, lines_of(root), stiffness=True))

    session = Session(scene, parameters=parameters, add=attach)
    dofs = _mass(session.root).state.position
    dofs.value = x
    found = [x]
    for tensions in scale * u:
        pulls[0].pull(tensions)
        session.step()
        found.append(dofs.value.copy())
    return np.array(found)


def simulate_balanced(
    scene: Path, u: np.ndarray, x: np.ndarray, *, scale: float, parameters: dict[str, Any]
) -> np.ndarray:
    """Steps of the whole robot, each solved until it is in balance.

    M (x+ - 2 x + x-) / dt^2 = p(x+) + c(x+, u), by Newton's method. Arguments and result: see
    `simulate_scene`.

    Source: Jia, Pan, Manocha 2019, eq. (8) before it is projected.
    """
    root = Session(scene, parameters=parameters).root
    mass = _mass(root)
    inertia = Inertia(mass, float(root.dt.value))
    mass.getContext().addObject(inertia)
    inertia.init()
    balance = EquilibriumMap(root, scale=scale)
    still = np.zeros((*x.shape, balance.dimension))
    found = [x, x]
    for tensions in u:
        inertia.ahead = 2.0 * found[-1] - found[-2]
        found.append(balance(tensions, KnownEquilibrium(tensions, found[-1], still)).x)
    return np.array(found[1:])


class Inertia(ForceField):
    """Forces -M (x - (2 x_k - x_k-1)) / dt^2: what inertia does against any other motion.

    An equilibrium of these and all other forces is an implicit Euler step. Not a component of SOFA.
    """

    exact_tangent = True

    def __init__(self, mass: Mass, dt: float, **values: Any) -> None:
        super().__init__(**values)
        self.mass, self.factor = mass, 1.0 / dt**2
        self.ahead = mass.state._data["position"].get().copy()
        """Where the nodes come to without any force, 2 x_k - x_k-1 [length], shape (n, 3)."""

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        x = self.state._data["position"].get()
        self.mass.add_product(force, x - self.ahead, -self.factor)

    def pairs(self) -> Pairs:
        """See Contribution."""
        return self.mass.pairs()

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Contribution."""
        self.mass.add_product(out, v, factor * self.factor)

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution."""
        self.mass.add_matrix(values, slots, factor * self.factor)


def _mass(root: Any) -> Any:
    return next(entry for node in root.walk() for entry in node.of("mass"))
