"""Dynamics of another kind of robot: three masses in a row, and a motor on the first alone."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Effort, Following, Point
from sofa_softctl.surrogate.costs.dynamics import LinearisedDynamics
from sofa_softctl.surrogate.costs.step import simulate
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.planning.planner import plan
from sofa_softctl.surrogate.program.transcription import Limits, PlanningProblem

K, DT = 30, 0.1
MASS = np.diag([1.0, 0.5, 0.8])
STIFFNESS = np.array([[2.0, -2.0, 0.0], [-2.0, 5.0, -3.0], [0.0, -3.0, 3.0]])
MOTOR = np.array([[1.0], [0.0], [0.0]])


class Straight:
    """Outputs are the three places themselves."""

    dimension = size = 3

    def at(self, points):
        return Jet(points.copy(), np.tile(np.eye(3), (len(points), 1, 1)))

    def curvature(self, points, weights):
        return np.zeros((len(points), 3, 3))


@dataclass(frozen=True)
class Row:
    """M (a+ - 2 a + a-) / dt^2 + K a+ = B u."""

    embedding: Straight = field(default_factory=Straight)
    inputs: int = 1
    dt: float = DT
    unit: float = 1.0

    def residual(self, steps):
        change = steps.ahead.value - 2.0 * steps.now.value + steps.before.value
        return change @ MASS / DT**2 + steps.ahead.value @ STIFFNESS - steps.u @ MOTOR.T

    def linearise(self, steps):
        def each(matrix):
            return np.tile(matrix, (len(steps.u), 1, 1))

        by_next = each(MASS / DT**2 + STIFFNESS)
        by_now, by_before = each(-2.0 * MASS / DT**2), each(MASS / DT**2)
        return LinearisedDynamics(
            self.residual(steps), by_next, by_now, by_before, each(-MOTOR), each(MASS)
        )

    def rounding(self, ahead, now, before):
        return np.full(len(ahead.value), 1e-13)

    def holding(self, a):
        return np.zeros(1)

    def at_rest(self, a, u):
        return np.tile(a, (len(u), 1))

    def on(self, embedding):
        return replace(self, embedding=embedding)


@pytest.fixture
def problem():
    goal = np.column_stack([np.sin(np.linspace(0.0, 2.0, K)) for _ in range(3)])
    outputs = (Following(Point((0, 1, 2)), goal, 1.0),)
    start = np.array([0.1, 0.0, -0.1])
    return PlanningProblem(Row(), K, start, Limits(100.0, -100.0), outputs, (Effort(1e-3),))


def optimum(problem):
    """Inputs of the quadratic program, by elimination of the motion and one linear solve."""
    start = problem.a_first

    def simulated(u):
        a = [start, start]
        for each in u:
            right = MASS @ (2.0 * a[-1] - a[-2]) / DT**2 + MOTOR[:, 0] * each
            a.append(np.linalg.solve(MASS / DT**2 + STIFFNESS, right))
        return np.concatenate(a[2:])

    free = simulated(np.zeros(K - 1))
    slope = np.column_stack([simulated(e) - free for e in np.eye(K - 1)])
    goal = problem.outputs[0].goal[1:].ravel()
    H = slope.T @ slope + problem.inputs[0].weight * np.eye(K - 1)
    return np.linalg.solve(H, slope.T @ (goal - free))


def test_a_robot_with_fewer_inputs_than_coordinates_is_planned(problem):
    """The optimiser ends where first-order conditions hold to 1e-6 of the largest curvature, 1;
    the least curvature of the inputs is the effort's 1e-3, so that they are within 1e-3."""
    found = plan(problem)
    assert found.status is Status.SOLVED and found.u.shape == (K - 1, 1)
    expected = optimum(problem)
    assert found.u[:, 0] == pytest.approx(expected, abs=1e-3)
    simulated = simulate(problem.dynamics, found.u, problem.a_first)
    assert simulated.status.ok
    assert found.a == pytest.approx(simulated.a, abs=1e-7)


def test_limits_are_of_inputs_and_of_coordinates(problem):
    largest = 0.5 * np.abs(optimum(problem)).max()
    found = plan(replace(problem, limits=Limits(np.array([largest]), -largest)))
    assert found.status is Status.SOLVED
    assert np.abs(found.u).max() == pytest.approx(largest, rel=1e-6)
    found = plan(replace(problem, limits=Limits(np.array([largest]), -largest, rate=2.0)))
    assert found.status is Status.SOLVED
    assert np.abs(np.diff(found.u, axis=0)).max() == pytest.approx(2.0 * DT, rel=1e-6)
    with pytest.raises(ValueError, match="u_max must be a number, or one for each of 1 inputs"):
        plan(replace(problem, limits=Limits(np.ones(3), -1.0)))
    with pytest.raises(ValueError, match="a_max must be a number, or one for each of 3 coord"):
        plan(replace(problem, limits=Limits(1.0, -1.0, a_max=np.ones(2))))
    with pytest.raises(ValueError, match=r"u must have shape \(29, 1\)"):
        plan(problem, np.zeros((K - 1, 3)))
