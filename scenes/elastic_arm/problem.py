"""A planar arm of two links with springs between motors and links, for pick-and-place."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.library.ocp.formulas import casadi
from sofa_softctl.library.ocp.problem import (
    Mirror,
    OptimalControlProblem,
    Parameter,
    Symbol,
    Variable,
)

LENGTH = (0.22, 0.22)
"""Lengths of the links [m]."""
MASS = (0.75, 0.88)
"""Masses of the links, the second with the hand [kg]."""
CENTRE = (0.20, 0.19)
"""Centre of mass of each link, from its joint, a point mass [m]."""
FRICTION = (0.040, 0.030)
"""Friction of the joints [N m s / rad]."""
REDUCTION = 205.0
"""Ratio of the gears [-]."""
MOTOR_INERTIA = 0.50e-6 * REDUCTION**2
"""Inertia of the motors, at the link's side [kg m^2]."""
MOTOR_FRICTION = 0.22e-6 * REDUCTION**2
"""Friction of the motors, at the link's side [N m s / rad]."""
STIFFNESS = (0.316, 1.772)
"""Mean optimal stiffness [N m / rad]."""
CLOSING = 0.1
"""Time in which the hand closes [s]."""
"""All from Marcucci et al., Table 1 and section 2."""


def cos(x: Symbol) -> Symbol:
    """cos of a number or a symbol: with numbers the formulas below need no CasADi."""
    return math.cos(x) if isinstance(x, float) else casadi().cos(x)


def sin(x: Symbol) -> Symbol:
    """sin of a number or a symbol."""
    return math.sin(x) if isinstance(x, float) else casadi().sin(x)


def inertia(q: Symbol, m: Symbol) -> tuple[Symbol, Symbol, Symbol]:
    """M_11, M_12, M_22 of the links with a point mass m at the tip [kg m^2]."""
    (l1, l2), (c1, c2), (m1, m2) = LENGTH, CENTRE, MASS
    coupled = (m2 * c2 + m * l2) * l1 * cos(q[1])
    outer = m2 * c2**2 + m * l2**2
    return m1 * c1**2 + (m2 + m) * l1**2 + outer + 2.0 * coupled, outer + coupled, outer


def bias(q: Symbol, dq: Symbol, m: Symbol) -> list[Symbol]:
    """c: Coriolis, centrifugal and friction torques [N m]; the arm moves in a horizontal plane."""
    turn = (MASS[1] * CENTRE[1] + m * LENGTH[1]) * LENGTH[0] * sin(q[1])
    return [
        -turn * (2.0 * dq[0] * dq[1] + dq[1] ** 2) + FRICTION[0] * dq[0],
        turn * dq[0] ** 2 + FRICTION[1] * dq[1],
    ]


def tip(q: Symbol) -> tuple[Symbol, Symbol]:
    """Return the distance from the base [m] and the direction relative to q_1 = 0 [rad].

    Source: xi in polar coordinates rho, alpha. With |q_2| < pi the direction is continuous: it is
    q_1 plus that within the second link's reach.
    """
    ca = casadi()
    l1, l2 = LENGTH
    rho = ca.sqrt(l1**2 + l2**2 + 2.0 * l1 * l2 * ca.cos(q[1]))
    return rho, q[0] + ca.atan2(l2 * ca.sin(q[1]), l1 + l2 * ca.cos(q[1]))


def _accelerations(matrix: tuple[Symbol, Symbol, Symbol], torque: list[Symbol]) -> list[Symbol]:
    a, b, d = matrix
    determinant = a * d - b * b
    first, second = torque
    return [(d * first - b * second) / determinant, (a * second - b * first) / determinant]


def soft_dynamics(x: Symbol, tau: Symbol, K: Symbol, m: Symbol) -> list[Symbol]:
    """(1): x = [q, dq, theta, dtheta], K the stiffness of both springs, m the object's mass."""
    q, dq, theta, dtheta = x[0:2], x[2:4], x[4:6], x[6:8]
    c = bias(q, dq, m)
    spring = [K[j] * (theta[j] - q[j]) for j in range(2)]
    links = _accelerations(inertia(q, m), [spring[j] - c[j] for j in range(2)])
    motors = [(tau[j] - MOTOR_FRICTION * dtheta[j] - spring[j]) / MOTOR_INERTIA for j in range(2)]
    return [dq[0], dq[1], *links, dtheta[0], dtheta[1], *motors]


def rigid_dynamics(x: Symbol, tau: Symbol, z: Symbol, p: Symbol) -> list[Symbol]:
    """(2): x = [q, dq]."""
    q, dq, m = x[0:2], x[2:4], p[5]
    a, b, d = inertia(q, m)
    c = bias(q, dq, m)
    torque = [tau[j] - c[j] - MOTOR_FRICTION * dq[j] for j in range(2)]
    return [dq[0], dq[1], *_accelerations((a + MOTOR_INERTIA, b, d + MOTOR_INERTIA), torque)]


PARAMETERS = (
    Parameter("direction of the end from q_1 [rad]", -2.5, 2.5),
    Parameter("q_2 at the start [rad]", -np.pi / 2, np.pi / 2),
    Parameter("theta_1 - q_1 at the start [rad]", -0.8, 0.8),
    Parameter("theta_2 - q_2 at the start [rad]", -0.8, 0.8),
    Parameter("distance of the end from the base [m]", 0.31, 0.44),
    Parameter("mass of the object [kg]", 0.0, 0.5),
)
"""alpha_f - q_1, q_2, theta_1 - q_1, theta_2 - q_2, rho_f, m. Source: section 5.1."""
TORQUE, SPEED = 5.0, 4.0
"""Limits [N m], [rad / s]."""


def arm(
    actuation: str = "constant",
    *,
    stiffness: Sequence[float] = STIFFNESS,
    horizon: float = 2.0,
    tolerance: float = 0.010,
    settled: bool = False,
) -> OptimalControlProblem:
    """The problem (OCP) of the paper's section 2.

    Args:
        actuation: "rigid" (R), "constant" (CS) or "variable" (VS), with optimised stiffness
            of the springs.
        stiffness: Constant stiffness of both springs [N m / rad].
        horizon: Duration of a motion [s].
        tolerance: Largest error of a grasp [m].
        settled: The springs are relaxed at the end, q = theta, so that the robot rests there.
            Source: section 6, for planning that is too slow to continue from the last move.
    """
    ca = casadi()
    inputs = [Variable(f"tau_{j} [N m]", -TORQUE, TORQUE) for j in (1, 2)]
    angles = [Variable("q_1 [rad]"), Variable("q_2 [rad]", -np.pi / 2, np.pi / 2)]
    fast = [Variable(f"dq_{j} [rad/s]", -SPEED, SPEED) for j in (1, 2)]
    soft = actuation != "rigid"
    names = ("rigid", "constant", "variable")
    if actuation not in names:
        raise ValueError(f"There is no actuation '{actuation}'. Known: {', '.join(names)}.")
    if settled and not soft:
        raise ValueError("A rigid arm has no springs to settle: leave `settled` out.")
    states, design = [*angles, *fast], []
    if soft:
        states = [*angles, *(Variable(f"dq_{j} [rad/s]") for j in (1, 2))]
        states += [Variable(f"theta_{j} [rad]") for j in (1, 2)]
        states += [Variable(f"dtheta_{j} [rad/s]", -SPEED, SPEED) for j in (1, 2)]
    if actuation == "variable":
        design = [Variable(f"K_{j} [N m/rad]", 0.05, 50.0, guess=1.0) for j in (1, 2)]

    def dynamics(x: Symbol, u: Symbol, z: Symbol, p: Symbol) -> list[Symbol]:
        if not soft:
            return rigid_dynamics(x, u, z, p)
        return soft_dynamics(x, u, z if actuation == "variable" else list(stiffness), p[5])

    def initial(z: Symbol, p: Symbol) -> list[Symbol]:
        links = [0.0, p[1], 0.0, 0.0]
        return [*links, p[2], p[1] + p[3], 0.0, 0.0] if soft else links

    def terminal(x: Symbol, z: Symbol, p: Symbol) -> list[Symbol]:
        rho, alpha = tip(x)
        still = [x[j] for j in ((2, 3, 6, 7) if soft else (2, 3))]
        relaxed = [x[4 + j] - x[j] for j in range(2)] if settled else []
        return [rho - p[4], alpha - p[0], *still, *relaxed]

    # The tip's place is judged by `error` too; what moves on afterwards swings with the springs.
    still = 4 * [0.1] if soft else 2 * [0.1]  # rad/s
    terminal_tolerances = [tolerance, 0.05, *still, *(2 * [0.05] if settled else [])]

    def guess(p: np.ndarray, share: np.ndarray) -> np.ndarray:
        s = share[:, None] ** 2 * (3.0 - 2.0 * share[:, None])
        bend = np.arccos(np.clip((p[4] ** 2 - 2 * LENGTH[0] ** 2) / (2 * LENGTH[0] ** 2), -1, 1))
        bend *= -1.0 if p[1] < 0.0 else 1.0
        ends = np.array([[0.0, p[1]], [p[0] - 0.5 * bend, bend]])
        q = ends[0] + s * (ends[1] - ends[0])
        dq = np.gradient(q, horizon * share, axis=0)
        return np.hstack((q, dq, q, dq)) if soft else np.hstack((q, dq))

    return OptimalControlProblem(
        name=f"elastic arm, {actuation}{', settled' * settled}" if soft else "arm, rigid",
        states=states,
        inputs=inputs,
        design=design,
        parameters=PARAMETERS,
        dynamics=dynamics,
        initial=initial,
        cost=lambda x, u, z, p: ca.sumsqr(u),
        terminal=terminal,
        guess=guess,
        error=lambda x, z, p: grasp_error(x, p),
        tolerance=tolerance,
        plant=plant_of(stiffness) if actuation == "constant" else {},
        terminal_tolerances=terminal_tolerances,
        error_unit="m",
        cost_unit="N² m²",
        horizon=horizon,
        mirror=Mirror((-1, -1, -1, -1, 1, 1), len(states) * (-1,), (-1, -1)),
    )


def plant_of(stiffness: Sequence[float]) -> dict[str, float]:
    """Numbers that say which arm it is: the stiffness of both springs [N m / rad]."""
    return {f"stiffness_{j}": float(value) for j, value in enumerate(stiffness, 1)}


def place(q: Symbol) -> list[Symbol]:
    """xi: the tip in the plane, q_1 = 0 along x, of numbers or symbols [m]."""
    first, angle_sum = q[0], q[0] + q[1]
    l1, l2 = LENGTH
    return [l1 * cos(first) + l2 * cos(angle_sum), l1 * sin(first) + l2 * sin(angle_sum)]


def slopes(q: Symbol) -> list[list[Symbol]]:
    """Derivatives of `place` by q [m / rad], two rows of two."""
    first, angle_sum = q[0], q[0] + q[1]
    l1, l2 = LENGTH
    return [
        [-l1 * sin(first) - l2 * sin(angle_sum), -l2 * sin(angle_sum)],
        [l1 * cos(first) + l2 * cos(angle_sum), l2 * cos(angle_sum)],
    ]


def position(q: np.ndarray | Sequence[float]) -> np.ndarray:
    """`place` as an array [m], shape (2,)."""
    return np.array(place(q))


def jacobian(q: np.ndarray | Sequence[float]) -> np.ndarray:
    """`slopes` as an array [m / rad], shape (2, 2)."""
    return np.array(slopes(q))


def grasp_error(x: Symbol, p: Symbol) -> Symbol:
    """e_g: largest distance of tip and object while the hand closes, of numbers or symbols [m].

    |xi - xi_f| + t_g |dxi/dt|, at the end x of a motion. Source: section 5.1.
    """
    at, goal = place(x), (p[4] * cos(p[0]), p[4] * sin(p[0]))
    distance = sum((a - b) ** 2 for a, b in zip(at, goal, strict=True)) ** 0.5
    speed = sum((a * x[2] + b * x[3]) ** 2 for a, b in slopes(x)) ** 0.5
    return distance + CLOSING * speed
