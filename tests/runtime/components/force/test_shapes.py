"""Soft walls, balls and cones."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.testing import check_force_field

POINTS = np.array([[0.3, -0.5, 0.1], [1.0, 0.4, 0.2], [-0.2, -0.1, 0.6], [0.1, 0.2, -0.3]])
VELOCITY = np.array([[1.0, 2.0, 3.0], [0, 0, 1], [4, 0, 0], [0, 5, 0]])


def test_a_wall_pushes_what_is_below(body, force_of):
    field = body("PlaneForceField", POINTS, VELOCITY, normal=[0, 1, 0], d=0.1, stiffness=10)
    depth = np.array([0.6, 0.0, 0.2, 0.0])[:, None]
    expected = 10 * depth * [0, 1, 0] - 5 * depth * VELOCITY
    assert force_of(field) == pytest.approx(expected)


def test_a_wall_on_both_sides_pulls_too(body, force_of):
    field = body("PlaneForceField", POINTS, normal=[0, 1, 0], stiffness=10, bilateral=True)
    assert force_of(field)[:, 1] == pytest.approx(-10 * POINTS[:, 1])


def test_the_force_of_a_wall_can_be_limited(body, force_of):
    field = body("PlaneForceField", POINTS, normal=[0, 1, 0], stiffness=10, maxForce=2)
    assert force_of(field)[:, 1] == pytest.approx([2, 0, 1, 0])


@pytest.mark.parametrize("kind", ["PlaneForceField", "SphereForceField"])
def test_a_range_leaves_the_other_nodes_alone(kind, body, force_of):
    field = body(kind, POINTS, bilateral=True, localRange=[1, 2])
    assert np.flatnonzero(force_of(field).any(axis=1)).tolist() == [1, 2]


def test_a_ball_pushes_along_its_radius(body, force_of):
    field = body("SphereForceField", POINTS, VELOCITY, center=[0, 0, 0.1], radius=0.5, stiffness=7)
    way = POINTS - [0, 0, 0.1]
    distance = np.linalg.norm(way, axis=1, keepdims=True)
    depth = np.maximum(0.5 - distance, 0.0)
    expected = 7 * depth * way / distance - 5 * depth * VELOCITY
    assert force_of(field) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("PlaneForceField", {"normal": [0.6, 0.8, 0.0], "bilateral": True}),
        ("PlaneForceField", {"normal": [0.6, 0.8, 0.0], "d": 9.0}),
        ("SphereForceField", {"radius": 0.4, "bilateral": True}),
        ("SphereForceField", {"radius": 5.0}),
    ],
)
def test_stiffness_is_minus_the_derivative_of_the_force(kind, values, body):
    """By central differences; no node crosses the surface."""
    check_force_field(body(kind, POINTS, damping=0.0, **values), scale=0.2)


def test_the_stiffness_of_a_wall_on_bodies_moves_their_centres(root, run):
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", template="Rigid3d", position=[[0, -1, 0, 0, 0, 0, 1]] * 2)
    node.addObject("UniformMass", totalMass=1.0)
    field = node.addObject("PlaneForceField", damping=0.0)
    run(root)
    check_force_field(field, scale=0.1)


def test_a_round_ellipsoid_is_a_ball_of_which_the_depth_is_relative(body, force_of):
    """f = -k (|u| / r - 1) u / |u|."""
    field = body("EllipsoidForceField", POINTS, vradius=[2, 2, 2], stiffness=6, damping=0)
    distance = np.linalg.norm(POINTS, axis=1, keepdims=True)
    assert force_of(field) == pytest.approx(6 * (1 - distance / 2) * POINTS / distance)


def test_a_negative_stiffness_keeps_nodes_in_an_ellipsoid(body, force_of):
    """Along the gradient of the ellipsoid's function; nodes inside are left alone."""
    field = body(
        "EllipsoidForceField", POINTS, VELOCITY, vradius=[0.5, 0.6, 0.8], stiffness=-6, damping=2
    )
    force = force_of(field)
    u = POINTS / [0.5, 0.6, 0.8]
    v = np.linalg.norm(u, axis=1, keepdims=True) - 1
    g = u / [0.5, 0.6, 0.8]
    expected = -6 * v * g / np.linalg.norm(g, axis=1, keepdims=True) - 2 * v * VELOCITY
    assert force == pytest.approx(np.where(v > 0, expected, 0.0))
    assert (v > 0).any() and (v < 0).any()


def test_product_and_matrix_of_an_ellipsoid_agree_where_it_is_round(body, dense, product):
    field = body("EllipsoidForceField", POINTS, vradius=[2, 2, 2], stiffness=6, damping=0)
    v = np.random.default_rng(0).normal(size=(4, 3))
    assert (dense(field) @ v.ravel()).reshape(4, 3) == pytest.approx(product(field, v))


CONE = {"coneCenter": [0, 0, 0], "coneHeight": [0, 0, 2], "coneAngle": 30, "stiffness": 8}


def test_a_cone_pulls_nodes_back_into_it(body, force_of):
    """In it, beyond the base, beside its side, behind its tip."""
    points = [[0, 0, 1], [0, 0, 3], [1, 0, 1], [0.3, 0, -0.4]]
    field = body("ConicalForceField", points, damping=0, **CONE)
    side = np.array([0.5, 0, np.sqrt(0.75)])
    nearest = side * (side @ [1, 0, 1])
    expected = [[0, 0, 0], [0, 0, -8], 8 * (nearest - [1, 0, 1]), [-2.4, 0, 3.2]]
    assert force_of(field) == pytest.approx(np.array(expected), abs=1e-14)


def test_a_cone_is_stiff_along_its_forces(body, force_of, dense, product):
    field = body("ConicalForceField", [[1.0, 0, 1], [0.5, 0.8, 0.1]], damping=0, **CONE)
    force = force_of(field)
    n = force / np.linalg.norm(force, axis=1, keepdims=True)
    v = np.random.default_rng(0).normal(size=(2, 3))
    expected = 8 * n * (n * v).sum(axis=1, keepdims=True)
    assert product(field, v) == pytest.approx(expected)
    assert (dense(field) @ v.ravel()).reshape(2, 3) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("PlaneForceField", {"stiffness": -1}, "takes a 'stiffness' of 0 or more, got -1; 500"),
        ("EllipsoidForceField", {}, "needs positive half axes 'vradius'"),
        ("ConicalForceField", {}, "needs a 'coneHeight' that is not zero"),
    ],
)
def test_shapes_that_are_none_are_faults(kind, values, message, body):
    with pytest.raises(SceneError, match=message):
        body(kind, POINTS, **values)
