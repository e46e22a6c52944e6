import json

import numpy as np
import pytest

from scenes.elastic_arm.problem import position
from scenes.elastic_arm.tasks import GROUND, Goal, Ground, Posture, goals, pick_and_place

pytest.importorskip("casadi")


def drawn(problem, many, rng=None, kept=None, end=None):
    """Parameters of tasks that all end where they should, springs wound by 0.3 and -0.2."""
    rng, out = rng or np.random.default_rng(5), []
    for _ in range(many):
        p, kept = problem.draw(rng, kept, end)
        bend = np.arccos(p[4] ** 2 / (2 * 0.22**2) - 1.0)
        q = np.array([p[0] - 0.5 * bend, bend])
        end = np.concatenate((q, [0, 0], q + [0.3, -0.2], [0, 0]))
        out.append(p)
    return np.array(out), kept, end


@pytest.fixture(scope="module")
def problem():
    return pick_and_place()


def test_goals_are_within_their_sides_and_uniform_in_area():
    """4,000 draws: the mean of rho^2 scatters by 0.4 % of its range, three times that allowed."""
    ground = Ground(near=0.32, far=0.42, middle=1.4, width=0.5)
    rng = np.random.default_rng(0)
    at = np.array([ground.draw(rng, picked=k % 2 == 0) for k in range(4000)])
    assert 0.32 <= at[:, 0].min() and at[:, 0].max() <= 0.42
    assert np.all(np.abs(at[::2, 1] - 1.4) <= 0.5) and np.all(np.abs(at[1::2, 1] + 1.4) <= 0.5)
    share = (at[:, 0] ** 2 - 0.32**2) / (0.42**2 - 0.32**2)
    assert share.mean() == pytest.approx(0.5, abs=0.014)


def test_every_second_goal_is_without_an_object():
    _, wanted = goals(0, 200)
    carried = np.array([goal.mass for goal in wanted])
    assert np.all(carried[1::2] == 0.0)
    assert 0.3 <= carried[::2].min() < 0.31 and 0.49 < carried[::2].max() <= 0.5
    assert all((goal.alpha < 0) == (goal.mass > 0) for goal in wanted)


def test_the_same_seed_gives_the_same_goals():
    assert goals(3, 4) == goals(3, 4)
    assert goals(3, 4) != goals(4, 4)
    assert goals(3, 4)[1] == goals(3, 9)[1][:8]


def test_the_arm_stands_where_the_first_object_is():
    start, _ = goals(0, 1)
    rho, alpha = GROUND.draw(np.random.default_rng(0), picked=True)
    assert position(start.q) == pytest.approx(rho * np.array([np.cos(alpha), np.sin(alpha)]))


def test_with_a_start_each_experiment_begins_there_with_an_empty_hand():
    """Two objects are four motions."""
    start = Posture((-0.1, 0.5))
    p, _, _ = drawn(pick_and_place(start=start, objects=2), 9)
    assert [k for k in range(9) if tuple(p[k, 1:4]) == (0.5, 0.0, 0.0)] == [0, 4, 8]
    assert np.all((p[:, 5] > 0.0) == (np.arange(9) % 2 == 1))


def test_a_motion_starts_where_the_last_one_ended():
    before = Posture((0.5, 0.8), (0.1, 0.2))
    x = np.array([-2.0, 1.1, 0.0, 0.0, -2.4, 1.3, 0.0, 0.0])
    after = before.posture_after(x)
    assert after.q == pytest.approx((-1.5, 1.1))
    assert after.deflection == pytest.approx((-0.4, 0.2))
    p = after.parameters_to(Goal(0.4, 1.0, 0.35))
    assert p == pytest.approx([2.5, 1.1, -0.4, 0.2, 0.4, 0.35])


def test_a_rigid_arm_has_no_deflections():
    assert Posture((0.5, 0.8)).posture_after(np.array([-2.0, 1.1, 0.0, 0.0])).deflection == (
        0.0,
        0.0,
    )


def test_directions_do_not_wrap_and_the_arm_never_drifts_round(problem):
    """p_1 stays between the sides over 500 tasks; were turns lost it would leave them."""
    p, _, _ = drawn(problem, 500)
    reach = 2.0 * (GROUND.middle + GROUND.width) + np.pi / 4.0
    assert np.abs(p[:, 0]).max() < reach
    assert np.abs(p[:, 0]).max() > np.pi  # longer than the way round the back
    assert np.all(p[1:, 2:4] == pytest.approx(np.tile([0.3, -0.2], (499, 1))))
    assert np.all(p >= problem.lower) and np.all(p <= problem.upper)


def test_drawing_goes_on_from_what_json_kept(problem):
    first, kept, end = drawn(problem, 3, rng := np.random.default_rng(1))
    told = json.loads(json.dumps([rng.bit_generator.state, kept, end.tolist()]))
    again = np.random.default_rng()
    again.bit_generator.state = told[0]
    there, _, _ = drawn(problem, 4, again, told[1], np.array(told[2]))
    whole, _, _ = drawn(problem, 7, np.random.default_rng(1))
    assert np.array_equal(np.vstack((first, there)), whole)


def test_a_task_that_failed_is_drawn_again_from_the_same_place(problem):
    _, kept, end = drawn(problem, 3, rng := np.random.default_rng(1))
    one, _ = problem.draw(rng, kept, end)
    other, _ = problem.draw(rng, kept, end)
    assert np.array_equal(one[1:4], other[1:4])
    assert one[4] != other[4]
    assert one[5] == other[5] == 0.0  # tasks 1 and 3 carry, 4 does not


def test_the_solver_starts_from_the_stiffness_that_is_asked_for():
    problem = pick_and_place("variable", stiffness=(0.4, 2.0))
    assert [each.guess for each in problem.design] == [0.4, 2.0]
