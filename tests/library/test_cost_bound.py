"""Lower bounds of optimal costs: proven for linear problems, unknown for others."""

import numpy as np
import pytest

from sofa_softctl.library.building.build import Builder
from sofa_softctl.library.building.solving import solve
from sofa_softctl.library.motions.cost_bound import NOT_CONVEX, bound_cost
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.motions.storage import LibraryFile
from sofa_softctl.library.ocp.problem import Motion, Variable
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.library.reduced.swing import ReducedModel, motion_problem


def bound_of(problem, *p):
    """The bound at p, from a motion that does nothing, and the optimal cost."""
    program, p = Program(problem), np.array(p)
    m, n_z = len(problem.inputs), len(problem.design)
    motion = Motion(np.zeros((problem.intervals, m)), np.empty(0), np.full(n_z, 0.5))
    return bound_cost(program.model, motion, p), program.solve(p).cost


@pytest.mark.parametrize("p", [[0.3, 0.1], [0.66, 0.0], [0.6, -0.1], [0.5, 0.3]])
def test_the_bound_of_a_linear_problem_is_the_optimum(make_cart, p):
    """Strong duality, also where limits of force and speed are reached; 1e-8 is IPOPT's."""
    bound, cost = bound_of(make_cart(speed=1.05, margin=0.01), *p)
    assert bound.lower == pytest.approx(cost, rel=1e-7) and bound.reason == ""


def test_all_terms_of_a_linear_problem_count(make_cart):
    """Constants to choose, one of them the start, a final cost, states that cost, and `path`."""
    problem = make_cart(
        force=20.0,
        design=[Variable("start", -0.2, 0.2), Variable("wind", -9.0, 9.0)],
        dynamics=lambda x, u, z, p: [x[1], u[0] - 0.3 * x[1] + z[1]],
        initial=lambda z, p: [z[0], p[1]],
        terminal=lambda x, z, p: [x[0] - p[0]],
        terminal_tolerances=[1e-6],
        cost=lambda x, u, z, p: u[0] ** 2 + 3.0 * (x[0] - p[0]) ** 2 + 0.5 * u[0] * x[1],
        final_cost=lambda x, z, p: (x[1] - 0.1) ** 2 + 0.7 * z[1] ** 2 + 5.0 * z[0] ** 2,
        path=lambda x, u, z, p: [0.9 - x[1], u[0] + 2.0 * x[0] + 1.2],
        mirror=None,
    )
    bound, cost = bound_of(problem, 0.8, -0.2)
    assert bound.lower == pytest.approx(cost, rel=1e-6)


def test_any_multipliers_give_a_bound(make_cart, monkeypatch):
    """A solver that ends far from the optimum: the bound is lower, and holds."""
    from sofa_softctl.library.motions import cost_bound

    def solve_badly(qp, **given):
        solution = exact(qp, **given)
        y = 0.7 * solution.result.y + 0.01
        return type(solution)(solution.result._replace(y=y), 0.0, "daqp", 1, ())

    exact = cost_bound.solve_checked
    monkeypatch.setattr(cost_bound, "solve_checked", solve_badly)
    bound, cost = bound_of(make_cart(), 0.66, 0.0)
    assert 0.0 < bound.lower < 0.95 * cost


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"dynamics": lambda x, u, z, p: [x[1], u[0] - x[1] * x[1]]}, "dynamics are not linear"),
        ({"cost": lambda x, u, z, p: u[0] ** 4}, "the cost is not quadratic"),
        ({"cost": lambda x, u, z, p: x[1] ** 2 - u[0] ** 2}, NOT_CONVEX),
        ({"cost": lambda x, u, z, p: p[0]}, NOT_CONVEX),
        ({"force": 1.0}, "no plan obeys all limits"),
    ],
)
def test_where_nothing_is_proven_the_cost_is_unknown(make_cart, given, reason):
    program = Program(make_cart(**given))
    motion = Motion(np.zeros((10, 1)), np.empty(0))
    bound = bound_cost(program.model, motion, np.array([0.6, 0.0]))
    assert np.isnan(bound.lower) and reason in bound.reason


def test_conditions_that_are_not_linear_are_left_out(make_cart):
    """The cart has to keep away from a place and a speed: that costs, but the bound is the same."""
    free, free_cost = bound_of(make_cart(force=9.0), 0.3, 0.0)
    problem = make_cart(
        force=9.0,
        path=lambda x, u, z, p: [(x[0] - 0.15) ** 2 + (x[1] - 0.45) ** 2 - 0.01, 9.0 - x[1]],
    )
    bound, cost = bound_of(problem, 0.3, 0.0)
    assert bound.lower == pytest.approx(free_cost, rel=1e-7) and free.lower < 0.999 * cost


def test_parameters_may_enter_in_any_way(make_cart):
    """Damping and weight that depend on the task: linear in the motion all the same."""
    problem = make_cart(
        dynamics=lambda x, u, z, p: [x[1], u[0] - p[1] ** 2 * x[1]],
        cost=lambda x, u, z, p: (1.0 + abs(p[0])) * u[0] ** 2,
    )
    bound, cost = bound_of(problem, 0.5, 0.4)
    assert bound.lower == pytest.approx(cost, rel=1e-7)


def test_an_answer_has_its_bound(make_cart):
    """Where the library has one motion and no step is made, too: costs over it hold."""
    program = Program(make_cart(tolerance=0.05, terminal_tolerances=[0.05, 0.05]))
    library = TrajectoryLibrary(program.model, [solve(program, np.array([0.4, 0.0])).entry])
    p = np.array([0.42, 0.0])
    answer = library.query(p, refine=False)
    assert answer.status.ok and answer.cost_bound is answer.cost_bound
    assert answer.cost_bound.lower == pytest.approx(program.solve(p).cost, rel=1e-7)


SWING = motion_problem(
    ReducedModel(compliance=0.045, frequency=5.2, damping=0.073, dt=0.005, misfit=0.016),
    horizon=0.12,
    reach=(0.0, 20.0),
    force_max=500.0,
    rate_max=8000.0,
    tolerance=0.05,
)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["cart", "swing", "fast load"])
@pytest.mark.parametrize("motions", [1, 8])
def test_bounds_hold_in_500_random_tasks(make_cart, tmp_path, name, motions):
    """84 tasks of each library: no optimum is below its bound, and no answer is refused for costs.

    The bound is tight, too, so costs over the optimum are known to a millionth of costs as usual.
    """
    if name == "cart":
        problem = make_cart(speed=1.05, margin=0.01)
    elif name == "swing":
        problem = SWING
    else:
        from benchmarks.library_problems import fast_load

        problem = fast_load()
    program = Program(problem)
    with LibraryFile.create(tmp_path / "a.library", program.model) as file:
        builder = Builder(program, file, most=motions, seed=motions)
        while not builder.done:
            builder.keep(builder.round())
        library = file.library()
    rng = np.random.default_rng(57)
    compared = 0
    for p in rng.uniform(problem.lower, problem.upper, (84, len(problem.lower))):
        optimum, answer = program.solve(p), library.query(p)
        assert all("cost" not in criterion.name for criterion in answer.report.criteria)
        if not optimum.status.ok:
            continue
        compared += 1
        slack = 1e-6 * max(optimum.cost, library.cost_floor)
        assert optimum.cost - slack <= answer.cost_bound.lower + slack
        assert answer.cost_bound.lower <= optimum.cost + slack
        if answer.status.ok:
            excess_max = max(answer.cost - answer.cost_bound.lower, 0.0)
            assert answer.cost <= optimum.cost + excess_max + slack
    assert compared >= 42
