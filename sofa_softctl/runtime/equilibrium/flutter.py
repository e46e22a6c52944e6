"""Stability limit of time steps with explicit line forces."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.equilibrium.map import EquilibriumMap
from sofa_softctl.runtime.kernels.cholesky.blas import one_blas_thread

POWER_ITERATIONS = 30
"""Number of power iterations, for the largest eigenvalue within a few percent."""


def flutter_number(statics: EquilibriumMap, u: np.ndarray, x: np.ndarray) -> float:
    """Return the compression by the lines over its largest value for stable explicit steps [-].

    SOFA's implicit Euler step takes elastic forces implicitly, but constraint forces, such as those
    of cables, with directions at its start. Lines compress the robot, which makes it softer, and
    guide it, which makes it stiffer; a step with only the first effect amplifies every motion with
    negative elastic stiffness k: by m / ((1 + dt rayleighMass) m + dt (dt + rayleighStiffness) k)
    for the square of its size. So the robot flutters as soon as its lines compress it more than its
    buckling load without their guidance. For a slender arm of length L with lines at the distance r
    from its axis this happens at a tilt of its tip of 2.5 r / L.

    The number is the largest ratio of the lines' stiffness to the stiffness of lines and robot
    together, with damping. Up to 1 no motion is amplified in this way; flutter begins somewhat
    above, at 1.2 for the arm of scenes/laser_arm.py.

    Args:
        statics: Map of the scene's robot; its position is changed.
        u: Controls [-], shape (d,).
        x: Positions of the independent nodes [length], shape (n, 3).
    """
    mass, stiffness = statics.damping
    with one_blas_thread():
        statics.place(x)
        statics.pull(u)
        statics.residual()
        statics.system.linear_solver.set_matrix(mass / (statics.dt + stiffness), 1.0, 0.0)
        v = np.random.default_rng(0).normal(size=x.shape)
        statics.system.project(v)
        number = 0.0
        for _ in range(POWER_ITERATIONS):
            force = _line_product(statics, v / np.linalg.norm(v))
            v = statics.system.linear_solver.solve(force).copy()
            along = float(np.vdot(v, force))
            if not along > 0.0:
                return 0.0
            number = float(np.vdot(v, _line_product(statics, v))) / along
    return number


def _line_product(statics: EquilibriumMap, v: np.ndarray) -> np.ndarray:
    """Return the stiffness of all lines at the present position times v, shape (n, 3)."""
    system = statics.system
    system.v[:] = v
    system.propagate()
    system.force[:] = 0.0
    for state in system.mapped:
        state.force.get()[:] = 0.0
    for line in statics.lines:
        line.add_product(line.state.force.get(), line.state.velocity.get(), 1.0)
    system.gather()
    product: np.ndarray = system.force.copy()
    system.project(product)
    system.v[:] = 0.0
    system.propagate()
    return product
