"""Optimal control problems on which libraries are measured, beside those that are built in.

crane       the trolley of docs/how-to/build-a-library.md; the rope hardly leaves the vertical
fast_load   a load that swings at 20 to 40 Hz on a slow drive: plans hardly see that
obstacle    a vehicle with drag that passes beside a round obstacle: an inequality `path`
pillar      a vehicle passes a pillar of 30 mm, narrower than its way in an interval: `path`
rib         a slide crosses a rib of 5 mm, whose force lasts a twentieth of an interval
spring_arm  a link with payload and a spring whose stiffness and rest are optimised: `design`
arm_2 ... arm_5  two links that lift a load in a vertical plane, with 2 to 5 parameters

Units are m, kg, s, rad; those of fast_load mm, s.

    softctl library build benchmarks/library_problems.py:crane
    python -m benchmarks.library_answers
    python -m benchmarks.library_growth
"""

from functools import partial

import casadi  # noqa: TID253 - all formulas are written with it
import numpy as np

from sofa_softctl.library import Mirror, OptimalControlProblem, Parameter, Variable

GRAVITY = 9.81


def crane():
    """Its rope may be 0.15 rad off the vertical, which long ways need."""
    trolley, load = 2.0, 1.0

    def dynamics(x, u, z, p):
        sin, cos, rope = casadi.sin(x[1]), casadi.cos(x[1]), p[1]
        pull = u[0] + load * sin * (rope * x[3] ** 2 + GRAVITY * cos)
        speeding = pull / (trolley + load * sin**2)
        return [x[2], x[3], speeding, -(speeding * cos + GRAVITY * sin) / rope]

    return OptimalControlProblem(
        name="crane",
        states=[
            Variable("trolley [m]"),
            Variable("rope's angle [rad]", -0.15, 0.15),
            Variable("speed [m/s]", -1.0, 1.0),
            Variable("rope's rate [rad/s]"),
        ],
        inputs=[Variable("force [N]", -10.0, 10.0)],
        parameters=[Parameter("distance [m]", -1.0, 1.0), Parameter("rope [m]", 0.3, 0.8)],
        dynamics=dynamics,
        initial=lambda z, p: [0.0, 0.0, 0.0, 0.0],
        terminal=lambda x, z, p: [x[0] - p[0], x[1], x[2], x[3]],
        cost=lambda x, u, z, p: u[0] ** 2,
        error=lambda x, z, p: casadi.fabs(x[0] + p[1] * casadi.sin(x[1]) - p[0]),
        tolerance=0.01,
        terminal_tolerances=[0.01, 0.02, 0.02, 0.05],
        mirror=Mirror((-1, 1), (-1, -1, -1, -1), (-1,)),
        horizon=2.0,
    )


def fast_load():
    """x = [place, speed, acceleration of the drive, deflection of the load, its rate]."""
    lag = 0.05

    def dynamics(x, u, z, p):
        omega = 2.0 * np.pi * p[1]
        swing = -(omega**2) * x[3] - 2.0 * p[2] * omega * x[4] - x[2]
        return [x[1], x[2], (u[0] - x[2]) / lag, x[4], swing]

    def error(x, z, p):
        """Distance from the goal, and what the load still swings."""
        return casadi.fabs(x[0] - p[0]) + casadi.sqrt(
            x[3] ** 2 + (x[4] / (2.0 * np.pi * p[1])) ** 2 + 1e-12
        )

    return OptimalControlProblem(
        name="fast load",
        states=[
            Variable("place [mm]"),
            Variable("speed [mm/s]", -600.0, 600.0),
            Variable("acceleration [mm/s²]"),
            Variable("deflection [mm]", -0.11, 0.11),
            Variable("its rate [mm/s]"),
        ],
        inputs=[Variable("commanded acceleration [mm/s²]", -4000.0, 4000.0)],
        parameters=[
            Parameter("distance [mm]", -300.0, 300.0),
            Parameter("frequency [Hz]", 20.0, 40.0),
            Parameter("damping [-]", 0.005, 0.05),
        ],
        dynamics=dynamics,
        initial=lambda z, p: [0.0, 0.0, 0.0, 0.0, 0.0],
        terminal=lambda x, z, p: [x[0] - p[0], x[1], 1e-2 * x[2], 10.0 * x[3], 0.1 * x[4]],
        cost=lambda x, u, z, p: (1e-3 * u[0]) ** 2,
        error=error,
        tolerance=0.05,
        terminal_tolerances=[0.05, 1.0, 1.0, 0.5, 0.6],
        mirror=Mirror((-1, 1, 1), (-1,) * 5, (-1,)),
        error_unit="mm",
        horizon=1.0,
    )


def obstacle():
    """From the left to the right, above a disc on the ground."""
    drag = 0.4

    def dynamics(x, u, z, p):
        speed = casadi.sqrt(x[2] ** 2 + x[3] ** 2 + 1e-4)
        return [x[2], x[3], u[0] - drag * speed * x[2], u[1] - drag * speed * x[3]]

    def guess(p, share):
        x = np.zeros((len(share), 4))
        x[:, 0] = 2.0 * share
        x[:, 1] = p[0] + (p[1] - p[0]) * share + 0.7 * np.sin(np.pi * share)
        x[:, 2] = 1.0
        return x

    return OptimalControlProblem(
        name="obstacle",
        states=[
            Variable("x [m]"),
            Variable("y [m]", 0.0, 1.5),
            Variable("speed along x [m/s]", -2.0, 2.0),
            Variable("speed along y [m/s]", -2.0, 2.0),
        ],
        inputs=[Variable(f"push along {axis} [m/s²]", -4.0, 4.0) for axis in "xy"],
        parameters=[
            Parameter("y at the start [m]", 0.05, 0.6),
            Parameter("y at the end [m]", 0.05, 0.6),
            Parameter("x of the obstacle [m]", 0.7, 1.3),
            Parameter("its radius [m]", 0.2, 0.5),
        ],
        dynamics=dynamics,
        initial=lambda z, p: [0.0, p[0], 0.0, 0.0],
        terminal=lambda x, z, p: [x[0] - 2.0, x[1] - p[1], x[2], x[3]],
        path=lambda x, u, z, p: [(x[0] - p[2]) ** 2 + x[1] ** 2 - p[3] ** 2],
        cost=lambda x, u, z, p: u[0] ** 2 + u[1] ** 2,
        guess=guess,
        error=lambda x, z, p: casadi.sqrt((x[0] - 2.0) ** 2 + (x[1] - p[1]) ** 2 + 1e-12),
        tolerance=0.01,
        terminal_tolerances=[0.01, 0.01, 0.05, 0.05],
        error_unit="m",
        horizon=2.0,
    )


def pillar():
    """Straight to the other side, around a pillar that plans of few intervals jump over."""
    return OptimalControlProblem(
        name="pillar",
        states=[
            Variable("x [m]"),
            Variable("y [m]"),
            Variable("speed along x [m/s]", -3.0, 3.0),
            Variable("speed along y [m/s]", -3.0, 3.0),
        ],
        inputs=[Variable(f"push along {axis} [m/s²]", -9.0, 9.0) for axis in "xy"],
        parameters=[
            Parameter("y at the end [m]", -0.2, 0.2),
            Parameter("x of the pillar [m]", 0.3, 0.7),
            Parameter("its y [m]", -0.1, 0.1),
        ],
        dynamics=lambda x, u, z, p: [x[2], x[3], u[0], u[1]],
        initial=lambda z, p: [0.0, 0.0, 0.0, 0.0],
        terminal=lambda x, z, p: [x[0] - 1.0, x[1] - p[0], x[2], x[3]],
        path=lambda x, u, z, p: [
            casadi.sqrt((x[0] - p[1]) ** 2 + (x[1] - p[2]) ** 2 + 1e-8) - 0.03
        ],
        cost=lambda x, u, z, p: u[0] ** 2 + u[1] ** 2,
        error=lambda x, z, p: casadi.fmax(casadi.fabs(x[0] - 1.0), casadi.fabs(x[1] - p[0])),
        tolerance=0.01,
        terminal_tolerances=[0.01, 0.01, 0.05, 0.05],
        error_unit="m",
        horizon=1.0,
        intervals=12,
        steps=2,
    )


def rib():
    """It pushes back with 60 N/kg within 5 mm, where the slide passes at more than 1 m/s."""
    return OptimalControlProblem(
        name="rib",
        states=[Variable("x [m]"), Variable("speed [m/s]", -3.0, 3.0)],
        inputs=[Variable("push [m/s²]", -9.0, 9.0)],
        parameters=[Parameter("distance [m]", 0.7, 1.0), Parameter("x of the rib [m]", 0.25, 0.5)],
        dynamics=lambda x, u, z, p: [
            x[1],
            u[0] - 60.0 * casadi.exp(-(((x[0] - p[1]) / 0.005) ** 2)),
        ],
        initial=lambda z, p: [0.0, 0.0],
        terminal=lambda x, z, p: [x[0] - p[0], x[1]],
        cost=lambda x, u, z, p: u[0] ** 2,
        error=lambda x, z, p: casadi.fabs(x[0] - p[0]),
        tolerance=0.01,
        terminal_tolerances=[0.01, 0.05],
        error_unit="m",
        horizon=1.0,
        intervals=15,
        steps=3,
    )


def spring_arm():
    """A link on a horizontal axis; a spring of optimal stiffness and rest helps its motor."""
    length, inertia, weight = 0.5, 0.05, 2.0  # m, kg m², N m

    def dynamics(x, u, z, p):
        inertia_of = inertia + p[2] * length**2
        lift = (weight + p[2] * GRAVITY * length) * casadi.sin(x[0])
        return [x[1], (u[0] - lift - z[0] * (x[0] - z[1]) - 0.05 * x[1]) / inertia_of]

    def guess(p, share):
        x = np.zeros((len(share), 2))
        x[:, 0] = p[0] + (p[1] - p[0]) * share**2 * (3.0 - 2.0 * share)
        return x

    return OptimalControlProblem(
        name="spring arm",
        states=[
            Variable("angle from hanging [rad]", -0.2, 2.2),
            Variable("rate [rad/s]", -3.5, 3.5),
        ],
        inputs=[Variable("torque [N m]", -5.0, 5.0)],
        design=[
            Variable("stiffness [N m/rad]", 0.5, 4.0, guess=1.0),
            Variable("rest [rad]", -1.0, 3.0, guess=1.0),
        ],
        parameters=[
            Parameter("start [rad]", 0.0, 1.0),
            Parameter("goal [rad]", 1.2, 2.0),
            Parameter("payload [kg]", 0.0, 0.5),
        ],
        dynamics=dynamics,
        initial=lambda z, p: [p[0], 0.0],
        terminal=lambda x, z, p: [x[0] - p[1], x[1]],
        cost=lambda x, u, z, p: u[0] ** 2,
        final_cost=lambda x, z, p: 0.1 * z[0] ** 2 + 0.01 * z[1] ** 2,
        guess=guess,
        error=lambda x, z, p: length * casadi.fabs(x[0] - p[1]),
        tolerance=0.005,
        terminal_tolerances=[0.01, 0.1],
        error_unit="m",
        horizon=0.8,
    )


LINKS, MASSES = (0.4, 0.3), (1.0, 0.6)
"""Lengths [m] and masses [kg] of two rods."""
DAMPING = (1.0, 0.4)
"""Of the joints [N m s]."""
ASKED = (
    Parameter("goal of the shoulder [rad]", 0.8, 1.8),
    Parameter("goal of the elbow [rad]", 0.4, 1.4),
    Parameter("load [kg]", 0.0, 0.5),
    Parameter("start of the shoulder [rad]", -0.4, 0.4),
    Parameter("start of the elbow [rad]", 0.4, 1.4),
)
"""Parameters of the two links; angles from hanging, the elbow's from the upper link."""


def arm(count):
    """Lift a load from rest to rest; `count` of ASKED are asked, the others in their middle."""
    (l1, l2), (m1, m2) = LINKS, MASSES
    middle = [0.5 * (each.lower + each.upper) for each in ASKED]

    def all_of(p):
        return [p[k] if k < count else middle[k] for k in range(len(ASKED))]

    def tip(q):
        both = q[0] + q[1]
        return [
            l1 * casadi.sin(q[0]) + l2 * casadi.sin(both),
            l1 * casadi.cos(q[0]) + l2 * casadi.cos(both),
        ]

    def dynamics(x, u, z, p):
        load = all_of(p)[2]
        outer = m2 / 3.0 + load
        across = (0.5 * m2 + load) * l1 * l2
        c, s = across * casadi.cos(x[1]), across * casadi.sin(x[1])
        M11 = (m1 / 3.0 + m2 + load) * l1**2 + outer * l2**2 + 2.0 * c
        M12, M22 = outer * l2**2 + c, outer * l2**2
        hand = (0.5 * m2 + load) * l2 * GRAVITY * casadi.sin(x[0] + x[1])
        weight = (0.5 * m1 + m2 + load) * l1 * GRAVITY * casadi.sin(x[0]) + hand
        b1 = u[0] - DAMPING[0] * x[2] + s * (2.0 * x[2] + x[3]) * x[3] - weight
        b2 = u[1] - DAMPING[1] * x[3] - s * x[2] ** 2 - hand
        det = M11 * M22 - M12**2
        return [x[2], x[3], (M22 * b1 - M12 * b2) / det, (M11 * b2 - M12 * b1) / det]

    def error(x, z, p):
        here, there = tip(x), tip(all_of(p))
        squares = [(a - b) ** 2 for a, b in zip(here, there, strict=True)]
        return casadi.sqrt(squares[0] + squares[1] + 1e-12)

    def guess(p, share):
        given = all_of(p)
        start, goal = np.array(given[3:5]), np.array(given[:2])
        x = np.zeros((len(share), 4))
        x[:, :2] = start + np.outer(share**2 * (3.0 - 2.0 * share), goal - start)
        return x

    def initial(z, p):
        given = all_of(p)
        return [given[3], given[4], 0.0, 0.0]

    def terminal(x, z, p):
        given = all_of(p)
        return [x[0] - given[0], x[1] - given[1], x[2], x[3]]

    return OptimalControlProblem(
        name=f"two links, {count} parameters",
        states=[
            Variable("shoulder [rad]"),
            Variable("elbow [rad]", -0.5, 2.3),
            Variable("shoulder's rate [rad/s]", -3.5, 3.5),
            Variable("elbow's rate [rad/s]", -8.0, 8.0),
        ],
        inputs=[
            Variable("shoulder's torque [N m]", -16.0, 16.0),
            Variable("elbow's torque [N m]", -5.0, 5.0),
        ],
        parameters=ASKED[:count],
        dynamics=dynamics,
        initial=initial,
        terminal=terminal,
        cost=lambda x, u, z, p: (0.1 * u[0]) ** 2 + (0.3 * u[1]) ** 2,
        guess=guess,
        error=error,
        tolerance=0.005,
        terminal_tolerances=[0.02, 0.02, 0.1, 0.1],
        error_unit="m",
        horizon=1.0,
        intervals=25,
    )


PROBLEMS = {
    "crane": crane,
    "fast_load": fast_load,
    "obstacle": obstacle,
    "pillar": pillar,
    "rib": rib,
    "spring_arm": spring_arm,
    **{f"arm_{count}": partial(arm, count) for count in (2, 3, 4, 5)},
}
"""What `softctl library build` can build a library of with this file."""
