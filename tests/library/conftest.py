"""A cart without friction whose tangent QP is exact, and the arm of the paper in few intervals."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.library.building.solving import solve
from sofa_softctl.library.ocp.problem import Mirror, OptimalControlProblem, Parameter, Variable
from sofa_softctl.library.ocp.shooting import Program


def cart(force=3.0, speed=np.inf, intervals=10, **given):
    """From rest to rest over a distance p_0 in a second, p_1 the first speed; least mean force^2.

    Linear dynamics and a quadratic cost: the tangent QP at any optimum gives all others.
    """
    arguments = {
        "name": "cart",
        "states": [Variable("x [m]"), Variable("dx [m/s]", -speed, speed)],
        "inputs": [Variable("force [N]", -force, force)],
        "parameters": [Parameter("distance [m]", -1.0, 1.0), Parameter("speed [m/s]", -0.5, 0.5)],
        "dynamics": lambda x, u, z, p: [x[1], u[0]],
        "initial": lambda z, p: [0.0, p[1]],
        "terminal": lambda x, z, p: [x[0] - p[0], x[1]],
        "cost": lambda x, u, z, p: u[0] ** 2,
        "error": lambda x, z, p: abs(x[0] - p[0]),
        "tolerance": 1e-6,
        "terminal_tolerances": [1e-6, 1e-6],
        "margin": 0.0,
        "mirror": Mirror((-1, -1), (-1, -1), (-1,)),
        "horizon": 1.0,
        "intervals": intervals,
        "steps": 1,
    }
    return OptimalControlProblem(**arguments | given)


@pytest.fixture(scope="session")
def make_cart():
    return cart


@pytest.fixture(scope="session")
def arm_program():
    from scenes.elastic_arm.problem import arm

    return Program(replace(arm(), intervals=12, steps=4))


P = np.array([2.0, -1.2, 0.1, -0.1, 0.36, 0.4])


@pytest.fixture(scope="session")
def arm_entry(arm_program):
    """A motion near the limits of speed: some are active."""
    return solve(arm_program, P).entry
