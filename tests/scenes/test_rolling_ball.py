"""The ball rolls to its targets by stiffening and softening its cells."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.success_rates.perturbation import with_perturbed_rest
from benchmarks.success_rates.pose_error import rotation_between
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.session import Session

SCENES = Path(__file__).parents[2] / "scenes"
SCENE = SCENES / "rolling_ball.py"
WEIGHT = 0.184 * 9810.0  # [mN]


LIMIT = 3.0  # [mm]: what the scene claims


def roll(target, heading, seed):
    """Rolls from a perturbed rest shape, without a look-ahead; yields the session of each step."""
    create = with_perturbed_rest(load_scene(SCENE).create, seed)
    parameters = {"target": target, "heading": heading, "look_ahead": False}
    session = Session(create, parameters=parameters)
    for _ in range(round((0.4 + target / 10.0 + 2.0) / session.dt)):
        session.step()
        yield session


def tilt_of_the_top(rest, x):
    """Angle by which what was on top has left the vertical [rad]: turns about it do not count."""
    turn = rotation_between(rest, x)
    angle = np.linalg.norm(turn)
    axis = turn / angle
    return np.arccos(np.cos(angle) + (1.0 - np.cos(angle)) * axis[1] ** 2)


@pytest.mark.soak
def test_it_rolls_to_its_targets():
    """Rolling is unstable, so the claim is a rate. Nine of ten runs come there with no look-ahead,
    so fewer than two of four do once in 250 machines; a ball that stops short has none. Once two
    have come there the others are left out. On its way it keeps its limits; there it has turned by
    distance over radius, up to what the shape adds, and the ground carries its weight."""
    reached, moduli, pressures = 0, [], []
    for heading, seed in ((20.0, 1), (110.0, 2), (200.0, 3), (290.0, 4)):
        if reached == 2:
            break
        for session in roll(16.0, heading, seed):
            inverse, ball = session.root.inverse, session.root.ball
            moduli.append([cell.youngModulus.value for cell in inverse.actuators[1:]])
            pressures.append(inverse.effort.value[0])
        h = np.radians(heading)
        ahead = np.array([np.cos(h), 0.0, np.sin(h)])
        rest, x = ball.loader.position.value, ball.dofs.position.value
        if np.linalg.norm(x.mean(axis=0) - 16.0 * ahead) > LIMIT:
            continue
        reached += 1
        assert tilt_of_the_top(rest, x) == pytest.approx(16.0 / 40.0, rel=0.4)
        assert inverse.contact_normal.value.sum() == pytest.approx(WEIGHT, rel=0.2)
    assert reached == 2
    assert np.min(moduli) >= 25.0 - 1e-9 and np.max(moduli) <= 400.0 + 1e-9
    assert np.min(pressures) >= 2.0 - 1e-9 and np.max(pressures) <= 5.0 + 1e-9


@pytest.mark.parametrize("heading", [0.0, 60.0, 90.0, 180.0, 225.0])
def test_its_points_are_led_as_on_a_rigid_ball_that_rolls_towards_the_goal(heading):
    """From where the ball is, wherever that is: here lifted, aside, and turned by half a turn about
    the vertical. Half a millimetre on, the point on top has gone a whole one, the one in front half
    of one and as far down; the squares of the angle, 1e-4 of the radius, are left out."""
    session = Session(SCENE, parameters={"heading": heading, "target": 60.0})
    ball, h = session.root.ball, np.radians(heading)
    ahead, up = np.array([np.cos(h), 0.0, np.sin(h)]), np.array([0.0, 1.0, 0.0])
    aside = np.array([3.0, 5.0, -2.0])
    points = [ball.getChild(f"point_{k}").dofs for k in range(2)]
    for dofs in (ball.dofs, *points):
        dofs.position.value = dofs.position.value * [-1.0, 1.0, -1.0] + aside
    top, front = (dofs.position.value[0] for dofs in points)
    assert [top, front] == [pytest.approx(aside + 40.0 * up), pytest.approx(aside - 40.0 * ahead)]
    goal = session.root.inverse.goals.function(10.0)
    assert goal[0] == pytest.approx(60.0 * ahead - 0.7 * up)
    way = 60.0 * ahead - aside + 5.0 * up
    way /= np.linalg.norm(way)
    assert goal[1] == pytest.approx(top + way, abs=0.005)
    assert goal[2] == pytest.approx(front + 0.5 * (way + (way @ ahead) * up), abs=0.005)


def test_its_points_are_where_they_say_and_the_ground_goes_on():
    session = Session(SCENE)
    session.step()
    expected = [[0.0, 0.0, 0.0], [0.0, 40.0, 0.0], [40.0, 0.0, 0.0]]
    assert session.root.inverse.tip.value == pytest.approx(np.array(expected), abs=1.5)
    corners = session.root.ground.dofs.position.value[:, [0, 2]]
    assert (corners.min(axis=0) < -100.0).all() and (corners.max(axis=0) > 100.0).all()


def test_the_mesh_follows_the_twenty_cells():
    """As many tetrahedra in each cell, of the same volume; shells of the icosahedron's faces."""
    from sofa_softctl.runtime.mesh.formats.read import read_mesh

    mesh = read_mesh(SCENES / "meshes" / "ball.vtk")
    cells = np.loadtxt(SCENES / "meshes" / "ball_cells.txt", dtype=int)
    assert np.bincount(cells).tolist() == [225] * 20
    a, b, c, d = (mesh.positions[mesh.tetrahedra[:, k]] for k in range(4))
    volumes = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0
    assert volumes.min() > 0.0
    by_cell = np.bincount(cells, weights=volumes)
    assert np.ptp(by_cell) < 1e-3 * by_cell.mean()  # coordinates are written to 1e-4 mm
