"""A cart with a flexible pole, moved from rest to rest, with optional tuning of its stiffness."""

from __future__ import annotations

import numpy as np

from sofa_softctl.library.ocp.formulas import casadi
from sofa_softctl.library.ocp.problem import (
    Mirror,
    OptimalControlProblem,
    Parameter,
    Symbol,
    Variable,
)

CART = 1.0
"""Mass [kg]."""
RAIL_FRICTION = 0.5
"""Friction of the cart [N s / m]."""
LENGTH = (0.2, 0.2)
"""Lengths of the lower and upper half of the pole, massless [m]."""
JOINT_MASS = 0.05
"""Mass in the middle of the pole [kg]."""
STIFFNESS = (4.0, 3.0)
"""Stiffness of the springs at the foot and in the middle, straight at rest [N m / rad]."""
DAMPING = (0.004, 0.003)
"""Damping of these [N m s / rad]."""
GRAVITY = 9.81
"""Gravity [m / s^2]."""
FORCE, SPEED = 8.0, 1.2
"""Limits of the cart [N], [m / s]."""


def inertia(angles: Symbol, tip_mass: Symbol) -> list[list[Symbol]]:
    """Inertia of [s, a_1, a_2]: cart, lower and upper half, with angles a from the vertical."""
    ca, (l1, l2) = casadi(), LENGTH
    total_mass, a1, a2 = JOINT_MASS + tip_mass, angles[0], angles[1]
    first, second = total_mass * l1 * ca.cos(a1), tip_mass * l2 * ca.cos(a2)
    across = tip_mass * l1 * l2 * ca.cos(a1 - a2)
    return [
        [CART + total_mass, first, second],
        [first, total_mass * l1**2, across],
        [second, across, tip_mass * l2**2],
    ]


def forces(x: Symbol, u: Symbol, foot: Symbol, tip_mass: Symbol) -> list[Symbol]:
    """All other forces along [s, a_1, a_2], centrifugal ones included."""
    ca, (l1, l2) = casadi(), LENGTH
    total_mass, (a1, a2), (ds, w1, w2) = JOINT_MASS + tip_mass, (x[1], x[2]), (x[3], x[4], x[5])
    turn = tip_mass * l1 * l2 * ca.sin(a1 - a2)
    middle = STIFFNESS[1] * (a2 - a1) + DAMPING[1] * (w2 - w1)
    lower = total_mass * l1 * ca.sin(a1)
    upper = tip_mass * l2 * ca.sin(a2)
    return [
        u[0] - RAIL_FRICTION * ds + lower * w1**2 + upper * w2**2,
        lower * GRAVITY - turn * w2**2 - foot * a1 - DAMPING[0] * w1 + middle,
        upper * GRAVITY + turn * w1**2 - middle,
    ]


def sway(x: Symbol) -> Symbol:
    """Horizontal distance of the tip from the cart [m]."""
    ca = casadi()
    return LENGTH[0] * ca.sin(x[1]) + LENGTH[1] * ca.sin(x[2])


def flexible_cart(
    *,
    tuned: bool = False,
    sway_max: float = 0.03,
    horizon: float = 1.2,
    tolerance: float = 0.005,
) -> OptimalControlProblem:
    """Move over a distance in a given time with little force, ending without swing.

    State: [s, a_1, a_2] and its rate; with angles a of the pole's halves. The cost is the mean of
    force^2 and of the weighted (a_1^2 + a_2^2), plus a spring term.

    Args:
        tuned: Whether the stiffness of the spring at the foot is optimised, with a cost.
        sway_max: Largest horizontal distance of the tip from the cart [m].
        horizon: Duration of a motion [s].
        tolerance: Largest residual swing of the tip [m].
    """
    ca = casadi()
    soft, stiff = 0.5 * STIFFNESS[0], 2.0 * STIFFNESS[0]
    design = [Variable("stiffness of the foot [N m/rad]", soft, stiff, guess=STIFFNESS[0])]

    def foot(z: Symbol) -> Symbol:
        return z[0] if tuned else STIFFNESS[0]

    def dynamics(x: Symbol, u: Symbol, z: Symbol, p: Symbol) -> Symbol:
        M = [ca.horzcat(*row) for row in inertia(x[1:3], p[1])]
        accelerations = ca.solve(ca.vertcat(*M), ca.vertcat(*forces(x, u, foot(z), p[1])))
        return ca.vertcat(x[3:6], accelerations)

    def guess(p: np.ndarray, share: np.ndarray) -> np.ndarray:
        x = np.zeros((len(share), 6))
        x[:, 0] = p[0] * share**2 * (3.0 - 2.0 * share)
        x[:, 3] = p[0] * 6.0 * share * (1.0 - share) / horizon
        return x

    return OptimalControlProblem(
        name="flexible cart, tuned" if tuned else "flexible cart",
        states=[
            Variable("cart [m]"),
            Variable("lower half [rad]"),
            Variable("upper half [rad]"),
            Variable("speed of the cart [m/s]", -SPEED, SPEED),
            Variable("rate of the lower half [rad/s]"),
            Variable("rate of the upper half [rad/s]"),
        ],
        inputs=[Variable("force [N]", -FORCE, FORCE)],
        design=design if tuned else [],
        parameters=[
            Parameter("distance [m]", -0.8, 0.8),
            Parameter("mass of the tip [kg]", 0.05, 0.2),
            Parameter("lean of the pole at the start [rad]", -0.05, 0.05),
            Parameter("its rate [rad/s]", -0.3, 0.3),
            Parameter("weight of its lean [N^2/rad^2]", 0.0, 50.0),
        ],
        dynamics=dynamics,
        initial=lambda z, p: [0.0, p[2], p[2], 0.0, p[3], p[3]],
        cost=lambda x, u, z, p: u[0] ** 2 + p[4] * (x[1] ** 2 + x[2] ** 2),
        final_cost=(lambda x, z, p: 0.1 * (z[0] / STIFFNESS[0]) ** 2) if tuned else None,
        terminal=lambda x, z, p: [x[0] - p[0], *(x[j] for j in range(1, 6))],
        path=lambda x, u, z, p: [sway_max - sway(x), sway_max + sway(x)],
        guess=guess,
        error=lambda x, z, p: residual_swing(x, foot(z), p),
        tolerance=tolerance,
        terminal_tolerances=[tolerance, 0.02, 0.02, 0.02, 0.2, 0.2],
        error_unit="m",
        cost_unit="N²",
        horizon=horizon,
        mirror=Mirror((-1, 1, -1, -1, 1), (-1,) * 6, (-1,)),
    )


def residual_swing(x: Symbol, foot: Symbol, p: Symbol) -> Symbol:
    """Largest distance of the tip from its goal after a sudden stop of the cart [m].

    A bound: the sum of the peaks of the pole's two modes, for small angles without damping.
    """
    ca, (l1, l2) = casadi(), LENGTH
    total_mass, upper = JOINT_MASS + p[1], p[1]
    M11, M12, M22 = total_mass * l1**2, upper * l1 * l2, upper * l2**2
    K11 = foot + STIFFNESS[1] - GRAVITY * total_mass * l1
    K12, K22 = -STIFFNESS[1], STIFFNESS[1] - GRAVITY * upper * l2
    # M = C C^T with C lower triangular: in the coordinates C^T a, M is 1 and K is [[a, b], [b, c]].
    c11 = ca.sqrt(M11)
    c21 = M12 / c11
    c22 = ca.sqrt(M22 - c21**2)
    a = K11 / M11
    b = (K12 - c21 / c11 * K11) / (c11 * c22)
    c = (K22 - 2.0 * c21 / c11 * K12 + (c21 / c11) ** 2 * K11) / c22**2
    turn = 0.5 * ca.atan2(2.0 * b, a - c)
    middle, half = 0.5 * (a + c), ca.sqrt((0.5 * (a - c)) ** 2 + b**2)
    total = ca.fabs(x[0] - p[0])
    # The stop keeps the pole's momentum about its joints: M rates + [both l1, upper l2] speed.
    pushed = (total_mass * l1 * x[3], upper * l2 * x[3])
    for square, first, second in (
        (middle + half, ca.cos(turn), ca.sin(turn)),
        (middle - half, -ca.sin(turn), ca.cos(turn)),
    ):
        shape = ((first - c21 * second / c22) / c11, second / c22)  # M-orthonormal
        along = [M11 * shape[0] + M12 * shape[1], M12 * shape[0] + M22 * shape[1]]
        angle = along[0] * x[1] + along[1] * x[2]
        rate = along[0] * x[4] + along[1] * x[5] + shape[0] * pushed[0] + shape[1] * pushed[1]
        sway_of = ca.fabs(l1 * shape[0] + l2 * shape[1])
        total = total + sway_of * ca.sqrt(angle**2 + rate**2 / square)
    return total


PROBLEMS = {"flexible_cart": flexible_cart}
