"""When steps that take the forces of lines explicitly become unstable."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.equilibrium.map import EquilibriumMap
from sofa_softctl.runtime.kernels.cholesky.blas import one_blas_thread

ITERATIONS = 30
"""Power iterations: the largest eigenvalue to a few percent."""


def flutter_number(found: EquilibriumMap, u: np.ndarray, x: np.ndarray) -> float:
    """Compression by the lines over the largest with which explicit steps are stable [-].

    SOFA's implicit Euler step takes elastic forces implicitly, and those of constraints, such as
    cables, with their directions at its start. Lines compress the robot, which makes it softer, and
    hold it, which makes it stiffer; a step that knows of the first alone amplifies every motion in
    which the elastic stiffness alone, k, is negative: by m / ((1 + dt rayleighMass) m + dt (dt +
    rayleighStiffness) k) for the square of its size. So the robot flutters as soon as its lines
    compress it more than what it would buckle under, without their hold. For a slender arm of
    length L with lines at the distance r from its axis that is at a tilt of its tip of 2.5 r / L.

    The number is the largest ratio of the stiffness that the lines give to that of lines and robot
    together, and damping. Up to 1 no motion is amplified in this way; flutter sets in somewhat
    above, at 1.2 for the arm of scenes/laser_arm.py.

    Args:
        found: The map of the scene's robot; its position is changed.
        u: Controls [-], shape (d,).
        x: Positions of the independent nodes [length], shape (n, 3).
    """
    mass, stiffness = found.damping
    with one_blas_thread():
        found.place(x)
        found.pull(u)
        found.residual()
        found.system.linear_solver.set_matrix(mass / (found.dt + stiffness), 1.0, 0.0)
        v = np.random.default_rng(0).normal(size=x.shape)
        found.system.project(v)
        number = 0.0
        for _ in range(ITERATIONS):
            force = _line_product(found, v / np.linalg.norm(v))
            v = found.system.linear_solver.solve(force).copy()
            along = float(np.vdot(v, force))
            if not along > 0.0:
                return 0.0
            number = float(np.vdot(v, _line_product(found, v))) / along
    return number


def _line_product(found: EquilibriumMap, v: np.ndarray) -> np.ndarray:
    """Stiffness of all lines at the present position and tensions, times v, shape (n, 3)."""
    system = found.system
    system.v[:] = v
    system.propagate()
    system.force[:] = 0.0
    for state in system.mapped:
        state.force.get()[:] = 0.0
    for line in found.lines:
        line.add_product(line.state.force.get(), line.state.velocity.get(), 1.0)
    system.gather()
    product: np.ndarray = system.force.copy()
    system.project(product)
    system.v[:] = 0.0
    system.propagate()
    return product
