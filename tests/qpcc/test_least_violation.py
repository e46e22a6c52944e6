import math

import numpy as np
import pytest
from scipy.optimize import minimize

from sofa_softctl.qp.solvers import find
from sofa_softctl.qpcc.problem.limits import limits_of
from sofa_softctl.qpcc.problem.problem import InverseProblem, build_qp
from sofa_softctl.qpcc.solve.least_violation import add_tracking, build_violation_qp
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.status import Status

INF, NAN = math.inf, math.nan


def contradicting(seed, n_a=4, n_e=3):
    """Cables with efforts in [0, 1/2] that are asked for displacements they cannot have."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(n_e + n_a, 2 * (n_e + n_a)))
    W = R @ R.T / len(R)
    return InverseProblem(
        W_ea=W[:n_e, n_e:],
        W_aa=W[n_e:, n_e:],
        delta_e_free=rng.normal(size=n_e),
        delta_a_free=rng.normal(size=n_a),
        effort_min=0.0,
        effort_max=0.5,
        effort_previous=rng.uniform(0.0, 0.5, n_a),
        effort_rate=np.where(rng.random(n_a) < 0.5, 0.1, INF),
        displacement_min=np.where(rng.random(n_a) < 0.5, 2.0, -INF),
        displacement_max=rng.uniform(2.0, 3.0, n_a),
        displacement_previous=rng.normal(size=n_a),
        displacement_rate=np.where(rng.random(n_a) < 0.5, 0.3, INF),
        displacement_fixed=np.where(rng.random(n_a) < 0.3, 1.5, NAN),
        energy=1e-2,
    )


def excesses(p, effort):
    """How far each soft limit is exceeded, in square roots of energies, written out."""
    u = 1.0 / np.sqrt(p.W_aa.diagonal())
    displacement = p.W_aa @ effort + p.delta_a_free
    change, d_change = effort - p.effort_previous, displacement - p.displacement_previous
    found = [
        np.maximum(np.abs(change) - p.effort_rate, 0.0) / u,
        np.maximum(p.displacement_min - displacement, 0.0) * u,
        np.maximum(displacement - p.displacement_max, 0.0) * u,
        np.maximum(np.abs(d_change) - p.displacement_rate, 0.0) * u,
        np.nan_to_num(np.abs(displacement - p.displacement_fixed)) * u,
    ]
    return np.concatenate(found)


def least_excess_by_scipy(p):
    """Smallest sum of squares of the excesses over the box of efforts; convex and smooth."""
    fun = lambda effort: np.sum(excesses(p, effort) ** 2)  # noqa: E731
    bounds = list(zip(p.effort_min, p.effort_max, strict=True))
    best = minimize(
        fun, np.full(p.n_a, 0.25), bounds=bounds, method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000},
    )  # fmt: skip
    return best.fun, best.x


def cost(p, effort):
    Q = p.W_ea.T @ p.W_ea
    s = np.abs(Q).sum(1).max() / np.abs(p.W_aa).sum(1).max()
    error = p.W_ea @ effort + p.delta_e_free
    return 0.5 * error @ error + 0.5 * p.energy * s * effort @ p.W_aa @ effort


@pytest.mark.parametrize("seed", range(12))
def test_limits_are_exceeded_by_the_least_squares_amount(seed):
    """Against L-BFGS-B with numerical gradients, which is good to about 1e-7 in the sum."""
    p = contradicting(seed)
    least, _ = least_excess_by_scipy(p)
    solution = solve(p)
    assert solution.status is Status.CLOSEST_FEASIBLE
    assert np.sum(excesses(p, solution.effort) ** 2) == pytest.approx(least, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_tracking_is_the_best_that_this_violation_leaves(seed):
    """Against SLSQP, in which each excess may be as large as ours; 1e-6: its accuracy."""
    p = contradicting(seed)
    solution = solve(p)
    allowed = excesses(p, solution.effort)
    best = minimize(
        lambda effort: cost(p, effort),
        solution.effort,
        bounds=list(zip(p.effort_min, p.effort_max, strict=True)),
        constraints={"type": "ineq", "fun": lambda effort: allowed - excesses(p, effort) + 1e-9},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert solution.objective == pytest.approx(cost(p, solution.effort), rel=1e-12)
    assert best.success  # or it may not have looked further than where it starts, at our answer
    assert solution.objective <= best.fun + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_effort_bounds_hold_whatever_else_is_asked(seed):
    p = contradicting(seed)
    effort = solve(p).effort
    assert (effort >= p.effort_min).all() and (effort <= p.effort_max).all()


def test_redundant_efforts_track_as_well_as_the_violation_allows():
    """Cable 0 is too short whatever it does. Cables 1 and 2 leave it alone, and reach the goal."""
    p = InverseProblem(
        W_ea=[[1.0, 2.0, 1.0]],
        W_aa=np.eye(3),
        delta_e_free=[-6.0],
        delta_a_free=[9.0, 0.0, 0.0],
        effort_min=0.0,
        displacement_max=[4.0, INF, INF],
        names=("short", "strong", "weak"),
    )
    solution = solve(p)
    assert solution.status is Status.CLOSEST_FEASIBLE
    assert solution.relaxed == ("short: displacement 5 above its maximum",)
    assert solution.effector_error == pytest.approx([0.0], abs=1e-6)  # of 6: 1e-7, the margin
    assert solution.effort[0] == pytest.approx(0.0, abs=1e-6)


def test_every_relaxed_limit_is_told_with_its_amount():
    """Halfway between 5 and 8 - 1: each limit is missed by 1."""
    p = InverseProblem(
        W_ea=[[1.0]], W_aa=[[1.0]], delta_e_free=[0.0], delta_a_free=[0.0],
        displacement_max=5.0, displacement_previous=[8.0], displacement_rate=1.0, names=["cable"],
    )  # fmt: skip
    solution = solve(p)
    assert solution.relaxed == (
        "cable: displacement 1 above its maximum",
        "cable: displacement rate 1 above its maximum",
    )
    assert solution.displacement == pytest.approx([6.0], abs=1e-6)


def test_an_imposed_effort_outside_the_bounds_is_cut_and_told():
    p = InverseProblem(
        W_ea=[[1.0]], W_aa=[[1.0]], delta_e_free=[0.0], delta_a_free=[0.0],
        effort_max=2.0, effort_fixed=[3.5], names=["pump"],
    )  # fmt: skip
    solution = solve(p)
    assert solution.status is Status.CLOSEST_FEASIBLE
    assert solution.effort.tolist() == [2.0]
    assert solution.relaxed == ("pump: effort 1.5 below its imposed value",)


def test_an_imposed_effort_holds_although_a_displacement_suffers():
    p = InverseProblem(
        W_ea=[[1.0]], W_aa=[[1.0]], delta_e_free=[0.0], delta_a_free=[0.0],
        effort_fixed=[3.0], displacement_max=2.0, names=["cable"],
    )  # fmt: skip
    solution = solve(p)
    assert solution.effort == pytest.approx([3.0], rel=1e-15)
    assert solution.relaxed == ("cable: displacement 1 above its maximum",)


def test_a_violation_of_nothing_is_found_where_limits_agree():
    """The violation QP of a feasible problem has the excess zero; 1e-9: daqp's tolerance."""
    p = InverseProblem(
        W_ea=[[1.0, 0.0]], W_aa=[[2.0, 1.0], [1.0, 2.0]], delta_e_free=[0.0],
        delta_a_free=[1.0, 1.0], displacement_max=[0.5, INF], displacement_min=[-INF, 0.7],
    )  # fmt: skip
    qp, _ = build_violation_qp(p, limits_of(p))
    result = find("daqp")(qp, None)
    assert result.outcome == "solved"
    assert result.x[2:] == pytest.approx(np.zeros(2), abs=1e-9)


def test_hard_limits_have_no_excess():
    """Two efforts, and one excess for the displacement that is limited, none for the bounds."""
    p = InverseProblem(
        W_ea=[[1.0, 0.0]], W_aa=np.eye(2), delta_e_free=[0.0], delta_a_free=[0.0, 0.0],
        effort_min=0.0, effort_max=1.0, displacement_max=[0.5, INF],
    )  # fmt: skip
    qp, _ = build_violation_qp(p, limits_of(p))
    assert qp.A.shape == (1, 3)


@pytest.mark.parametrize("seed", range(12))
def test_tracking_and_violation_at_once_come_close_to_one_after_the_other(seed):
    """What is asked if the two stages fail. The weight of 1e-6 costs 1e-6 in the median and 2e-5
    in one problem of ten; 1e-3 is for the worst."""
    p = contradicting(seed)
    limits = limits_of(p)
    qp, scale = build_violation_qp(p, limits)
    result = find("daqp")(add_tracking(qp, scale, build_qp(p)), None)
    exact = solve(p).effort
    assert scale * result.x[: p.n_a] == pytest.approx(exact, abs=1e-3 * exact.max())


def test_limits_that_leave_one_point_are_no_reason_to_hold_the_command():
    """Nothing may move, neither efforts nor displacements, but one effort does not fit: in what
    this leaves, daqp goes in circles, and proxqp sees a contradiction."""
    p = InverseProblem(
        W_ea=[[0.0, -0.0625, 0.0625, -0.4375]],
        W_aa=[
            [0.5, 0.0, 0.0, 0.0],
            [0.0, 8.1875, -0.9375, 0.4375],
            [0.0, -0.9375, 0.625, -0.0625],
            [0.0, 0.4375, -0.0625, 0.5625],
        ],
        delta_e_free=[0.0],
        delta_a_free=np.zeros(4),
        effort_previous=[0.0, -0.25, 0.0, 0.0],
        effort_rate=0.0,
        displacement_rate=0.0,
    )
    solution = solve(p)
    assert solution.status is Status.CLOSEST_FEASIBLE, solution.message
    least, _ = least_excess_by_scipy(p)
    assert np.sum(excesses(p, solution.effort) ** 2) == pytest.approx(least, rel=1e-5)


def test_units_do_not_decide_which_limit_gives_way():
    """A cable in N and mm or in mN and m: the same displacements, in the other unit."""
    effort, length = 1e3, 1e-3
    one = solve(contradicting(4))
    p = contradicting(4)
    two = solve(
        InverseProblem(
            W_ea=p.W_ea / effort * length,
            W_aa=p.W_aa / effort * length,
            delta_e_free=p.delta_e_free * length,
            delta_a_free=p.delta_a_free * length,
            effort_min=0.0,
            effort_max=p.effort_max * effort,
            effort_previous=p.effort_previous * effort,
            effort_rate=p.effort_rate * effort,
            displacement_min=p.displacement_min * length,
            displacement_max=p.displacement_max * length,
            displacement_previous=p.displacement_previous * length,
            displacement_rate=p.displacement_rate * length,
            displacement_fixed=p.displacement_fixed * length,
            energy=p.energy,
        )
    )
    assert two.displacement / length == pytest.approx(one.displacement, rel=1e-6)
