"""Probes, obstacles and rewards: values known by hand, derivatives by differences."""

import numpy as np
import pytest

from sofa_softctl.surrogate.costs.costs import Effort, Following, Laser, Point, Smoothness
from sofa_softctl.surrogate.costs.obstacles import Box, HalfSpace, Obstacle, Sphere
from sofa_softctl.surrogate.models.task import Task

LASER = Laser(base=(0, 1, 2), tip=(3, 4, 5), normal=(0.0, 0.2, 2.0), offset=-3.0)
SHAPES = [
    Sphere((0.1, 0.2, 0.0), 0.5),
    HalfSpace((0.0, 2.0, 1.0), 0.3),
    Box((-0.4, -0.3, -0.2), (0.3, 0.5, 0.6)),
]


def differences(function, at, step=1e-6):
    columns = []
    for i in range(at.shape[1]):
        e = np.zeros(at.shape[1])
        e[i] = step
        columns.append((function(at + e) - function(at - e)) / (2 * step))
    return np.stack(columns, axis=-1)


def rays(count=7):
    """Outputs of a laser that points down, at a plane 3 / 2 below."""
    rng = np.random.default_rng(0)
    base = 0.1 * rng.normal(size=(count, 3))
    return np.concatenate((base, base + [0.0, 0.0, -0.3] + 0.05 * rng.normal(size=(count, 3))), 1)


def test_a_laser_hits_its_plane_on_the_ray():
    y = rays()
    spot, _ = LASER.locate(y)
    assert spot @ np.array(LASER.normal) == pytest.approx(np.full(7, LASER.offset))
    assert np.cross(spot - y[:, 3:], y[:, 3:] - y[:, :3]) == pytest.approx(0.0, abs=1e-12)


def test_the_derivative_of_a_spot_is_its_difference():
    spot_y = LASER.locate(rays())[1]
    assert spot_y == pytest.approx(differences(lambda y: LASER.locate(y)[0], rays()), abs=1e-6)


def test_a_laser_that_points_away_or_along_the_plane_has_no_spot():
    up = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
    along = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])
    assert np.isnan(LASER.locate(up)[0]).all()
    assert np.isnan(LASER.locate(along)[0]).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_signed_distance_has_a_unit_slope_that_is_its_difference(shape):
    p = np.random.default_rng(1).uniform(-1.0, 1.0, (200, 3))
    far, normal = shape.distance(p)
    assert far.min() < 0.0 < far.max()
    assert np.linalg.norm(normal, axis=1) == pytest.approx(1.0)
    assert normal == pytest.approx(differences(lambda q: shape.distance(q)[0], p), abs=1e-6)


def test_signed_distances_known_by_hand():
    ball, wall, box = SHAPES[0], HalfSpace((0.0, 0.0, 5.0), 0.25), Box((0, 0, 0), (2, 2, 1))
    assert ball.distance(np.array([[0.1, 0.2, 2.0]]))[0] == pytest.approx([1.5])
    assert wall.distance(np.array([[9.0, 9.0, 0.0]]))[0] == pytest.approx([-0.25])
    p = np.array([[3.0, 3.0, 0.5], [1.0, 1.0, 0.9], [1.0, 1.0, -2.0]])
    assert box.distance(p)[0] == pytest.approx([np.sqrt(2.0), -0.1, 2.0])


def test_the_centre_of_a_ball_has_a_way_out():
    far, normal = SHAPES[0].distance(np.array([[0.1, 0.2, 0.0]]))
    assert far == pytest.approx([-0.5])
    assert np.linalg.norm(normal) == pytest.approx(1.0)


def test_the_depth_in_an_obstacle_has_the_slope_of_its_differences():
    obstacle = Obstacle(LASER, Sphere((0.0, 0.0, -1.5), 0.2), weight=1.0, margin=0.1)
    depth, slope = obstacle.violation(rays())
    assert depth.max() > 0.0 > depth.min()
    assert slope == pytest.approx(differences(lambda y: obstacle.violation(y)[0], rays()), abs=1e-6)


@pytest.mark.parametrize("probe", [Point((2, 0, 1)), LASER])
def test_slopes_of_following_are_differences_and_its_hessian_is_theirs_on_the_path(probe):
    """On the path, where the error is zero, Gauss-Newton is exact."""
    y = rays()[:, : len(probe.rows)]
    goal = probe.locate(y)[0] + np.random.default_rng(2).normal(size=(7, 3))
    weight = np.linspace(0.0, 2.0, 7)
    term = Following(probe, goal, weight)
    numeric = np.array([differences(lambda p, k=k: total(term, y, p, k), y[k : k + 1])[0]
                        for k in range(7)])  # fmt: skip
    assert term.gradient(y) == pytest.approx(numeric, abs=1e-5)
    there = Following(probe, probe.locate(y)[0], weight)
    assert there.value(y) == 0.0
    assert there.distance(y) == 0.0
    # At instant k only y_k changes the slope, so one difference of all instants serves them all.
    exact = differences(there.gradient, y)
    assert there.hessian(y) == pytest.approx(exact, abs=1e-4)


def total(term, y, p, k):
    z = y.copy()
    z[k] = p[0]
    return np.array([term.value(z)])


def test_the_distance_of_following_leaves_out_the_start_and_goals_that_lead_the_way():
    goal = np.zeros((4, 3))
    y = np.array([[9.0, 0, 0], [1.0, 0, 0], [8.0, 0, 0], [0.0, 2.0, 0]])
    for leading in (0.0, 0.4):
        weight = np.array([3.0, 0.5, leading, 1.0])
        assert Following(Point((0, 1, 2)), goal, weight).distance(y) == 2.0


def test_axes_of_following_weigh_each_axis_and_leave_one_free():
    y, goal = np.random.default_rng(3).normal(size=(2, 5, 3))
    term = Following(Point((0, 1, 2)), goal, np.linspace(1.0, 2.0, 5), axes=(2.0, 0.0, 0.5))
    squares = (y - goal) ** 2 @ [2.0, 0.0, 0.5]
    assert term.value(y) == pytest.approx(0.5 * np.linspace(1.0, 2.0, 5) @ squares)
    slope = [differences(lambda p, k=k: total(term, y, p, k), y[k : k + 1])[0] for k in range(5)]
    assert term.gradient(y) == pytest.approx(np.array(slope), abs=1e-5)
    assert term.hessian(y) == pytest.approx(differences(term.gradient, y), abs=1e-5)
    along = np.linalg.norm((y - goal)[1:, [0, 2]], axis=1)
    assert term.distance(y) == pytest.approx(along.max())
    goals = term.goals_of(y)
    assert np.array_equal(goals[:, 1], y[:, 1]) and np.array_equal(goals[:, ::2], goal[:, ::2])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Following(LASER, np.zeros((3, 3)), axes=(0, 0, 0)), "not all 0. Got"),
        (lambda: Following(LASER, np.zeros((3, 3)), axes=(1, -1, 0)), "none negative"),
        (lambda: Following(LASER, np.zeros((3, 3)), axes=(1, 1)), "along x, y and z"),
        (lambda: Following(LASER, np.zeros((3, 3)), -1.0), "weight must not be negative. Got: -1"),
        (
            lambda: Following(LASER, np.zeros((3, 3)), tolerance=np.nan),
            "tolerance must be positive",
        ),
        (lambda: Effort(-1.0), "weight must be finite and not negative. Got: -1.0"),
        (lambda: Smoothness(np.nan), "weight must be finite and not negative. Got: nan"),
        (lambda: Task(probe=None), "probe must be a Point or a Laser. Got: None"),
    ],
)
def test_terms_that_make_no_sense_are_refused(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def test_goals_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"goal must have shape \(7, 3\). Got: \(6, 3\)"):
        Following(Point((0, 1, 2)), np.zeros((6, 3))).value(np.zeros((7, 3)))


@pytest.mark.parametrize("term", [Effort(0.3), Smoothness(2.0)])
def test_costs_of_tensions_are_quadratic_with_their_slopes(term):
    rng = np.random.default_rng(3)
    u, v = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    bend = 0.5 * np.sum(v * (term.hessian(6) @ v))
    assert term.value(u + v) == pytest.approx(
        term.value(u) + np.sum(term.gradient(u) * v) + bend, rel=1e-12
    )
    assert term.value(np.zeros((6, 2))) == 0.0


def test_a_constant_tension_is_smooth():
    assert Smoothness(1.0).value(np.ones((5, 2))) == 0.0
    assert Smoothness(1.0).value(np.array([[0.0], [2.0]])) == 2.0


def test_goals_and_weights_that_cannot_be_are_refused():
    point = Point((0, 1, 2))
    with pytest.raises(ValueError, match="goal must be finite"):
        Following(point, np.full((6, 3), np.nan))
    with pytest.raises(ValueError, match=r"one for each of 6 instants. Got shape: \(5,\)"):
        Following(point, np.zeros((6, 3)), np.ones(5))
