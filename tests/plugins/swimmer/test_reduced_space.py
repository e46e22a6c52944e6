"""Plans by independent variables alone: the same optima, where costs are linear too."""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from softctl_swimmer.planning.curvature import balance_curvature
from softctl_swimmer.planning.reduced_space import ReducedSpace

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Effort, Point
from sofa_softctl.surrogate.costs.dynamics import LinearisedDynamics
from sofa_softctl.surrogate.costs.obstacles import Obstacle, Sphere
from sofa_softctl.surrogate.costs.step import simulate
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.planning.planner import plan
from sofa_softctl.surrogate.program.linearization import balance_slope
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import (
    Limits,
    PlanningProblem,
    evaluate,
)
from tests.surrogate.planning.test_own_dynamics import DT, optimum
from tests.surrogate.planning.test_own_dynamics import problem as row  # noqa: F401

K = 25
INERTIA = np.array([[2.0, 0.3], [0.3, 1.0]])
SUMS = np.array([[1.0, 0.0], [1.0, 1.0]])
REDUCED = Settings(search=ReducedSpace)


def searching(independent):
    """Settings of a search with these coordinates as its variables."""
    return Settings(search=partial(ReducedSpace, independent=independent))


class Arms:
    """Two arms of length 1 in a row. Outputs: both angles, and the tip, (x, y, 0)."""

    dimension, size = 2, 5

    def at(self, points):
        first, second = np.cumsum(points, axis=1).T
        tip = np.sin(first) + np.sin(second), -np.cos(first) - np.cos(second)
        value = np.column_stack((points, *tip, 0.0 * first))
        slope = np.zeros((len(points), 5, 2))
        slope[:, :2] = np.eye(2)
        slope[:, 2, 0], slope[:, 2, 1] = np.cos(first) + np.cos(second), np.cos(second)
        slope[:, 3, 0], slope[:, 3, 1] = np.sin(first) + np.sin(second), np.sin(second)
        return Jet(value, slope)

    def curvature(self, points, weights):
        turn = np.cumsum(points, axis=1).T
        first, second = (-weights[:, 2] * np.sin(t) + weights[:, 3] * np.cos(t) for t in turn)
        found = np.tile(second[:, None, None], (1, 2, 2))
        found[:, 0, 0] += first
        return found


@dataclass(frozen=True)
class Swing:
    """J (a+ - 2 a + a-) / dt^2 + 0.1 (da / dt)^3 + weight = u, da = a+ - a, a torque each."""

    embedding: Arms = field(default_factory=Arms)
    inputs: int = 2
    dt: float = DT
    unit: float = 1.0

    def residual(self, steps):
        change = steps.a_next - 2.0 * steps.a_now + steps.before.value[:, :2]
        speed = (steps.a_next - steps.a_now) / DT
        weight = 5.0 * np.sin(steps.a_next @ SUMS.T) @ SUMS
        return change @ INERTIA / DT**2 + 0.1 * speed**3 + weight - steps.u

    def linearise(self, steps):
        m = len(steps.u)
        speed = (steps.a_next - steps.a_now) / DT
        drag = (0.3 / DT * speed**2)[:, :, None] * np.eye(2)
        cosine = 5.0 * np.cos(steps.a_next @ SUMS.T)
        weight = np.einsum("si,ms,sj->mij", SUMS, cosine, SUMS)
        J = np.tile(INERTIA / DT**2, (m, 1, 1))
        return LinearisedDynamics(
            residual=self.residual(steps),
            by_next=J + drag + weight,
            by_now=-2.0 * J - drag,
            by_before=J,
            by_input=np.tile(-np.eye(2), (m, 1, 1)),
            mass=np.tile(INERTIA, (m, 1, 1)),
        )

    def rounding(self, ahead, now, before):
        return np.full(len(ahead.value), 1e-13)

    def holding(self, a):
        return 5.0 * np.sin(SUMS @ a) @ SUMS

    def at_rest(self, a, u):
        return np.tile(a, (len(u), 1))

    def on(self, embedding):
        return replace(self, embedding=embedding)


@dataclass(frozen=True)
class Reached:
    """Minus a combination of the last output of a point: linear, it has no Hessian."""

    weight: tuple[float, ...]
    rows: tuple[int, ...] = (2, 3, 4)

    def value(self, y):
        return -float(y[-1] @ self.weight)

    def gradient(self, y):
        found = np.zeros_like(y)
        found[-1] = -np.array(self.weight)
        return found

    def hessian(self, y):
        return np.zeros((len(y), 3, 3))


@pytest.fixture
def swing():
    """As far to the side and as high as torques and 2.4 s allow."""
    outputs = (Reached((1.0, 0.5, 0.0)),)
    return PlanningProblem(Swing(), K, np.zeros(2), Limits(2.0, -2.0), outputs, (Effort(1e-3),))


def cost(problem, u):
    a = simulate(problem.dynamics, u, problem.a_first).a
    return evaluate(problem, a, u).cost


def start(problem):
    rng = np.random.default_rng(0)
    u = 0.5 * rng.standard_normal((problem.instants - 1, problem.m))
    return u, simulate(problem.dynamics, u, problem.a_first).a


@pytest.mark.soak
@pytest.mark.parametrize("independent", [None, (0, 1)])
def test_a_linear_cost_is_planned(swing, independent):
    """No better optimum is near: SciPy's bounded quasi-Newton method, with differences of our
    simulation, from the plan gains 1e-5 of the cost at most, ten times the plan's own tolerance."""
    found = plan(swing, *start(swing), settings=searching(independent))
    assert found.status is Status.SOLVED, found.message
    assert found.iterations < 100
    assert np.abs(found.u).max() <= 2.0 + 1e-6
    assert -found.reward == pytest.approx(cost(swing, found.u), abs=1e-9)
    other = minimize(
        lambda u: cost(swing, u.reshape(found.u.shape)),
        found.u.ravel(),
        bounds=[(-2.0, 2.0)] * found.u.size,
        options={"maxiter": 3},
    )
    assert other.fun > -found.reward - 1e-5 * abs(found.reward)


@pytest.mark.parametrize("penalty", [1e-6, 1e-12])
def test_a_step_keeps_to_limits_whose_multipliers_are_not_known_yet(penalty, swing):
    """With a penalty that is too small a QP pays it, and the torques leave their limits of 2.

    With the smallest, ten times as much does not help either.
    """
    u = 0.1 * np.ones((K - 1, 2))
    trial = evaluate(swing, simulate(swing.dynamics, u, swing.a_first).a, u)
    search = ReducedSpace(swing, trial, replace(REDUCED, radius=1.0), (0, 1))
    search.penalty, model = penalty, search.model
    p, excess = len(model.gradient), search.variables.excess(search.trial)
    assert excess.max() < 0.0
    paid = search.answers.of(search._subproblem(model, excess, model.depth).qp)
    assert (excess + model.rows @ paid.x[:p]).max() > 1.0
    answer = search._solve_steered(model, excess, model.depth).answer
    assert (excess + model.rows @ answer.x[:p]).max() < 1e-5
    assert penalty < search.penalty < search.settings.penalty_max


@pytest.mark.soak
def test_both_kinds_of_variables_find_the_same(swing):
    """To 1e-5 of the cost, where each is within 1e-6 of its optimum; within limits of rates, which
    bind, and of angles."""
    problem = replace(swing, limits=Limits(2.0, -2.0, rate=6.0, a_min=-1.0, a_max=1.0))
    begin = tuple(0.1 * each for each in start(swing)[:1]), None
    u = begin[0][0]
    a = simulate(problem.dynamics, u, problem.a_first).a
    inputs, angles = (plan(problem, u, a, settings=searching(each)) for each in (None, (0, 1)))
    for found in (inputs, angles):
        assert found.status is Status.SOLVED, found.message
        assert np.abs(np.diff(found.u, axis=0)).max() == pytest.approx(6.0 * DT, abs=1e-5)
        assert np.abs(found.a).max() <= 1.0 + 1e-6
    assert inputs.reward == pytest.approx(angles.reward, rel=1e-5)


def test_quadratic_costs_have_their_optimum(row):  # noqa: F811
    """Of three masses on springs, which one motor drives, see `optimum`."""
    found = plan(row, settings=REDUCED)
    assert found.status is Status.SOLVED
    assert found.u[:, 0] == pytest.approx(optimum(row), abs=1e-3)


@pytest.mark.soak
@pytest.mark.parametrize("aside", [0.15, 0.25])
def test_obstacles_and_rest_are_kept(row, aside):  # noqa: F811
    """A sphere on the way of the plan without it; as collocation does it, at the same cost to the
    1e-6 of their conditions."""
    y = plan(row).y
    normal = np.cross(y[15] - y[13], (0.0, 0.0, 1.0))
    center = y[14] + aside * normal / np.linalg.norm(normal)
    obstacle = Obstacle(Point((0, 1, 2)), Sphere(tuple(center), 0.3), 50.0)
    problem = replace(row, obstacles=(obstacle,), rest=True)
    other, found = plan(problem), plan(problem, settings=REDUCED)
    assert found.status is other.status is Status.SOLVED
    assert max(found.violation, other.violation) < 1e-6
    assert found.a[-1] == pytest.approx(found.a[-2], abs=1e-6)
    assert found.reward == pytest.approx(other.reward, rel=1e-6)
    assert found.reward < plan(replace(row, rest=True)).reward - 1e-3  # it is in the way


def test_curvature_of_the_balance_is_that_of_differences(swing):
    """Central differences of exact slopes with 1e-5: 1e-9 of their size, and forward ones of
    1e-6 in `balance_curvature`: 1e-6 of theirs."""
    rng = np.random.default_rng(1)
    u, a = start(swing)
    trial = evaluate(swing, a, u)
    multipliers = rng.standard_normal(len(trial.lack))
    H = balance_curvature(swing, trial, multipliers).toarray()
    assert H == pytest.approx(H.T, abs=0.0)
    u_at, a_at = swing.columns
    for _ in range(5):
        x = rng.standard_normal(len(H))
        ends = []
        for step in (1e-5, -1e-5):
            moved = np.vstack((a[:1], a[1:] + step * x[a_at]))
            there = evaluate(swing, moved, u + step * x[u_at])
            ends.append(multipliers @ balance_slope(swing, there))
        expected = (ends[0] - ends[1]) / 2e-5
        assert H @ x == pytest.approx(expected, abs=1e-4 * np.abs(expected).max())


def test_as_many_coordinates_as_inputs(swing):
    with pytest.raises(ValueError, match="as many coordinates as there are inputs, 2"):
        plan(swing, *start(swing), settings=searching((1,)))


def test_a_start_without_balance_is_said(swing):
    """Arms that are to be where no torque brings them within a step, far from any balance."""

    @dataclass(frozen=True)
    class Torn(Swing):
        def residual(self, steps):
            return Swing.residual(self, steps) + np.where(steps.a_next > -9.0, np.nan, 0.0)

    u, a = start(swing)
    found = plan(replace(swing, dynamics=Torn()), u, a, settings=REDUCED)
    assert found.status is Status.INFEASIBLE
    assert "No motion was found that is in balance" in found.message
