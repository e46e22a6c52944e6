"""Where a movie is seen from: views of the user, and views that see the motion."""

import math

import numpy as np
import pytest

from sofa_softctl.view.movie.animation import AnimatedPoint, AnimatedSurface, Animation
from sofa_softctl.view.movie.direction import LINE, PLANE, View, direction_of, parse_view

TURN = np.linspace(0.0, 2.0 * np.pi, 41)[:-1]
CORNERS = np.array([[x, y, z] for x in (0, 8) for y in (0, 8) for z in (-100, 0)], dtype=float)
Z = np.array([0.0, 0.0, 1.0])


def circle(radius, height, across=(0, 1)):
    """A point on a circle about the z axis, or in another plane of coordinates."""
    path = np.tile([4.0, 4.0, height], (len(TURN), 1))
    path[:, across[0]] += radius * np.cos(TURN)
    path[:, across[1]] += radius * np.sin(TURN)
    return path


def arm(*paths, up=Z):
    """A bar that hangs from z = 0, and markers on paths."""
    body = AnimatedSurface("arm", np.tile(CORNERS, (len(TURN), 1, 1)), np.array([[0, 1, 2]]))
    markers = [AnimatedPoint("tip", path) for path in paths]
    return Animation(TURN, [body], markers=markers, up=up)


def seen(direction, normal):
    """Angle between the line of sight and a plane [degree]."""
    return math.degrees(math.asin(abs(direction @ normal)))


@pytest.mark.parametrize("height", [-140.0, -100.0, -50.0, 0.0])
def test_a_level_circle_is_not_seen_edge_on(height):
    """The laser's spot below the arm was: 11 degrees above its plate."""
    direction, up = direction_of(arm(circle(20.0, height)))
    assert seen(direction, Z) >= PLANE - 1e-6
    assert np.linalg.norm(direction) == pytest.approx(1.0) and up == pytest.approx(Z)


def test_what_moves_clear_below_the_arm_is_seen_from_above():
    assert direction_of(arm(circle(20.0, -140.0)))[0] @ Z > 0.0
    assert direction_of(arm(circle(20.0, -100.0)))[0] @ Z < 0.0  # the arm would hide it


@pytest.mark.parametrize("across", [(0, 2), (1, 2)])
def test_an_upright_circle_is_not_seen_edge_on(across):
    direction, _ = direction_of(arm(circle(30.0, -50.0, across)))
    normal = np.eye(3)[3 - sum(across)]
    assert seen(direction, normal) >= PLANE - 1e-6


@pytest.mark.parametrize("axis", range(3))
def test_motion_along_a_line_is_not_seen_along_that_line(axis):
    path = np.tile([4.0, 4.0, -50.0], (len(TURN), 1))
    path[:, axis] += 40.0 * np.sin(TURN)
    direction, _ = direction_of(arm(path))
    assert math.degrees(math.acos(abs(direction[axis]))) >= LINE - 1e-6


def test_without_markers_the_motion_of_the_bodies_counts():
    sway = np.stack([0.0 * TURN, 30.0 * np.cos(TURN), 30.0 * np.sin(TURN)], axis=1)
    body = AnimatedSurface("arm", CORNERS + sway[:, None], np.array([[0, 1, 2]]))
    direction, _ = direction_of(Animation(TURN, [body], up=Z))
    assert seen(direction, np.eye(3)[0]) >= PLANE - 1e-6


def test_a_view_that_sees_the_motion_is_kept():
    """A trunk that lies along x and moves in the plane across is seen from three quarters."""
    body = AnimatedSurface("trunk", CORNERS[:, [2, 0, 1]][None], np.array([[0, 1, 2]]))
    still = Animation(TURN[:1], [body], markers=[AnimatedPoint("tip", np.array([[-100.0, 4, 4]]))])
    path = np.stack([-100.0 + 0.0 * TURN, 20.0 * np.cos(TURN), 20.0 * np.sin(TURN)], axis=1)
    body = AnimatedSurface("trunk", np.tile(body.positions, (len(TURN), 1, 1)), body.triangles)
    moving = Animation(TURN, [body], markers=[AnimatedPoint("tip", path)])
    assert direction_of(moving)[0] == pytest.approx(direction_of(still)[0], abs=1e-6)


def test_the_same_motion_is_seen_from_the_same_place():
    views = [direction_of(arm(circle(20.0, -140.0)))[0] for _ in range(3)]
    assert (views[0] == views[1]).all() and (views[1] == views[2]).all()


@pytest.mark.parametrize(
    ("name", "towards", "up"),
    [
        ("front", (0, -1, 0), (0, 0, 1)),
        ("right", (1, 0, 0), (0, 0, 1)),
        ("back", (0, 1, 0), (0, 0, 1)),
        ("left", (-1, 0, 0), (0, 0, 1)),
        ("top", (0, 0, 1), (0, 1, 0)),
        ("bottom", (0, 0, -1), (0, -1, 0)),
        ("90,0", (1, 0, 0), (0, 0, 1)),
        ("0,90", (0, 0, 1), (0, 1, 0)),
        ("45,0", (math.sqrt(0.5), -math.sqrt(0.5), 0), (0, 0, 1)),
    ],
)
def test_views_of_a_scene_whose_gravity_points_down_z(name, towards, up):
    direction, above = direction_of(arm(circle(20.0, -140.0)), parse_view(name))
    assert direction == pytest.approx(np.array(towards, float), abs=1e-12)
    assert above == pytest.approx(np.array(up, float), abs=1e-12)


def test_from_the_front_x_points_to_the_right_where_y_is_up():
    """As in OpenGL: the camera is at the side of z. Where x is up, y points to the right."""
    direction, up = direction_of(arm(up=np.array([0.0, 9.81, 0.0])), View(0.0, 0.0))
    assert direction == pytest.approx(Z) and np.cross(up, direction) == pytest.approx(np.eye(3)[0])
    direction, up = direction_of(arm(up=np.array([1.0, 0.0, 0.0])), View(0.0, 0.0))
    assert np.cross(up, direction) == pytest.approx(np.eye(3)[1])


@pytest.mark.parametrize("text", ["above", "30", "30,20,10", "30,95", "nan,0", "inf,0", "", "a,b"])
def test_other_views_are_refused(text):
    with pytest.raises(ValueError, match="expected auto, front, right, .* such as 30,20; got"):
        parse_view(text)
